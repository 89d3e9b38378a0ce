"""Random views: trees, stars, chains, shared classes, self-joins, products, cycles, subqueries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random

from tests.oracle.case import Column, Fragment, Source, Table, View
from tests.oracle.fragments import (
    Place,
    condition,
    equality,
    literal,
    output,
    over,
    places,
    residual,
)

ALIASES = ("a", "b", "c", "d", "e")


def random_view(random: Random, tables: Sequence[Table], *, plain: bool) -> View:
    """Make a view over some of the tables, one of them perhaps several times."""
    count = random.choices((1, 2, 3, 4, 5), (10, 30, 30, 18, 12))[0]
    if count > 1 and random.random() < 0.12:
        view = using_view(random, tables, count, plain=plain)
    else:
        view = free_view(random, tables, count, plain=plain)
    assert view.outputs
    return view


def free_view(random: Random, tables: Sequence[Table], count: int, *, plain: bool) -> View:
    """Join aliases by conditions: a tree of equalities, then whatever comes on top."""
    wrapped = 0.0 if random.random() < 0.7 else 0.5
    sources = [
        wrap(random, alias, random.choice(tables)) if random.random() < wrapped
        else plain_source(alias, random.choice(tables))
        for alias in ALIASES[:count]
    ]  # fmt: skip
    conditions = tree(random, sources) + extras(random, sources)
    random.shuffle(conditions)
    outputs = random_outputs(random, places(sources), plain=plain)
    style = random.choice(("comma", "on"))
    return View(tuple(sources), tuple(conditions), tuple(outputs), style)


def plain_source(alias: str, table: Table, join: str = "") -> Source:
    """Use a table as it is."""
    return Source(alias, table.name, table.columns, (table.name,), join=join)


def wrap(random: Random, alias: str, table: Table) -> Source:
    """Use a table through a subquery or a CTE that filters it, and renames or drops columns."""
    inner = places([plain_source("s", table)])
    kept = random.sample(inner, random.randint(1, len(inner)))
    names = [
        f"r{i}" if random.random() < 0.3 else place.column.name for i, place in enumerate(kept)
    ]
    select = ", ".join(
        f"{place.sql} AS {name}" for place, name in zip(kept, names, strict=True)
    )  # fmt: skip
    where = f" WHERE {condition(random, inner).sql}" if random.random() < 0.6 else ""
    sql = f"SELECT {select} FROM {table.name} AS s{where}"
    columns = tuple(
        Column(name, place.kind) for place, name in zip(kept, names, strict=True)
    )  # fmt: skip
    if random.random() < 0.4:
        return Source(alias, f"w{alias}", columns, (table.name,), cte=sql)
    return Source(alias, f"({sql})", columns, (table.name,))


def tree(random: Random, sources: Sequence[Source]) -> list[Fragment]:
    """Join each alias to one before it; now and then to none, which makes a product."""
    shape = random.choice(("chain", "star", "any"))
    found: list[Fragment | None] = []
    for i in range(1, len(sources)):
        near = {"chain": i - 1, "star": 0, "any": random.randrange(i)}[shape]
        if random.random() < 0.05:
            continue
        for _ in range(random.choices((1, 2), (80, 20))[0]):
            found.append(equality(random, places([sources[i]]), places([sources[near]])))
    return [each for each in found if each is not None]


def extras(random: Random, sources: Sequence[Source]) -> list[Fragment]:
    """Add conditions that no join tree holds: cycles, residual predicates, filters, constants."""
    sight = places(sources)
    found: list[Fragment | None] = []
    if len(sources) > 2 and random.random() < 0.2:
        one, other = random.sample(list(sources), 2)
        found.append(equality(random, places([one]), places([other])))
    while len(sources) > 1 and random.random() < 0.15:
        found.append(residual(random, sight))
    while random.random() < 0.25:
        found.append(condition(random, sight))
    if random.random() < 0.08:
        place = random.choice(sight)
        if place.kind.constants:
            found.append(over(f"{place.sql} = {literal(random, place.kind)}", place))
    return [each for each in found if each is not None]


def random_outputs(random: Random, sight: Sequence[Place], *, plain: bool) -> list[Fragment]:
    """Choose what the view outputs."""
    count = random.choices((1, 2, 3, 5), (15, 30, 35, 20))[0]
    found = [output(random, sight, plain=plain) for _ in range(count)]
    if random.random() < 0.03:
        found.append(over("1"))
    return found


def using_view(random: Random, tables: Sequence[Table], count: int, *, plain: bool) -> View:
    """Join by column names: USING some or all of the names in common, or NATURAL."""
    sources = [plain_source("a", random.choice(tables))]
    names = Counter(column.name for column in sources[0].columns)
    kinds = {column.name: column.kind.group for column in sources[0].columns}
    for alias in ALIASES[1:count]:
        table = random.choice(tables)
        joined = join_by_name(random, table, names, kinds)
        if joined is None:
            break
        merged = {c.name for c in table.columns} & set(names) if joined == "NATURAL" else (
            set(joined.removeprefix("USING (").removesuffix(")").split(", "))
        )  # fmt: skip
        sources.append(plain_source(alias, table, joined))
        names.update(column.name for column in table.columns if column.name not in merged)
        kinds |= {column.name: column.kind.group for column in table.columns}
    outputs = random_outputs(random, places(sources), plain=plain)
    if len(sources) > 1:
        alone = [name for name, times in names.items() if times == 1]
        everywhere = frozenset((each.alias, each.column.name) for each in places(sources))
        outputs += [Fragment(name, everywhere) for name in alone[:2]]
    conditions = extras(random, sources)
    return View(tuple(sources), tuple(conditions), tuple(outputs), "using")


def join_by_name(
    random: Random, table: Table, names: Counter[str], kinds: dict[str, str]
) -> str | None:
    """Choose how a table joins what is on its left by name; None if it cannot."""
    shared = [column for column in table.columns if column.name in names]
    fits = [c for c in shared if names[c.name] == 1 and kinds[c.name] == c.kind.group]
    if not fits:
        return None
    if fits == shared and random.random() < 0.4:
        return "NATURAL"
    some = random.sample(fits, random.randint(1, len(fits)))
    return f"USING ({', '.join(column.name for column in some)})"
