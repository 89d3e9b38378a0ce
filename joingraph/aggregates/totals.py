"""The totals of an aggregate: sums of rows that readers of deltas add up by themselves.

AVG(x), x INT  ->  the sum of x, the count of x         MAX(x)  ->  Refused: it is not a sum
"""

from __future__ import annotations

from joingraph.aggregates.contract import Asked, Refused
from joingraph.aggregates.registry import aggregate
from joingraph.aggregates.sums import Linear, Total
from joingraph.expressions.types import FLOATS

ROWS = 'ask for form="rows"'


def totals_of(asked: Asked) -> tuple[Total, ...]:
    """Return what an aggregate is computed of; raise Refused where no changes add up to that."""
    found = aggregate(asked)
    if not isinstance(found, Linear):
        raise Refused(asked.name, "it is not a sum", ROWS)
    if found.totals:
        return found.totals
    if found.instead:
        raise Refused(asked.name, "it is computed of sums, and is not one", found.instead)
    if any(type in FLOATS for type in asked.types):
        why = "changes of DOUBLE and FLOAT are rounded, and do not add up"
        raise Refused(asked.name, why, "CAST the argument to DECIMAL")
    raise Refused(asked.name, "its sum has no type", ROWS)
