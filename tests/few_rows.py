"""Views, and random batches of few rows over them, as callers may write them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from decimal import Decimal
from random import Random
from typing import Any, NamedTuple

import joingraph as jg
from joingraph.tables.rows_in import to_table

Row = tuple[Any, ...]


class Shape(NamedTuple):
    """A view, and the types of its base tables' columns."""

    sql: str
    tables: dict[str, tuple[str, ...]]
    dialect: str = "spark"

    @property
    def view(self) -> jg.View:
        """The view; columns are called a, b, c, ..."""
        tables = {name: declared(name, of) for name, of in self.tables.items()}
        return jg.View(self.sql, tables, dialect=self.dialect)


def declared(name: str, types: Sequence[str]) -> str:
    columns = ", ".join(f"{chr(97 + at)} {each}" for at, each in enumerate(types))
    return f"CREATE TABLE {name} ({columns})"


JOIN = "FROM x X JOIN y Y ON X.a = Y.a"
SHAPES = {
    "integers": Shape(
        f"SELECT X.b, Y.b AS c {JOIN}", {"x": ("BIGINT", "BIGINT"), "y": ("BIGINT", "INT")}
    ),
    "three tables": Shape(
        f"SELECT X.b, Y.b AS c, Z.b AS d {JOIN} JOIN z Z ON Y.b = Z.a",
        {"x": ("INT", "STRING"), "y": ("BIGINT", "INT"), "z": ("BIGINT", "SMALLINT")},
    ),
    "conditions on texts": Shape(
        f"SELECT X.b, Y.c {JOIN} WHERE Y.b > 2 AND Y.c LIKE '%a%' AND (X.b <> 2 OR X.b IS NULL)",
        {"x": ("STRING", "BIGINT"), "y": ("STRING", "BIGINT", "STRING")},
    ),
    "all types": Shape(
        f"SELECT Y.b, Y.c, Y.d, Y.e, Y.f, Y.g, Y.h, Y.i, Y.j, Y.k, X.b AS z {JOIN}",
        {
            "x": ("STRING", "TINYINT NOT NULL"),
            "y": (
                *("STRING", "BOOLEAN", "FLOAT", "DOUBLE", "DATE", "TIMESTAMP", "TIMESTAMPTZ"),
                *("DECIMAL(9,2)", "DECIMAL(30,3)", "BLOB", "UBIGINT"),
            ),
        },
        "duckdb",
    ),
    "types that Python reads at once": Shape(
        f"SELECT Y.b, Y.c, Y.d, Y.e, Y.f, Y.g, Y.h, Y.i, X.b AS z {JOIN}",
        {
            "x": ("VARCHAR", "UBIGINT"),
            "y": (
                *("VARCHAR", "BOOLEAN", "FLOAT", "DOUBLE", "DATE", "TIMESTAMP", "TIMESTAMPTZ"),
                *("DECIMAL(9,2)", "BLOB"),
            ),
        },
        "duckdb",
    ),
    "floats and decimals as keys": Shape(
        "SELECT X.c, Y.c AS d FROM x X JOIN y Y ON X.a = Y.a AND X.b = Y.b",
        {"x": ("DOUBLE", "DECIMAL(22,2)", "INT"), "y": ("DOUBLE", "DECIMAL(22,2)", "INT")},
    ),
    "computed keys and projected values": Shape(
        "SELECT X.b + 1 AS u, upper(Y.c) AS v, 6 DIV X.b AS w, CAST(Y.b AS DECIMAL(30,2)) AS m"
        " FROM x X JOIN y Y ON X.a + 1 = Y.b AND lower(X.c) = Y.c WHERE X.b - 3 <> Y.b",
        {"x": ("INT", "INT", "STRING"), "y": ("INT", "BIGINT", "STRING")},
    ),
    "self-join": Shape(
        "SELECT A.b, B.a FROM e A JOIN e B ON A.b = B.a WHERE A.a <> 3", {"e": ("INT", "INT")}
    ),
    "counts alone": Shape(
        f"SELECT X.b {JOIN} JOIN z Z ON Z.a = X.a",
        {"x": ("INT", "INT"), "y": ("INT",), "z": ("INT",)},
    ),
    "left": Shape(
        "SELECT X.a, X.b, Y.b AS c, Z.b AS d FROM x X JOIN z Z ON X.b = Z.a"
        " LEFT JOIN y Y ON X.a = Y.a",
        {"x": ("STRING", "INT"), "y": ("STRING", "BIGINT"), "z": ("INT", "STRING")},
    ),
    "left beside a computed key": Shape(
        "SELECT X.b, Y.b AS c FROM x X JOIN z Z ON X.b + 1 = Z.a LEFT JOIN y Y ON X.a = Y.a",
        {"x": ("INT", "INT"), "y": ("BIGINT", "BIGINT"), "z": ("INT",)},
    ),
    "not exists": Shape(
        "SELECT X.b FROM x X WHERE NOT EXISTS (SELECT 1 FROM y Y WHERE Y.a = X.a)",
        {"x": ("BIGINT", "INT"), "y": ("BIGINT", "INT")},
    ),
    "exists as a value": Shape(
        "SELECT X.b, EXISTS (SELECT 1 FROM y Y WHERE Y.a = X.a AND Y.b > 2) AS c FROM x X",
        {"x": ("DOUBLE", "INT"), "y": ("DOUBLE", "INT")},
    ),
    "residual predicate and computed column": Shape(
        f"SELECT X.b + Y.b AS s, 6 DIV Y.b AS t, Y.c || '!' AS u {JOIN} WHERE X.b < Y.b",
        {"x": ("INT", "INT"), "y": ("INT", "INT", "STRING")},
    ),
}
CLASH = -0x7A3F9D215C8EB461  # the compiled form keeps it in no projected column
WRONG = ("x", 1.5, True, 1 << 70, b"a", dt.date(2020, 1, 1), "\ud800", None, Decimal("NaN"), 300)
TEXTS = ("a", "b", "", "ba", "some longer text with a", "ünï a 漢 😀")
ZONE = dt.timezone(dt.timedelta(hours=2))
VALUES: dict[str, Callable[[Random], Any]] = {
    "VARCHAR": lambda chance: chance.choice(TEXTS),
    "STRING": lambda chance: chance.choice(TEXTS),
    "BLOB": lambda chance: chance.choice((b"", b"\xff", b"abcdefgh")),
    "BIGINT PRIMARY KEY": lambda chance: chance.randrange(400),
    "STRING PRIMARY KEY": lambda chance: f"key {chance.randrange(400)}",
    "BOOLEAN": lambda chance: chance.random() < 0.5,
    "FLOAT": lambda chance: chance.choice((0.0, -0.0, float("nan"), 1.1, 7)),
    "DOUBLE": lambda chance: chance.choice((0.0, -0.0, float("nan"), 1.1, 7, float("inf"))),
    "DATE": lambda chance: dt.date(chance.choice((1, 1969, 9999)), 2, 3),
    "UBIGINT": lambda chance: (1 << 64) - chance.randrange(1, 4),
    "TIMESTAMP": lambda chance: dt.datetime(1969, 12, 31, 23, 59, 7, chance.randrange(3)),
    "TIMESTAMPTZ": lambda chance: dt.datetime(1971, 1, 2, chance.randrange(3), tzinfo=ZONE),
}


