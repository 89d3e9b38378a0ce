"""What a batch did to the view: its rows in order, or folded to what is left of them.

    columns of the view | _change_type                                    | _count | _diff
    F.followerId  ...   | insert, delete, update_preimage, _postimage     | >= 1   | base diff

A pre-image is followed at once by its post-image, of the same count. `_change_type` has the words
of Delta's change feed. A ViewDiff is a value: later batches do not touch it.

What a batch does to the view can only be seen while it is applied, and rows are the dearest form of
it. So the form is chosen with the batch, `apply(batch, form=...)`, and made then; every form that
can be had from that one is given on request.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from joingraph.common.errors import DiffError
from joingraph.common.names import quoted
from joingraph.expressions.consolidation import consolidate
from joingraph.expressions.python_values import python_values
from joingraph.expressions.texts import Numbers, take_rows
from joingraph.expressions.tree import Value
from joingraph.expressions.words import Word, words_of

if TYPE_CHECKING:
    from joingraph.view_diffs.deltas import Deltas
    from joingraph.view_diffs.factorised import Factorised
    from joingraph.view_diffs.idiffs import IDiffs

SIGNS = {"insert": 1, "delete": -1, "update_preimage": -1, "update_postimage": 1}
HAPPENED = pa.schema(
    [
        pa.field("_change_type", pa.dictionary(pa.int8(), pa.string())),
        pa.field("_count", pa.int64()),
    ]
)
DIFF = pa.field("_diff", pa.int64())
META = HAPPENED.append(DIFF)
WORDS = pa.array(SIGNS, pa.string())
CODES = {word: code for code, word in enumerate(SIGNS)}
ViewRow = tuple[str, tuple[Value, ...], int]


def change_table(
    rows: pa.Table, kinds: Iterable[str], counts: Iterable[int], diffs: Iterable[int]
) -> pa.Table:
    """Put rows of the view and what happened to each side by side."""
    codes = pa.array([CODES[kind] for kind in kinds], pa.int8())
    changes = beside(rows, codes, pa.array(counts, pa.int64()))
    return changes.append_column(DIFF, pa.array(diffs, pa.int64()))


def beside(rows: pa.Table, codes: pa.Array, counts: pa.Array) -> pa.Table:
    """Put rows of the view beside codes of change types and counts."""
    happened = [pa.DictionaryArray.from_arrays(codes, WORDS, safe=False), counts]
    return pa.table([*rows.columns, *happened], schema=pa.schema([*rows.schema, *HAPPENED]))


class DiffRows:
    """The rows of a view diff, and which base diff each comes from; both made when asked for."""

    def __init__(
        self, rows: Callable[[], pa.Table], diffs: Callable[[], pa.Array | pa.ChunkedArray]
    ) -> None:
        self._rows, self._diffs = rows, diffs

    @classmethod
    def of(cls, table: pa.Table) -> DiffRows:
        """Take a table that has its `_diff` already."""
        last = table.num_columns - 1
        return cls(lambda: table.select(range(last)), lambda: table.column(last))

    @cached_property
    def rows(self) -> pa.Table:
        """Return the rows."""
        return self._rows()

    @cached_property
    def table(self) -> pa.Table:
        """Return the rows with `_diff`."""
        return self.rows.append_column(DIFF, self._diffs())


Fold = Callable[[DiffRows], pa.Table]


class Forms(NamedTuple):
    """The forms of a batch's view diffs, each made when asked for; None where it cannot be."""

    rows: Callable[[], DiffRows] | None
    idiffs: Callable[[], IDiffs] | None = None
    factorised: Callable[[], Factorised] | None = None
    net: Fold | None = None  # folds rows faster than a caller could
    deltas: Callable[[], Deltas] | None = None
    folded: pa.Table | None = None  # what is left of the batch, where rows were not made


