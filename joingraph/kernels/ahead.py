"""Writes the part of an insert kernel that looks ahead: what later ops will touch is asked for now.

    op at + 24    index slots of its vertex values
         at + 16  which records those name (found by their hash, kept in a ring), and the records
         at + 8   the lists at those values: the end of the alias' own, the beginning of others
         at + 4   the value beyond the first live edge at each value
         at + 2   the leaves' lists there
         at       the op; its values are those in the ring, unless they are new

What only walks touch is not asked for where view diffs are not made.

A kernel is given inserts of one alias only, so nothing that the ring names can be freed meanwhile.
It begins 24 steps early, with nothing but looking ahead; short runs are done without.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from joingraph.kernels.fields import (
    AHEAD_LAST,
    AHEAD_LIST,
    AHEAD_NEXT,
    AHEAD_RECORD,
    AHEAD_SLOT,
    EDGE,
    LEAF,
    OP_WORDS,
    RING_SLOTS,
)
from joingraph.kernels.layout import Link, Seat

if TYPE_CHECKING:
    from joingraph.kernels.codegen import Writer


class Ahead:
    """Writes the looking ahead of one alias' inserts through a writer."""

    def __init__(self, writer: Writer) -> None:
        self.writer, self.say = writer, writer.say
        self.number = writer.start_alias
        self.layout = writer.layout
        links = self.layout.aliases[self.number].links
        self.links = [link for link in links if self.layout.vertices[link.vertex].key]

    def begin(self) -> None:
        """Write the beginning of the loop over ops."""
        self.say(
            "ops, ring = ld(st, OPS), ld(st, RING)",
            f"ahead = ld(st, AHEAD) != 0 and end - begin > {AHEAD_SLOT}",
            f"for at in range(begin - {AHEAD_SLOT} if ahead else begin, end):",
        )

    def look(self) -> None:
        """Write the stages of looking ahead."""
        self.say("if ahead:")
        self.writer.depth += 1
        for distance, stage in (
            (AHEAD_SLOT, self.slot),
            (AHEAD_RECORD, self.record),
            (AHEAD_LIST, self.lists),
            (AHEAD_NEXT, self.next),
            (AHEAD_LAST, self.next_lists),
        ):
            if distance <= AHEAD_NEXT and not any(self.edges(link) for link in self.links):
                continue
            walks = "not silent and " if distance <= AHEAD_NEXT else ""
            self.say(f"if {walks}begin <= at + {distance} < end:")
            self.writer.depth += 1
            self.say(f"row = ld(ops + (at + {distance}) * {OP_WORDS * 8}, O_ROW)")
            for place, link in enumerate(self.links):
                stage(link, f"ring, {ring_slot(place, f'at + {distance}')}")
            self.writer.depth -= 1
        self.say("if at < begin:", "    continue")
        self.writer.depth -= 1

    def slot(self, link: Link, _: str) -> None:
        """Ask for the index slot of a value."""
        if self.layout.vertices[link.vertex].key == 1:
            self.say(f"prefetch_word(vertex_{link.vertex}, ld(row, {link.key}))")
        else:
            self.say(f"prefetch_slot(vertex_{link.vertex}, row + {link.key * 8})")

    def record(self, link: Link, slot: str) -> None:
        """Find a value's record by its hash, and ask for it."""
        vertex = self.layout.vertices[link.vertex]
        if vertex.key == 1:
            key = f"vertex_{link.vertex}, ld(row, {link.key}), {vertex.stride}"
            self.say(f"likely = likely_word({key})")
        else:
            self.say(f"likely = likely_record(vertex_{link.vertex}, row + {link.key * 8})")
        self.say(f"sto({slot}, likely)", "prefetch(likely, 0)")

    def lists(self, link: Link, slot: str) -> None:
        """Ask for the lists at a value."""
        seats = [seat for seat in self.layout.vertices[link.vertex].seats if seat.kind >= LEAF]
        if seats:
            self.say(f"likely = ld({slot})", f"if {self.is_there(link)}:")
            self.writer.depth += 1
            for seat in seats:
                self.one_list(seat)
            self.writer.depth -= 1

    def one_list(self, seat: Seat) -> None:
        """Ask for the end of the alias' own list, which will grow, or for another's beginning."""
        if seat.alias == self.number:
            length = f"(ld(likely, {seat.length}) & LENGTH)"
            self.say(f"prefetch(heap, ld(likely, {seat.offset}) + {length})")
            return
        self.say("if not silent:")
        if seat.kind >= EDGE:
            self.say(f"    prefetch(heap, ld(likely, {seat.offset}))")
        else:
            self.say(f"    prefetch_run(heap, likely + {seat.offset * 8}, {seat.columns})")

    def edges(self, link: Link) -> list[Seat]:
        """List the other aliases at a vertex that lead on by an edge."""
        seats = self.layout.vertices[link.vertex].seats
        return [seat for seat in seats if seat.kind == EDGE and seat.alias != self.number]

    def next(self, link: Link, slot: str) -> None:
        """Ask for the value beyond the first live edge."""
        for edge in self.edges(link):
            self.beyond(link, edge, slot)
            self.say("    prefetch(far, 0)")

    def next_lists(self, link: Link, slot: str) -> None:
        """Ask for the leaves' lists at that value."""
        for edge in self.edges(link):
            far = self.beyond(link, edge, slot)
            for seat in self.layout.vertices[far].seats:
                if seat.kind == LEAF:
                    group = f"far + {seat.offset * 8}, {seat.columns}"
                    self.say(f"    prefetch_run(heap, {group})")

    def beyond(self, link: Link, edge: Seat, slot: str) -> int:
        """Write how the value beyond the first live edge is found; gives its vertex."""
        far = self.layout.aliases[edge.alias].links[1 - edge.link].vertex
        stride = self.layout.vertices[far].stride * 8
        self.say(
            f"likely = ld({slot})",
            f"if {self.is_there(link)} and ld(likely, {edge.live}) & LENGTH:",
            f"    entry = ld(heap + ld(likely, {edge.offset}) * 8, 0)",
            f"    far = records_{far} + (entry >> 32) * {stride}",
        )
        return far

    def is_there(self, link: Link) -> str:
        """Test that a record was found, not an empty slot (an odd number) or nothing at all."""
        return "likely & 1 == 0" if self.layout.vertices[link.vertex].key == 1 else "likely"

    def value(self, link: Link) -> str:
        """Name what the ring holds for a link at the present op."""
        return f"ld(ring, {ring_slot(self.links.index(link), 'at')})"


def ring_slot(link: int, at: str) -> str:
    """Say where the ring has the record of a link's value at an op."""
    return f"{link * RING_SLOTS} + (({at}) & {RING_SLOTS - 1})"
