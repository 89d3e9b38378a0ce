"""Tells how large a plain join graph is: by alias, by vertex, by kind of node, and in bytes."""

from __future__ import annotations

from collections.abc import Iterable
from heapq import nlargest
from sys import getsizeof
from typing import Any, TypeVar

from joingraph.graph.indexes import by_value
from joingraph.graph.join_graph import Graph, JoinTuple, VertexValue
from joingraph.plan.show import vertex_name

T = TypeVar("T")
HEAVIEST = 5  # vertex values listed per vertex


def stats(graph: Graph) -> dict[str, Any]:
    """Count nodes and bytes; bytes are Python's own for containers and tuples, values left out."""
    plan = graph.plan
    sizes = {
        "vertex_values": sum(map(value_bytes, every(graph.values))),
        "join_tuples": sum(map(tuple_bytes, every(graph.tuples))),
        "projected_tuples": sum(map(rows_bytes, every(graph.tuples))),
    }
    return {
        "bytes": sum(sizes.values()),
        "bytes_by_kind": sizes,
        "aliases": {
            alias.name: alias_stats(graph.tuples[alias.index].values()) for alias in plan.aliases
        },
        "vertices": {
            vertex_name(plan, vertex): {
                "values": len(graph.values[vertex.index]),
                "heaviest": heaviest(graph.values[vertex.index].values(), len(vertex.types)),
            }
            for vertex in plan.vertices
        },
        "indexes": {column: index_stats(graph, column) for column in graph.indexes},
    }


def every(maps: Iterable[dict[Any, T]]) -> Iterable[T]:
    """Go through the values of several dictionaries."""
    return (each for one in maps for each in one.values())


def alias_stats(tuples: Iterable[JoinTuple]) -> dict[str, int]:
    """Count what an alias holds."""
    rows = [each.rows for each in tuples]
    return {
        "join_tuples": len(rows),
        "projected_tuples": sum(map(len, rows)),
        "rows": sum(sum(each.values()) for each in rows),
    }


def index_stats(graph: Graph, column: str) -> dict[str, int]:
    """Count what a declared index leads to; it takes no memory of its own."""
    found = by_value(graph, column)
    return {"values": len(found), "entries": sum(map(len, found.values()))}


def heaviest(values: Iterable[VertexValue], width: int) -> list[tuple[tuple[object, ...], int]]:
    """List the vertex values that the most base rows share; behind a NULL stands whose it is."""
    sized = ((value.words[:width], sum(map(rows_at, value.tuples))) for value in values)
    return nlargest(HEAVIEST, sized, key=lambda each: each[1])


def rows_at(tuples: Iterable[JoinTuple]) -> int:
    """Count the base rows of join tuples."""
    return sum(sum(each.rows.values()) for each in tuples)


def value_bytes(value: VertexValue) -> int:
    """Measure a vertex value with its lists."""
    lists = [value.tuples, *value.tuples, value.live, value.waiting, *value.waiting, value.words]
    return getsizeof(value) + sum(map(getsizeof, lists))


def tuple_bytes(at: JoinTuple) -> int:
    """Measure a join tuple without its rows."""
    return getsizeof(at) + getsizeof(at.values) + getsizeof(at.lacking) + getsizeof(at.witness)


def rows_bytes(at: JoinTuple) -> int:
    """Measure the projected tuples of a join tuple."""
    return getsizeof(at.rows) + sum(map(getsizeof, at.rows))