def made_of(table: Callable[[], pa.Table]) -> Callable[[], DiffRows]:
    """Return the rows of a table that is made, or refused, when it is asked for."""
    return lambda: DiffRows.of(table())


class ViewDiff:
    """The view diffs of one batch, `seq` being its number.

    >>> import pyarrow as pa
    >>> table = change_table(pa.table({"n": [7, 7]}), ["insert", "delete"], [2, 1], [0, 1])
    >>> diff = ViewDiff(Forms(made_of(lambda: table)), 1)
    >>> diff.rows()
    [('insert', (7,), 2), ('delete', (7,), 1)]
    >>> diff.net()
    [('insert', (7,), 1)]
    """

    def __init__(self, forms: Forms, seq: int) -> None:
        self.seq = seq
        self._made = forms

    def __len__(self) -> int:
        if self._forms.deltas is not None:
            return len(self._forms.deltas())
        if self._forms.folded is not None:
            return int(self._forms.folded.num_rows)
        return int(self._changes.rows.num_rows)

    def __repr__(self) -> str:
        if self._forms.deltas is not None:
            shown = f"deltas={len(self)}"
        elif self._forms.folded is not None:
            shown = f"net={len(self)}"
        else:
            shown = f"rows={len(self)}" if self._forms.rows else f"idiffs={len(self.idiffs())}"
        return f"ViewDiff(seq={self.seq}, {shown})"

    @cached_property
    def _forms(self) -> Forms:
        return self._made

    @cached_property
    def _changes(self) -> DiffRows:
        if self._forms.deltas is not None:
            raise only_deltas()
        if self._forms.folded is not None:
            raise only_folded()
        if self._forms.rows is None:
            raise DiffError(
                'this batch was applied with form="idiffs", so its rows were not made; ask'
                ' idiffs(), or apply with form="rows"'
            )
        return self._forms.rows()

    def rows(self) -> list[ViewRow]:
        """List (change type, row, count) in the order of the base diffs."""
        rows = self._changes.rows
        return listed(rows, width_of(rows))

    def net(self) -> list[ViewRow]:
        """List what is left when the whole batch is folded: inserts and deletes, a row once.

        Applied with form="net", a batch of a view that groups touches a group once.
        """
        rows = self._folded()
        return listed(rows, width_of(rows))

    def to_arrow(self, net: bool = False, *, positions: bool = False) -> pa.Table:
        """Return the rows by column, with `_change_type` and `_count`.

        With `positions` also `_seq`, the batch, and `_diff`, the base diff in it; folded rows have
        no `_diff`.
        """
        rows = self._folded() if net else self._changes.table if positions else self._changes.rows
        if positions:
            seq = pa.array(np.full(rows.num_rows, self.seq, np.int64))
            rows = rows.add_column(rows.num_columns - (not net), "_seq", seq)
        check_names("to_arrow()", rows.schema)
        return rows

    def changes(self) -> pa.Table:
        """Return what is kept: the rows as `to_arrow` has them, but for `_seq`; or deltas."""
        if self._forms.deltas is not None:
            return self._forms.deltas().table
        return self._changes.table

    def deltas(self) -> Deltas:
        """Return the changes of groups' totals: their columns, and `net()` over the batch.

        Of a view that groups, applied with form="deltas" or form="factorised".
        """
        if self._forms.deltas is None:
            raise DiffError(
                'the deltas of this batch were not made; apply it with form="deltas", or ask rows()'
            )
        return self._forms.deltas()

    def idiffs(self) -> IDiffs:
        """Return the diffs named by part of the view's key, folded over the batch.

        Applied with form="idiffs", a batch makes no rows where an i-diff says the same.
        """
        if self._forms.deltas is not None:
            raise only_deltas()
        if self._forms.folded is not None:
            raise only_folded()
        if self._forms.idiffs is None:
            raise DiffError("no i-diffs are known of this view diff; its rows say the same")
        if self._forms.rows is not None:
            check_names("idiffs()", self._changes.rows.schema)
        return self._forms.idiffs()

    def factorised(self) -> Factorised:
        """Return the changed tuples with lists of their partners.

        Applied with form="factorised"; else everything is among its rows, multiplied out already.
        Of a view that groups: its deltas, each once with the list of its groups.
        """
        if self._forms.folded is not None:
            raise only_folded()
        if self._forms.factorised is None:
            raise DiffError(
                'this batch was applied with form="idiffs"; apply it with form="factorised"'
            )
        if self._forms.rows is not None:
            check_names("factorised()", self._changes.rows.schema)
        return self._forms.factorised()

    def _folded(self) -> pa.Table:
        """Keep the first appearance of each row that has changed on balance, with that balance."""
        if self._forms.folded is not None:
            return self._forms.folded
        return fold(self._changes, self._forms.net)


