"""Random typed expressions over edge values: a call of each function, of the types SQL gives it."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from typing import TypeAlias

import pyarrow as pa

from joingraph.expressions.functions.parsing import parser
from joingraph.expressions.python_values import python_value
from joingraph.expressions.row_values import RowValue, bounds, column_of_row_values, rounded
from joingraph.expressions.tree import Call, Column, Expression, Literal
from joingraph.expressions.types import FLOATS, INTEGERS, TIMESTAMP
from joingraph.sql.functions.decimals import decimal_result

BOOL, TEXT, BINARY, DATE = pa.bool_(), pa.string(), pa.binary(), pa.date32()
FLOAT, DOUBLE = FLOATS
ZONED, PARIS = pa.timestamp("us", "UTC"), pa.timestamp("us", "Europe/Paris")
DECIMALS = tuple(
    pa.decimal128(*each)
    for each in ((5, 3), (10, 2), (10, 0), (18, 4), (30, 5), (38, 0), (38, 10), (38, 38))
)
NUMBERS = (*INTEGERS, *FLOATS, *DECIMALS)
MOMENTS = (DATE, TIMESTAMP, ZONED, PARIS)
TYPES = (BOOL, *NUMBERS, TEXT, BINARY, *MOMENTS)

LETTERS = ["", "a", "A", "Ab", "b", "abcab", "aab", "é", "ß", "İi", "ΑΣ", "ǆ", "日本", "😀a", "\0"]
MARKS = [" pad ", "a%b", "a_b", "a\\b", "a#_", "\n", "a\nb", "[a]", ".", "\ta\x7f", "\u3000x\u00a0"]
DIGITS = ["12", " -7 ", "+3", "\t12\n", "1.5", "-0.05", ".5", "5.", "1e3", "99999999999999999999"]
WORDS = ["true", "FALSE", "yes", "nan", "-Infinity", "1e400", "٣", "12abc", " \n+8x", "9" * 40]
DAY_TEXTS = ["2024-02-29", "2023-02-29", "0001-01-01", "9999-12-31", "0000-01-01", "2024-3-1"]
TIME_TEXTS = ["9999-12-31 23:59:59.999999", "1969-12-31T23:59:59.5", "2024-01-01 00:00:00Z"]
ZONE_TEXTS = ["2024-01-01 00:00:00+05:30", "0001-01-01 00:00:00+14:00"]
LONG = ["a" * 3000 + "b", "ß" * 500, "ab" * 200]
TEXTS = [*LETTERS, *MARKS, *DIGITS, *WORDS, *DAY_TEXTS, *TIME_TEXTS, *ZONE_TEXTS, *LONG]
PATTERNS = [
    *("", "%", "_", "a", "a%", "%b", "%a%", "_b%", "a_", "%a%b%", "a%a%b", "%_a_%", "a#_%"),
    *("100#%", "%.%", "[a]%", "%\n%", "😀%", "a%b%c_%", "\0%", "日_", "%%", "a##%"),
]
REALS = [
    *(
        0.0,
        -0.0,
        0.0,
        -0.0,
        math.nan,
        0.5,
        -0.5,
        1.0,
        -1.0,
        1.5,
        2.5,
        -2.5,
        1.005,
        0.1,
        1e15,
        127.5,
        255.5,
        -128.5,
    ),
    *(0.49999999999999994, 2.0**52 + 1.0, 9007199254740993.0, 2.0**63, -(2.0**63), 1e38),
    *(1e300, -1e300, 5e-324, 1e-40, 3.4028236e38, math.nan, math.inf, -math.inf),
]
DAYS = [0, -1, 1, 59, 19782, -719162, -719163, 2932896, 2932897, 2**31 - 1, -(2**31), 106751991]
MICROS = [
    *(0, -1, 1, 999_999, 86_400_000_000, -86_400_000_001, 1709164799123456, 2**63 - 1, -(2**63)),
    *(-62135596800000000, -62135596800000001, 253402300799999999, 253402300800000000),
]

Arg: TypeAlias = pa.DataType | Literal
Signature: TypeAlias = tuple[pa.DataType, Sequence[Arg]]
Maker: TypeAlias = Callable[[random.Random], Signature]


def edge(rng: random.Random, type: pa.DataType) -> RowValue:
    """Choose a value at the edges of a type."""
    if type == BOOL:
        return rng.random() < 0.5
    if type in INTEGERS or pa.types.is_decimal(type):
        low, high = bounds(type)
        near = [max(low, -1), 0, 1, 2, 5, 7, 12, rng.randint(low, high)]
        unit = 10**type.scale if pa.types.is_decimal(type) else 1
        halves = [unit // 2, unit, 3 * unit // 2, 128 * unit + unit // 2]
        return rng.choice([low, low + 1, high, high - 1, *near, *(h for h in halves if h <= high)])
    if type in FLOATS:
        value = rng.choice([*REALS, rng.uniform(-9, 9)])
        return rounded(value) if type == FLOAT else value
    if type == TEXT:
        return rng.choice(TEXTS)
    if type == BINARY:
        return rng.choice([b"", b"a", b"\x00", b"\xff\xfe", b"a\x00b", b"z" * 1000])
    return rng.choice([*DAYS, rng.randint(-99999, 99999)] if type == DATE else MICROS)


def constant(rng: random.Random, type: pa.DataType) -> Literal:
    """Make a constant of a type; Arrow's scalar where Python has no such value."""
    return literal(edge(rng, type), type)


