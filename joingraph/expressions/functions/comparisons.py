"""Comparisons and three-valued logic; both sides have one type when they get here.

Floats follow SQL, not IEEE: NaN equals NaN and is greater than everything else; -0.0 equals 0.0.
Strings and binaries compare byte by byte.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence

import pyarrow as pa

from joingraph.expressions.functions.arrow import FALSE, TRUE, pc
from joingraph.expressions.functions.by_row import (
    Entry,
    Maker,
    Plain,
    always,
    constants,
    is_alike,
    of_nulls,
    of_one,
    of_two,
)
from joingraph.expressions.functions.fault import Datum, Function
from joingraph.expressions.row_values import RowValue
from joingraph.expressions.tree import Call


def equal(args: Sequence[Datum], type: pa.DataType) -> Datum:
    """a = b; NULL where either is NULL."""
    a, b = args
    same = pc.equal(a, b)
    if pa.types.is_floating(a.type):
        return pc.or_(same, pc.and_(pc.is_nan(a), pc.is_nan(b)))
    return same


def not_equal(args: Sequence[Datum], type: pa.DataType) -> Datum:
    """a <> b; NULL where either is NULL."""
    return pc.invert(equal(args, type))


def less(args: Sequence[Datum], type: pa.DataType) -> Datum:
    """a < b; NULL where either is NULL."""
    a, b = args
    below = pc.less(a, b)
    if pa.types.is_floating(a.type):
        return pc.or_(below, pc.and_not(pc.is_nan(b), pc.is_nan(a)))
    return below


def greater(args: Sequence[Datum], type: pa.DataType) -> Datum:
    """a > b; NULL where either is NULL."""
    return less((args[1], args[0]), type)


def less_equal(args: Sequence[Datum], type: pa.DataType) -> Datum:
    """a <= b; NULL where either is NULL."""
    return pc.invert(greater(args, type))


def greater_equal(args: Sequence[Datum], type: pa.DataType) -> Datum:
    """a >= b; NULL where either is NULL."""
    return pc.invert(less(args, type))


def not_distinct(args: Sequence[Datum], type: pa.DataType) -> Datum:
    """a <=> b: like a = b, but NULL equals NULL; never NULL itself."""
    both_null = pc.and_(pc.is_null(args[0]), pc.is_null(args[1]))
    return pc.coalesce(equal(args, type), both_null)


def distinct(args: Sequence[Datum], type: pa.DataType) -> Datum:
    """a IS DISTINCT FROM b; never NULL."""
    return pc.invert(not_distinct(args, type))


def member(args: Sequence[Datum], type: pa.DataType) -> Datum:
    """a IN (constants), none of them NULL and none a float; NULL where a is NULL."""
    values = pa.array(list(args[1:]), args[1].type)
    found = pc.is_in(args[0], value_set=values)
    return pc.if_else(pc.is_valid(args[0]), found, pa.scalar(None, pa.bool_()))


def is_null(args: Sequence[Datum], type: pa.DataType) -> Datum:
    """a IS NULL."""
    return pc.is_null(args[0])


def is_there(args: Sequence[Datum], type: pa.DataType) -> Datum:
    """TRUE, whatever a: where a row stands in for a missing one, the plan says FALSE."""
    return pc.or_(pc.is_null(args[0]), pc.is_valid(args[0]))


def is_true(args: Sequence[Datum], type: pa.DataType) -> Datum:
    """a IS TRUE: NULL counts as no."""
    return pc.coalesce(args[0], FALSE)


def is_false(args: Sequence[Datum], type: pa.DataType) -> Datum:
    """a IS FALSE: NULL counts as no."""
    return pc.invert(pc.coalesce(args[0], TRUE))


def negation(args: Sequence[Datum], type: pa.DataType) -> Datum:
    """NOT a."""
    return pc.invert(args[0])


def greatest(args: Sequence[Datum], type: pa.DataType) -> Datum:
    """The greatest of several, NULLs left out; NaN is the greatest float."""
    return _pick(args, greater)


def least(args: Sequence[Datum], type: pa.DataType) -> Datum:
    """The least of several, NULLs left out; NaN is the greatest float."""
    return _pick(args, less)


def _pick(args: Sequence[Datum], better: Function) -> Datum:
    best = args[0]
    for arg in args[1:]:
        wins = pc.coalesce(better((arg, best), pa.bool_()), pc.is_null(best))
        best = pc.if_else(wins, arg, best)
    return best


def _of_one_type(plain: Plain, of_floats: Plain) -> Maker:
    """Return an operator of two values of one type; in Python NaN is unlike and beside all."""

    def make(call: Call) -> Plain | None:
        if not is_alike(call):
            return None
        return of_floats if pa.types.is_floating(call.args[0].type) else plain

    return make


def _same_floats(a: float, b: float) -> bool:
    return a == b or (math.isnan(a) and math.isnan(b))


def _less_floats(a: float, b: float) -> bool:
    return a < b or (math.isnan(b) and not math.isnan(a))


_EQUAL = _of_one_type(operator.eq, _same_floats)
_NOT_EQUAL = _of_one_type(operator.ne, lambda a, b: not _same_floats(a, b))
_LESS = _of_one_type(operator.lt, _less_floats)
_LESS_EQUAL = _of_one_type(operator.le, lambda a, b: not _less_floats(b, a))
_GREATER = _of_one_type(operator.gt, lambda a, b: _less_floats(b, a))
_GREATER_EQUAL = _of_one_type(operator.ge, lambda a, b: not _less_floats(a, b))


def _with_equal_nulls(answer: bool) -> Maker:
    """Return what answers so for equal values, NULL among them, else the contrary."""

    def make(call: Call) -> Plain | None:
        same = _EQUAL(call)

        def plain(a: RowValue, b: RowValue) -> bool:
            assert same is not None
            if a is None or b is None:
                return (a is b) is answer
            return same(a, b) is answer

        return plain if same else None

    return make


def _extreme(make_better: Maker) -> Maker:
    def make(call: Call) -> Plain | None:
        better = make_better(call)

        def plain(*values: RowValue) -> RowValue:
            assert better is not None
            best = values[0]
            for value in values[1:]:
                if best is None or (value is not None and better(value, best)):
                    best = value
            return best

        return plain if better else None

    return make


def _member(call: Call) -> Plain | None:
    values = constants(call)
    is_exact = is_alike(call) and not pa.types.is_floating(call.args[0].type)
    return frozenset(values).__contains__ if values is not None and is_exact else None


COMPARISONS: dict[str, Entry] = {
    "equal": Entry(equal, of_two(_EQUAL)),
    "not_equal": Entry(not_equal, of_two(_NOT_EQUAL)),
    "less": Entry(less, of_two(_LESS)),
    "less_equal": Entry(less_equal, of_two(_LESS_EQUAL)),
    "greater": Entry(greater, of_two(_GREATER)),
    "greater_equal": Entry(greater_equal, of_two(_GREATER_EQUAL)),
    "distinct": Entry(distinct, of_nulls(_with_equal_nulls(False))),
    "not_distinct": Entry(not_distinct, of_nulls(_with_equal_nulls(True))),
    "in": Entry(member, of_one(_member)),
    "is_null": Entry(is_null, of_nulls(always(lambda value: value is None))),
    "is_there": Entry(is_there, of_nulls(always(lambda value: True))),
    "is_true": Entry(is_true, of_nulls(always(lambda value: value is True))),
    "is_false": Entry(is_false, of_nulls(always(lambda value: value is False))),
    "not": Entry(negation, of_one(always(operator.not_))),
    "greatest": Entry(greatest, of_nulls(_extreme(_GREATER))),
    "least": Entry(least, of_nulls(_extreme(_LESS))),
}
