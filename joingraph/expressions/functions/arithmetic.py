"""Arithmetic on integers and floats; both sides have the type of the answer.

Integers never wrap: a result that does not fit is a Fault. Floats follow IEEE (1/0 is infinity);
the names ending in `_strict` raise a Fault where the operands were finite and the result is not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from joingraph.expressions.functions import decimals
from joingraph.expressions.functions.arrow import pc
from joingraph.expressions.functions.fault import Datum, Fault, Function, columns
from joingraph.expressions.types import INTEGERS, sql_name

Numbers = np.ndarray
Kernel = Callable[..., Datum]


def _operator(name: str, plain: Kernel, checked: Kernel) -> Function:
    def apply(args: Sequence[Datum], type: pa.DataType) -> Datum:
        if pa.types.is_decimal(type):
            return decimals.OPERATORS[name](args, type)
        if type not in INTEGERS:
            return plain(*args)
        try:
            return checked(*args)
        except pa.ArrowInvalid as error:
            raise Fault(f"the result does not fit {sql_name(type)}") from error

    return apply


add = _operator("add", pc.add, pc.add_checked)
subtract = _operator("subtract", pc.subtract, pc.subtract_checked)
multiply = _operator("multiply", pc.multiply, pc.multiply_checked)


def divide(args: Sequence[Datum], type: pa.DataType) -> Datum:
    """a / b in floats: x/0 is infinite, 0/0 NaN."""
    return pc.divide(*args)


def divide_nonzero(args: Sequence[Datum], type: pa.DataType) -> Datum:
    """a / b in floats or decimals; a zero divisor is a Fault, unless a is NULL."""
    refuse_zero(args)
    return decimals.divide(args, type) if pa.types.is_decimal(type) else pc.divide(*args)


def divide_whole(args: Sequence[Datum], type: pa.DataType) -> Datum:
    """The whole part of a / b, cut towards zero; a zero divisor is a Fault."""
    refuse_zero(args)
    if pa.types.is_signed_integer(type):
        lowest = pa.scalar(-(2 ** (type.bit_width - 1)), type)
        overflows = pc.and_(pc.equal(args[0], lowest), pc.equal(args[1], pa.scalar(-1, type)))
        if pc.any(overflows).as_py():
            raise Fault(f"the result does not fit {sql_name(type)}")
    return pc.divide(*args)


def remainder(args: Sequence[Datum], type: pa.DataType) -> Datum:
    """What is left of a after whole times b, with the sign of a; in floats x % 0 is NaN."""
    if pa.types.is_decimal(type):
        return decimals.remainder(args, type)
    return _in_numpy(args, type, np.fmod)


def remainder_nonzero(args: Sequence[Datum], type: pa.DataType) -> Datum:
    """Like remainder, but a zero divisor is a Fault."""
    refuse_zero(args)
    return remainder(args, type)


def remainder_strict(args: Sequence[Datum], type: pa.DataType) -> Datum:
    """Like remainder_nonzero; the lowest integer % -1 is a Fault, as its quotient does not fit."""
    divide_whole(args, type)
    return remainder(args, type)


def refuse_zero(args: Sequence[Datum]) -> None:
    """Raise a Fault where a value is to be divided by zero."""
    a, b = args
    if pc.any(pc.and_(pc.equal(b, pa.scalar(0, b.type)), pc.is_valid(a))).as_py():
        raise Fault("division by zero")


def negate(args: Sequence[Datum], type: pa.DataType) -> Datum:
    """-a."""
    if pa.types.is_unsigned_integer(type):
        return subtract((pa.scalar(0, type), args[0]), type)
    try:
        return pc.negate_checked(args[0])
    except pa.ArrowInvalid as error:
        raise Fault(f"the result does not fit {sql_name(type)}") from error


def absolute(args: Sequence[Datum], type: pa.DataType) -> Datum:
    """a without its sign."""
    try:
        return pc.abs_checked(args[0])
    except pa.ArrowInvalid as error:
        raise Fault(f"the result does not fit {sql_name(type)}") from error


def bit_and(args: Sequence[Datum], type: pa.DataType) -> Datum:
    """a & b."""
    return pc.bit_wise_and(*args)


def bit_or(args: Sequence[Datum], type: pa.DataType) -> Datum:
    """a | b."""
    return pc.bit_wise_or(*args)


def bit_xor(args: Sequence[Datum], type: pa.DataType) -> Datum:
    """The bits that differ."""
    return pc.bit_wise_xor(*args)


def bit_not(args: Sequence[Datum], type: pa.DataType) -> Datum:
    """Every bit of a turned round."""
    return pc.bit_wise_not(args[0])


def null_if_zero(args: Sequence[Datum], type: pa.DataType) -> Datum:
    """a, but NULL for zero: SQLite's x / 0."""
    zero = pc.equal(args[0], pa.scalar(0, type))
    return pc.if_else(zero, pa.scalar(None, type), args[0])


def null_if_nan(args: Sequence[Datum], type: pa.DataType) -> Datum:
    """a, but NULL for NaN: SQLite has no NaN."""
    return pc.if_else(pc.is_nan(args[0]), pa.scalar(None, type), args[0])


def _strict(function: Function) -> Function:
    def apply(args: Sequence[Datum], type: pa.DataType) -> Datum:
        result = function(args, type)
        finite = pc.and_(pc.is_finite(args[0]), pc.is_finite(args[1]))
        if pc.any(pc.and_not(finite, pc.is_finite(result))).as_py():
            raise Fault(f"the result does not fit {sql_name(type)}")
        return result

    return apply


def _without_underflow(function: Function) -> Function:
    def apply(args: Sequence[Datum], type: pa.DataType) -> Datum:
        result = function(args, type)
        zero = pa.scalar(0, type)
        lost = pc.and_(pc.equal(result, zero), pc.not_equal(args[0], zero))
        lost = pc.and_(lost, pc.and_(pc.not_equal(args[1], zero), pc.is_finite(args[1])))
        if pc.any(lost).as_py():
            raise Fault(f"the result is too small for {sql_name(type)}")
        return result

    return apply


def _in_numpy(args: Sequence[Datum], type: pa.DataType, function: Callable[..., Numbers]) -> Datum:
    """Compute with NumPy: NULLs become 1 on the way in and NULL again on the way out."""
    whole = columns(args)
    nulls = np.zeros(len(whole[0]), dtype=bool)
    values = []
    for each in whole:
        nulls |= each.is_null().to_numpy(zero_copy_only=False)
        values.append(pc.fill_null(each, pa.scalar(1, each.type)).to_numpy(zero_copy_only=False))
    with np.errstate(all="ignore"):
        return pa.array(function(*values), type=type, mask=nulls)


ARITHMETIC: dict[str, Function] = {
    "add": add,
    "subtract": subtract,
    "multiply": multiply,
    "divide": divide,
    "divide_nonzero": divide_nonzero,
    "divide_whole": divide_whole,
    "remainder": remainder,
    "remainder_nonzero": remainder_nonzero,
    "remainder_strict": remainder_strict,
    "add_strict": _strict(add),
    "subtract_strict": _strict(subtract),
    "multiply_strict": _without_underflow(_strict(multiply)),
    "divide_strict": _without_underflow(_strict(divide_nonzero)),
    "negate": negate,
    "abs": absolute,
    "bit_and": bit_and,
    "bit_or": bit_or,
    "bit_xor": bit_xor,
    "bit_not": bit_not,
    "null_if_zero": null_if_zero,
    "null_if_nan": null_if_nan,
}
