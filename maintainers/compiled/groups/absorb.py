"""Rows that no graph keeps are told of: groups absorb joined rows, base diff by base diff.

    ops      | diff, alias, -, row | ...        weights   +1 -2 ...

In: the state of a graph of one alias, without rows, whose groups are known; and ops.
"""

from __future__ import annotations

from joingraph.graph.compiled import fields as f
from joingraph.graph.compiled.machine.kernel import kernel, ld, sto
from joingraph.graph.compiled.prefetch import alias_of, op_at
from joingraph.maintainers.compiled.groups.messages import tell


@kernel
def absorb(st: int, weights: int, count: int) -> int:
    """Tell of row after row, each so many times, to the last (DONE) or to a FULL block of notes.

    A group that a base diff touches is noted once, so a block ends where a base diff does.
    """
    cursor = ld(st, f.CURSOR)
    while cursor < count:
        op = op_at(st, cursor)
        diff, notes = ld(op, f.O_DIFF), ld(st, f.ROWS)
        if notes >= ld(st, f.LIMIT) and diff != ld(ld(st, f.GROUPS), f.G_DIFF):
            return f.FULL
        tell(st, alias_of(st, op), ld(op, f.O_ROW), ld(weights, cursor))
        cursor += 1
        sto(st, f.CURSOR, cursor)
    return f.DONE
