"""Finds many vertex values at once by their keys, without making any."""

from __future__ import annotations

import numpy as np

from joingraph.graph.compiled.fields import V_RECORDS, V_STRIDE
from joingraph.graph.compiled.machine.kernel import kernel, ld, sto
from joingraph.graph.compiled.memory.reserved import Words, lent
from joingraph.graph.compiled.memory.state import GraphMemory
from joingraph.graph.compiled.vertex_table import find


def find_ids(memory: GraphMemory, vertex: int, keys: Words) -> Words:
    """Return the id of each key's value, -1 where there is none."""
    return find_in(memory.vertex(vertex), keys)


def find_in(vd: Words, keys: Words) -> Words:
    """Return the id that each key has in a table, -1 where there is none."""
    found = np.empty(len(keys), np.int64)
    if len(keys):
        given = np.array([keys.strides[0], len(keys), found.ctypes.data])
        with lent(keys, found):
            find_all(vd.ctypes.data, keys.ctypes.data, given)
    return found


@kernel
def find_all(vd: int, key: int, given: Words) -> None:
    """Write the ids of keys that lie a stride apart."""
    stride, count, found = given[0], given[1], given[2]
    for at in range(count):
        record = find(vd, key + at * stride)
        identity = -1
        if record:
            identity = (record - ld(vd, V_RECORDS)) // (ld(vd, V_STRIDE) * 8)
        sto(found, at, identity)
