"""Columns of words -> columns of values: for conditions (expressions/row_values.py), and for rows.

    read(words, texts)                  of words none of which is NULL
    with_nulls(words, texts, read)      of any

A text's word is offset << 32 | length in `texts`.
"""

from __future__ import annotations

import datetime as dt
from array import array
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from functools import partial
from typing import Any, TypeAlias

import pyarrow as pa

from joingraph.expressions.python_values import UNHOLDABLE
from joingraph.expressions.row_values import EPOCH, EPOCH_DAY, EPOCH_UTC
from joingraph.expressions.types import INTEGERS
from joingraph.graph.compiled.fields import NULL_WORD
from joingraph.tables.row_words import EXACT

LOW = (1 << 32) - 1
Reader: TypeAlias = Callable[[Sequence[int], bytes], Iterable[Any]]


def with_nulls(words: Sequence[int], texts: bytes, reader: Reader) -> list[Any]:
    """Read words some of which are NULL."""
    full = [word for word in words if word != NULL_WORD]
    values = iter(reader(full, texts) if full else ())
    return [None if word == NULL_WORD else next(values) for word in words]


def as_it_is(words: Sequence[int], texts: bytes) -> Sequence[int]:
    """Return numbers."""
    return words


def same_bits(held: str, wanted: str, words: Sequence[int], texts: bytes) -> list[Any]:
    """Return numbers of another type that have the same bits; types are named as by `array`."""
    return array(wanted, array(held, words).tobytes()).tolist()


def flags(words: Sequence[int], texts: bytes) -> Iterable[bool]:
    """Return booleans."""
    return map(bool, words)


def strings(words: Sequence[int], texts: bytes) -> list[str]:
    """Return texts, equal ones once: mostly all are those of one base row."""
    first, count = words[0], len(words)
    if words.count(first) == count:
        return [texts[first >> 32 : (first >> 32) + (first & LOW)].decode()] * count
    some = set(words)
    found = {word: texts[word >> 32 : (word >> 32) + (word & LOW)].decode() for word in some}
    return [found[word] for word in words]


def binaries(words: Sequence[int], texts: bytes) -> list[bytes]:
    """Return runs of bytes."""
    return [texts[word >> 32 : (word >> 32) + (word & LOW)] for word in words]


def decimals(scale: int, words: Sequence[int], texts: bytes) -> Iterable[Decimal]:
    """Return decimals of whole numbers of their last place."""
    return [Decimal(word).scaleb(scale, EXACT) for word in words]


def dates(words: Sequence[int], texts: bytes) -> list[dt.date]:
    """Return dates of days since 1970."""
    return [dt.date.fromordinal(word + EPOCH_DAY) for word in words]


def moments(words: Sequence[int], texts: bytes) -> list[dt.datetime]:
    """Return times of microseconds since 1970."""
    return [EPOCH + dt.timedelta(microseconds=word) for word in words]


def zoned(kind: pa.DataType) -> Reader | None:
    """Return what makes times in a zone of microseconds since 1970 in UTC."""
    try:
        zone = pa.scalar(0, kind).as_py().tzinfo
    except UNHOLDABLE:  # a zone that Python does not know
        return None

    def moments_there(words: Sequence[int], texts: bytes) -> list[dt.datetime]:
        return [(EPOCH_UTC + dt.timedelta(microseconds=word)).astimezone(zone) for word in words]

    return moments_there


def python_reader(kind: pa.DataType) -> Reader | None:
    """Return what reads values as rows of the view hold them; None: Arrow does."""
    if pa.types.is_decimal(kind):
        return partial(decimals, -kind.scale)
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        return zoned(kind)
    return READERS.get(kind)


# What conditions take of a type, where that is not each word as it is.
VALUE_READERS: dict[pa.DataType, Reader] = {
    pa.uint64(): partial(same_bits, "q", "Q"),
    pa.float64(): partial(same_bits, "q", "d"),
    pa.float32(): partial(same_bits, "i", "f"),
    pa.bool_(): flags,
}
READERS: dict[pa.DataType, Reader] = {
    **dict.fromkeys(INTEGERS, as_it_is),
    **VALUE_READERS,
    pa.string(): strings,
    pa.binary(): binaries,
    pa.date32(): dates,
    pa.timestamp("us"): moments,
}
