"""AVG(x), also MEAN(x): the exact sum by the count, rounded once."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from joingraph.aggregates.contract import ALL, Asked, Entry, Refused, Result, refused_type
from joingraph.aggregates.exact import Rounding, fitted, scale_of, timestamp_of
from joingraph.aggregates.linear.sum import sum_type
from joingraph.aggregates.sums import Factor, Linear, Ratio, Sums, Total, specials
from joingraph.expressions.functions.decimals import nearest, whole_quotient
from joingraph.expressions.order import DAY_MICROSECONDS
from joingraph.expressions.types import DECIMAL_DIGITS, FLOATS, TIMESTAMP, is_number, sql_name

MOST_SCALE = 10**9  # by which a count is multiplied


def average(asked: Asked) -> Linear:
    """Return AVG; of no value it is NULL."""
    given, dialect = asked.types[0], asked.dialect
    monomials = ((Factor(0, "value"),), (Factor(0, "known"),), *specials(0, given))
    is_time = pa.types.is_date(given) or pa.types.is_timestamp(given)
    if is_time and dialect == "duckdb":
        type = TIMESTAMP if pa.types.is_date(given) else given
        return Linear(type, asked.types, monomials, _mean_time(given, type))
    added = sum_type(given, dialect)
    if not is_number(given) or added is None:
        raise refused_type(asked, "CAST the argument to DOUBLE")
    refuse_numeric(asked)
    type, finish = mean(given, dialect)
    totals = (Total("sum", 0, added), Total("count", 1, pa.int64()))
    shown, ratio = () if added in FLOATS else totals, mean_ratio(given, dialect)
    never_fails = ratio is not None and Rounding(dialect).never_fails
    all_of_it = (type, asked.types, monomials, finish, shown)
    return Linear(*all_of_it, ratio=ratio, never_fails=never_fails)


def refuse_numeric(asked: Asked) -> None:
    """Refuse what is NUMERIC in Postgres, whose digits depend on the values."""
    if asked.dialect == "postgres" and asked.types[0] not in FLOATS:
        name, type = asked.name, sql_name(asked.types[0])
        why = "Postgres chooses the digits of this NUMERIC by the values"
        raise Refused(f"{name} of {type}", why, f"write {name}(CAST(x AS DOUBLE PRECISION))")


def mean(given: pa.DataType, dialect: str) -> tuple[pa.DataType, Callable[[Sums], Result]]:
    """Return the type of an average, and what makes it of sum, count and special values."""
    if pa.types.is_decimal(given) and dialect == "spark":
        return _mean_decimal(given)
    rounding, scale = Rounding(dialect), scale_of(given)

    def finish(sums: Sums) -> Result:
        total, known, *odd = sums
        return rounding.of(odd, total, known * scale) if known else None

    return pa.float64(), finish


def mean_ratio(given: pa.DataType, dialect: str) -> Ratio | None:
    """Return what an average is by column; None: one by one."""
    scale = 1 if given in FLOATS else scale_of(given)
    if scale > MOST_SCALE or (pa.types.is_decimal(given) and dialect == "spark"):
        return None
    return Ratio(is_mean=True, scale=scale)


def _mean_decimal(given: pa.DataType) -> tuple[pa.DataType, Callable[[Sums], Result]]:
    """Four more digits before and behind the point as far as there is room; halves go up."""
    digits = min(given.precision + 4, DECIMAL_DIGITS)
    type = pa.decimal128(digits, min(given.scale + 4, DECIMAL_DIGITS))
    up = 10 ** (type.scale - given.scale)

    def finish(sums: Sums) -> Result:
        total, known = sums
        return fitted(nearest(total * up, known), type) if known else None

    return type, finish


def _mean_time(given: pa.DataType, type: pa.DataType) -> Callable[[Sums], Result]:
    """DuckDB's way: cut towards zero, and one more where more than half a microsecond is left."""
    up = DAY_MICROSECONDS if pa.types.is_date(given) else 1

    def finish(sums: Sums) -> Result:
        total, known = sums
        if not known:
            return None
        whole = whole_quotient(total * up, known)
        return timestamp_of(whole + (2 * (total * up - whole * known) > known), type)

    return finish


AGGREGATES = {"AVG": Entry(average, ALL), "MEAN": Entry(average, ("spark", "duckdb"))}
