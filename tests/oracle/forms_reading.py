"""Reading on demand against DuckDB over the view's rows: where, order, limit, count, why, why_not.

check_reading takes any graph and what its view holds. DuckDB gets those rows as one Arrow table and
the same conditions; a row's paths are counted, their columns compared with what the row shows.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from random import Random

import duckdb
import pyarrow as pa

import joingraph as jg
from joingraph.expression import Column
from tests.bags import Row, bag, difference
from tests.oracle.kinds import KINDS, Kind, duckdb_literal

COMPARISONS = ("=", "=", "=", "<>", "<", "<=", ">", ">=")
WHERES, WHYS = 4, 3
NULLS_FIRST = {  # by dialect: ascending, descending
    "spark": (True, False),
    "sqlite": (True, False),
    "duckdb": (False, False),
    "postgres": (False, True),
}
CONNECTION = duckdb.connect(config={"threads": 1})


def check_reading(graph: jg.JoinGraph, view_rows: list[Row], rng: Random) -> None:
    """Compare random reads of a graph with DuckDB; raise AssertionError where they differ."""
    schema = graph.view.schema
    columns = [pa.array([row[i] for row in view_rows], f.type) for i, f in enumerate(schema)]
    CONNECTION.register("stored", pa.table(columns, schema=schema))
    maybe_index(graph, rng)
    for _ in range(WHERES):
        where = condition(graph, view_rows, rng)
        check_where(graph, where)
        check_order(graph, where if rng.random() < 0.7 else None, rng)
    check_partitions(graph, view_rows, rng)
    for row in rng.sample(view_rows, min(WHYS, len(view_rows))):
        check_why(graph, row, bag(view_rows)[repr(row)])
    for row in absent_rows(view_rows, rng):
        check_why_not(graph, row)


def maybe_index(graph: jg.JoinGraph, rng: Random) -> None:
    """Declare an index now and then; a column computed on the path cannot have one."""
    outputs = graph.view.definition.output
    output = rng.choice(outputs)
    if rng.random() < 0.4 and output.value in graph.view.plan.slots:
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
        return str(value) if isinstance(value, int) else f"'{value}'"
    return duckdb_literal(value, kind)


def condition(graph: jg.JoinGraph, rows: Sequence[Row], rng: Random) -> str:
    """Make a condition over the view's columns of what its rows hold."""
    if rng.random() < 0.45:
        return simple(graph, rows, rng)
    left, right = simple(graph, rows, rng), simple(graph, rows, rng)
    form = rng.choice(("{} AND {}", "{} AND {}", "({} OR {})", "NOT ({} AND {})"))
    return form.format(left, right)


def simple(graph: jg.JoinGraph, rows: Sequence[Row], rng: Random) -> str:
    """Ask one thing of a column, or of two of one type."""
    schema = graph.view.schema
    at = rng.randrange(len(schema))
    name, kind = schema.names[at], kind_of(schema.types[at])
    alike = [f.name for f in schema if f.type == schema.types[at]]
    tests = [
        "1 = 1",
        "1 = 0",
        f"{name} IS NULL",
        f"{name} IS NOT NULL",
        f"{name} = {rng.choice(alike)}",
    ]
    values = [row[at] for row in rows]
    if kind is None or not values:
        return rng.choice(tests)
    one, two, three = (literal(graph, rng.choice(values), kind) for _ in range(3))
    tests += [f"{name} {rng.choice(COMPARISONS)} {one}" for _ in range(5)]
    tests += [f"{name} IN ({one}, {two}, {three})", f"{name} BETWEEN {one} AND {two}"]
    return rng.choice([*tests, f"({name} = {one} OR {two} = {name})"])


def check_where(graph: jg.JoinGraph, where: str) -> None:
    """Read and count the rows that meet a condition."""
    expected = CONNECTION.execute(f"SELECT * FROM stored WHERE {where}").fetchall()
    found = rows_of(graph.scan(where=where))
    wrong = difference(bag(found), bag(expected))
    assert not wrong, f"scan where {where}\n{wrong}"
    assert graph.count(where) == len(expected), f"count where {where}"


