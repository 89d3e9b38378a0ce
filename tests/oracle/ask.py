"""How a case is handed to joingraph: tables declared, batches in one of the forms it takes.

    singly   a batch a diff, of one row as a tuple, or of a pair
    tuples   one batch, every row a tuple
    arrow    one batch of Arrow tables
    mixed    one batch, each entry as tuples, dicts or Arrow tables

Every value of a case (kinds.py) is one that a tuple can hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from random import Random

import pyarrow as pa

from tests.oracle.case import Case, Entry, Row, Table

INPUTS = ("singly", "tuples", "arrow", "mixed")
FORMS = ("tuples", "dicts", "arrow")  # of an entry

Given = list[tuple[object, ...]]  # a batch as `JoinGraph.apply` takes it


def declared(case: Case) -> dict[str, object]:
    """Declare the tables: as text where the view's dialect is DuckDB's, else by Arrow types."""
    if case.dialect == "duckdb":
        return {table.name: table.create for table in case.tables}
    return {table.name: table.schema for table in case.tables}


def loaded(case: Case) -> dict[str, pa.Table]:
    """Put what is loaded in Arrow tables."""
    tables = {table.name: table for table in case.tables}
    return {entry.table: arrow(tables[entry.table], entry.rows) for entry in case.load}


def given(
    random: Random, tables: Mapping[str, Table], entries: Sequence[Entry], form: str
) -> list[Given]:
    """Write entries in a form of input: the batches to apply one after the other."""
    if form == "mixed":
        return [asked(random, tables, entries)]
    if form == "singly":
        diffs = (diff for entry in entries for diff in entry.diffs())
        return [[written(tables, diff, "tuples")] for diff in diffs]
    return [[written(tables, entry, form) for entry in entries]]


def asked(random: Random, tables: Mapping[str, Table], entries: Iterable[Entry]) -> Given:
    """Write entries as one batch, the rows of each as tuples, dicts or Arrow tables."""
    return [written(tables, entry, random.choice(FORMS)) for entry in entries]


def written(tables: Mapping[str, Table], entry: Entry, form: str) -> tuple[object, ...]:
    """Write an entry, its rows in one of the forms."""
    sides = (entry.rows, entry.post) if entry.kind == "update" else (entry.rows,)
    return entry.kind, entry.table, *(put(tables[entry.table], side, form) for side in sides)


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
