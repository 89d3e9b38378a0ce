"""SUM(x), and SQLite's TOTAL(x), which is 0.0 where SUM is NULL."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from joingraph.aggregates.contract import ALL, Asked, Entry, Refused, Result, refused_type
from joingraph.aggregates.exact import Rounding, fitted, narrow_quotient, quotient, scale_of
from joingraph.aggregates.sums import Factor, Linear, Ratio, Sums, Total, Words, specials
from joingraph.expressions.types import (
    DECIMAL_DIGITS,
    FLOATS,
    INTEGERS,
    is_number,
    operand_type,
    sql_name,
)


def sum_type(type: pa.DataType, dialect: str) -> pa.DataType | None:
    """Return the type of a SUM; None where the dialect has none that is certain."""
    if type == pa.bool_():
        return pa.decimal128(DECIMAL_DIGITS, 0) if dialect == "duckdb" else None
    if not is_number(type):
        return None
    type = operand_type(type, dialect)
    if type in FLOATS:
        return type if dialect == "postgres" else pa.float64()
    if pa.types.is_decimal(type):
        return None if dialect == "sqlite" else _sum_of_decimals(type, dialect)
    if dialect == "sqlite" and type != pa.int64():
        return None
    is_wide = dialect == "duckdb" or (dialect == "postgres" and type == pa.int64())
    return pa.decimal128(DECIMAL_DIGITS, 0) if is_wide else pa.int64()


def _sum_of_decimals(type: pa.DataType, dialect: str) -> pa.DataType:
    digits = min(type.precision + 10, DECIMAL_DIGITS) if dialect == "spark" else DECIMAL_DIGITS
    return pa.decimal128(digits, type.scale)


def sum_(asked: Asked) -> Linear:
    """Return SUM; of no value it is NULL."""
    given, dialect = asked.types[0], asked.dialect
    type = sum_type(given, dialect)
    if type is None and given == pa.bool_():
        why = f"{dialect} does not add BOOLEANs"
        raise Refused("SUM of BOOLEAN", why, "count the rows: COUNT(*) FILTER (WHERE ...)")
    if type is None:
        raise refused_type(asked, "CAST the argument to a number type that the dialect adds")
    is_whole = given in INTEGERS or pa.types.is_decimal(given) or given == pa.bool_()
    scale = scale_of(given)
    rounding = Rounding(dialect, narrow_quotient if type == pa.float32() else quotient)

    def finish(sums: Sums) -> Result:
        total, known, *odd = sums
        if not known:
            return None
        return fitted(total, type) if is_whole else rounding.of(odd, total, scale)

    monomials = ((Factor(0, "value"),), (Factor(0, "known"),), *specials(0, given))
    totals = (Total("", 0, type), Total("count", 1, pa.int64())) if is_whole else ()
    by_column = sums_by_column if type == pa.int64() and is_whole else None
    is_ratio = not is_whole and type == pa.float64()
    return Linear(
        *(type, asked.types, monomials, finish, totals),
        by_column=by_column,
        ratio=Ratio(is_mean=False, scale=1) if is_ratio else None,
        never_fails=not is_whole and rounding.never_fails,
    )


def sums_by_column(sums: Sequence[Words]) -> pa.Array:
    """Return many groups' SUMs as BIGINTs."""
    return pa.array(sums[0], mask=sums[1] == 0)


def total(asked: Asked) -> Linear:
    """Return TOTAL: the sum as a DOUBLE."""
    given = asked.types[0]
    if sum_type(given, "sqlite") is None:
        raise refused_type(asked, f"CAST the {sql_name(given)} to REAL")
    scale, rounding = scale_of(given), Rounding("sqlite")

    def finish(sums: Sums) -> Result:
        return rounding.of(sums[1:], sums[0], scale)

    monomials = ((Factor(0, "value"),), *specials(0, given))
    return Linear(pa.float64(), asked.types, monomials, finish, instead="write SUM(x)")


AGGREGATES = {"SUM": Entry(sum_, ALL), "TOTAL": Entry(total, ("sqlite",))}
