"""Rows of Python values -> rows of words, by a plan for each signature of Python types.

    (7, "ann", None)    int, str, NoneType    ->    | ... | 0b100 | 7 | 0 << 32 | 3 | 0 |
                                                            NULLs        text: offset << 32 | length

A plan knows which values need converting and writes a row with one `pack_into`. It words no error:
what it does not take, to_table reads, and takes or refuses by name. A value is converted twice: to
what conditions are computed of (a number, a float, a text), and from there to its word.
"""

from __future__ import annotations

import datetime as dt
import struct
from collections.abc import Callable, Sequence
from decimal import Context, Decimal
from functools import partial
from math import isnan
from typing import Any, NamedTuple, TypeAlias

import pyarrow as pa

from joingraph.expressions.row_values import EPOCH, EPOCH_DAY, EPOCH_UTC, MICROSECOND
from joingraph.expressions.types import INTEGERS, words_of
from joingraph.tables.table import Table

NULLS_MAX = 60  # words of a row whose NULLs one word can mark
PLANS_MAX = 256  # of one table: then they are made anew
META_WORDS = 2  # a row's first words: what its reader notes there, and its NULLs

NONE = type(None)
DIGITS_MAX = 40  # of a number before the point: a decimal has fewer
EXACT = Context(prec=100)
WORD, DOUBLE = struct.Struct("<q"), struct.Struct("<d")
HALF, SINGLE = struct.Struct("<i"), struct.Struct("<f")
NAN = WORD.unpack(DOUBLE.pack(float("nan")))[0]
SINGLE_NAN = HALF.unpack(SINGLE.pack(float("nan")))[0]
BEYOND = 1 << 63
# What a plan refuses a row with: to_table reads it again.
UNFIT = (struct.error, ValueError, ArithmeticError)

Convert: TypeAlias = Callable[[Any], Any]
Convert_at: TypeAlias = tuple[tuple[int, Convert], ...]


class UnfitError(ValueError):
    """A value, or a row, that no plan takes."""


class Plan(NamedTuple):
    """How rows of one signature are written."""

    nulls: int
    readers: Convert_at  # place, and what conditions take of it
    writers: Convert_at  # place, and the word of that
    pack: Callable[..., None]


class Texts:
    """The texts of a batch, one after the other; a part has one text, or a column's."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.size = self.more = 0  # bytes; texts that there are besides one a part

    @property
    def count(self) -> int:
        """How many texts there are at the most."""
        return len(self.parts) + self.more

    def enter(self, value: str) -> int:
        """Return the word of a text; one that lies too far off is refused as its row is packed."""
        data, at = value.encode(), self.size
        self.parts.append(data)
        self.size = at + len(data)
        return at << 32 | len(data)

    def enter_bytes(self, data: bytes) -> int:
        """Return the word of bytes."""
        at = self.size
        self.parts.append(data)
        self.size = at + len(data)
        return at << 32 | len(data)

    def enter_column(self, data: bytes, count: int) -> None:
        """Add so many texts that lie one after the other."""
        self.enter_bytes(data)
        self.more += count


class RowWords:
    """How the rows of one base table become words; more may be written behind them."""

    def __init__(self, table: Table, texts: Texts) -> None:
        self.types = list(table.schema.types)
        self.required, self.texts = frozenset(table.required), texts
        self.firsts = places_of(self.types)
        self.words = self.firsts.pop()
        self.plans: dict[tuple[type, ...], Plan] = {}

    def settle(self, kinds: tuple[type, ...]) -> Plan:
        """Settle how rows of such Python types are written, or refuse them."""
        if len(kinds) != len(self.types):
            raise UnfitError
        nulls, readers, writers = 0, list[tuple[int, Convert]](), list[tuple[int, Convert]]()
        is_spread = False
        for at, (kind, wanted) in enumerate(zip(kinds, self.types, strict=True)):
            is_wide = words_of(wanted) == 2
            is_spread |= is_wide
            if kind is NONE:
                if at in self.required:
                    raise UnfitError
                nulls |= (3 if is_wide else 1) << self.firsts[at]
                writers.append((at, two_zeros if is_wide else zero))
                continue
            read, write = self.converters(kind, wanted)
            readers += [(at, read)] if read else []
            writers += [(at, write)] if write else []
        pack = struct.Struct(f"<{META_WORDS + self.words}q").pack_into
        if len(self.plans) >= PLANS_MAX:
            self.plans.clear()
        found = Plan(
            nulls, tuple(readers), tuple(writers), partial(spread, pack) if is_spread else pack
        )
        self.plans[kinds] = found
        return found

    def converters(self, kind: type, wanted: pa.DataType) -> tuple[Convert | None, Convert | None]:
        """Return what a value of a Python type is read and written by; None: as it is."""
        if kind not in KINDS[wanted.id]:
            raise UnfitError
        return reader(kind, wanted), word_writer(wanted, self.texts)


def word_writer(kind: pa.DataType, texts: Texts) -> Convert | None:
    """Return what makes the word, or two, of a value as conditions take it; None: it is one."""
    types = pa.types
    if kind in INTEGERS:
        return integer_writer(kind)
    if types.is_string(kind):
        return texts.enter
    if types.is_binary(kind):
        return texts.enter_bytes
    if types.is_floating(kind):
        return single_word if types.is_float32(kind) else double_word
    return two_words if words_of(kind) == 2 else None


KINDS: dict[int, tuple[type, ...]] = {
    **{each.id: (int,) for each in INTEGERS},
    pa.bool_().id: (bool,),
    pa.float32().id: (float, int),
    pa.float64().id: (float, int),
    pa.decimal128(1).id: (Decimal, int),
    pa.string().id: (str,),
    pa.binary().id: (bytes,),
    pa.date32().id: (dt.date,),
    pa.timestamp("us").id: (dt.datetime,),
}


def reader(kind: type, wanted: pa.DataType) -> Convert | None:
    """Return what reads a value of a Python type as one of a column's; None: it is one."""
    types = pa.types
    if types.is_decimal(wanted):
        return decimal_reader(wanted)
    if types.is_float32(wanted):
        return single_of_int if kind is int else single
    if types.is_float64(wanted):
        return exact_float if kind is int else None
    if types.is_timestamp(wanted):
        return naive_moment if wanted.tz is None else aware_moment
    return day if types.is_date(wanted) else None


