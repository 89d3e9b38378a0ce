"""Reading on demand against DuckDB over the view's rows: where, order, limit, count, partitions.

A Reader takes any graph and, after every batch, what its view holds. DuckDB gets those rows as one
Arrow table and the same conditions. Most of them are asked again later: what a graph remembers of a
read must not be what it then was. Why rows are there, and are not, is forms_why.py.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from decimal import Decimal
from random import Random

import duckdb
import pyarrow as pa

import joingraph as jg
from tests.bags import Row, bag, difference
from tests.oracle.judges import Shown
from tests.oracle.kinds import KINDS, Kind, duckdb_literal

COMPARISONS = ("=", "=", "=", "<>", "<", "<=", ">", ">=")
KEPT_MAX = 8  # conditions that are asked again
NULLS_FIRST = {  # by dialect: ascending, descending
    "spark": (True, False),
    "sqlite": (True, False),
    "duckdb": (False, False),
    "postgres": (False, True),
}
CONNECTION = duckdb.connect(config={"threads": 1})


class Reader:
    """Reads one graph on its way."""

    def __init__(self, graph: jg.JoinGraph, rng: Random) -> None:
        self.graph, self.rng = graph, rng
        self.wheres: list[str] = []
        self.shown = Shown(graph.view.schema.empty_table())
        self.judge = CONNECTION.cursor()
        self.judge.register("stored", self.shown)

    def check(self, stored: pa.Table) -> None:
        """Compare a random read with DuckDB; raise AssertionError where they differ."""
        maybe_index(self.graph, self.rng)
        self.shown.table = stored
        check_read(self.graph, self.where(stored), self.rng, self.judge)

    def where(self, stored: pa.Table) -> str:
        """Take a condition that was asked before, or make one."""
        if self.rng.random() < 0.2:
            return ""
        if self.wheres and self.rng.random() < 0.6:
            return self.rng.choice(self.wheres)
        made = condition(self.graph, stored, self.rng)
        self.wheres = [made, *self.wheres][:KEPT_MAX]
        return made


def maybe_index(graph: jg.JoinGraph, rng: Random) -> None:
    """Declare an index now and then; one computed on the path cannot have it."""
    outputs = graph.view.definition.output
    output = rng.choice(outputs)
    plan = graph.view.plan
    is_kept = graph.view.definition.grouping is None and output.value in plan.slots
    if rng.random() < 0.15 and is_kept and output.value not in plan.marks:
        graph.index(output.name)


def kind_of(type: pa.DataType) -> Kind | None:
    """Find how a column's type is written as SQL; None where there are no constants of it."""
    known = next((kind for kind in KINDS if kind.arrow == type), None)
    if known is None and pa.types.is_decimal(type):
        sql = f"DECIMAL({type.precision},{type.scale})"
        return Kind(sql, type, "number", (), None)
    return known if known is not None and known.constants else None


def literal(graph: jg.JoinGraph, value: object, kind: Kind) -> str:
    """Write a value as DuckDB and the view's dialect read it."""
    if graph.view.dialect != "duckdb" and value is None:
        return "NULL"
    if graph.view.dialect != "duckdb":
        return str(value) if isinstance(value, (int, Decimal)) else f"'{value}'"
    return duckdb_literal(value, kind)


def condition(graph: jg.JoinGraph, rows: pa.Table, rng: Random) -> str:
    """Make a condition over the view's columns of what its rows hold."""
    if rng.random() < 0.45:
        return simple(graph, rows, rng)
    left, right = simple(graph, rows, rng), simple(graph, rows, rng)
    form = rng.choice(("{} AND {}", "{} AND {}", "({} OR {})", "NOT ({} AND {})"))
    return form.format(left, right)


