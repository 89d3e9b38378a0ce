"""Finds the base rows of an alias that meet a condition, as far as the graph keeps them.

In: conjuncts over what the alias keeps. Out: a delete for each of the rows; nothing is changed yet.
A constant that a join attribute equals, or a range of an indexed column, says where to look; else
every tuple of the alias is looked at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import repeat

import numpy as np
import pyarrow as pa

from joingraph.expressions import texts
from joingraph.expressions.evaluate import holds
from joingraph.expressions.tree import Expression, columns_of
from joingraph.expressions.words import from_words
from joingraph.graph.indexes import Place, within, word
from joingraph.graph.join_graph import Diff, Graph, Image
from joingraph.plan.kept_columns import kept_slot
from joingraph.plan.model import AliasPlan
from joingraph.reads.access_paths import AtVertex, at_facts, at_indexes, facts_of
from joingraph.reads.requests import Reading


def expired(graph: Graph, alias: AliasPlan, conditions: Sequence[Expression]) -> Iterator[Diff]:
    """Yield the delete of each base row of an alias on which every condition is TRUE."""
    places = list(candidates(graph, alias, conditions))
    for condition in conditions:
        places = [place for some in bounded(places) for place in met(graph, alias, condition, some)]
    for at, row in places:
        yield from repeat(Diff(alias.index, Image(at.key, row), None), at.rows[row])


def bounded(places: Sequence[Place]) -> Iterator[Sequence[Place]]:
    """Cut tuples so that each part has text for a block at most."""
    words = ((*row, *(word for words in at.key for word in words)) for at, row in places)
    lengths = np.fromiter(map(texts.length_of, words), np.int64, len(places))
    for span in texts.spans(lengths, texts.BLOCK_BYTES):
        yield places[span]


def met(
    graph: Graph, alias: AliasPlan, condition: Expression, places: Sequence[Place]
) -> Iterator[Place]:
    """Yield the tuples on which a condition is TRUE."""
    columns = kept_columns(graph, alias, condition, places)
    true = holds(condition, columns, len(places)).to_pylist()
    return (place for place, keep in zip(places, true, strict=True) if keep)


def candidates(graph: Graph, alias: AliasPlan, conditions: Sequence[Expression]) -> Iterator[Place]:
    """Yield the tuples of an alias that may meet the conditions, as few as an index tells."""
    outputs = {each.name: each.value for each in graph.plan.definition.output}
    indexed = {column: outputs[column] for column in graph.indexes}
    # Rows that meet no others are meant, too: what holds of these says nothing of the alias' own.
    for way in at_facts(graph.plan, facts_of(conditions)):
        if way.alias == alias.index:
            yield from at_values(graph, way)
            return
    for found in at_indexes(graph.plan, Reading(tuple(conditions)), indexed):
        if found.alias == alias.index:
            for span in found.spans:
                yield from within(graph, found.column, span)
            return
    yield from ((at, row) for at in graph.tuples[alias.index].values() for row in at.rows)


def at_values(graph: Graph, way: AtVertex) -> Iterator[Place]:
    """Yield what sits at vertex values."""
    seat = graph.plan.vertices[way.vertex].seat(way.alias)
    for words in way.words:
        value = graph.values[way.vertex].get(words)
        if value is not None:
            yield from ((at, row) for at in value.tuples[seat] for row in at.rows)


def kept_columns(
    graph: Graph, alias: AliasPlan, condition: Expression, places: Sequence[Place]
) -> dict[Expression, pa.Array]:
    """Return what tuples keep of the columns that a condition reads."""
    found: dict[Expression, pa.Array] = {}
    for column in columns_of(condition):
        slot = kept_slot(graph.plan, alias, column)
        assert slot is not None, "what is not kept was refused when the condition was bound"
        words = [word(place, slot) for place in places]
        found[column] = from_words(words, slot.stored).cast(column.type)
    return found
