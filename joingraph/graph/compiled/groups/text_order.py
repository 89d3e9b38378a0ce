"""The order of texts by their bytes, of which ids say nothing.

In: the descriptor of the string pool, and two ids of it.
"""

from __future__ import annotations

from joingraph.graph.compiled import fields as f
from joingraph.graph.compiled.machine.kernel import kernel, ld, ldb
from joingraph.graph.compiled.values.string_pool import ARENA


@kernel
def is_text_below(pool: int, one: int, two: int) -> bool:
    """True if the bytes of a text are below those of another one."""
    entries, arena = ld(pool, f.V_RECORDS), ld(pool, ARENA)
    mine, other = arena + ld(entries, 2 * one), arena + ld(entries, 2 * two)
    length, others = ld(entries, 2 * one + 1), ld(entries, 2 * two + 1)
    both, at = min(length, others), 0
    while at + 8 <= both and ld(mine + at, 0) == ld(other + at, 0):
        at += 8
    while at < both and ldb(mine, at) == ldb(other, at):
        at += 1
    return ldb(mine, at) < ldb(other, at) if at < both else length < others
