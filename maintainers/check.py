"""Recomputes every invariant of a join graph from its join tuples alone.

Anything that does not hold is a defect of joingraph (or of memory), never of the data: the graph
must not be used any more.
"""

from __future__ import annotations

from joingraph.errors import CorruptGraph
from joingraph.graph import Graph, JoinTuple, LookAhead, VertexValue
from joingraph.maintainers.lookahead import ExactLook, GlobalLook, others

Alive = dict[tuple[JoinTuple, int], bool]  # (join tuple, entry) -> can it be completed beyond?


def check(graph: Graph, look: LookAhead) -> None:
    """Raise CorruptGraph at the first invariant that does not hold."""
    for alias, tuples in enumerate(graph.tuples):
        for key, each in tuples.items():
            check_tuple(graph, alias, each)
            must(each.key == key, f"a join tuple of {name(graph, each)} is filed under {key}")
    for vertex, values in enumerate(graph.values):
        for words, value in values.items():
            must(value.vertex == vertex and value.words == words, f"{words} is misfiled")
            check_value(graph, value)
    alive: Alive = {}
    for tuples in graph.tuples:
        for each in tuples.values():
            for entry in range(len(each.values)):
                check_look(graph, look, each, entry, alive)
    if isinstance(look, ExactLook):
        check_live(graph, alive)


def must(holds: bool, otherwise: str) -> None:
    """Insist on an invariant."""
    if not holds:
        raise CorruptGraph(f"{otherwise}: please report this; rebuild the graph from its sources")


def name(graph: Graph, at: JoinTuple) -> str:
    """Name a join tuple for a message."""
    return f"{graph.plan.aliases[at.alias].name} {at.key}"


def check_tuple(graph: Graph, alias: int, at: JoinTuple) -> None:
    """A join tuple has rows, positive counts, and a seat at each of its vertex values."""
    must(at.alias == alias, f"{name(graph, at)} is filed under another alias")
    must(bool(at.rows), f"{name(graph, at)} has no projected tuple")
    must(all(count > 0 for count in at.rows.values()), f"{name(graph, at)} counts below one")
    must(len(at.values) == len(graph.seats[alias]), f"{name(graph, at)} misses a vertex")
    for value, seat in zip(at.values, graph.seats[alias], strict=True):
        must(at in value.tuples[seat], f"{name(graph, at)} has no seat at {value.words}")
        known = graph.values[value.vertex].get(value.words)
        must(known is value, f"{value.words} of {name(graph, at)} is not the graph's")


def check_value(graph: Graph, value: VertexValue) -> None:
    """A vertex value has somebody, and only join tuples that the graph holds."""
    must(any(value.tuples), f"nobody has the vertex value {value.words}")
    for sitting in value.tuples:
        for each in sitting:
            known = graph.tuples[each.alias].get(each.key)
            must(known is each, f"{name(graph, each)} sits at {value.words} but is gone")
    for seat, waiting in enumerate(value.waiting):
        for dead, entry in waiting:
            must(
                dead.witness.get(entry) == (value, seat),
                f"{name(graph, dead)} waits at {value.words} for nothing",
            )


def is_alive(graph: Graph, at: JoinTuple, entry: int, alive: Alive) -> bool:
    """Say from first principles whether a path that comes by `entry` can be completed."""
    if (at, entry) not in alive:
        alive[at, entry] = all(
            any(
                is_alive(graph, each, each.values.index(value), alive)
                for each in value.tuples[seat]
            )
            for _, value, seat in others(graph, at, entry)
        )
    return alive[at, entry]


def check_look(graph: Graph, look: LookAhead, at: JoinTuple, entry: int, alive: Alive) -> None:
    """What look-ahead noted of a join tuple is so."""
    lives = is_alive(graph, at, entry, alive)
    if isinstance(look, GlobalLook) and entry in at.witness:
        value, seat = at.witness[entry]
        must(not lives, f"{name(graph, at)} is flagged dead and lives")
        must((at, entry) in value.waiting[seat], f"{name(graph, at)} waits for nobody")
    if isinstance(look, ExactLook):
        lacking = sum(
            not any(
                is_alive(graph, each, each.values.index(value), alive)
                for each in value.tuples[seat]
            )
            for _, value, seat in others(graph, at, entry)
        )
        must(at.lacking[entry] == lacking, f"{name(graph, at)} miscounts what it lacks")


def check_live(graph: Graph, alive: Alive) -> None:
    """Exact look-ahead's counts of live join tuples are right."""
    for values in graph.values:
        for value in values.values():
            for seat, sitting in enumerate(value.tuples):
                live = sum(alive[each, each.values.index(value)] for each in sitting)
                must(value.live[seat] == live, f"{value.words} miscounts who lives")
