"""What comes out, in every form, against the rows and against a recomputed view.

check_step foretells a batch in two of the three forms and applies it in the third, so that each is
made from the same graph. I-diffs must be the same however they were made, and bring a copy stored
elsewhere to the view after, in random order; nested lists multiplied out are the rows; the rows
lead from the view before to the view after; fanout counts them.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from random import Random
from typing import Any

import duckdb
import pyarrow as pa

import joingraph as jg
from joingraph.view_diffs.formats import FORMS
from joingraph.view_diffs.idiffs import IDiff, IDiffs, apply_idiffs
from joingraph.view_diffs.view_diff import ViewDiff, listed
from tests.bags import Change, Row, bag, difference, fold, pairs, shift

CUT_MAX = 40  # i-diffs that are applied one by one; more are applied part by part
TABLE, SQL_TABLE = 'a "feed', '"a ""feed"'
Batch = list[tuple[object, ...]]


class Copy:
    """The view as it is stored elsewhere: an Arrow table, or a table of DuckDB or SQLite."""

    def __init__(self, rows: pa.Table, random: Random, kind: str = "") -> None:
        self.schema, self.random = rows.schema, random
        kinds = ("arrow", "duckdb", "sqlite") if fits_sqlite(rows.schema) else ("arrow", "duckdb")
        self.kind = kind or random.choice(kinds)
        self.target: Any = rows
        if self.kind == "duckdb":
            self.target = duckdb_connection()
            self.target.register("first", rows)
            self.target.execute(f"CREATE OR REPLACE TABLE {SQL_TABLE} AS SELECT * FROM first")
        elif self.kind == "sqlite":
            self.target = sqlite3.connect(":memory:")
            marks = ", ".join("?" for _ in rows.schema)
            self.target.execute(f"CREATE TABLE {SQL_TABLE} ({', '.join(rows.schema.names)})")
            self.target.executemany(f"INSERT INTO {SQL_TABLE} VALUES ({marks})", rows_of(rows))

    def apply(self, idiffs: IDiffs, expected: Sequence[Row]) -> None:
        """Apply the diffs in a random order; the copy must be the view then."""
        diffs = list(idiffs.parts)
        if self.kind != "duckdb" and len(idiffs) <= CUT_MAX:
            diffs = [
                replace(part, table=part.table.slice(at, 1))
                for part in diffs
                for at in range(part.table.num_rows)
            ]
        self.random.shuffle(diffs)
        idiffs = replace(idiffs, parts=tuple(diffs))
        if self.kind == "arrow":
            self.target = apply_idiffs(self.target, idiffs)
        else:
            apply_idiffs(self.target, idiffs, TABLE)
        agree(self.bag(self.rows()), self.bag(expected), f"i-diffs applied to {self.kind}")

    def rows(self) -> list[Row]:
        """List the rows of the copy."""
        if self.kind == "arrow":
            return rows_of(self.target)
        return list(self.target.execute(f"SELECT * FROM {SQL_TABLE}").fetchall())

    def bag(self, rows: Iterable[Row]) -> Counter[str]:
        """Count rows as the copy tells them apart: SQL does not see the signs of zeros."""
        return bag(rows) if self.kind == "arrow" else unsigned(rows)


@cache
def duckdb_connection() -> duckdb.DuckDBPyConnection:
    """Open the database of all copies: opening one takes longer than a batch."""
    return duckdb.connect(config={"threads": 1})


def fits_sqlite(schema: pa.Schema) -> bool:
    """Hold if SQLite gives every value of a view back as it was."""
    return all(
        pa.types.is_signed_integer(type) or pa.types.is_string(type) for type in schema.types
    )


def check_step(
    graph: jg.JoinGraph, batch: Batch, views: tuple[Counter[str], Counter[str]], random: Random
) -> IDiffs:
    """Foretell and apply a batch, leading from view to view in every form; give the i-diffs."""
    before, after = views
    # Of groups the factorised form has deltas (tests/test_deltas.py), and some views none.
    is_grouped = graph.view.definition.grouping is not None
    forms = [form for form in FORMS if form != "factorised" or not is_grouped]
    *asked, applied = random.sample(forms, len(forms))
    made = {form: graph.what_if(batch, form=form) for form in asked}
    counted = graph.fanout(batch)
    if random.random() < 0.3:
        agree(bag(rows_of(graph.to_arrow())), before, "what_if left something")
        graph.check()
    made[applied] = graph.apply(batch, form=applied)
    assert len({each.seq for each in made.values()}) == 1, "what_if foretold another batch"
    rows = made["rows"].rows()
    agree(shift(before, fold(rows)), after, "rows do not lead to the view")
    agree(fold(made["rows"].net()), fold(rows), "net is not rows folded")
    agree(fold(made["net"].net()), fold(rows), 'form="net" is not rows folded')
    if not is_grouped:
        check_factorised(made["factorised"], rows)
    check_fanout(counted, rows)
    idiffs = made["idiffs"].idiffs()
    other = random.choice((None, None, *(form for form in forms if form != "net")))
    if other is not None:
        agree(idiffs_bag(made[other].idiffs()), idiffs_bag(idiffs), f"i-diffs made from {other}")
    return idiffs


def check_factorised(nested: ViewDiff, rows: Sequence[Change]) -> None:
    """Multiplied out, nested lists are the rows."""
    flat = nested.factorised().flatten()
    found = listed(flat, flat.num_columns - 3)
    agree(changes_bag(found), changes_bag(rows), "factorised, flattened")
    assert flat["_diff"].to_pylist() == sorted(flat["_diff"].to_pylist())


def check_fanout(counted: tuple[int, bool], made: Iterable[Change]) -> None:
    """The number of rows, or an upper bound of it."""
    rows, exact = counted
    found = sum(count for _, _, count in made)
    assert found == rows if exact else found <= rows, f"fanout {counted}, found {found}"


def rows_of(table: pa.Table) -> list[Row]:
    """List rows as tuples."""
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def changes_bag(changes: Iterable[Change]) -> Counter[str]:
    """Count view diffs as they are, updates by both images."""
    found: Counter[str] = Counter()
    for pre, post, count in pairs(list(changes)):
        found[f"{pre} -> {post}"] += count
    return found


def idiffs_bag(idiffs: IDiffs) -> Counter[str]:
    """Count i-diffs; those of whole rows take what they know of a row's columns from anywhere."""
    return Counter(f"{named(part)} {row}" for part in idiffs.parts for row in rows_of(part.table))


def named(part: IDiff) -> str:
    """Name a part."""
    return f"{part.kind} {part.alias} by {part.key} of {part.columns} {part.counted}"


def unsigned(rows: Iterable[Row]) -> Counter[str]:
    """Count rows without the signs of their zeros, which SQL does not tell apart."""
    return bag(
        tuple(0.0 if isinstance(value, float) and value == 0 else value for value in row)
        for row in rows
    )


def agree(found: Counter[str], expected: Counter[str], what: str) -> None:
    """Raise AssertionError unless two bags are equal."""
    wrong = difference(found, expected)
    assert not wrong, f"{what}\n{wrong}"