def literal(value: RowValue, type: pa.DataType) -> Literal:
    return Literal(python_value(column_of_row_values([value], type)[0]), type)


def pair(*types: pa.DataType) -> Maker:
    """Two values of one type, and an answer of it."""

    def make(rng: random.Random) -> Signature:
        type = rng.choice(types)
        return type, (type, type)

    return make


def one(*types: pa.DataType) -> Maker:
    """A value, and an answer of its type."""

    def make(rng: random.Random) -> Signature:
        type = rng.choice(types)
        return type, (type,)

    return make


def into(sources: Sequence[pa.DataType], *targets: pa.DataType) -> Maker:
    """A value of one of the sources, and an answer of one of the targets, another type."""

    def make(rng: random.Random) -> Signature:
        source = rng.choice(sources)
        return rng.choice([each for each in targets if each != source]), (source,)

    return make


def either(*makers: Maker) -> Maker:
    return lambda rng: rng.choice(makers)(rng)


def test_of(*types: pa.DataType) -> Maker:
    """A truth value of two values of one type."""

    def make(rng: random.Random) -> Signature:
        return BOOL, (type := rng.choice(types), type)

    return make


def several(*types: pa.DataType) -> Maker:
    """An answer of the type of two to four values."""

    def make(rng: random.Random) -> Signature:
        type = rng.choice(types)
        return type, [type] * rng.randint(2, 4)

    return make


def decimal_operation(name: str) -> Maker:
    """Two decimals, and the type that a dialect gives their result."""

    def make(rng: random.Random) -> Signature:
        while True:
            a, b = rng.choices(DECIMALS, k=2)
            dialect = rng.choice(["spark", "duckdb", "postgres"] if name != "divide" else ["spark"])
            found = decimal_result(name, a, b, dialect)
            if found is not None:
                return found, (a, b)

    return make


def operation(name: str) -> Maker:
    return either(pair(*INTEGERS), pair(*FLOATS), decimal_operation(name))


def member(rng: random.Random) -> Signature:
    type = rng.choice([each for each in TYPES if each not in FLOATS])
    return BOOL, [type, *(constant(rng, type) for _ in range(rng.randint(1, 4)))]


def remainder(rng: random.Random) -> Signature:
    type = rng.choice(INTEGERS)
    if rng.random() < 0.5:
        return pair(*FLOATS)(rng)
    return type, (type, literal(rng.choice([1, 2, 7, bounds(type)[1]]), type))


def case(rng: random.Random) -> Signature:
    type = rng.choice(TYPES)
    return type, [*[BOOL, type] * rng.randint(1, 3), type]


def floor(rng: random.Random) -> Signature:
    type = rng.choice(DECIMALS)
    digits = rng.choice([type.precision, type.precision - type.scale + 1])
    return pa.decimal128(min(digits, 38), 0), (type,)


