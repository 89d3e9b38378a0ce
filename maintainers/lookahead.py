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

from joingraph.graph.join_graph import Flip, Graph, JoinTuple, LookAhead, VertexValue
from joingraph.plan.model import BLIND, Mode

UNASKED: frozenset[Mode] = frozenset({"opt", "mark"})  # nothing is wanted of such a seat


def look_ahead(mode: str, graph: Graph) -> LookAhead:
    """Make the look-ahead of a mode for an empty graph."""
    return MODES[mode](graph)


def others(
    graph: Graph, at: JoinTuple, entry: int | None
) -> Iterator[tuple[int, VertexValue, int]]:
    """Yield every seat that a path through a join tuple asks for: (place, value, seat)."""
    for place, value in enumerate(at.values):
        if place != entry and not value.is_null:
            own, modes = graph.seats[at.alias][place], graph.modes[value.vertex]
            for seat, mode in enumerate(modes) if modes[own] not in BLIND else ():
                if seat != own and mode not in UNASKED:
                    yield place, value, seat


def is_met(mode: Mode, live: object) -> bool:
    """True if a seat with so many live join tuples is as its mode wants it."""
    return not live if mode == "anti" else bool(live) or mode in UNASKED


class NoLook:
    """Knows nothing, but for who comes first to a seat, and goes last.

    Where it matters, beside inner joins, one alias sits there that has no vertex beyond: all its
    join tuples live.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.flips: list[Flip] = []

    def entered(self, new: JoinTuple) -> None:
        """Note the first ones of seats."""
        self.note(new, 1)

    def left(self, old: JoinTuple) -> None:
        """Note the last ones of seats."""
        self.note(old, 0)

    def note(self, at: JoinTuple, count: int) -> None:
        """Note a flip at each seat that has so many join tuples now."""
        for value, seat in zip(at.values, self.graph.seats[at.alias], strict=True):
            if len(value.tuples[seat]) == count and self.graph.modes[value.vertex][seat] != "req":
                self.flips.append(Flip(value, seat, bool(count)))

    def flipped(self) -> list[Flip]:
        """Return the flips since the last call."""
        found, self.flips = self.flips, []
        return found

    def lives(self, value: VertexValue, seat: int) -> bool:
        """True if a join tuple sits there."""
        return bool(value.tuples[seat])

    def is_open(self, at: JoinTuple, entry: int | None) -> bool:
        """Say yes: the walk will find out."""
        return True


class LocalLook(NoLook):
    """Looks one step ahead, and keeps nothing: the vertex values know who is there."""

    def is_open(self, at: JoinTuple, entry: int | None) -> bool:
        """True if every neighbour beyond has a join tuple, or none where none is wanted."""
        return all(
            is_met(self.graph.modes[value.vertex][seat], value.tuples[seat])
            for _, value, seat in others(self.graph, at, entry)
        )


class GlobalLook(NoLook):
    """Looks to the end of every branch, remembering the dead ends it has met."""

    def entered(self, new: JoinTuple) -> None:
        """Clear the flags that waited for a tuple to come where this one sits.

        It counts as alive even where it is a dead end itself: a flag wrongly cleared is set again
        by the next visit, a flag wrongly kept would lose rows. Each clearing pays for one setting.
        """
        super().entered(new)
        self.clear([(new, entry) for entry in range(len(new.values))])

    def clear(self, arrived: list[tuple[JoinTuple, int]]) -> None:
        """Clear the flags that waited where join tuples can be entered again."""
        while arrived:
            at, entry = arrived.pop()
            value, seat = at.values[entry], self.graph.seats[at.alias][entry]
            cleared, value.waiting[seat] = value.waiting[seat], {}
            for dead, its_entry in cleared:
                dead.witness.pop(its_entry, None)
            arrived += cleared

    def left(self, old: JoinTuple) -> None:
        """Take back the flags of a join tuple that is gone.

        No other flag becomes wrong, but for those set since it kept others from being completed.
        """
        super().left(old)
        for entry, (value, seat) in old.witness.items():
            del value.waiting[seat][old, entry]
        for value, seat in zip(old.values, self.graph.seats[old.alias], strict=True):
            if self.graph.modes[value.vertex][seat] == "anti" and not value.tuples[seat]:
                barred = (each for sitting in value.tuples for each in sitting)
                self.clear([(each, entry) for each in barred for entry in range(len(each.values))])

    def is_open(self, at: JoinTuple, entry: int | None) -> bool:
        """True if all branches beyond can be completed; flag the join tuple if not."""
        if entry in at.witness:
            return False
        for _, value, seat in others(self.graph, at, entry):
            if self.graph.modes[value.vertex][seat] == "anti":
                if value.tuples[seat]:  # who goes clears no flag, so none is set
                    return False
            elif not any(
                self.is_open(each, self.entry(each, value)) for each in value.tuples[seat]
            ):
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

    lacking[entry] of a join tuple = the seats beyond, reached otherwise than by entry, with live 0;
                                     of an anti seat, with any
    live[seat] of a vertex value   = the join tuples there whose lacking[this vertex] is 0
    """

    def entered(self, new: JoinTuple) -> None:
        """Count what a new join tuple lacks, and count it where it lacks nothing."""
        for entry in range(len(new.values)):
            beyond = others(self.graph, new, entry)
            new.lacking[entry] = sum(self.is_lacking(value, seat) for _, value, seat in beyond)
        for entry in range(len(new.values)):
            if not new.lacking[entry]:
                self.count(new, entry, +1)

    def left(self, old: JoinTuple) -> None:
        """Remove it from the counts."""
        for entry in range(len(old.values)):
            if not old.lacking[entry]:
                self.count(old, entry, -1)

    def is_lacking(self, value: VertexValue, seat: int) -> bool:
        """True if a seat is not as its mode wants it."""
        return not is_met(self.graph.modes[value.vertex][seat], value.live[seat])

    def count(self, at: JoinTuple, entry: int, sign: int) -> None:
        """Count a join tuple as live (+1) or as dead (-1); a count from or to zero flips others."""
        turned = [(at, entry, sign)]
        while turned:
            at, entry, sign = turned.pop()
            value, seat = at.values[entry], self.graph.seats[at.alias][entry]
            value.live[seat] += sign
            if value.live[seat] == (sign > 0):
                mode = self.graph.modes[value.vertex][seat]
                if mode != "req":
                    self.flips.append(Flip(value, seat, sign > 0))
                if mode not in UNASKED:
                    turned += self.turned(value, seat, sign if mode == "anti" else -sign)

    def turned(
        self, value: VertexValue, seat: int, more: int
    ) -> Iterator[tuple[JoinTuple, int, int]]:
        """Yield others' join tuples that live or die as they lack one more (1) or less (-1)."""
        modes = self.graph.modes[value.vertex]
        for other, sitting in enumerate(value.tuples):
            if other == seat or modes[other] in BLIND:
                continue
            for each in sitting:
                arrived = GlobalLook.entry(each, value)
                for entry in range(len(each.values)):
                    if entry != arrived:
                        each.lacking[entry] += more
                        if each.lacking[entry] == (more > 0):
                            yield each, entry, -more

    def lives(self, value: VertexValue, seat: int) -> bool:
        """True if a join tuple there lacks nothing."""
        return value.live[seat] > 0

    def is_open(self, at: JoinTuple, entry: int | None) -> bool:
        """True if nothing is lacking beyond."""
        if entry is not None:
            return not at.lacking[entry]
        return not any(
            self.is_lacking(value, seat) for _, value, seat in others(self.graph, at, None)
        )


MODES = {"none": NoLook, "local": LocalLook, "global": GlobalLook, "exact": ExactLook}
