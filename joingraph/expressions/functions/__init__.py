"""The functions that expressions call: each by column, and by row (by_row.py).

By column it gets its arguments as columns, constants as scalars (one argument at least is a
column), and the type of its answer. NULL in is NULL out unless its text says otherwise.
`case`, `coalesce`, `and`, `or` are not here: they decide which rows to compute, so `evaluate`
knows them itself.
"""

from __future__ import annotations

from joingraph.expressions.functions.arithmetic import ARITHMETIC
from joingraph.expressions.functions.by_row import Entry
from joingraph.expressions.functions.casts import CASTS
from joingraph.expressions.functions.comparisons import COMPARISONS
from joingraph.expressions.functions.dates import DATES
from joingraph.expressions.functions.mathematics import MATHEMATICS
from joingraph.expressions.functions.strings import STRINGS

FUNCTIONS: dict[str, Entry] = {
    **COMPARISONS,
    **ARITHMETIC,
    **MATHEMATICS,
    **CASTS,
    **STRINGS,
    **DATES,
}

# A call of these never raises a Fault: only what is left is kept from rows that do not need it.
SAFE = frozenset(COMPARISONS) | frozenset(STRINGS)