def round_decimal(rng: random.Random) -> Signature:
    type = rng.choice(DECIMALS)
    kept = rng.randint(0, type.scale)
    digits = rng.choice([type.precision, min(type.precision - type.scale + 1 + kept, 38)])
    return pa.decimal128(max(digits, kept), kept), (type,)


def rounding(lowest: int) -> Maker:
    def make(rng: random.Random) -> Signature:
        type = rng.choice(FLOATS)
        return type, (type, literal(rng.randint(lowest, 5), pa.int64()))

    return make


def of_text(result: pa.DataType, *constants: Sequence[RowValue]) -> Maker:
    """A text and constants, each of a list."""

    def make(rng: random.Random) -> Signature:
        fixed = (rng.choice(each) for each in constants)
        types = (literal(each, TEXT if isinstance(each, str) else pa.int64()) for each in fixed)
        return result, (TEXT, *types)

    return make


def sliced(rng: random.Random) -> Signature:
    start, stop = rng.randint(-4, 4), rng.choice([None, *range(-4, 6)])
    return TEXT, (TEXT, literal(start, pa.int64()), literal(stop, pa.int64()))


def field(*types: pa.DataType) -> Maker:
    return into(types, pa.int32(), pa.int64(), pa.decimal128(10, 0))


def moved_days(rng: random.Random) -> Signature:
    return DATE, (DATE, rng.choice(INTEGERS))


def moved(rng: random.Random) -> Signature:
    type = rng.choice(MOMENTS[1:])
    return type, (type, pa.int64())


def moved_months(rng: random.Random) -> Signature:
    type = rng.choice((DATE, TIMESTAMP))
    return type, (type, pa.int32())


WHOLE = (*INTEGERS, BOOL)
CAST = either(
    into(WHOLE, *INTEGERS, *FLOATS, *DECIMALS),
    into(DECIMALS, *DECIMALS, *FLOATS),
    into((*WHOLE, DATE, TIMESTAMP, *DECIMALS), TEXT),
    into((DATE, TIMESTAMP), DATE, TIMESTAMP),
    into(FLOATS, *FLOATS),
    into((PARIS,), ZONED),
)


def parsed(*types: pa.DataType) -> Maker:
    """A text, now and then a constant that is of the type for sure."""

    def make(rng: random.Random) -> Signature:
        type = rng.choice(types)
        readable = [each for each in TEXTS if parser(type)(each) is not None]
        return type, (literal(rng.choice(readable), TEXT) if rng.random() < 0.3 else TEXT,)

    return make


