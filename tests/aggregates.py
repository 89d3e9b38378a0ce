"""What the tests of aggregates share: columns of every type, their values, and how SQL asks."""

from __future__ import annotations

import datetime as dt
import math
import struct
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa

from joingraph.aggregates.contract import Asked, Order
from joingraph.expressions.tree import Value

# b and w are as great as they can be, z is a double of any size.
COLUMNS: dict[str, pa.DataType] = {
    "i": pa.int32(),
    "b": pa.int64(),
    "u": pa.uint64(),
    "f": pa.float32(),
    "x": pa.float64(),
    "z": pa.float64(),
    "n": pa.decimal128(10, 2),
    "w": pa.decimal128(38, 4),
    "s": pa.string(),
    "y": pa.binary(),
    "d": pa.date32(),
    "t": pa.timestamp("us"),
    "p": pa.bool_(),
}
TEXTS = ("", "a", "b", "B", "é", "z", "\uffff", "\U00010437", "a\x00")
SPECIAL = (math.nan, math.inf, -math.inf)


def any_double(random: Random) -> float:
    """Draw a finite double by its bits, so that all sizes come."""
    found = math.nan
    while not math.isfinite(found):
        found = struct.unpack("<d", random.randbytes(8))[0]
    return found


def value(letter: str, random: Random) -> Any:
    """Draw a value of a column: few different ones, NULL at times, edges at times."""
    if random.random() < 0.15:
        return None
    if letter in "xfz" and random.random() < 0.02:
        return random.choice(SPECIAL)
    edge = random.random() < 0.3
    match letter:
        case "i":
            return random.choice((-(2**31), 2**31 - 1)) if edge else random.randint(-3, 3)
        case "b":
            return random.choice((-(2**63), 2**63 - 1)) if edge else random.getrandbits(60)
        case "u":
            return random.choice((0, 2**64 - 1)) if edge else random.getrandbits(62)
        case "x" | "f":
            return random.choice((0.0, -0.0, 0.5)) if edge else random.randint(-4000, 4000) / 8
        case "z":
            return any_double(random)
        case "n":
            return Decimal(random.randint(-(10**10) + 1, 10**10 - 1) if edge else 150).scaleb(-2)
        case "w":
            digits = random.randint(1, 36 if edge else 9)
            return Decimal(f"{random.choice('+-')}{random.randrange(10**digits)}E-4")
        case "s":
            return random.choice(TEXTS)
        case "y":
            return random.choice((b"", b"\x00", b"\xff", b"a"))
        case "d":
            return dt.date(1970, 1, 1) + dt.timedelta(random.randint(-9, 9))
        case "t":
            return dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=random.randint(-99, 99))
    return random.random() < 0.7


def asked(
    name: str,
    letters: str,
    dialect: str = "duckdb",
    *,
    is_distinct: bool = False,
    constants: tuple[Value, ...] = (),
    order: tuple[Order, ...] = (),
) -> Asked:
    """Ask for an aggregate of columns by their letters."""
    types = tuple(COLUMNS[letter] for letter in letters)
    return Asked(name, types, dialect, is_distinct, constants, order)


def sql_of(use: Asked, letters: str) -> str:
    """Write a use of an aggregate as SQL."""
    order = ", ".join(_order(each, letters) for each in use.order)
    if use.name.startswith("PERCENTILE_"):
        return f"{use.name}({use.constants[0]}) WITHIN GROUP (ORDER BY {order})"
    own = letters[: len(letters) - sum(each.argument > 0 for each in use.order)]
    constants = [repr(each) if isinstance(each, str) else str(each) for each in use.constants]
    inside = ", ".join([*own, *constants]) or "*"
    ordered = f" ORDER BY {order}" if order else ""
    return f"{use.name}({'DISTINCT ' * use.is_distinct}{inside}{ordered})"


def _order(order: Order, letters: str) -> str:
    direction = "DESC" if order.descending else "ASC"
    return f"{letters[order.argument]} {direction} NULLS {'FIRST' if order.nulls_first else 'LAST'}"