def places_of(types: Sequence[pa.DataType]) -> list[int]:
    """Return where the words of each column begin, and where the last one's end."""
    found = [0]
    for each in types:
        found.append(found[-1] + words_of(each))
    return found


def spread(pack: Callable[..., None], area: Any, at: int, *values: Any) -> None:
    """Write a row some of whose values are two words."""
    words: list[int] = []
    for value in values:
        if type(value) is tuple:
            words += value
        else:
            words.append(value)
    pack(area, at, *words)


def zero(value: object) -> int:
    """Return the word that lies at a NULL."""
    return 0


def two_zeros(value: object) -> tuple[int, int]:
    """Return the words that lie at a NULL of two."""
    return 0, 0


def integer_writer(wanted: pa.DataType) -> Convert | None:
    """Return what refuses an integer that is none of a type; packing refuses beyond 64 bits."""
    if wanted == pa.int64():
        return None
    bits = wanted.bit_width - pa.types.is_signed_integer(wanted)
    low = -(1 << bits) if pa.types.is_signed_integer(wanted) else 0
    return partial(unsigned if bits == 64 else ranged, low, (1 << bits) - 1)


def ranged(low: int, high: int, value: int) -> int:
    """Return a number that lies between two."""
    if low <= value <= high:
        return value
    raise UnfitError


def unsigned(low: int, high: int, value: int) -> int:
    """Return the bits of an unsigned number."""
    return (ranged(low, high, value) ^ BEYOND) - BEYOND


def decimal_reader(wanted: pa.DataType) -> Convert:
    """Return what reads a decimal as a whole number of its last place, if it has no more."""
    return partial(unscaled, wanted.scale, 10**wanted.precision)


def unscaled(scale: int, beyond: int, value: Decimal | int) -> int:
    """Return a decimal, or an integer, as a whole number of its last place."""
    exact = Decimal(value)
    if exact.is_finite() and exact.adjusted() > DIGITS_MAX:
        raise UnfitError  # before all its digits are written out
    scaled = exact.scaleb(scale, EXACT)
    found = int(scaled)
    if found != scaled or not -beyond < found < beyond:
        raise UnfitError
    return found


def two_words(value: int) -> tuple[int, int]:
    """Return the low and the high word of a number."""
    return ((value & (2 * BEYOND - 1)) ^ BEYOND) - BEYOND, value >> 64


def exact_float(value: int) -> float:
    """Return an integer as a float that equals it."""
    found = float(value)
    if found == value:
        return found
    raise UnfitError


def single(value: float) -> float:
    """Round to 32 bits; what becomes infinite by that is refused."""
    found: float = SINGLE.unpack(SINGLE.pack(value))[0]
    return found


def single_of_int(value: int) -> float:
    """Return an integer as a float of 32 bits that equals it."""
    found = single(value)
    if found == value:
        return found
    raise UnfitError


def double_word(value: float) -> int:
    """Return the bits of a float; all NaNs are one."""
    return NAN if isnan(value) else int(WORD.unpack(DOUBLE.pack(value))[0])


def single_word(value: float) -> int:
    """Return the bits of a float of 32 bits."""
    return SINGLE_NAN if isnan(value) else int(HALF.unpack(SINGLE.pack(value))[0])


def day(value: dt.date) -> int:
    """Return a date as days since 1970."""
    return value.toordinal() - EPOCH_DAY


def naive_moment(value: dt.datetime) -> int:
    """Return a time without a zone as microseconds since 1970."""
    if value.tzinfo is not None:
        raise UnfitError
    return (value - EPOCH) // MICROSECOND


def aware_moment(value: dt.datetime) -> int:
    """Return a time in a zone as microseconds since 1970 in UTC."""
    if value.tzinfo is None:
        raise UnfitError
    return (value - EPOCH_UTC) // MICROSECOND
