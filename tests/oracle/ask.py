"""How a case is handed to joingraph: tables declared, rows in one of the forms it takes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from random import Random

import pyarrow as pa

from tests.oracle.case import Case, Entry, Row, Table

FORMS = ("tuples", "dicts", "arrow")


def declared(case: Case) -> dict[str, object]:
    """Declare the tables: as text where the view's dialect is DuckDB's, else by Arrow types."""
    if case.dialect == "duckdb":
        return {table.name: table.create for table in case.tables}
    return {table.name: table.schema for table in case.tables}


def loaded(case: Case) -> dict[str, pa.Table]:
    """Put what is loaded in Arrow tables."""
    tables = {table.name: table for table in case.tables}
    return {entry.table: arrow(tables[entry.table], entry.rows) for entry in case.load}


def asked(
    random: Random, tables: Mapping[str, Table], entries: Iterable[Entry]
) -> list[tuple[object, ...]]:
    """Write entries as `JoinGraph.apply` takes them, the rows as tuples, dicts or Arrow tables."""
    batch: list[tuple[object, ...]] = []
    for entry in entries:
        form = random.choice(FORMS)
        sides = (entry.rows, entry.post) if entry.kind == "update" else (entry.rows,)
        batch.append((entry.kind, entry.table, *(put(tables[entry.table], s, form) for s in sides)))
    return batch


def put(table: Table, rows: tuple[Row, ...], form: str) -> object:
    """Put rows in one of the forms."""
    if form == "tuples":
        return list(rows)
    if form == "arrow":
        return arrow(table, rows)
    return [dict(zip(table.schema.names, row, strict=True)) for row in rows]


def arrow(table: Table, rows: tuple[Row, ...]) -> pa.Table:
    """Put rows in an Arrow table."""
    schema = table.schema
    columns = zip(*rows, strict=True) if rows else ([] for _ in schema)
    arrays = [pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)
