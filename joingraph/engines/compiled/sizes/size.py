"""Tells how large the compiled graph is: by alias, by vertex, by kind of memory, in bytes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from joingraph.engines.compiled.sizes.allotting import untouched_bytes
from joingraph.generators.compiled.reads.column_walk import Walker
from joingraph.generators.compiled.reads.pieces import Piece
from joingraph.generators.compiled.reads.reading import word_rows
from joingraph.graph.compiled import fields as f
from joingraph.graph.compiled.sorted_index import SortedIndex
from joingraph.graph.size import HEAVIEST
from joingraph.plan.show import vertex_name


def stats(walker: Walker, indexes: Mapping[str, SortedIndex]) -> dict[str, Any]:
    """Count rows and bytes."""
    plan, memory, found = walker.plan, walker.memory, sizes(walker)
    found["lists"] -= untouched_bytes(walker)
    if indexes:
        found["indexes"] = sum(index.bytes for index in indexes.values())
    return {
        "bytes": sum(found.values()),
        "bytes_by_kind": found,
        "aliases": {
            alias.name: {"rows": int(memory.alias(alias.index)[f.A_ROWS])} for alias in plan.aliases
        },
        "vertices": {
            vertex_name(plan, vertex): {
                "values": int(memory.vertex(vertex.index)[f.V_LIVE]),
                "heaviest": heaviest(walker, vertex.index),
            }
            for vertex in plan.vertices
        },
        "indexes": {column: {"entries": len(index)} for column, index in indexes.items()},
    }


def sizes(walker: Walker) -> dict[str, int]:
    """Count bytes by kind."""
    memory, interner = walker.memory, walker.interner
    descriptors = [memory.vertex(number) for number in range(len(memory.layout.vertices))]
    return {
        "vertex_values": sum(int(vd[f.V_NEXT] * vd[f.V_STRIDE]) for vd in descriptors) * 8,
        "index": sum(int(vd[f.V_MASK] + 1) for vd in descriptors) * 8,
        "lists": int(memory.words[f.TOP]) * 8,
        "nodes": sum(
            int(memory.alias(number)[f.A_NEXT] * memory.alias(number)[f.A_STRIDE])
            for number in memory.nodes
        )
        * 8,
        "places": int(memory.words[f.PLACES_MASK] + 1) * 16,
        "strings": interner.bytes,
    }


def heaviest(walker: Walker, vertex: int) -> list[tuple[tuple[object, ...], int]]:
    """List the vertex values that the most base rows share."""
    records = walker.records(vertex)
    rows = np.zeros(len(records), np.int64)
    for seat in walker.layout.vertices[vertex].seats:
        rows += records[:, seat.length] & f.LENGTH
    most = np.argsort(-rows, kind="stable")[:HEAVIEST]
    most = most[rows[most] > 0]
    piece = Piece({vertex: most}, {}, np.ones(len(most), np.int64))
    words = word_rows(walker.key_columns(piece, vertex), len(most))
    return list(zip(words, rows[most].tolist(), strict=True))
