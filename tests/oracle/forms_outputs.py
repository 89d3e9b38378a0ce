"""What comes out, in every form, against the rows and against a recomputed view.

check_step takes graphs that are alike and feeds each a batch in another form. I-diffs must be the
same however they were made, and give the view after when applied in random order; nested lists
multiplied out are the rows; what_if is what apply then gives; fanout counts it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from random import Random

import duckdb
import pyarrow as pa

import joingraph as jg
from joingraph.apply_idiffs import apply_idiffs
from joingraph.forms import FORMS
from joingraph.idiffs import IDiff, IDiffs
from joingraph.viewdiff import ViewDiff, listed
from tests.bags import Change, Row, bag, difference, pairs

CUT_MAX = 40  # i-diffs that are applied one by one; more are applied part by part
Batch = list[tuple[object, ...]]


class Copies:
    """The view as it is stored elsewhere: in Arrow, and in DuckDB under another order of rows."""

    def __init__(self, rows: pa.Table, random: Random) -> None:
        self.rows, self.random = rows, random
        self.connection = duckdb.connect(config={"threads": 1})
        self.connection.register("first", rows)
        self.connection.execute('CREATE TABLE "a ""feed" AS SELECT * FROM first')

    def apply(self, idiffs: IDiffs, expected: Counter[str]) -> None:
        """Apply the diffs in random orders; both copies must be the view then."""
        diffs = list(idiffs.parts)
        if len(idiffs) <= CUT_MAX:
            diffs = [row for part in diffs for row in part.rows()]
        self.random.shuffle(diffs)
        self.rows = apply_idiffs(self.rows, IDiffs(idiffs.schema, tuple(diffs)))
        agree(bag(rows_of(self.rows)), expected, "i-diffs applied to an Arrow table")
        parts = list(idiffs.parts)
        self.random.shuffle(parts)
        apply_idiffs(self.connection, replace(idiffs, parts=tuple(parts)), 'a "feed')
        found = self.connection.execute('SELECT * FROM "a ""feed"').fetchall()
        agree(unsigned(found), unsigned(rows_of(self.rows)), "i-diffs applied to DuckDB")


def check_step(
    graphs: dict[str, jg.JoinGraph], batch: Batch, copies: Copies, expected: Counter[str]
) -> None:
    """Apply a batch to a graph for each form, and compare what they say."""
    random = copies.random
    before = bag(rows_of(graphs["rows"].to_arrow()))
    form = random.choice(FORMS)
    asked = graphs["rows"].what_if(batch, form=form)
    counted = graphs["rows"].fanout(batch)
    agree(bag(rows_of(graphs["rows"].to_arrow())), before, "what_if left something")
    graphs["rows"].check()
    made = {form: graph.apply(batch, form=form) for form, graph in graphs.items()}
    for graph in graphs.values():
        graph.check()
        agree(bag(rows_of(graph.to_arrow())), expected, "the view after")
    check_factorised(made["factorised"], made["rows"])
    check_idiffs(list(made.values()))
    check_what_if(asked, made[form])
    check_fanout(counted, made["rows"])
    copies.apply(made["idiffs"].idiffs(), expected)


def check_factorised(nested: ViewDiff, rows: ViewDiff) -> None:
    """Multiplied out, nested lists are the rows; counted, they are no more of them."""
    flat = nested.factorised().flatten()
    found = listed(flat, flat.num_columns - 3)
    agree(changes_bag(found), changes_bag(rows.rows()), "factorised, flattened")
    assert flat["_diff"].to_pylist() == sorted(flat["_diff"].to_pylist())


def check_idiffs(made: Sequence[ViewDiff]) -> None:
    """I-diffs are the same, whether rows were made on the way or not."""
    first, *others = (idiffs_bag(each.idiffs()) for each in made)
    for other in others:
        agree(other, first, "i-diffs made otherwise")


def check_what_if(asked: ViewDiff, made: ViewDiff) -> None:
    """What was foretold came."""
    assert asked.seq == made.seq
    agree(idiffs_bag(asked.idiffs()), idiffs_bag(made.idiffs()), "what_if's i-diffs")
    if made._forms.rows is not None:
        agree(changes_bag(asked.rows()), changes_bag(made.rows()), "what_if's rows")


def check_fanout(counted: tuple[int, bool], made: ViewDiff) -> None:
    """The number of rows, or an upper bound of it."""
    rows, exact = counted
    found = sum(count for _, _, count in made.rows())
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
