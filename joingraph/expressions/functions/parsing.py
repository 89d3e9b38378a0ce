"""Text to values: plain forms only, so that no dialect disagrees about what they mean.

integer    [+-]digits              decimal   [+-]digits[.digits]
float      the same, with e[+-]digits; NaN, Infinity
date       YYYY-MM-DD              timestamp YYYY-MM-DD[ T]HH:MM:SS[.ffffff]
boolean    true, false             (spaces around are dropped)
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Final

import numpy as np
import pyarrow as pa

from joingraph.expressions.functions.arrow import pc
from joingraph.expressions.functions.by_row import Plain
from joingraph.expressions.functions.decimals import fit
from joingraph.expressions.row_values import RowValue, bounds, reader_of
from joingraph.expressions.types import FLOATS, INTEGERS

INTEGER: Final = r"[+-]?[0-9]+"
NUMBER: Final = r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)"
FLOAT: Final = r"(?i)[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)(e[+-]?[0-9]+)?|nan|[+-]?inf(inity)?"
PREFIX: Final = r"^[ \t\n\v\f\r]*(?P<digits>[+-]?[0-9]+)"
DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
TIMESTAMP: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?"
    r"(Z|[+-][0-9]{2}:[0-9]{2})?"
)

_CONTROLS: Final = "".join(map(chr, range(33))) + "\x7f"
_WORDS: Final = frozenset(
    [
        "t",
        "f",
        "y",
        "n",
        "yes",
        "no",
        "on",
        "off",
        "true",
        "false",
        "nan",
        "inf",
        "+inf",
        "-inf",
        "infinity",
        "+infinity",
        "-infinity",
        "epoch",
        "today",
        "tomorrow",
        "yesterday",
        "now",
    ]
)

DIGITS_MAX = 20  # of an integer type
BEYOND = 10**DIGITS_MAX

Value = int | float | Decimal | bool | dt.date | dt.datetime


def parse(texts: pa.Array, type: pa.DataType) -> tuple[pa.Array, pa.Array]:
    """Read a column of texts; the second answer tells the rows that are not of the plain form."""
    trimmed = pc.utf8_trim(texts, characters=" ")
    read = _reader(type)
    found: dict[str, Value | None] = {}
    answers: list[Value | None] = []
    bad: list[bool] = []
    for text in trimmed.to_pylist():
        if text is not None and text not in found:
            found[text] = read(text)
        answers.append(None if text is None else found[text])
        bad.append(text is not None and answers[-1] is None)
    return pa.array(answers, type), pa.array(bad, pa.bool_())


def is_doubtful(text: str, type: pa.DataType) -> bool:
    """Tell a text of no plain form that some dialect may read all the same: 1e3, yes, 2024-3-1."""
    plain = text.strip(_CONTROLS)
    if type in INTEGERS and re.fullmatch(INTEGER, plain):
        return plain != text.strip(" ")  # else it is out of range
    return any(letter.isdigit() for letter in plain) or plain.lower() in _WORDS


def trim_controls(texts: pa.Array) -> pa.Array:
    """Drop spaces and control characters around each text."""
    return pc.utf8_trim(texts, characters=_CONTROLS)


def read_date(text: str) -> dt.date | None:
    """Read YYYY-MM-DD; None for any other text."""
    if not DATE.fullmatch(text):
        return None
    try:
        return dt.date.fromisoformat(text)
    except ValueError:
        return None


def read_timestamp(text: str) -> dt.datetime | None:
    """Read a date, or a date and a time of day, with or without an offset; None for other texts."""
    day = read_date(text)
    if day is not None:
        return dt.datetime(day.year, day.month, day.day)
    if not TIMESTAMP.fullmatch(text):
        return None
    try:
        return dt.datetime.fromisoformat(text)
    except ValueError:
        return None


def read_prefix(texts: pa.Array, type: pa.DataType) -> pa.Array:
    """Read the integer that each text begins with, 0 for none, held at the limits of the type."""
    digits = pc.extract_regex(texts, PREFIX)
    found = pc.struct_field(digits, [0]).to_pylist()
    info = np.iinfo(str(type))
    numbers = [min(max(whole_number(each or "0"), info.min), info.max) for each in found]
    return pa.array(numbers, type, mask=texts.is_null().to_numpy(zero_copy_only=False))


def _reader(type: pa.DataType) -> Callable[[str], Value | None]:
    if type in INTEGERS:
        info = np.iinfo(str(type))
        return lambda text: _integer(text, int(info.min), int(info.max))
    if type in FLOATS:
        return lambda text: float(text) if re.fullmatch(FLOAT, text) else None
    if pa.types.is_decimal(type):
        return lambda text: fit(Decimal(text), type) if re.fullmatch(NUMBER, text) else None
    if type == pa.date32():
        return read_date
    if type == pa.bool_():
        return lambda text: {"true": True, "false": False}.get(text.lower())
    assert pa.types.is_timestamp(type), type
    return lambda text: _placed(read_timestamp(text), zoned=type.tz is not None)


def parser(type: pa.DataType) -> Plain:
    """Return `parse` of one text; a text that is not of the plain form is None."""
    read, held = _reader(type), reader_of(type)

    def plain(text: str) -> RowValue:
        found = read(text.strip(" "))
        return None if found is None else held(found)

    return plain


def certain_parser(type: pa.DataType) -> Plain:
    """Return a parser that raises where dialects may differ."""
    parse_one = parser(type)

    def plain(text: str) -> RowValue:
        found: RowValue = parse_one(text)
        if found is None and is_doubtful(text, type):
            raise ValueError
        return found

    return plain


def spark_parser(type: pa.DataType) -> Plain:
    """Return a parser that drops control characters around a text, too."""
    parse_one = parser(type)
    return lambda text: parse_one(text.strip(_CONTROLS))


def prefix_reader(type: pa.DataType) -> Plain:
    """Return `read_prefix` of one text."""
    low, high = bounds(type)

    def plain(text: str) -> int:
        found = re.match(PREFIX, text)
        return min(max(whole_number(found["digits"] if found else "0"), low), high)

    return plain


def _integer(text: str, low: int, high: int) -> int | None:
    if not re.fullmatch(INTEGER, text):
        return None
    value = whole_number(text)
    return value if low <= value <= high else None


def whole_number(text: str) -> int:
    """Read an integer; one beyond all types, which Python may refuse to read, as one beyond them.

    >>> whole_number("-" + "9" * 5_000) == -BEYOND, whole_number("0" * 5_000 + "7")
    (True, 7)
    """
    digits = text.lstrip("+-").lstrip("0")
    value = BEYOND if len(digits) > DIGITS_MAX else int(digits or "0")
    return -value if text.startswith("-") else value


def _placed(moment: dt.datetime | None, *, zoned: bool) -> dt.datetime | None:
    """Keep a moment only where it has an offset exactly when the type has a time zone."""
    return moment if moment is not None and (moment.tzinfo is not None) == zoned else None
