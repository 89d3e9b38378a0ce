"""Four ways to know whether a path can be completed: section 7.1 of the thesis, corrected.

Entering a join tuple by one of its vertices, can the rest of the join tree beyond it be completed?

    R -- S -- T -- U        a path comes from R: is S open, entered by <R S>?
    none     yes, always: dead ends are found by walking into them
    local    a row of T has S's value at <S T>              (the thesis' LLA)
    global   ... and so on to the end; a dead end is flagged when found, and the flag waits at its
             witness, the value without a live tuple, until one comes there (GLA)
    exact    as global, but counted eagerly: live[seat] at each value, changed on 0 <-> 1 only

Every mode gives the same rows. The thesis keeps one flag a join tuple and clears its neighbours'
flags only, which loses rows (a stale "dead" three steps away); here flags have a direction and a
clearing goes on through the flags that waited for what it cleared.
"""

from __future__ import annotations

from collections.abc import Iterator

from joingraph.graph.join_graph import Graph, JoinTuple, LookAhead, VertexValue


def look_ahead(mode: str, graph: Graph) -> LookAhead:
    """Make the look-ahead of a mode for an empty graph."""
    return MODES[mode](graph)


def others(
    graph: Graph, at: JoinTuple, entry: int | None
) -> Iterator[tuple[int, VertexValue, int]]:
    """Yield every seat that a path through a join tuple still needs: (place, value, seat)."""
    for place, value in enumerate(at.values):
        if place != entry:
            own = graph.seats[at.alias][place]
            for seat in range(len(value.tuples)):
                if seat != own:
                    yield place, value, seat


class NoLook:
    """Knows nothing."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    def entered(self, new: JoinTuple) -> None:
        """Keep nothing."""

    def left(self, old: JoinTuple) -> None:
        """Keep nothing."""

    def is_open(self, at: JoinTuple, entry: int | None) -> bool:
        """Say yes: the walk will find out."""
        return True


class LocalLook(NoLook):
    """Looks one step ahead, and keeps nothing: the vertex values know who is there."""

    def is_open(self, at: JoinTuple, entry: int | None) -> bool:
        """True if every neighbour beyond has a join tuple."""
        return all(value.tuples[seat] for _, value, seat in others(self.graph, at, entry))


class GlobalLook(NoLook):
    """Looks to the end of every branch, remembering the dead ends it has met."""

    def entered(self, new: JoinTuple) -> None:
        """Clear the flags that waited for a tuple to come where this one sits.

        It counts as alive even where it is a dead end itself: a flag wrongly cleared is set again
        by the next visit, a flag wrongly kept would lose rows. Each clearing pays for one setting.
        """
        arrived = [(new, entry) for entry in range(len(new.values))]
        while arrived:
            at, entry = arrived.pop()
            value, seat = at.values[entry], self.graph.seats[at.alias][entry]
            cleared, value.waiting[seat] = value.waiting[seat], {}
            for dead, its_entry in cleared:
                dead.witness.pop(its_entry, None)
            arrived += cleared

    def left(self, old: JoinTuple) -> None:
        """Take back the flags of a join tuple that is gone; no other flag becomes wrong."""
        for entry, (value, seat) in old.witness.items():
            del value.waiting[seat][old, entry]

    def is_open(self, at: JoinTuple, entry: int | None) -> bool:
        """True if all branches beyond can be completed; flag the join tuple if not."""
        if entry in at.witness:
            return False
        for _, value, seat in others(self.graph, at, entry):
            if not any(self.is_open(each, self.entry(each, value)) for each in value.tuples[seat]):
                if entry is not None:
                    # In this order: a flag that does not wait would never be cleared.
                    value.waiting[seat][at, entry] = None
                    at.witness[entry] = (value, seat)
                return False
        return True

    @staticmethod
    def entry(at: JoinTuple, value: VertexValue) -> int:
        """Find the place by which a path that comes from a value enters a join tuple."""
        return next(place for place, each in enumerate(at.values) if each is value)


class ExactLook(NoLook):
    """Counts, at every vertex value and seat, the join tuples that can be completed away from it.

    lacking[entry] of a join tuple = the seats beyond, reached otherwise than by entry, with live 0
    live[seat] of a vertex value   = the join tuples there whose lacking[this vertex] is 0
    """

    def entered(self, new: JoinTuple) -> None:
        """Count what a new join tuple lacks, and count it where it lacks nothing."""
        for entry in range(len(new.values)):
            beyond = others(self.graph, new, entry)
            new.lacking[entry] = sum(not value.live[seat] for _, value, seat in beyond)
        for entry in range(len(new.values)):
            if not new.lacking[entry]:
                self.count(new, entry, +1)

    def left(self, old: JoinTuple) -> None:
        """Remove it from the counts."""
        for entry in range(len(old.values)):
            if not old.lacking[entry]:
                self.count(old, entry, -1)

    def count(self, at: JoinTuple, entry: int, sign: int) -> None:
        """Count a join tuple as live (+1) or as dead (-1); a count from or to zero flips others."""
        flips = [(at, entry)]
        while flips:
            at, entry = flips.pop()
            value, seat = at.values[entry], self.graph.seats[at.alias][entry]
            value.live[seat] += sign
            if value.live[seat] == (sign > 0):
                flips += self.flipped(value, seat, sign)

    def flipped(self, value: VertexValue, seat: int, sign: int) -> Iterator[tuple[JoinTuple, int]]:
        """Yield other seats' join tuples that are flipped by a seat's first or last live one."""
        for other, sitting in enumerate(value.tuples):
            if other == seat:
                continue
            for each in sitting:
                arrived = GlobalLook.entry(each, value)
                for entry in range(len(each.values)):
                    if entry != arrived:
                        was_lacking = each.lacking[entry]
                        each.lacking[entry] -= sign
                        if was_lacking == (sign > 0):
                            yield each, entry

    def is_open(self, at: JoinTuple, entry: int | None) -> bool:
        """True if nothing is lacking beyond."""
        if entry is not None:
            return not at.lacking[entry]
        return all(value.live[seat] for _, value, seat in others(self.graph, at, None))


MODES = {"none": NoLook, "local": LocalLook, "global": GlobalLook, "exact": ExactLook}
