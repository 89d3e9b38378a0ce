"""MEDIAN, PERCENTILE_CONT and PERCENTILE_DISC by their names in each dialect; NULL is left out.

    1, 2, 3, 10 and q = 0.5     DISC: the 2nd value, 2      CONT: half way to the 3rd, 2.5

A discrete place is q * n rounded up: by the decimal digits of q in DuckDB (0.07 of 100 values is
the 7th), in doubles elsewhere (the 8th). Between two values lies the exact number, rounded once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Final, NamedTuple

import pyarrow as pa

from joingraph.aggregates.bag import Counted, Ordered
from joingraph.aggregates.contract import NOT_SQLITE, Asked, Entry, Refused, Row, refused_type
from joingraph.aggregates.exact import (
    fitted,
    integer_of,
    narrow_quotient,
    quotient,
    scale_of,
    timestamp_of,
)
from joingraph.expressions.functions.decimals import nearest, whole_quotient
from joingraph.expressions.order import DAY_MICROSECONDS
from joingraph.expressions.tree import Value
from joingraph.expressions.types import FLOATS, TIMESTAMP, is_number

HALF: Final = Fraction(1, 2)
WORD_DIGITS: Final = 18  # of a decimal in DuckDB's 64 bits


class Places(NamedTuple):
    """Which of n values in order decide: so many from (top * (n + more) + less) // bottom on.

    Places before the first value are its, and those behind the last one that one's.
    """

    top: int
    bottom: int
    more: int
    less: int
    values: int

    def first(self, size: int) -> int:
        """Return the first place."""
        return (self.top * (size + self.more) + self.less) // self.bottom

    def rows(self, size: int, rows: Sequence[Row]) -> list[tuple[Row, int]]:
        """Return a bag of so many rows, of which the ones in these places decide."""
        found, before = list[tuple[Row, int]](), 0
        for at, row in enumerate(rows, self.first(size)):
            end = min(max(at, 0), size - 1) + 1
            found.append((row, end - before))
            before = end
        return [*found[:-1], (found[-1][0], found[-1][1] + size - before)] if size else []


def places_of(asked: Asked) -> Places | None:
    """Return the places that decide an aggregate of this file; None: it is of another one."""
    if asked.name not in AGGREGATES:
        return None
    share = _share(asked) if asked.constants else HALF
    top, bottom = share.numerator, share.denominator
    make = AGGREGATES[asked.name].make
    if make is continuous or (make is median and not _is_lower(asked)):
        return Places(top, bottom, -1, 0, 2)
    if asked.dialect == "duckdb":
        return Places(top, bottom, 0, -1, 1)
    return Places(top, bottom, 0, -1 - bottom, 3)  # a product of doubles may be on either side


def continuous(asked: Asked) -> Ordered:
    """Return PERCENTILE_CONT."""
    return _continuous(asked, _share(asked))


def discrete(asked: Asked) -> Ordered:
    """Return PERCENTILE_DISC, in Spark a DOUBLE."""
    return _discrete(asked, _share(asked))


def median(asked: Asked) -> Ordered:
    """Return MEDIAN; in DuckDB of what has no middle the lower of two values."""
    return _discrete(asked, HALF) if _is_lower(asked) else _continuous(asked, HALF)


def _is_lower(asked: Asked) -> bool:
    """True if a median is the lower of two values, as nothing lies between."""
    is_between = is_number(asked.types[0]) or _is_time(asked.types[0])
    return asked.dialect == "duckdb" and not is_between


def _share(asked: Asked) -> Fraction:
    """Return q by its decimal digits."""
    q = asked.constants[0]
    if isinstance(q, int | float | Decimal) and 0 <= q <= 1:
        return Fraction(str(q)) if isinstance(q, float) else Fraction(q)
    instead = "write one number; ORDER BY ... DESC counts from the other end"
    raise Refused(asked.name, f"{q!r} is not a number from 0 to 1", instead)


def _is_time(type: pa.DataType) -> bool:
    return bool(pa.types.is_date(type) or pa.types.is_timestamp(type))


def _discrete(asked: Asked, share: Fraction) -> Ordered:
    type, is_spark = asked.types[0], asked.dialect == "spark"
    if is_spark and not is_number(type):
        raise refused_type(asked, "CAST the argument to DOUBLE")
    result = pa.float64() if is_spark else type
    scale = scale_of(type)

    def finish(rows: Counted) -> Value:
        size = sum(count for _, count in rows)
        place = share * size if asked.dialect == "duckdb" else float(share) * size
        value = _value_at(rows, max(math.ceil(place), 1) - 1) if size else None
        if value is None or isinstance(value, float) or not is_spark:
            return value
        return quotient(integer_of(value, type), scale)

    return Ordered(result, asked.types, asked.order, finish)


def _value_at(rows: Counted, place: int) -> Value:
    for row, count in rows:
        if place < count:
            return row[0]
        place -= count
    raise AssertionError("the place lies within the bag")


def _continuous(asked: Asked, share: Fraction) -> Ordered:
    middle = _Middle(asked)

    def finish(rows: Counted) -> Value:
        size = sum(count for _, count in rows)
        if not size:
            return None
        low, part = divmod(share * (size - 1), 1)
        below = _value_at(rows, low)
        return middle.of(below, _value_at(rows, low + 1) if part else below, part)

    return Ordered(middle.type, asked.types, asked.order, finish)


class _Middle:
    """Says what lies between two values of a type, and of which type that is."""

    def __init__(self, asked: Asked) -> None:
        self.given, self.dialect = asked.types[0], asked.dialect
        is_duck = asked.dialect == "duckdb"
        if not is_number(self.given) and not (is_duck and _is_time(self.given)):
            raise refused_type(asked, "CAST the argument to DOUBLE")
        if pa.types.is_date(self.given):
            self.type: pa.DataType = TIMESTAMP
        elif is_duck and (_is_time(self.given) or not _becomes_double(self.given)):
            self.type = self.given
        else:
            self.type = pa.float64()

    def of(self, below: Value, above: Value, part: Fraction) -> Value:
        """Return what lies so far from one to the other."""
        if isinstance(below, float) and isinstance(above, float):
            special = self._special(below, above, float(part))
            if special is not None:
                return special
        low, high = integer_of(below, self.given), integer_of(above, self.given)
        found = low + (high - low) * part
        if pa.types.is_decimal(self.type):
            return fitted(self._cut(low, found), self.type)
        top, bottom = found.numerator, found.denominator
        if pa.types.is_timestamp(self.type):
            up = DAY_MICROSECONDS if pa.types.is_date(self.given) else 1
            return timestamp_of(nearest(top * up, bottom), self.type)
        divide = narrow_quotient if self.type == pa.float32() else quotient
        return divide(top, bottom * scale_of(self.given))

    def _special(self, below: float, above: float, part: float) -> float | None:
        if math.isfinite(below) and math.isfinite(above):
            return None
        if not part:
            return below
        found = below * (1 - part) + above * part
        if self.dialect == "postgres":
            found = below + part * (above - below)
        return math.nan if math.isnan(found) else found

    def _cut(self, low: int, found: Fraction) -> int:
        """Cut a decimal as DuckDB does: a long one after the part is taken."""
        start = low if self.given.precision > WORD_DIGITS else 0
        rest = found - start
        return start + whole_quotient(rest.numerator, rest.denominator)


def _becomes_double(type: pa.DataType) -> bool:
    return type not in FLOATS and not pa.types.is_decimal(type)


_BY_SHARE = ("duckdb",)
AGGREGATES = {
    "MEDIAN": Entry(median, ("spark", "duckdb")),
    "PERCENTILE_CONT": Entry(continuous, NOT_SQLITE, constants=(1, 1), is_ordered=True),
    "PERCENTILE_DISC": Entry(discrete, NOT_SQLITE, constants=(1, 1), is_ordered=True),
    "PERCENTILE": Entry(continuous, ("spark",), constants=(1, 1)),
    "QUANTILE": Entry(discrete, _BY_SHARE, constants=(1, 1)),
    "QUANTILE_CONT": Entry(continuous, _BY_SHARE, constants=(1, 1)),
    "QUANTILE_DISC": Entry(discrete, _BY_SHARE, constants=(1, 1)),
}
