"""Random views over trees of outer joins, which ask EXISTS, IN, ANY and ALL of subqueries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random

from tests.oracle.case import Column, Fragment, Source, Table
from tests.oracle.fragments import (
    COMPARISONS,
    Place,
    condition,
    equality,
    literal,
    over,
    partner,
    places,
    residual,
)
from tests.oracle.joins import Join, Made, OuterView, Query, Tree, leaves, made, visible
from tests.oracle.kinds import INTEGER, TEXT
from tests.oracle.views import join_by_name, plain_source, random_outputs, wrap

ALIASES = "abcdefghijklmnopqrst"
KINDS = {"JOIN": 30, "LEFT JOIN": 50, "RIGHT JOIN": 14, "FULL JOIN": 18}
SILENT = {"SEMI JOIN": 3, "ANTI JOIN": 3}
SIZES = {1: 10, 2: 40, 3: 45, 4: 30, 5: 14, 6: 8}


def random_outer_view(random: Random, tables: Sequence[Table], *, plain: bool) -> OuterView:
    """Make a view over some of the tables, each perhaps several times."""
    draw = OuterDraw(random, tables, plain=plain)
    tree = draw.tree(draw.one_of(SIZES))
    sources = tuple(visible(tree))
    sight = places(sources)
    conditions = draw.where(sight)
    outputs = random_outputs(random, sight, plain=plain) + draw.shown(tree, sight)
    style = "using" if draw.is_by_name else "outer"
    return OuterView(sources, tuple(conditions), tuple(outputs), style, tree=tree)


class OuterDraw:
    """Draws trees and what is asked; each alias has a name of its own."""

    def __init__(self, random: Random, tables: Sequence[Table], *, plain: bool) -> None:
        self.random, self.tables, self.plain = random, tables, plain
        self.names = iter(ALIASES)
        self.is_by_name = False
        self.wrapped = random.choice((0, 0, 0.15, 0.4))
        self.odd = random.choice((0.02, 0.05, 0.15))
        self.kinds = KINDS if plain else KINDS | SILENT
        if random.random() < 0.2:
            self.kinds = {"JOIN": 1, "LEFT JOIN": 2, "FULL JOIN": 6}
        # Of their own, so that a seed's view is the same but for them.
        self.others = Random(repr(random.getstate()[1][:4]))
        self.unequal = self.others.choice((0, 0, 0.2, 0.6))

    def chance(self, share: float) -> bool:
        """Decide."""
        return self.random.random() < share

    def one_of(self, weights: dict[int, int]) -> int:
        """Choose by weight."""
        return self.random.choices(list(weights), list(weights.values()))[0]

    def tree(self, size: int, *, is_asked: bool = False) -> Tree:
        """Join so many sources."""
        if size == 1:
            return self.source(is_asked=is_asked)
        first = self.random.choice((size - 1, size - 1, self.random.randint(1, size - 1)))
        left = self.tree(first, is_asked=is_asked)
        right = self.tree(size - first, is_asked=is_asked)
        (kind,) = self.random.choices(list(self.kinds), list(self.kinds.values()))
        by = self.by_name(left, right) if kind in KINDS else None
        if by is not None:
            self.is_by_name = True
            return Join(kind, left, right, by=by)
        return Join(kind, left, right, self.on(visible(left), visible(right), self.odd))

    def source(self, *, is_asked: bool) -> Source:
        """Use a table, at times through a subquery; those asked for without a CTE."""
        alias, table = next(self.names), self.random.choice(self.tables)
        if not self.chance(self.wrapped):
            return plain_source(alias, table)
        if self.chance(0.5):
            return self.computed(alias, table)
        found = wrap(self.random, alias, table)
        return self.computed(alias, table) if found.cte and is_asked else found

    def computed(self, alias: str, table: Table) -> Source:
        """Use a table, or a join of two, through a subquery with constants and COALESCE."""
        random = self.random
        inner: Tree = plain_source("s", table)
        if self.chance(0.35):
            other = plain_source("r", random.choice(self.tables))
            kind = random.choice(("JOIN", "LEFT JOIN", "LEFT JOIN", "FULL JOIN"))
            inner = Join(kind, inner, other, self.on([plain_source("s", table)], [other], 0.05))
        sight = places(visible(inner))
        kept = random.sample(sight, random.randint(1, len(sight)))
        shown = [(each.sql, Column(f"r{at}", each.kind)) for at, each in enumerate(kept)]
        shown.append(("1", Column("found", INTEGER)) if self.chance(0.5) else
                     ("'there'", Column("found", TEXT)))  # fmt: skip
        some = [each for each in kept if each.kind.constants]
        if some and self.chance(0.6):
            one = random.choice(some)
            value = f"coalesce({one.sql}, {literal(random, one.kind)})"
            shown.append((value, Column("filled", one.kind)))
        where = f" WHERE {condition(random, sight).sql}" if self.chance(0.3) else ""
        columns = ", ".join(f"{sql} AS {column.name}" for sql, column in shown)
        sql = f"(SELECT {columns} FROM {OuterView((), (), (), '', tree=inner).joined()[0]}{where})"
        tables = tuple(name for each in leaves(inner) for name in each.tables)
        return Source(alias, sql, tuple(column for _, column in shown), tables)

    def by_name(self, left: Tree, right: Tree) -> str | None:
        """Join two tables by the names of columns, some of the time."""
        if isinstance(right, Join) or right.sql != right.tables[0] or not self.chance(0.15):
            return None
        names = Counter[str](column.name for each in visible(left) for column in each.columns)
        if isinstance(left, Join):
            by = left.by.removeprefix("USING (").removesuffix(")").split(", ")
            names -= Counter(each for each in by if left.by.startswith("USING"))
            if left.by == "NATURAL" or any(isinstance(each, Join) and each.by for each in (
                left.left, left.right
            )):  # fmt: skip
                return None
        kinds = {c.name: c.kind.group for each in visible(left) for c in each.columns}
        return join_by_name(
            self.random, Table(right.tables[0], right.columns), names, kinds
        )  # fmt: skip

    def on(
        self, left: Sequence[Source], right: Sequence[Source], odd: float
    ) -> tuple[Fragment, ...]:
        """Tie two sides, mostly by an equality of one alias of each; ask something of either."""
        random = self.random
        one, other = places([random.choice(left)]), places([random.choice(right)])
        found: list[Fragment | None] = []
        if self.chance(0.94):
            found.append(self.tie(one, other, places(left), odd))
            if self.chance(0.12):
                found.append(equality(random, other, one))
        found += [condition(random, one)] if self.chance(0.14) else []
        found += [condition(random, other)] if self.chance(0.14) else []
        found += [residual(random, [*one, *other])] if self.chance(odd / 3) else []
        random.shuffle(found)
        return tuple(each for each in self.tied(found, one, other) if each is not None)

    def tied(
        self, found: list[Fragment | None], one: Sequence[Place], other: Sequence[Place]
    ) -> list[Fragment | None]:
        """Tie two sides by something besides equalities, or in their place, at times."""
        if self.others.random() >= self.unequal:
            return found
        random, kept = self.others, found if self.others.random() < 0.7 else []
        left, right = random.choice(one), random.choice(other)
        if left.kind.sums and right.kind.sums and random.random() < 0.2:
            return [*kept, over(f"{left.sql} + {right.sql} = {random.randint(0, 4)}", left, right)]
        return [*kept, residual(random, [*one, *other])]

    def tie(
        self, one: Sequence[Place], other: Sequence[Place], near: Sequence[Place], odd: float
    ) -> Fragment | None:
        """Equate a column of each side; now and then NULL with NULL, or by COALESCE."""
        right = self.random.choice(other)
        left = partner(self.random, right, one)
        if left is None:
            return equality(self.random, other, one)
        if self.chance(odd):
            return over(f"{left.sql} IS NOT DISTINCT FROM {right.sql}", left, right)
        more = partner(self.random, left, near)
        if more is not None and self.chance(odd) and left.kind == more.kind:
            return over(f"coalesce({left.sql}, {more.sql}) = {right.sql}", left, more, right)
        return equality(self.random, [right], [left])

    def where(self, sight: Sequence[Place]) -> list[Fragment]:
        """Draw the conditions of WHERE."""
        found: list[Fragment | None] = []
        found += [condition(self.random, sight)] if self.chance(0.2) else []
        found += [self.after(sight)] if self.chance(0.15) else []
        found += [equality(self.random, sight, sight)] if self.chance(0.05) else []
        found += [residual(self.random, sight)] if self.chance(0.06) else []
        while self.chance(0.45 if not found else 0.2):
            found.append(self.question(sight))
        if self.chance(0.1):
            form = self.random.choice(("({} OR {})", "({} OR {})", "NOT ({} AND {})"))
            other = self.question(sight) if self.chance(0.4) else condition(self.random, sight)
            found.append(made(form, self.question(sight), other))
        if self.chance(0.03):
            parts = self.question(sight), *(condition(self.random, sight) for _ in range(2))
            found.append(made("CASE WHEN {} THEN {} ELSE {} END", *parts))
        self.random.shuffle(found)
        return [each for each in found if each is not None]

    def after(self, sight: Sequence[Place]) -> Fragment | None:
        """Ask what may hold of a row that is missing."""
        place = self.random.choice(sight)
        if self.chance(0.5) or not place.kind.constants:
            return over(f"{place.sql} IS NULL", place)
        value = literal(self.random, place.kind)
        return over(f"coalesce({place.sql}, {value}) = {value}", place)

    def question(self, sight: Sequence[Place], depth: int = 0) -> Made:
        """Ask a subquery, which mostly compares a column with one of the query around."""
        random = self.random
        tree = self.tree(self.one_of({1: 70, 2: 22, 3: 8}), is_asked=True)
        own = places(visible(tree))
        near = places([Source(one := random.choice(sight).alias, "", tuple(
            each.column for each in sight if each.alias == one), ())])  # fmt: skip
        found: list[Fragment | None] = []
        if self.chance(0.75):
            end = [each for each in own if each.alias == random.choice(own).alias] or own
            found.append(equality(random, end, near))
        found += [condition(random, own)] if self.chance(0.25) else []
        found += [condition(random, near)] if self.chance(0.07) else []
        found += [residual(random, [*own, *near])] if self.chance(self.odd / 4) else []
        found = self.tied(found, own, near)
        found += [self.question(own, depth + 1)] if depth < 1 and self.chance(0.15) else []
        conditions = tuple(each for each in found if each is not None)
        return self.asked(sight, own, tree, conditions)

    def asked(
        self,
        sight: Sequence[Place],
        own: Sequence[Place],
        tree: Tree,
        conditions: tuple[Fragment, ...],
    ) -> Made:
        """Write EXISTS, IN, or a comparison with ANY or ALL; or deny it."""
        random, no = self.random, self.random.choice(("", "NOT ", "NOT "))
        shown = random.choice(own)
        side = partner(random, shown, sight)
        if side is None or self.chance(0.45):
            return made(no + "EXISTS ({})", Query(over("1"), tree, conditions))
        query = Query(over(shown.sql, shown), tree, conditions)
        column = over(side.sql, side)
        if self.plain or self.chance(0.7):
            return made("{} " + no + "IN ({})", column, query)
        sign = random.choice(("=", *COMPARISONS))
        return made("{} " + f"{sign} {random.choice(('ANY', 'ALL'))} " + "({})", column, query)

    def shown(self, tree: Tree, sight: Sequence[Place]) -> list[Fragment]:
        """Show the answer of a question, at times; and columns that USING has merged."""
        found = list[Fragment]()
        if self.chance(0.1):
            form = "CASE WHEN {} THEN 'yes' ELSE 'no' END"
            if not self.plain:
                form = self.random.choice((form, "{}", "coalesce({}, FALSE)"))
            found.append(made(form, self.question(sight)))
        if isinstance(tree, Join) and tree.by.startswith("USING"):
            column = tree.by.removeprefix("USING (").removesuffix(")").split(", ")[0]
            everywhere = frozenset((each.alias, each.column.name) for each in sight)
            found.append(Fragment(column, everywhere))
        return found
