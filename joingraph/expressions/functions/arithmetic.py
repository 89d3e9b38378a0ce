"""Arithmetic on integers and floats; both sides have the type of the answer.

Integers never wrap: a result that does not fit is a Fault. Floats follow IEEE (1/0 is infinity);
the names ending in `_strict` raise a Fault where the operands were finite and the result is not.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from joingraph.expressions.functions import decimals
from joingraph.expressions.functions.arrow import pc
from joingraph.expressions.functions.by_row import (
    Entry,
    Maker,
    Plain,
    always,
    fitted,
    of_one,
    of_two,
    within,
)
from joingraph.expressions.functions.fault import Datum, Fault, Function, columns
from joingraph.expressions.row_values import bounds, rounded
from joingraph.expressions.tree import Call
from joingraph.expressions.types import FLOATS, INTEGERS, sql_name

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


def _operands_of(call: Call, types: Collection[pa.DataType]) -> bool:
    """True if all operands have the type of the answer, which is one of these."""
    return call.type in types and all(each.type == call.type for each in call.args)


def _of_floats(plain: Plain) -> Maker:
    """Return an operator of floats; to round a double's result once more is right for a FLOAT."""

    def make(call: Call) -> Plain | None:
        if not _operands_of(call, FLOATS):
            return None
        return plain if call.type == pa.float64() else lambda a, b: rounded(plain(a, b))

    return make


def _of_integers(plain: Plain) -> Maker:
    return lambda call: within(plain, call.type) if _operands_of(call, INTEGERS) else None


def _number(of_floats: Maker, of_decimals: Maker, of_integers: Maker) -> Maker:
    def make(call: Call) -> Plain | None:
        if all(pa.types.is_decimal(each.type) for each in (call, *call.args)):
            return of_decimals(call)
        return of_floats(call) or of_integers(call)

    return make


def _sum(plain: Plain) -> Maker:
    of_decimals = decimals.sum_by_row(plain)
    return _number(_of_floats(plain), of_decimals, _of_integers(plain))


def _quotient(a: float, b: float) -> float:
    if b:
        return a / b
    endless = math.copysign(math.inf, a) * math.copysign(1.0, b)
    return endless if a and not math.isnan(a) else math.nan


def _float_remainder(a: float, b: float) -> float:
    return math.fmod(a, b) if b and not math.isinf(a) else math.nan


def _nonzero(make: Maker) -> Maker:
    def of_call(call: Call) -> Plain | None:
        plain = make(call)

        def checked(a: Any, b: Any) -> Any:
            assert plain is not None
            if not b:
                raise ZeroDivisionError
            return plain(a, b)

        return checked if plain else None

    return of_call


def _remainder_strict(call: Call) -> Plain | None:
    if not _operands_of(call, INTEGERS):
        return None
    quotient = within(decimals.whole_quotient, call.type)
    return lambda a, b: a - quotient(a, b) * b


def _strict_by_row(plain: Plain, *, may_vanish: bool) -> Maker:
    """Refuse what is too large, and what is too small where it may not vanish."""

    def make(call: Call) -> Plain | None:
        compute = _of_floats(plain)(call)

        def checked(a: float, b: float) -> float:
            assert compute is not None
            found: float = compute(a, b)
            if not math.isfinite(found) and math.isfinite(a) and math.isfinite(b):
                raise OverflowError
            if not found and not may_vanish and a and b and math.isfinite(b):
                raise OverflowError
            return found

        return checked if compute else None

    return make


def _of_one_number(plain: Plain) -> Maker:
    def make(call: Call) -> Plain | None:
        if not _operands_of(call, (call.type,)):
            return None
        return plain if call.type in FLOATS else fitted(plain, call.type)

    return make


def _turned(call: Call) -> Plain | None:
    if not _operands_of(call, INTEGERS):
        return None
    both_ends = sum(bounds(call.type))  # -1, or the greatest
    return lambda value: both_ends - value


_ADD, _SUBTRACT = _sum(operator.add), _sum(operator.sub)
_MULTIPLY = _number(_of_floats(operator.mul), decimals.product_by_row, _of_integers(operator.mul))
_DIVIDE_NONZERO = _number(_of_floats(operator.truediv), decimals.quotient_by_row, always(None))
_REMAINDER = _number(
    _of_floats(_float_remainder),
    decimals.sum_by_row(decimals.cut_remainder),
    _of_integers(decimals.cut_remainder),
)

ARITHMETIC: dict[str, Entry] = {
    "add": Entry(add, of_two(_ADD)),
    "subtract": Entry(subtract, of_two(_SUBTRACT)),
    "multiply": Entry(multiply, of_two(_MULTIPLY)),
    "divide": Entry(divide, of_two(_of_floats(_quotient))),
    "divide_nonzero": Entry(divide_nonzero, of_two(_DIVIDE_NONZERO)),
    "divide_whole": Entry(divide_whole, of_two(_of_integers(decimals.whole_quotient))),
    "remainder": Entry(remainder, of_two(_REMAINDER)),
    "remainder_nonzero": Entry(remainder_nonzero, of_two(_nonzero(_REMAINDER))),
    "remainder_strict": Entry(remainder_strict, of_two(_remainder_strict)),
    "add_strict": Entry(_strict(add), of_two(_strict_by_row(operator.add, may_vanish=True))),
    "subtract_strict": Entry(
        _strict(subtract), of_two(_strict_by_row(operator.sub, may_vanish=True))
    ),
    "multiply_strict": Entry(
        _without_underflow(_strict(multiply)),
        of_two(_strict_by_row(operator.mul, may_vanish=False)),
    ),
    "divide_strict": Entry(
        _without_underflow(_strict(divide_nonzero)),
        of_two(_strict_by_row(operator.truediv, may_vanish=False)),
    ),
    "negate": Entry(negate, of_one(_of_one_number(operator.neg))),
    "abs": Entry(absolute, of_one(_of_one_number(abs))),
    "bit_and": Entry(bit_and, of_two(_of_integers(operator.and_))),
    "bit_or": Entry(bit_or, of_two(_of_integers(operator.or_))),
    "bit_xor": Entry(bit_xor, of_two(_of_integers(operator.xor))),
    "bit_not": Entry(bit_not, of_one(_turned)),
    "null_if_zero": Entry(null_if_zero, of_one(always(lambda value: value or None))),
    "null_if_nan": Entry(
        null_if_nan, of_one(always(lambda value: None if math.isnan(value) else value))
    ),
}
