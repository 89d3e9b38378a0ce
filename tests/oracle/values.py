"""The values of a view that groups, of what judges say: doubles exactly, by fractions.

DuckDB adds doubles one by one and rounds each time. So it is asked for the list of the values of a
group, and what becomes of them is computed here without rounding, and rounded once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

from tests.oracle.case import Row, View

BIGINT = range(-(2**63), 2**63)


def with_paths(view: View, found: Sequence[Row]) -> list[tuple[Row, int]]:
    """Make the view's rows of what a judge says, each with how many paths it has."""
    if view.grouping is None:
        return [(row, 1) for row in found]
    shown, rows = len(view.outputs), list[tuple[Row, int]]()
    for row in found:
        *values, paths = row
        keys = map(as_it_is, values[:shown])
        uses = zip(view.grouping.uses, values[shown:], strict=True)
        results = [VALUES[use.value[0]](value, *use.value[1:]) for use, value in uses]
        assert isinstance(paths, int)
        rows.append(((*keys, *results), paths))
    return rows


def as_it_is(value: Any) -> Any:
    """Give a value with every zero as 0.0: which of both zeros came first means nothing."""
    if isinstance(value, list):
        return [as_it_is(each) for each in value]
    return value + 0.0 if isinstance(value, float) else value


def decimal(value: int | None) -> Decimal | None:
    """Give DuckDB's HUGEINT, which is a decimal in views."""
    return None if value is None else Decimal(value)


def bigint(value: int | None) -> int | None:
    """Give a sum that dialects hold in 64 bits."""
    if value is not None and value not in BIGINT:
        raise OverflowError(value)
    return value


def known(values: Sequence[Any] | None) -> list[Any]:
    """Leave NULLs out."""
    return [each for each in values or () if each is not None]


def rounded(number: Fraction) -> float:
    """Round to the nearest double."""
    try:
        return number.numerator / number.denominator + 0.0
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def root(number: Fraction) -> float:
    """Round a square root to the nearest double."""
    with localcontext(prec=800, Emax=9999, Emin=-9999):
        try:
            return float((Decimal(number.numerator) / Decimal(number.denominator)).sqrt())
        except OverflowError:
            return math.inf


def total(values: Sequence[float] | None, divisor: str = "1") -> float | None:
    """Add doubles, or take their mean; NaN and infinities go before."""
    some = known(values)
    odd = {repr(each): each for each in some if not math.isfinite(each)}
    if odd:
        return next(iter(odd.values())) if len(odd) == 1 else math.nan
    count = len(some) if divisor == "count" else 1
    return rounded(sum(map(Fraction, some), Fraction()) / count) if some else None


def variance(values: Sequence[Any] | None, less: str, power: str) -> float | None:
    """Compute VAR_POP, VAR_SAMP and their roots."""
    some = [Fraction(each) for each in known(values)]
    count = len(some) - int(less)
    if count <= 0:
        return None
    mean = sum(some, Fraction()) / len(some)
    square = sum(((each - mean) ** 2 for each in some), Fraction()) / count
    return root(square) if power == "root" else rounded(square)


def moments(rows: Sequence[Mapping[str, Any]] | None) -> tuple[int, Fraction, Fraction, Fraction]:
    """Count pairs without NULL; give their sums of squares and of products about the means."""
    pairs = [(row["y"], row["x"]) for row in rows or () if None not in (row["y"], row["x"])]
    ys, xs = [Fraction(y) for y, _ in pairs], [Fraction(x) for _, x in pairs]
    y, x = (sum(each, Fraction()) / max(len(pairs), 1) for each in (ys, xs))
    yx = sum(((a - y) * (b - x) for a, b in zip(ys, xs, strict=True)), Fraction())
    yy = sum(((each - y) ** 2 for each in ys), Fraction())
    xx = sum(((each - x) ** 2 for each in xs), Fraction())
    return len(pairs), yx, yy, xx


def correlation(rows: Sequence[Mapping[str, Any]] | None) -> float | None:
    """Compute CORR; NaN without a variance."""
    count, yx, yy, xx = moments(rows)
    if not count or not yy * xx:
        return math.nan if count else None
    found = root(yx * yx / (yy * xx))
    return (found if yx > 0 else -found) + 0.0


def covariance(rows: Sequence[Mapping[str, Any]] | None, less: str) -> float | None:
    """Compute COVAR_POP and COVAR_SAMP."""
    count, yx, _, _ = moments(rows)
    return rounded(yx / (count - int(less))) if count > int(less) else None


def slope(rows: Sequence[Mapping[str, Any]] | None) -> float | None:
    """Compute REGR_SLOPE; NaN where all x are the same."""
    count, yx, _, xx = moments(rows)
    if not count or not xx:
        return math.nan if count else None
    return rounded(yx / xx)


def quantile(values: Sequence[Any] | None, q: str) -> float | None:
    """Compute PERCENTILE_CONT: between two values the exact number."""
    some = sorted(map(Fraction, known(values)))
    if not some:
        return None
    place = Fraction(q) * (len(some) - 1)
    low, high = some[math.floor(place)], some[math.ceil(place)]
    return rounded(low + (high - low) * (place - math.floor(place)))


def best(rows: Sequence[Mapping[str, Any]] | None, name: str) -> Any:
    """Compute MIN_BY or MAX_BY: of several the smallest; a row with a NULL is no row."""
    some = [row for row in rows or () if None not in (row["y"], row["x"])]
    if not some:
        return None
    end = (min if name == "min" else max)(row["x"] for row in some)
    return min(row["y"] for row in some if row["x"] == end)


VALUES: dict[str, Callable[..., Any]] = {
    each.__name__: each
    for each in (
        *(as_it_is, decimal, bigint, total, variance, correlation, covariance, slope),
        *(quantile, best),
    )
}
