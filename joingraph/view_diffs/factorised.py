"""View diffs as nested lists: a changed tuple and, for each branch of the join tree, its partners.

    tweet (7, 'hi') came; ann has two fans; bob and eve retweeted it

    _change_type _count _diff  pre   post       branches
    insert       1      0      NULL  {7, 'hi'}  {F: [{1} x1, {2} x1], R: [{bob} x1, {eve} x1]}

    flat: four rows of the view, of which this is the sum and not the product

A partner is {values: the view's columns of its branch, count, branches: further lists}; parts that
have nothing to show are left out. What one change did to the view: every choice of one partner from
each branch, counts multiplied. Branches that a residual predicate or an expression of several
aliases ties together are one, with each of their combinations listed. A branch that an outer join
finds missing has an empty list, or one partner if the view shows more of it than NULLs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from joingraph.common.errors import LimitError
from joingraph.expressions import texts
from joingraph.expressions.consolidation import consolidate
from joingraph.expressions.texts import Numbers
from joingraph.view_diffs.view_diff import DIFF, META, change_table, left_over


@dataclass(frozen=True, slots=True)
class Factorised:
    """The view diffs of a batch: a table for each changed alias, and rows that are not factorised.

    Rows are what an update does whose effect ties all branches together, and everything in a batch
    that was not asked for in this form.
    """

    tables: Mapping[str, pa.Table]
    rows: pa.Table

    def flatten(self) -> pa.Table:
        """Multiply everything out: the rows of the view diff (view_diff.py), by base diff."""
        names = self.rows.column_names[: -len(META)]
        multiplied_out = [
            flat_changes(pa.Table.from_batches([batch]), names)
            for table in self.tables.values()
            for batch in table.to_batches()
        ]
        singles = [part for parts in multiplied_out for part in parts[1:]]
        parts = [
            self.rows,
            *(parts[0] for parts in multiplied_out),
            consolidated_singles(self.rows[:0], singles),
        ]
        schema = self.rows.schema
        found = pa.concat_tables(texts.typed(part.columns, schema) for part in parts)
        order = np.argsort(found["_diff"].to_numpy(), kind="stable")
        return texts.take_rows(found, order)


def in_parts(make: Callable[[int, int], pa.Table], first: int, end: int) -> Iterator[pa.Table]:
    """Make a table of numbered changes, in several parts where their texts do not fit one array."""
    try:
        yield make(first, end)
    except texts.TooMuchText:
        if end - first == 1:
            raise LimitError(
                f"the partners of one changed row hold more than {texts.ARRAY_BYTES_MAX:,} bytes of"
                " text, which a nested list cannot; nothing was applied: ask for"
                ' form="rows", or use stream()'
            ) from None
        middle = (first + end) // 2
        yield from in_parts(make, first, middle)
        yield from in_parts(make, middle, end)


def one_array(column: texts.Column) -> pa.Array:
    """Return a column that a struct may have, or raise TooMuchText."""
    if column.type.id in texts.NARROW:
        raise texts.TooMuchText
    return texts.whole(column)


def put_together(parts: Sequence[pa.Table]) -> pa.Table:
    """Put the records of one alias together, in the order of the base diffs."""
    table = pa.concat_tables(parts)
    diffs = table["_diff"].to_numpy()
    is_small = table.nbytes <= texts.ARRAY_BYTES_MAX
    if (diffs[1:] < diffs[:-1]).any():
        order = np.argsort(diffs, kind="stable")
        if is_small:
            table = table.take(pa.array(order))
        else:  # Arrow takes from one array only: every run of rows becomes a chunk
            cuts = [0, *(np.flatnonzero(np.diff(order) != 1) + 1).tolist(), len(order)]
            runs = [(int(order[low]), high - low) for low, high in pairwise(cuts)]
            table = pa.concat_tables([table.slice(*run) for run in runs])
    return table.combine_chunks() if is_small else table


class Flat(NamedTuple):
    """Rows multiplied out of structs: columns by name, counts, and which struct each came from."""

    columns: dict[str, pa.Array]
    counts: Numbers
    parents: Numbers

    def take(self, rows: Numbers) -> Flat:
        """Pick rows, some of them perhaps several times."""
        at = pa.array(rows)
        columns = {name: column.take(at) for name, column in self.columns.items()}
        return Flat(columns, self.counts[rows], self.parents[rows])


def flat_changes(table: pa.Table, names: list[str]) -> list[pa.Table]:
    """Multiply out the changes of one alias: updates in pairs, then deletes, then inserts."""
    columns = {name: table[name].combine_chunks() for name in table.column_names}
    counts = columns["_count"].to_numpy()
    flat = Flat({}, counts, np.arange(len(counts)))
    flat = multiply(flat, columns.get("branches"))
    kinds = np.asarray(columns["_change_type"].to_pylist(), dtype=object)[flat.parents]
    diffs = columns["_diff"].to_numpy()[flat.parents]
    images = {side: image(flat, columns.get(side), names) for side in ("pre", "post")}
    return [
        update_rows(images, flat.counts, diffs, np.flatnonzero(kinds == "update")),
        single_rows(images["pre"], -flat.counts, diffs, np.flatnonzero(kinds == "delete")),
        single_rows(images["post"], flat.counts, diffs, np.flatnonzero(kinds == "insert")),
    ]


def multiply(flat: Flat, branches: pa.StructArray | None) -> Flat:
    """Combine each row with every choice of partners from the branches of its struct."""
    for branch in branches.flatten() if branches is not None else ():
        lengths = branch.value_lengths().to_numpy()
        partners = flat_partners(branch.flatten())
        parents = np.repeat(np.arange(len(lengths)), lengths)[partners.parents]
        partners, parents = with_missing(partners, parents, np.flatnonzero(lengths == 0))
        ends = np.searchsorted(parents, np.arange(len(lengths)), side="right")
        starts = np.searchsorted(parents, np.arange(len(lengths)), side="left")
        times = (ends - starts)[flat.parents]
        rows = np.repeat(np.arange(len(times)), times)
        within = np.arange(len(rows)) - np.repeat(np.cumsum(times) - times, times)
        flat = flat.take(rows)
        chosen = partners.take(starts[flat.parents] + within)
        flat = Flat({**flat.columns, **chosen.columns}, flat.counts * chosen.counts, flat.parents)
    return flat


def with_missing(partners: Flat, parents: Numbers, missing: Numbers) -> tuple[Flat, Numbers]:
    """Give those without partners one of NULLs; `parents`, in order, says whose partner each is."""
    if not len(missing):
        return partners, parents
    both = np.concatenate([parents, missing])
    order = np.argsort(both, kind="stable")
    count = len(missing)
    columns = {
        name: pa.concat_arrays([column, pa.nulls(count, column.type)])
        for name, column in partners.columns.items()
    }
    counts = np.concatenate([partners.counts, np.ones(count, np.int64)])
    rows = Flat(columns, counts, np.concatenate([partners.parents, np.zeros(count, np.int64)]))
    return rows.take(order), both[order]


def flat_partners(partners: pa.StructArray) -> Flat:
    """Multiply out partners with what lies beyond them."""
    parts = dict(zip(partners.type.names, partners.flatten(), strict=True))
    flat = Flat(fields(parts.get("values")), parts["count"].to_numpy(), np.arange(len(partners)))
    return multiply(flat, parts.get("branches"))


def fields(struct: pa.StructArray | None) -> dict[str, pa.Array]:
    """Return a struct's fields by name. Texts become wide, as many rows repeat them."""
    if struct is None:
        return {}
    columns = [
        each.cast(texts.WIDE[each.type.id]) if each.type.id in texts.WIDE else each
        for each in struct.flatten()
    ]
    return dict(zip(struct.type.names, columns, strict=True))


