"""What the consumer of view rows does in a benchmark: read every value, add it to a checksum.

    checksum = sum over rows of multiplicity * (1*c1 + 2*c2 + ... + k*ck)  mod 2^64

Columns whose names begin with an underscore are not the view's: _change_type gives the sign,
_count the multiplicity. Sums in int64 wrap around, which is arithmetic mod 2^64.
"""

from __future__ import annotations

from functools import reduce
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Rows: TypeAlias = pa.Table | pa.RecordBatch
REMOVALS = ("delete", "update_preimage")


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
    counts = _multiplicities(rows)
    total = 0
    for weight, name in enumerate(names, start=1):
        values = _int64(rows.column(name))
        total += weight * int(values.sum() if counts is None else np.dot(values, counts))
    tuples = rows.num_rows if counts is None else int(np.abs(counts).sum())
    return Tally(tuples, total % 2**64)


def _multiplicities(rows: Rows) -> npt.NDArray[np.int64] | None:
    """Give each row its signed count, or None where every row is one insert."""
    names = rows.schema.names
    factors: list[npt.NDArray[np.int64]] = []
    if "_count" in names:
        factors.append(_int64(rows.column("_count")))
    if "_change_type" in names:
        factors.append(_signs(rows.column("_change_type")))
    # Multiplying every value by one would make the consumer slower than the producer.
    factors = [each for each in factors if len(each) and not np.all(each == 1)]
    return None if not factors else np.broadcast_to(reduce(np.multiply, factors), rows.num_rows)


def _signs(column: pa.Array | pa.ChunkedArray) -> npt.NDArray[np.int64]:
    """Turn change types into +1 and -1."""
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    encoded = whole.dictionary_encode()
    words = encoded.dictionary.to_pylist()
    signs = np.array([-1 if word in REMOVALS else 1 for word in words], np.int64)
    codes = _int64(encoded.indices)
    if len(codes) and np.all(codes == codes[0]):  # a constant needs no array of its own
        return signs[codes[:1]]
    taken: npt.NDArray[np.int64] = signs[codes]
    return taken


def _int64(column: pa.Array | pa.ChunkedArray) -> npt.NDArray[np.int64]:
    values: npt.NDArray[np.int64] = column.to_numpy(zero_copy_only=False)
    return values