def simple(graph: jg.JoinGraph, rows: pa.Table, rng: Random) -> str:
    """Ask one thing of a column, or of two of one type."""
    schema = graph.view.schema
    at = rng.choice([schema.names.index(name) for name in scalars(schema)] or [0])
    name, kind = schema.names[at], kind_of(schema.types[at])
    alike = [f.name for f in schema if f.type == schema.types[at]]
    if not scalars(schema):
        return rng.choice(("1 = 1", "1 = 0"))
    tests = [
        "1 = 1",
        "1 = 0",
        f"{name} IS NULL",
        f"{name} IS NOT NULL",
        f"{name} = {rng.choice(alike)}",
    ]
    values = rows.column(at).to_pylist()
    if kind is None or not values:
        return rng.choice(tests)
    one, two, three = (literal(graph, rng.choice(values), kind) for _ in range(3))
    tests += [f"{name} {rng.choice(COMPARISONS)} {one}" for _ in range(5)]
    tests += [f"{name} IN ({one}, {two}, {three})", f"{name} BETWEEN {one} AND {two}"]
    return rng.choice([*tests, f"({name} = {one} OR {two} = {name})"])


def scalars(schema: pa.Schema) -> list[str]:
    """Name the columns that may be compared; lists are shown only."""
    return [field.name for field in schema if not pa.types.is_list(field.type)]


def rows_of(reader: pa.RecordBatchReader) -> list[Row]:
    """Read all rows as tuples."""
    table = reader.read_all()
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def check_read(
    graph: jg.JoinGraph, where: str, rng: Random, judge: duckdb.DuckDBPyConnection
) -> None:
    """Read the first rows in some order that meet a condition: the right ones, but for ties."""
    known = scalars(graph.view.schema)
    names = rng.sample(known, min(rng.choice((0, 1, 2)), len(known)))
    limit = rng.choice((None, None, 0, 1, 2, 5, 50))
    entries = [entry(graph.view.dialect, name, rng) for name in names]
    order_by = [asked for asked, _ in entries]
    query = f"SELECT * FROM stored {f'WHERE {where}' if where else ''}"
    query += " ORDER BY " + ", ".join(judged for _, judged in entries) if entries else ""
    expected = judge.execute(query).fetchall()
    how = graph.explain(where or None, order_by=order_by or None, limit=limit)
    found, told = rows_of(how.read()), f"where {where} order by {order_by} limit {limit}"
    assert len(found) == min(len(expected), len(expected) if limit is None else limit), told
    columns = [graph.view.schema.names.index(name) for name in names]
    for row, other in zip(found, expected, strict=False):
        assert unsigned(row, columns) == unsigned(other, columns), f"{told}: {row}, {other}"
    wrong = bag(found) - bag(expected)
    assert not wrong, f"{told}: rows that are not there: {wrong}"
    assert graph.count(where or None) == len(expected), f"count where {where}"


def entry(dialect: str, name: str, rng: Random) -> tuple[str, str]:
    """Write one entry of ORDER BY: as the view's dialect reads it, and for DuckDB in full."""
    descending = rng.random() < 0.5
    asked = f"{name} DESC" if descending else rng.choice((name, f"{name} ASC"))
    nulls = rng.choice(("", "", " NULLS FIRST", " NULLS LAST"))
    default = " NULLS FIRST" if NULLS_FIRST[dialect][descending] else " NULLS LAST"
    return asked + nulls, asked + (nulls or default)


def unsigned(row: Row, columns: Iterable[int]) -> str:
    """Name what a row is ordered by without the signs of zeros: they are ties."""
    values = (row[at] for at in columns)
    return repr([0.0 if isinstance(each, float) and each == 0 else each for each in values])


def check_partitions(graph: jg.JoinGraph, view_rows: Sequence[Row], rng: Random) -> None:
    """Read the view in parts: together they are the view."""
    parts = [rows_of(part.read()) for part in graph.partitions(rng.randint(1, 4))]
    wrong = difference(bag(itertools.chain(*parts)), bag(view_rows))
    assert not wrong, f"{len(parts)} partitions\n{wrong}"
