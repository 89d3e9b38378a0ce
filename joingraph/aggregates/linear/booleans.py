"""BOOL_AND and BOOL_OR by their names in each dialect: from the counts of TRUE and not NULL."""

from __future__ import annotations

import pyarrow as pa

from joingraph.aggregates.contract import NOT_SQLITE, Asked, Entry, Result, refused_type
from joingraph.aggregates.sums import Factor, Linear, Sums

_MONOMIALS = ((Factor(0, "true"),), (Factor(0, "known"),))
_INSTEAD = "write COUNT(*) FILTER (WHERE x), COUNT(x)"


def bool_and(asked: Asked) -> Linear:
    """Return TRUE where no value is FALSE; NULL without values."""

    def finish(sums: Sums) -> Result:
        true, known = sums
        return true == known if known else None

    return Linear(pa.bool_(), _of_booleans(asked), _MONOMIALS, finish, instead=_INSTEAD)


def bool_or(asked: Asked) -> Linear:
    """Return TRUE where a value is TRUE; NULL without values."""

    def finish(sums: Sums) -> Result:
        true, known = sums
        return true > 0 if known else None

    return Linear(pa.bool_(), _of_booleans(asked), _MONOMIALS, finish, instead=_INSTEAD)


def _of_booleans(asked: Asked) -> tuple[pa.DataType, ...]:
    if asked.types[0] != pa.bool_():
        raise refused_type(asked, "write a condition")
    return asked.types


AGGREGATES = {
    "BOOL_AND": Entry(bool_and, NOT_SQLITE),
    "BOOL_OR": Entry(bool_or, NOT_SQLITE),
    "EVERY": Entry(bool_and, ("spark", "postgres")),
    "SOME": Entry(bool_or, ("spark",)),
    "ANY": Entry(bool_or, ("spark",)),
}
