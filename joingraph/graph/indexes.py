"""A declared index of the plain join graph: an alias' projected tuples by a value that they keep.

    index on fan    'bob' -> F <7> ('bob',)
                    'eve' -> F <7> ('eve',), F <9> ('eve',)          in order, NULL last

Nothing is kept but where the value is found (Graph.indexes): a read sorts what the alias holds, and
takes a slice. A value is a comparable (expressions/order.py).
"""

from __future__ import annotations

from typing import Any

from joingraph.expressions.order import comparables
from joingraph.expressions.words import Word, from_words
from joingraph.graph.join_graph import Graph, JoinTuple, Row
from joingraph.plan.model import Slot
from joingraph.reads.access_paths import Span

Place = tuple[JoinTuple, Row]


def word(place: Place, slot: Slot) -> Word:
    """Read one kept value, of a projected tuple or of its join tuple's key."""
    at, row = place
    words = row if slot.vertex is None else at.values[slot.vertex].words
    return words[slot.position]


def by_value(graph: Graph, column: str) -> dict[Any, list[Place]]:
    """Return all projected tuples of an indexed column's alias by its values, in order."""
    slot = graph.indexes[column]
    found: dict[Any, list[Place]] = {}
    for at in graph.of_alias(slot.alias):
        for row in at.rows:
            (value,) = comparables(from_words([word((at, row), slot)], slot.stored))
            found.setdefault(value, []).append((at, row))
    return dict(sorted(found.items(), key=lambda each: (each[0] is None, each[0])))


def within(graph: Graph, column: str, span: Span) -> list[Place]:
    """Return the projected tuples whose value is within a span, in its order; NULL is in none."""
    found = by_value(graph, column)
    return [place for value in found if is_within(value, span) for place in found[value]]


def is_within(value: Any, span: Span) -> bool:
    """True if a value is neither below a span nor above it."""
    if value is None:
        return False
    above = span.low is None or value > span.low or (value == span.low and not span.without_low)
    below = span.high is None or value < span.high or (value == span.high and not span.without_high)
    return above and below


def ordered(graph: Graph, column: str, *, descending: bool, nulls_first: bool) -> list[list[Place]]:
    """Return all projected tuples value by value, NULLs at one end."""
    found = by_value(graph, column)
    nulls = [found.pop(None)] if None in found else []
    values = list(found.values())
    if descending:
        values.reverse()
    return nulls + values if nulls_first else values + nulls
