"""Arrow columns to words and back: in the graph, equal words are the same value.

    bool -> bool    ints -> int    decimal -> Decimal    string -> str    binary -> bytes
    float, double -> the int of its bits (so that -0.0 and 0.0 stay two values)
    date -> days since 1970    timestamp -> microseconds since 1970    NULL -> None

In a key -0.0 and every NaN are one value each first (`normal`), as joins want it.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

from joingraph.expressions.texts import Column, is_text, narrowed, whole

Word = bool | int | Decimal | str | bytes | None

FLOATS = {pa.float32().id, pa.float64().id}
BITS = {pa.float32(): pa.int32(), pa.float64(): pa.int64(), pa.date32(): pa.int32()}


def bits_of(kind: pa.DataType) -> pa.DataType | None:
    """Name the integer type by whose bits a type's values are known; None: by themselves."""
    return pa.int64() if pa.types.is_timestamp(kind) else BITS.get(kind)


def to_words(column: pa.Array) -> list[Word]:
    """Turn a column into words; all NaNs are one, -0.0 and 0.0 are two; a list is its text."""
    if pa.types.is_nested(column.type):
        return [None if each is None else repr(each) for each in column.to_pylist()]
    if pa.types.is_floating(column.type):
        nan = pa.scalar(float("nan"), column.type)
        column = pc.if_else(pc.is_nan(column), nan, column)
    bits = bits_of(column.type)
    words: list[Word] = (column if bits is None else column.view(bits)).to_pylist()
    return words


def words_of(column: pa.ChunkedArray) -> list[Word]:
    """Turn a column of several chunks into words."""
    return [word for chunk in column.chunks for word in to_words(chunk)]


def from_words(words: Sequence[Word], kind: pa.DataType) -> pa.Array:
    """Turn words back into an array of the type they came from, a wide one if texts need that."""
    bits = bits_of(kind)
    return whole(pa.array(words, kind)) if bits is None else pa.array(words, bits).view(kind)


def column_of(words: Sequence[Word], kind: pa.DataType) -> Column:
    """Turn words back into a column of the type they came from, in as many chunks as it takes."""
    return narrowed(pa.array(words, kind), kind) if is_text(kind) else from_words(words, kind)


def normal(column: pa.Array) -> pa.Array:
    """Make -0.0 into 0.0, since a join holds them equal."""
    if column.type.id not in FLOATS:
        return column
    return pc.add(column, pa.scalar(0.0, column.type))
