"""Tells how large the compiled graph is: by alias, by vertex, by kind of memory, in bytes."""

from __future__ import annotations

from typing import Any

import numpy as np

from joingraph.kernels import fields as f
from joingraph.kernels.memory import Words
from joingraph.kernels.state import GraphMemory
from joingraph.kernels.strings import Interner
from joingraph.plan.model import Plan
from joingraph.plan.show import vertex_name

HEAVIEST = 5  # vertex values listed per vertex


def stats(plan: Plan, memory: GraphMemory, interner: Interner) -> dict[str, Any]:
    """Count rows and bytes."""
    vertices = range(len(memory.layout.vertices))
    descriptors = [memory.vertex(number) for number in vertices]
    sizes = {
        "vertex_values": sum(int(vd[f.V_NEXT] * vd[f.V_STRIDE]) for vd in descriptors) * 8,
        "index": sum(int(vd[f.V_MASK] + 1) for vd in descriptors) * 8,
        "lists": int(memory.words[f.TOP]) * 8,
        "nodes": sum(
            int(memory.alias(number)[f.A_NEXT] * memory.alias(number)[f.A_STRIDE])
            for number in memory.nodes
        )
        * 8,
        "strings": interner.bytes,
    }
    return {
        "bytes": sum(sizes.values()),
        "bytes_by_kind": sizes,
        "aliases": {
            alias.name: {"rows": int(memory.alias(alias.index)[f.A_ROWS])} for alias in plan.aliases
        },
        "vertices": {
            vertex_name(plan, vertex): {
                "values": int(memory.vertex(vertex.index)[f.V_LIVE]),
                "heaviest": heaviest(memory, vertex.index),
            }
            for vertex in plan.vertices
        },
    }


def heaviest(memory: GraphMemory, vertex: int) -> list[tuple[int, int]]:
    """List the ids of the vertex values with the most rows."""
    layout, vd = memory.layout.vertices[vertex], memory.vertex(vertex)
    used = int(vd[f.V_NEXT])
    records: Words = memory.records[vertex].words[: used * layout.stride]
    table = records.reshape(-1, layout.stride)
    rows = np.zeros(used, np.int64)
    for seat in layout.seats:
        rows += table[:, seat.length] & f.LENGTH
    most = np.argsort(-rows, kind="stable")[:HEAVIEST]
    return [(int(value), int(rows[value])) for value in most if rows[value]]
