"""What the consumer of view rows does in a benchmark: read every value, add it to a checksum.

    checksum = sum over rows of multiplicity * (1*c1 + 2*c2 + ... + k*ck)  mod 2^64

Columns whose names begin with an underscore are not the view's: _change_type gives the sign,
_count the multiplicity. Sums in int64 wrap around, which is arithmetic mod 2^64.

A view that groups has a row for each group that a diff changes, without a sign; a state that is
not there is 0:

    c1 .. ck = group words, state before, state after
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from joingraph.graph.compiled.fields import NULL_WORD

Rows: TypeAlias = pa.Table | pa.RecordBatch
Numbers = npt.NDArray[np.int64]
ONE: Numbers = np.ones(1, np.int64)
PRE_IMAGE = "update_preimage"
REMOVALS = ("delete", PRE_IMAGE)


class Tally(NamedTuple):
    """What came out so far: how many rows, repeated ones counted, and their checksum."""

    tuples: int = 0
    checksum: int = 0

    def __add__(self, other: object) -> Tally:
        """Put two parts of one output together."""
        if not isinstance(other, Tally):
            return NotImplemented
        total = self.checksum + other.checksum
        return Tally(self.tuples + other.tuples, total % 2**64)


def tally(rows: Rows) -> Tally:
    """Read all values of view rows, where they lie: what comes in parts is read part by part."""
    if isinstance(rows, pa.Table):
        return sum((tally(part) for part in rows.to_batches()), Tally())
    names = [name for name in rows.schema.names if not name.startswith("_")]
    counts, total = _multiplicities(rows), 0
    for weight, name in enumerate(names, start=1):
        total += weight * _weighed(_int64(rows.column(name)), counts)
    tuples = rows.num_rows * abs(int(counts[0])) if len(counts) == 1 else int(np.abs(counts).sum())
    return Tally(tuples, total % 2**64)


def tally_groups(rows: Rows, keys: int) -> Tally:
    """Read all values of view diffs of groups, whose first `keys` columns name the group.

    A pair is one changed group: its words count with the post-image alone.
    """
    if isinstance(rows, pa.Table):
        return sum((tally_groups(part, keys) for part in rows.to_batches()), Tally())
    names = _by_word(rows.column("_change_type"), lambda word: word != PRE_IMAGE)
    is_after = _by_word(rows.column("_change_type"), lambda word: word not in REMOVALS)
    return _tally_images(rows, keys, names, is_after)


def tally_folded_groups(rows: pa.Table, keys: int) -> Tally:
    """Do the same where a batch was folded: a group is deleted and inserted, but not as a pair.

    Its two rows mostly lie side by side; those of which they do not are looked for.
    """
    if not len(rows):
        return Tally()
    [batch] = rows.combine_chunks().to_batches()
    is_after = _by_word(batch.column("_change_type"), lambda word: word not in REMOVALS)
    groups, is_pair = [_int64(column) for column in batch.columns[:keys]], np.zeros(len(rows), bool)
    alike = np.logical_and.reduce([each[1:] == each[:-1] for each in groups])
    is_pair[1:] |= alike
    is_pair[:-1] |= alike
    rest = np.flatnonzero(~is_pair)
    if len(rest):
        numbers = _numbered([each[rest] for each in groups])
        is_pair[rest] = np.isin(numbers, numbers[is_after[rest] == 1])
    return _tally_images(batch, keys, np.where(is_pair, is_after, 1), is_after)


def _tally_images(rows: pa.RecordBatch, keys: int, names: Numbers, is_after: Numbers) -> Tally:
    """Read images before and after; `names` is 1 where the words of a group count."""
    columns = [rows.column(name) for name in rows.schema.names if not name.startswith("_")]
    total, states = 0, len(columns) - keys
    for weight, column in enumerate(map(_int64, columns), start=1):
        if weight <= keys:
            total += weight * int(np.dot(column, names))
        else:
            total += weight * int(column.sum()) + states * int(np.dot(column, is_after))
    return Tally(int(names.sum()), total % 2**64)


def _numbered(columns: Sequence[Numbers]) -> Numbers:
    """Return one number for each row, the same where all columns are."""
    numbers = columns[0]
    for column in columns[1:]:
        above, below = (np.unique(each, return_inverse=True)[1] for each in (numbers, column))
        numbers = above * len(column) + below
    return numbers


def _by_word(column: pa.Array, is_so: Callable[[str], bool]) -> Numbers:
    """Return 1 for each text of which something holds, else 0; ask once for each different one."""
    encoded = column.dictionary_encode()
    found = np.array([is_so(word) for word in encoded.dictionary.to_pylist()], np.int64)
    of_rows: Numbers = found[encoded.indices.to_numpy()]
    return of_rows


def _weighed(values: Numbers, counts: Numbers) -> int:
    """Sum values, each as often as it counts; one count is that of all."""
    if len(counts) == 1:
        return int(values.sum()) * int(counts[0])
    return int(np.dot(values, counts))


def _multiplicities(rows: pa.RecordBatch) -> Numbers:
    """Return the signed count of each row, or one for all of them."""
    names = rows.schema.names
    found = ONE
    if "_count" in names:
        found = _short(_int64(rows.column("_count")))
    if "_change_type" in names:
        signs = _signs(rows.column("_change_type"))
        found = signs if found is ONE else found * signs
    return found


def _short(numbers: Numbers) -> Numbers:
    """Return one for all, where all are alike: an array of its own would cost more than it says."""
    is_constant = len(numbers) > 0 and numbers.min() == numbers.max()
    return numbers[:1] if is_constant else numbers


def _signs(column: pa.Array) -> Numbers:
    """Turn change types into +1 and -1."""
    encoded = column.dictionary_encode()
    words = encoded.dictionary.to_pylist()
    signs = np.array([-1 if word in REMOVALS else 1 for word in words], np.int64)
    codes = _short(encoded.indices.to_numpy())
    return signs[codes] if len(codes) else ONE


def _int64(column: pa.Array) -> Numbers:
    """Return a column's values; a NULL counts as the word that stands for it in compiled rows."""
    if column.null_count:
        column = column.cast(pa.int64()).fill_null(NULL_WORD)
    values: Numbers = column.to_numpy(zero_copy_only=False)
    return values