def fold(changes: DiffRows, net: Fold | None) -> pa.Table:
    """Keep the first appearance of each row that has changed on balance, with that balance."""
    if net is not None:
        return net(changes)
    return consolidated(changes.rows, width_of(changes.rows))


def only_folded() -> DiffError:
    """Return the error for what a folded batch does not say."""
    return DiffError(
        'this batch was applied with form="net", so only what is left of it is known; ask net(), or'
        ' apply with form="rows"'
    )


def only_deltas() -> DiffError:
    """Return the error for what deltas do not say."""
    return DiffError(
        'of this batch only the deltas were made; ask deltas(), or apply with form="rows" on a'
        " graph with keep_groups=True"
    )


def check_names(method: str, schema: pa.Schema) -> None:
    """Refuse columns of which two have one name, as those of a view of before may."""
    names = schema.names
    if len(set(names)) < len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        raise DiffError(
            f"{method} would have two columns called {', '.join(map(quoted, twice))}: the view's,"
            " and what view diffs say beside it; ask rows() or net(), or rename the view's with"
            " graph.rebuild(View('SELECT ... AS ...', tables))"
        )


def consolidated(changes: pa.Table, width: int) -> pa.Table:
    """Consolidate a view diff over the whole batch, in the order of the rows' first appearances."""
    found = consolidate(changes.select(range(width)), signed_counts(changes, width))
    return left_over(changes, width, found.at, found.counts)


def signed_counts(changes: pa.Table, width: int) -> Numbers:
    """Return how often each row came, below zero for one that went."""
    changed, counts = changes.column(width).combine_chunks(), changes.column(width + 1)
    signs = np.array([SIGNS[word] for word in changed.dictionary.to_pylist()], np.int64)
    by: Numbers = signs[changed.indices.to_numpy()] * counts.to_numpy()
    return by


def left_over(changes: pa.Table, width: int, first: Numbers, balance: Numbers) -> pa.Table:
    """Keep some rows of a view diff, each with its balance."""
    codes = np.where(balance > 0, CODES["insert"], CODES["delete"]).astype(np.int8)
    rows = changes.select(range(width))
    rows = rows if len(first) == len(rows) else take_rows(rows, first)
    return beside(rows, pa.array(codes), pa.array(np.abs(balance)))


def word_rows(table: pa.Table, width: int) -> Iterable[tuple[Word, ...]]:
    """Return the view's rows as words, by which they are told apart."""
    columns = [words_of(column) for column in table.columns[:width]]
    return zip(*columns, strict=True)


def width_of(rows: pa.Table) -> int:
    """Return how many columns are the view's, of rows and what happened to each."""
    return int(rows.num_columns) - len(HAPPENED)


def listed(table: pa.Table, width: int) -> list[ViewRow]:
    """List the rows of a view diff as Python values."""
    columns = [python_values(column) for column in table.columns[:width]]
    # By place: a view of before may have columns of these names.
    kinds, counts = (table.column(at).to_pylist() for at in (width, width + 1))
    return list(zip(kinds, zip(*columns, strict=True), counts, strict=True))
