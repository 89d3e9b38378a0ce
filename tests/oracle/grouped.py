"""Random views that group: what a random view joins, by some of its columns, with aggregates.

An aggregate is asked of the view as people write it, and of judges so that they can be exact
(values.py). Few aggregates are fragile: a value that no row has so far leaves no result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

import pyarrow as pa

from tests.oracle.case import Fragment, Grouping, Use, View
from tests.oracle.fragments import Place, condition, output, over, places
from tests.oracle.kinds import GREAT, SMALL, WIDE

SIGNS = (">", "<=", "<>", ">=")
QUANTILES = ("0.5", "0.9", "0.25")


def grouped(random: Random, view: View, dialect: str, *, plain: bool) -> View:
    """Group the rows of a view that does not."""
    sight = places(view.sources)
    count = random.choices((0, 1, 2, 3), (18, 47, 25, 10))[0]
    keys = {}
    for _ in range(count):
        place = random.choice(sight)
        key = over(place.sql, place, bare=True)
        if random.random() < 0.25:
            key = output(random, sight, plain=plain)
        keys[key.sql] = key
    draw = Draw(random, sight, dialect, plain=plain)
    uses = [draw.use() for _ in range(random.choices((0, 1, 2, 3, 4), (12, 35, 30, 15, 8))[0])]
    if not uses and (not keys or random.random() < 0.2):
        uses = [count_all()]
    shown = [each for each in keys.values() if not uses or random.random() < 0.9]
    hidden = tuple(each for each in keys.values() if each not in shown)
    grouping = Grouping(hidden, tuple(uses))
    if not uses and random.random() < 0.5:
        grouping = replace(grouping, by="distinct")
    elif keys:
        grouping = replace(grouping, by=spelled(random, dialect, hidden=bool(hidden)))
    grouping = draw.fragile(with_having(random, draw, grouping), view)
    grouping = with_order(random, grouping)
    return replace(view, outputs=tuple(shown), grouping=grouping)


def spelled(random: Random, dialect: str, *, hidden: bool) -> str:
    """Choose how GROUP BY names what it groups by."""
    by = random.choice(("text", "text", "numbers", "all"))
    if hidden or (by == "all" and dialect != "duckdb"):
        return "text"
    return by


def with_having(random: Random, draw: Draw, grouping: Grouping) -> Grouping:
    """Keep some of the groups: by an aggregate, perhaps one that is not shown."""
    if grouping.by == "distinct" or random.random() > 0.3:
        return grouping
    sign, number = random.choice(SIGNS), random.randint(0, 4)
    name = draw.exact_number()
    having = Fragment(f"{name.sql} {sign} {number}", name.columns)
    return replace(grouping, having=(having,))


def with_order(random: Random, grouping: Grouping) -> Grouping:
    """Read some views in the order of an aggregate."""
    plain = [
        at
        for at, use in enumerate(grouping.uses)
        if use.value[0] in ("decimal", "total", "bigint") or use.asked.sql.startswith("count")
    ]
    if not plain or random.random() > 0.2:
        return grouping
    return replace(grouping, order=tuple(random.sample(plain, random.randint(1, len(plain)))[:2]))


def count_all() -> Use:
    """Count paths."""
    return Use(Fragment("count(*)", frozenset()), "count(*)")


class Draw:
    """Draws aggregates over the columns in sight."""

    def __init__(
        self, random: Random, sight: Sequence[Place], dialect: str, *, plain: bool
    ) -> None:
        self.random, self.sight, self.dialect = random, sight, dialect
        self.small = [each for each in sight if each.kind.sums and each.kind.values == SMALL]
        self.texts = [each for each in sight if each.kind.group == "text"]
        self.plain = plain

    def use(self) -> Use:
        """Draw an aggregate, at times over some of the rows only."""
        makers = PLAIN if self.plain else MAKERS
        found: Use | None = None
        while found is None:
            name = self.random.choices(list(makers), list(makers.values()))[0]
            found = getattr(self, name)()
        if self.random.random() < 0.2:
            test = condition(self.random, self.sight)
            tail = f" FILTER (WHERE {test.sql})"
            asked = over_all(found.asked.sql + tail, found.asked, test)
            return replace(found, asked=asked, judged=found.judged + tail)
        return self.around(found) if self.random.random() < 0.15 else found

    def around(self, use: Use) -> Use:
        """Compute with a result."""
        name = use.asked.sql
        if use.value[0] == "decimal":
            return same(use, f"coalesce({name}, 0)")
        if name.startswith("count"):
            return same(use, f"CASE WHEN {name} > 2 THEN 'many' ELSE 'few' END")
        return use

    def column(self, *kinds: Place) -> Place | None:
        """Choose a column; None where there is none."""
        return self.random.choice(kinds) if kinds else None

    def number(self) -> Fragment | None:
        """Choose a column of small integers, mostly; else compute with one or two."""
        one, two = self.column(*self.small), self.column(*self.small)
        if one is None or two is None:
            return None
        roll = self.random.random()
        if roll < 0.6:
            return over(one.sql, one, bare=True)
        if roll < 0.75:
            return over(f"{one.sql} * 2 - 1", one)
        sign = self.random.choice("+-*")
        return over(f"{one.sql} {sign} {two.sql}", one, two)

    def exact_number(self) -> Fragment:
        """Choose an aggregate that is a number to compare with."""
        number = self.number()
        if number is None or self.random.random() < 0.4:
            return Fragment("count(*)", frozenset())
        name = self.random.choice(("sum", "count", "min", "max"))
        return replace(number, sql=f"{name}({number.sql})")

    def sum_value(self) -> tuple[str, ...]:
        """Name what a sum of BIGINT is in the dialect."""
        return ("decimal",) if self.dialect in ("duckdb", "postgres") else ("bigint",)

    def count(self) -> Use | None:
        """Draw COUNT of anything, at times of its different values."""
        if self.random.random() < 0.4:
            return count_all()
        place = self.random.choice(self.sight)
        distinct = "DISTINCT " * (self.random.random() < 0.3)
        return plainly(f"count({distinct}{place.sql})", over(place.sql, place))

    def sum(self) -> Use | None:
        """Draw SUM of small integers, at times of the different ones."""
        number = self.number()
        distinct = "DISTINCT " * (self.random.random() < 0.2)
        if number is None:
            return None
        return plainly(f"sum({distinct}{number.sql})", number, *self.sum_value())

    def sum_wide(self) -> Use | None:
        """Draw SUM of the greatest integers there are, or of decimals."""
        found = self.column(
            *(each for each in self.sight if each.kind.values == WIDE),
            *(each for each in self.sight if pa.types.is_decimal(each.kind.arrow)),
        )
        if found is None:
            return None
        value = "as_it_is" if pa.types.is_decimal(found.kind.arrow) else "decimal"
        return plainly(f"sum({found.sql})", over(found.sql, found), value)

    def extreme(self) -> Use | None:
        """Draw MIN or MAX of anything."""
        place = self.random.choice(self.sight)
        return plainly(f"{self.random.choice(('min', 'max'))}({place.sql})", over(place.sql, place))

    def doubles(self) -> Use | None:
        """Draw SUM or AVG of doubles."""
        place = self.column(*(e for e in self.sight if pa.types.is_floating(e.kind.arrow)))
        if place is None:
            return None
        name, divisor = self.random.choice((("sum", "1"), ("avg", "count")))
        return listed(f"{name}({place.sql})", over(f"{place.sql}::DOUBLE", place), "total", divisor)

    def average(self) -> Use | None:
        """Draw AVG of integers."""
        number = self.number()
        if number is None:
            return None
        return listed(f"avg({number.sql})", number, "total", "count")

    def spread(self) -> Use | None:
        """Draw a variance, or its root."""
        number = self.number()
        name, power = self.random.choice((("var", "square"), ("stddev", "root")))
        kind, less = self.random.choice((("pop", "0"), ("samp", "1")))
        if number is None:
            return None
        return listed(f"{name}_{kind}({number.sql})", number, "variance", less, power)

    def pair(self) -> Use | None:
        """Draw an aggregate of two columns."""
        one, two = self.number(), self.number()
        if one is None or two is None:
            return None
        name, value = self.random.choice(PAIRS)
        both = over_all(f"{{'y': {one.sql}, 'x': {two.sql}}}", one, two)
        return listed(f"{name}({one.sql}, {two.sql})", both, *value)

    def truth(self) -> Use | None:
        """Draw an aggregate of a condition."""
        test = condition(self.random, self.sight)
        name = self.random.choice(("bool_and", "bool_or", "count_if"))
        return plainly(f"{name}({test.sql})", test, "decimal" if name == "count_if" else "as_it_is")

    def array(self) -> Use | None:
        """Draw a list of values in order."""
        number = self.number()
        distinct = "DISTINCT " * (self.random.random() < 0.4)
        if number is None:
            return None
        return plainly(f"list({distinct}{number.sql} ORDER BY {number.sql})", number)

    def joined(self) -> Use | None:
        """Draw a list of texts in one."""
        text = self.column(*self.texts)
        if text is None:
            return None
        first = self.random.choice(self.sight)
        order = f"{first.sql} DESC, {text.sql}" if first.kind.constants else text.sql
        return plainly(f"string_agg({text.sql}, ',' ORDER BY {order})", over("", text, first))

    def place_of(self) -> Use | None:
        """Draw the value at a place in order."""
        number, q = self.number(), self.random.choice(QUANTILES)
        if number is None:
            return None
        match self.random.choice(("disc", "cont", "median")):
            case "median":
                return listed(f"median({number.sql})", number, "quantile", "0.5")
            case "cont":
                return listed(f"quantile_cont({number.sql}, {q})", number, "quantile", q)
        return plainly(f"quantile_disc({number.sql}, {q})", number)

    def best_by(self) -> Use | None:
        """Draw the value of the row with the least or the greatest other value."""
        one, two = self.column(*self.small, *self.texts), self.number()
        if one is None or two is None:
            return None
        name = self.random.choice(("min", "max"))
        both = over_all(f"{{'y': {one.sql}, 'x': {two.sql}}}", over(one.sql, one), two)
        return listed(f"{name}_by({one.sql}, {two.sql})", both, "best", name)

    def fragile(self, grouping: Grouping, view: View) -> Grouping:
        """Let some views have no result for some values: a sum too great, a division by zero."""
        tables = {each.alias: each.sql for each in view.sources if each.sql == each.tables[0]}
        if grouping.by == "distinct" or self.random.random() > 0.7:
            return grouping
        tested = {place for each in view.conditions for place in each.columns}
        free = [each for each in self.sight if (each.alias, each.column.name) not in tested]
        sight = [each for each in free if each.alias in tables]
        wide = [e for e in sight if e.kind.sql == "BIGINT" and e.kind.values == SMALL]
        forms = [("sum({})", "as_it_is", e) for e in sight if e.kind is GREAT]
        if self.dialect in ("spark", "sqlite"):
            forms += [("sum({})", "bigint", each) for each in wide]
        if not self.plain:
            forms += [("CAST(sum({}) AS BIGINT)", "as_it_is", each) for each in wide]
            forms += [("", "", each) for each in sight if each in self.small]
        if not forms:
            return grouping
        text, value, place = self.random.choice(forms)
        table, column = tables[place.alias], place.column.name
        if not text:
            sign = self.random.choice(("//", "%"))
            test = f"coalesce(10 {sign} (7 - max({place.sql})) >= 0, TRUE)"
            # Alone: of several conditions DuckDB asks the next where one is TRUE, we also of NULL.
            fragile = ((table, column, "fresh"),)
            return replace(grouping, having=(over(test, place),), fragile=fragile)
        use = plainly(text.format(place.sql), over(place.sql, place), value)
        fragile = ((table, column, "greatest"),)
        return replace(grouping, uses=(*grouping.uses, use), fragile=fragile)


def over_all(sql: str, *read: Fragment) -> Fragment:
    """Make a fragment of all that some read."""
    return Fragment(sql, frozenset(place for each in read for place in each.columns))


def same(use: Use, sql: str) -> Use:
    """Ask the same of the view and of judges."""
    return replace(use, asked=replace(use.asked, sql=sql), judged=sql)


def plainly(sql: str, read: Fragment, *value: str) -> Use:
    """Ask the same of the view and of judges."""
    return Use(Fragment(sql, read.columns), sql, value or ("as_it_is",))


def listed(sql: str, read: Fragment, *value: str) -> Use:
    """Ask judges for the list of values."""
    return Use(Fragment(sql, read.columns), f"list({read.sql})", value)


PAIRS = (
    ("corr", ("correlation",)),
    ("covar_pop", ("covariance", "0")),
    ("covar_samp", ("covariance", "1")),
    ("regr_slope", ("slope",)),
)
PLAIN = {"count": 3, "sum": 4, "extreme": 5}
RARE = ("sum_wide", "spread", "pair", "truth", "array", "joined", "place_of", "best_by")
MAKERS = {"count": 5, "sum": 5, "extreme": 6, "doubles": 6, "average": 4} | dict.fromkeys(RARE, 2)