def rows_of(reader: pa.RecordBatchReader) -> list[Row]:
    """Read all rows as tuples."""
    table = reader.read_all()
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def check_order(graph: jg.JoinGraph, where: str | None, rng: Random) -> None:
    """Read the first rows of some order: the right ones, but for ties."""
    names = rng.sample(graph.view.schema.names, min(rng.choice((1, 1, 2)), len(graph.view.schema)))
    limit = rng.choice((None, 0, 1, 2, 5, 50))
    asked, judged = zip(*(entry(graph.view.dialect, name, rng) for name in names), strict=True)
    text = f"FROM stored {f'WHERE {where}' if where else ''}"
    first = "" if limit is None else f"LIMIT {limit}"
    found = rows_of(graph.explain(where, order_by=list(asked), limit=limit).read())
    columns = [graph.view.schema.names.index(name) for name in names]
    keys = [tuple(row[i] for i in columns) for row in found]
    query = f"SELECT {', '.join(names)} {text} ORDER BY {', '.join(judged)} {first}"
    expected = CONNECTION.execute(query).fetchall()
    told = f"where {where} order by {asked} limit {limit}"
    assert list(map(unsigned, keys)) == list(map(unsigned, expected)), told
    rest = bag(found) - bag(CONNECTION.execute(f"SELECT * {text}").fetchall())
    assert not rest, f"{told}\nrows that are not there: {rest}"


def entry(dialect: str, name: str, rng: Random) -> tuple[str, str]:
    """Write one entry of ORDER BY: as the view's dialect reads it, and for DuckDB in full."""
    descending = rng.random() < 0.5
    asked = f"{name} DESC" if descending else rng.choice((name, f"{name} ASC"))
    nulls = rng.choice(("", "", " NULLS FIRST", " NULLS LAST"))
    default = " NULLS FIRST" if NULLS_FIRST[dialect][descending] else " NULLS LAST"
    return asked + nulls, asked + (nulls or default)


def unsigned(row: Row) -> str:
    """Name a row without the signs of its zeros: they are ties."""
    return repr(tuple(0.0 if isinstance(each, float) and each == 0 else each for each in row))


def check_partitions(graph: jg.JoinGraph, view_rows: Sequence[Row], rng: Random) -> None:
    """Read the view in parts: together they are the view."""
    parts = [rows_of(part.read()) for part in graph.partitions(rng.randint(1, 4))]
    wrong = difference(bag(itertools.chain(*parts)), bag(view_rows))
    assert not wrong, f"{len(parts)} partitions\n{wrong}"


def check_why(graph: jg.JoinGraph, row: Row, times: int) -> None:
    """The paths behind a row are as many as it is often, differ, and have the row's values."""
    paths = graph.why(row)
    assert sum(path.times for path in paths) == times, f"why {row}, there {times} times:\n{paths}"
    same = [path for path, count in Counter(map(repr, paths)).items() if count > 1]
    assert not same, f"why {row}: {same} twice"
    for output, value in zip(graph.view.definition.output, row, strict=True):
        if isinstance(output.value, Column):
            shown = {repr(path[output.value.alias][output.value.name]) for path in paths}
            assert shown == {repr(value)}, f"why {row}: {output.name} is {shown}"
    assert graph.why_not(row) == [], f"why not {row}, which is there"


def check_why_not(graph: jg.JoinGraph, row: Row) -> None:
    """A row that is not there has no path, and a reason for that."""
    assert graph.why(row) == [], f"why {row}, which is not there"
    names = [alias.name for alias in graph.view.plan.aliases]
    reasons = graph.why_not(row)
    assert reasons and str(reasons), f"no reason why not {row}"
    assert all(reason and set(aliases) <= set(names) for aliases, reason in reasons), reasons


def absent_rows(view_rows: Sequence[Row], rng: Random) -> Iterator[Row]:
    """Yield rows of values that the view has, put together as it does not."""
    present = bag(view_rows)
    for _ in range(WHYS if view_rows else 0):
        row = tuple(
            value if rng.random() < 0.7 else rng.choice((None, rng.choice(view_rows)[i]))
            for i, value in enumerate(rng.choice(view_rows))
        )
        if repr(row) not in present:
            yield row