PARSE = parsed(*INTEGERS, *FLOATS, *DECIMALS, *MOMENTS[:3], BOOL)
CASTS: dict[str, Maker] = {
    "cast": CAST,
    "cast_truncate": into((*FLOATS, *DECIMALS), *INTEGERS),
    "cast_half_away": into(DECIMALS, *INTEGERS),
    "cast_half_even": into(FLOATS, *INTEGERS),
    "cast_finite": into((DOUBLE,), FLOAT),
    "cast_shortest": into(FLOATS, *DECIMALS),
    "cast_scaled": into(FLOATS, *DECIMALS),
    "parse": PARSE,
}
SIGNATURES: dict[str, Maker] = {
    **dict.fromkeys(("equal", "not_equal", "distinct", "not_distinct"), test_of(*TYPES)),
    **dict.fromkeys(("less", "less_equal", "greater", "greater_equal"), test_of(*TYPES)),
    "in": member,
    **dict.fromkeys(("is_null", "is_there"), lambda rng: (BOOL, (rng.choice(TYPES),))),
    **dict.fromkeys(("is_true", "is_false", "not"), one(BOOL)),
    **dict.fromkeys(("greatest", "least", "coalesce"), several(*TYPES)),
    **dict.fromkeys(("and", "or"), several(BOOL)),
    "case": case,
    **{name: operation(name) for name in ("add", "subtract", "multiply")},
    "divide": pair(*FLOATS),
    "divide_nonzero": either(pair(*FLOATS), decimal_operation("divide")),
    "divide_whole": pair(*INTEGERS),
    "remainder": remainder,
    "remainder_nonzero": operation("remainder"),
    "remainder_strict": pair(*INTEGERS),
    **{f"{name}_strict": pair(*FLOATS) for name in ("add", "subtract", "multiply", "divide")},
    **dict.fromkeys(("negate", "abs"), one(*NUMBERS)),
    **dict.fromkeys(("bit_and", "bit_or", "bit_xor"), pair(*INTEGERS)),
    "bit_not": one(*INTEGERS),
    "null_if_zero": one(*INTEGERS, *FLOATS),
    "null_if_nan": one(*FLOATS),
    **CASTS,
    **{f"try_{name}": make for name, make in CASTS.items()},
    "try_parse_integer": parsed(*INTEGERS),
    "cast_saturate": into((DOUBLE,), pa.int64()),
    "cast_prefix": into((TEXT,), pa.int64()),
    "sign": either(into(NUMBERS, pa.int8(), pa.int64()), one(DOUBLE, *DECIMALS)),
    **dict.fromkeys(("floor", "ceil"), either(one(*FLOATS), floor)),
    "round_decimal": round_decimal,
    "round_half_away": one(*FLOATS),
    **dict.fromkeys(("round_half_even", "round_shifted", "sqrt", "exp", "ln"), one(DOUBLE)),
    "ln_positive": one(DOUBLE),
    "round_scaled": rounding(1),
    "round_shortest": rounding(0),
    **dict.fromkeys(("power", "power_java"), pair(DOUBLE)),
    **dict.fromkeys(("concat", "concat_known"), several(TEXT)),
    "length": into((TEXT, BINARY), pa.int32(), pa.int64()),
    **dict.fromkeys(
        [f"{name}{kind}" for name in ("upper", "lower") for kind in ("", "_ascii", "_full")],
        one(TEXT),
    ),
    **dict.fromkeys(("trim", "trim_left", "trim_right"), of_text(TEXT, [" ", "a", "aß\n", "😀"])),
    "slice": sliced,
    "replace": of_text(TEXT, ["a", "aa", "ß", "\0", " "], ["", "xy", "😀", "$1\\1"]),
    "reverse": one(TEXT),
    **dict.fromkeys(("starts_with", "ends_with", "contains"), test_of(TEXT)),
    "position": lambda rng: (rng.choice([pa.int32(), pa.int64()]), (TEXT, TEXT)),
    "like": of_text(BOOL, PATTERNS, ["", "#"]),
    **dict.fromkeys(("year", "month", "day"), field(DATE, TIMESTAMP)),
    **dict.fromkeys(("hour", "minute", "second"), field(TIMESTAMP)),
    "second_exact": into((TIMESTAMP,), pa.decimal128(8, 6)),
    **dict.fromkeys(("add_days", "subtract_days"), moved_days),
    "days_between": lambda rng: (rng.choice([pa.int32(), pa.int64()]), (DATE, DATE)),
    "add_micros": moved,
    "add_months": moved_months,
}


def by_result(rng: random.Random) -> dict[pa.DataType, list[tuple[str, Signature]]]:
    """Sample signatures of all functions, by the type of the answer."""
    found: dict[pa.DataType, list[tuple[str, Signature]]] = {}
    for name, make in SIGNATURES.items():
        for _ in range(12):
            signature = make(rng)
            found.setdefault(signature[0], []).append((name, signature))
    return found


def call_of(
    rng: random.Random,
    name: str,
    signature: Signature,
    inner: dict[pa.DataType, list[tuple[str, Signature]]],
) -> Call:
    """Make a call of columns, constants and, sometimes, further calls."""
    type, args = signature
    return Call(name, tuple(_arg(rng, each, inner) for each in args), type)


def _arg(
    rng: random.Random, arg: Arg, inner: dict[pa.DataType, list[tuple[str, Signature]]]
) -> Expression:
    if isinstance(arg, Literal):
        return arg
    kind = rng.random()
    if kind < 0.6:
        return Column("t", f"{arg}{rng.randrange(2)}", arg)
    if kind < 0.8 or arg not in inner:
        return Literal(None, arg) if rng.random() < 0.1 else constant(rng, arg)
    return call_of(rng, *rng.choice(inner[arg]), inner)
