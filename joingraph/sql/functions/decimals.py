"""Precision and scale of decimal results, as each dialect defines them."""

from __future__ import annotations

import pyarrow as pa

from joingraph.expressions.types import DECIMAL_DIGITS

_SPARK_SCALE_KEPT = 6  # Spark gives digits before the point up to this scale, then cuts the scale
_DUCKDB_WORD_DIGITS = 18  # DuckDB does not leave 64-bit words by multiplying


def decimal_result(name: str, a: pa.DataType, b: pa.DataType, dialect: str) -> pa.DataType | None:
    """Return the type of a sum, difference, product, remainder or quotient of decimals.

    None where the dialect has no bound and 38 digits may be too few.
    """
    rules = {"spark": _spark, "duckdb": _duckdb}
    precision, scale = rules.get(dialect, _exact)(name, a, b)
    if precision > DECIMAL_DIGITS or scale > DECIMAL_DIGITS:
        return None
    return pa.decimal128(precision, scale)


def _exact(name: str, a: pa.DataType, b: pa.DataType) -> tuple[int, int]:
    scale = max(a.scale, b.scale)
    whole = max(a.precision - a.scale, b.precision - b.scale)
    if name in ("add", "subtract"):
        return whole + scale + 1, scale
    if name == "multiply":
        return a.precision + b.precision, a.scale + b.scale
    if name == "remainder":
        return whole + scale, scale
    scale = max(_SPARK_SCALE_KEPT, a.scale + b.precision + 1)
    return a.precision - a.scale + b.scale + scale, scale


def _spark(name: str, a: pa.DataType, b: pa.DataType) -> tuple[int, int]:
    precision, scale = _exact(name, a, b)
    if name == "multiply":
        precision += 1
    if name == "remainder":
        precision = min(a.precision - a.scale, b.precision - b.scale) + scale
    if precision <= DECIMAL_DIGITS:
        return max(precision, 1), scale
    kept = max(DECIMAL_DIGITS - (precision - scale), min(scale, _SPARK_SCALE_KEPT))
    return DECIMAL_DIGITS, kept


def _duckdb(name: str, a: pa.DataType, b: pa.DataType) -> tuple[int, int]:
    precision, scale = _exact(name, a, b)
    widest = max(a.precision, b.precision)
    fits_word = widest <= _DUCKDB_WORD_DIGITS and scale < _DUCKDB_WORD_DIGITS
    if name == "multiply" and fits_word:
        return min(precision, _DUCKDB_WORD_DIGITS), scale
    return min(precision, DECIMAL_DIGITS), scale