def value(chance: Random, kind: str) -> Any:
    """Make a value, seldom a wrong one."""
    if chance.random() < 0.004:
        return chance.choice(WRONG)
    if chance.random() < 0.06 and not kind.endswith("KEY"):
        return None
    if kind.startswith("DECIMAL"):
        return chance.choice((Decimal("0.10"), Decimal(-7), 5, Decimal("0.1")))
    make = VALUES.get(kind.removesuffix(" NOT NULL"), lambda chance: chance.randrange(6))
    return make(chance)


class Batch(list[Any]):
    """A batch that no call takes: it goes by blocks."""


class Feed:
    """Makes batches over the tables of a shape, as callers may write them."""

    def __init__(self, shape: Shape, seed: int) -> None:
        self.shape, self.chance = shape, Random(seed)
        self.rows: dict[str, list[Row]] = {name: [] for name in shape.tables}

    def row(self, table: str) -> Row:
        """Make a row."""
        return tuple(value(self.chance, kind) for kind in self.shape.tables[table])

    def entry(self) -> tuple[Any, ...]:
        """Make an entry of one table."""
        chance = self.chance
        table, count = chance.choice(list(self.rows)), chance.choice((1, 1, 1, 2, 5, 20))
        held = self.rows[table]
        operation = chance.choice(("insert", "insert", "delete", "update")) if held else "insert"
        old = chance.sample(held, min(count, len(held))) if operation != "insert" else []
        old += [self.row(table)] * (bool(old) and chance.random() < 0.02)
        new = [self.row(table) for _ in range(count if operation == "insert" else len(old))]
        for at in range(len(new)):
            if operation == "update" and chance.random() < 0.5:
                new[at] = (*old[at][:-1], new[at][-1])
        sides = {"insert": [new], "delete": [old], "update": [old, new]}[operation]
        return operation, table, *sides

    def note(self, batch: Sequence[tuple[Any, ...]]) -> None:
        """Remember which rows there are after a batch."""
        for operation, table, *sides in batch:
            held = self.rows[table]
            for row in sides[0] if operation != "insert" else ():
                found = next((at for at, each in enumerate(held) if repr(each) == repr(row)), None)
                if found is not None:
                    del held[found]
            held += sides[-1] if operation != "delete" else ()