def image(flat: Flat, own: pa.StructArray | None, names: list[str]) -> pa.Table:
    """Put the changed alias' columns, as they were or as they are, with those of its partners."""
    at = pa.array(flat.parents)
    own_columns = {name: column.take(at) for name, column in fields(own).items()}
    return pa.table({name: (own_columns | flat.columns)[name] for name in names})


def update_rows(
    images: Mapping[str, pa.Table], counts: Numbers, diffs: Numbers, at: Numbers
) -> pa.Table:
    """Write updates, each pre-image with its post-image behind it."""
    both = pa.concat_tables([images["pre"].take(pa.array(at)), images["post"].take(pa.array(at))])
    turns = np.arange(2 * len(at)).reshape(2, -1).T.ravel()
    kinds = ["update_preimage", "update_postimage"] * len(at)
    twice = np.repeat(at, 2)
    return change_table(both.take(pa.array(turns)), kinds, counts[twice], diffs[twice])


def single_rows(rows: pa.Table, counts: Numbers, diffs: Numbers, at: Numbers) -> pa.Table:
    """Write inserts or deletes, deletes with counts below zero."""
    return change_table(rows.take(pa.array(at)), ["insert"] * len(at), counts[at], diffs[at])


def consolidated_singles(none: pa.Table, parts: Sequence[pa.Table]) -> pa.Table:
    """Consolidate the rows of each base diff, whichever alias they come from."""
    rows = pa.concat_tables([none, *(texts.typed(part.columns, none.schema) for part in parts)])
    width = rows.num_columns - len(META)
    columns = rows.select([*range(width), rows.num_columns - 1])
    found = consolidate(columns, rows.column(width + 1).to_numpy())
    diffs = rows.column(width + 2).to_numpy()[found.at]
    return left_over(rows, width, found.at, found.counts).append_column(DIFF, pa.array(diffs))
