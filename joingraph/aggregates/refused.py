"""Aggregates that are known and refused: why, and what to write instead."""

from __future__ import annotations

from typing import Final, NamedTuple


class Remedy(NamedTuple):
    """Why an aggregate is refused, and what to do."""

    why: str
    instead: str


_NOT_A_FUNCTION = "its result depends on the order in which rows come"
_APPROXIMATE = "it estimates, and this view can be exact"
_NOT_YET = "it is not supported"
_ANY = Remedy(_NOT_A_FUNCTION, "write MIN(x) or MAX(x)")
_FIRST = Remedy(_NOT_A_FUNCTION, "write MIN_BY(x, y), or MIN(x)")
_LAST = Remedy(_NOT_A_FUNCTION, "write MAX_BY(x, y), or MAX(x)")
_COUNT = Remedy(_APPROXIMATE, "write COUNT(DISTINCT x)")
_PERCENTILE = Remedy(_APPROXIMATE, "write PERCENTILE_CONT(q) WITHIN GROUP (ORDER BY x)")
_MODE = Remedy("several values may be the most frequent", "count by value in a view of its own")
_BITS = Remedy(_NOT_YET, "read the rows, or write BOOL_AND and BOOL_OR of the bits")
_OWN = Remedy(_NOT_YET, "compute it from the view's rows")
_NESTED = Remedy("nested values are not supported", "group by the key in a view of its own")
_TRY = Remedy("its result is NULL where the sum does not fit", "CAST x to a wider DECIMAL")
_SETS = Remedy("it belongs to GROUPING SETS", "make a view for each set")
_FLOATS = Remedy("joingraph's sums of doubles are exact", "write SUM(x) or AVG(x)")

REFUSED: Final[dict[str, Remedy]] = {
    **dict.fromkeys(("ANY_VALUE", "ARBITRARY"), _ANY),
    **dict.fromkeys(("FIRST", "FIRST_VALUE"), _FIRST),
    **dict.fromkeys(("LAST", "LAST_VALUE"), _LAST),
    **dict.fromkeys(("APPROX_COUNT_DISTINCT", "APPROX_DISTINCT", "HLL_SKETCH_AGG"), _COUNT),
    **dict.fromkeys(("APPROX_PERCENTILE", "APPROX_QUANTILE", "PERCENTILE_APPROX"), _PERCENTILE),
    **dict.fromkeys(("APPROX_TOP_K", "MODE"), _MODE),
    **dict.fromkeys(("BIT_AND", "BIT_OR", "BIT_XOR", "BITSTRING_AGG"), _BITS),
    **dict.fromkeys(("PRODUCT", "GEOMEAN", "GEOMETRIC_MEAN", "ENTROPY", "MAD", "SEM"), _OWN),
    **dict.fromkeys(("KURTOSIS", "KURTOSIS_POP", "SKEWNESS"), _OWN),
    **dict.fromkeys(("HISTOGRAM", "HISTOGRAM_NUMERIC", "MAP_AGG"), _NESTED),
    **dict.fromkeys(("JSON_AGG", "JSONB_AGG", "JSON_OBJECT_AGG", "JSONB_OBJECT_AGG"), _NESTED),
    **dict.fromkeys(("JSON_GROUP_ARRAY", "JSON_GROUP_OBJECT", "XMLAGG"), _NESTED),
    **dict.fromkeys(("TRY_SUM", "TRY_AVG"), _TRY),
    **dict.fromkeys(("GROUPING", "GROUPING_ID"), _SETS),
    **dict.fromkeys(("FAVG", "FSUM", "KAHAN_SUM", "SUMKAHAN"), _FLOATS),
}