def spelled(batch: Sequence[tuple[Any, ...]], chance: Random) -> list[Any]:
    """Write a batch in one of the ways in which callers write rows."""

    def rows(given: list[Row]) -> Any:
        kind = chance.randrange(8)
        if kind == 0:
            return [{chr(97 + at): each for at, each in enumerate(row)} for row in given]
        if kind == 1:
            return [list(row) for row in given]
        if kind == 2 and len(given) == 1 and len(given[0]) > 1:
            return given[0]
        return tuple(given) if kind == 3 else given

    return [(operation, table, *map(rows, sides)) for operation, table, *sides in batch]


def by_column(batch: Sequence[tuple[Any, ...]], view: jg.View) -> list[Any]:
    """Write a batch as Arrow tables."""
    return [
        (operation, table, *(to_table(side, view.tables[table], table) for side in sides))
        for operation, table, *sides in batch
    ]


def outcome(apply: Callable[[], jg.ViewDiff]) -> tuple[str, list[str], Any]:
    """Return what a batch did to the view, or was refused for."""
    try:
        diff = apply()
    except jg.JoinGraphError as error:
        return f"{type(error).__name__}: {error}", [], None
    table = diff.to_arrow(positions=True)
    assert len(diff) == len(table)
    rows = [repr(each) for each in diff.rows()]
    named = [(row["_change_type"], row["_count"]) for row in table.to_pylist()]
    assert [(kind, count) for kind, _, count in diff.rows()] == named
    assert sorted(map(repr, table.select(range(len(table.schema) - 4)).to_pylist())) == sorted(
        repr(dict(zip(table.column_names, row, strict=False))) for _, row, _ in diff.rows()
    )
    return f"{diff.seq} {table.schema}", rows, (table, sorted(map(repr, diff.net())))


def kept(apply: Callable[..., jg.ViewDiff], *given: Any) -> jg.ViewDiff:
    """Apply what is given, and append the view diff to the list that is given last."""
    *of, calls = given
    calls.append(apply(*of))
    diff: jg.ViewDiff = calls[-1]
    return diff


def bag(graph: jg.JoinGraph) -> list[str]:
    """Return the rows of a graph's view."""
    return sorted(map(repr, graph.to_arrow().to_pylist()))
