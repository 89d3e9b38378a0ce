"""Comparisons and three-valued logic; both sides have one type when they get here.

Floats follow SQL, not IEEE: NaN equals NaN and is greater than everything else; -0.0 equals 0.0.
Strings and binaries compare byte by byte.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from joingraph.expressions.functions.arrow import FALSE, TRUE, pc
from joingraph.expressions.functions.fault import Datum, Function


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


COMPARISONS: dict[str, Function] = {
    "equal": equal,
    "not_equal": not_equal,
    "less": less,
    "less_equal": less_equal,
    "greater": greater,
    "greater_equal": greater_equal,
    "distinct": distinct,
    "not_distinct": not_distinct,
    "in": member,
    "is_null": is_null,
    "is_true": is_true,
    "is_false": is_false,
    "not": negation,
    "greatest": greatest,
    "least": least,
}
