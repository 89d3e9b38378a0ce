"""Recomputes every invariant of a join graph from its join tuples alone.

Anything that does not hold is a defect of joingraph (or of memory), never of the data: the graph
must not be used any more.
"""

from __future__ import annotations

from collections.abc import Iterable

from joingraph.common.errors import CorruptGraph
from joingraph.graph.join_graph import Graph, JoinTuple, LookAhead, VertexValue
from joingraph.maintainers.lookahead import ExactLook, GlobalLook, is_met, others
from joingraph.plan.model import Mode

Side = tuple[JoinTuple, int]  # a join tuple, and the vertex by which a path enters it
Alive = dict[Side, bool]  # can it be completed beyond?


def check(graph: Graph, look: LookAhead) -> None:
    """Raise CorruptGraph at the first invariant that does not hold."""
    for alias, tuples in enumerate(graph.tuples):
        for key, each in tuples.items():
            must(each.alias == alias and each.key == key, "{} is filed under {}", each, key)
            check_tuple(graph, each)
    for vertex, values in enumerate(graph.values):
        for words, value in values.items():
            right = value.vertex == vertex and value.words == words
            must(right, "{} is filed under {}", value, words)
            check_value(graph, value)
    alive: Alive = {}
    for tuples in graph.tuples:
        for each in tuples.values():
            for entry in range(len(each.values)):
                check_look(graph, look, (each, entry), alive)
    if isinstance(look, ExactLook):
        check_live(graph, alive)


def must(holds: bool, otherwise: str, *named: object) -> None:
    """Insist on an invariant."""
    if not holds:
        text = otherwise.format(*named)
        raise CorruptGraph(f"{text}: please report this, and rebuild the graph from its sources")


def check_tuple(graph: Graph, at: JoinTuple) -> None:
    """A join tuple has rows, positive counts, and a seat at each of its vertex values."""
    must(bool(at.rows), "{} has no projected tuple", at)
    must(all(count > 0 for count in at.rows.values()), "{} counts below one", at)
    must(tuple(value.words for value in at.values) == at.key, "{} has other values", at)
    for value, seat in zip(at.values, graph.seats[at.alias], strict=True):
        must(at in value.tuples[seat], "{} has no seat at {}", at, value)
        known = graph.values[value.vertex].get(value.words)
        must(known is value, "{} of {} is not the graph's", value, at)


def check_value(graph: Graph, value: VertexValue) -> None:
    """A vertex value has a join tuple, and only such as the graph holds."""
    must(any(value.tuples), "no join tuple has {}", value)
    for sitting in value.tuples:
        for each in sitting:
            must(graph.tuples[each.alias].get(each.key) is each, "{} sits at {}", each, value)
    for seat, waiting in enumerate(value.waiting):
        for dead, entry in waiting:
            waits = dead.witness.get(entry) == (value, seat)
            must(waits, "{} waits at {} for nothing", dead, value)


def is_alive(graph: Graph, at: JoinTuple, entry: int, alive: Alive) -> bool:
    """Say from first principles whether a path that comes by `entry` can be completed.

    What lies beyond is settled first, from a list: a chain may be longer than Python's stack.
    """
    unsettled = [(at, entry)] if (at, entry) not in alive else []
    while unsettled:
        beyond = [sides_at(*each) for each in others(graph, *unsettled[-1])]
        unknown = [side for sides in beyond for side in sides if side not in alive]
        if unknown:
            unsettled += unknown
        else:
            settled = unsettled.pop()
            modes = modes_of(graph, others(graph, *settled))
            alive[settled] = all(
                is_met(mode, any(alive[side] for side in sides))
                for mode, sides in zip(modes, beyond, strict=True)
            )
    return alive[at, entry]


def modes_of(graph: Graph, seats: Iterable[tuple[int, VertexValue, int]]) -> list[Mode]:
    """List what is wanted of seats."""
    return [graph.modes[value.vertex][seat] for _, value, seat in seats]


def sides_at(_: int, value: VertexValue, seat: int) -> list[Side]:
    """List the join tuples at a seat, each entered by its vertex value."""
    return [(each, each.values.index(value)) for each in value.tuples[seat]]


def check_look(graph: Graph, look: LookAhead, side: Side, alive: Alive) -> None:
    """What look-ahead noted of a join tuple, entered by one of its vertices, is so."""
    at, entry = side
    lives = is_alive(graph, at, entry, alive)
    if isinstance(look, GlobalLook) and entry in at.witness:
        value, seat = at.witness[entry]
        must(not lives, "{} is flagged dead and lives", at)
        must(side in value.waiting[seat], "{} does not wait at {}", at, value)
    if isinstance(look, ExactLook):
        beyond = list(others(graph, at, entry))
        lacking = sum(
            not is_met(mode, any(is_alive(graph, *each, alive) for each in sides_at(*seat)))
            for mode, seat in zip(modes_of(graph, beyond), beyond, strict=True)
        )
        must(at.lacking[entry] == lacking, "{} miscounts what it lacks", at)


def check_live(graph: Graph, alive: Alive) -> None:
    """Exact look-ahead's counts of live join tuples are right."""
    for values in graph.values:
        for value in values.values():
            for seat, sitting in enumerate(value.tuples):
                live = sum(alive[each, each.values.index(value)] for each in sitting)
                must(value.live[seat] == live, "{} miscounts who lives", value)
