"""The row that stands in for a missing one: what an alias keeps is NULL there.

Whatever is not, such as COALESCE(x, 0), is not kept of such an alias, but what it is computed of.
"""

from __future__ import annotations

from functools import cache

import pyarrow as pa

from joingraph.common.errors import DiffError
from joingraph.expressions.evaluate import evaluate
from joingraph.expressions.strict import without
from joingraph.expressions.tree import Expression, columns_of
from joingraph.expressions.words import Word, to_words


@cache
def null_answer(kept: Expression) -> tuple[Word] | None:
    """Return the word that an expression has over a row of NULLs; None if it has no answer."""
    value = without(kept, lambda _: True)
    known: dict[Expression, pa.Array] = {each: pa.nulls(1, each.type) for each in columns_of(value)}
    try:
        (word,) = to_words(evaluate(value, known, 1))
    except DiffError:
        return None
    return (word,)
