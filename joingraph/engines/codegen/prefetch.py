"""Writes what looks ahead: what later ops will touch is asked for now.

    op at + 24    index slots of its vertex values
         at + 16  which records those name (found by their hash, kept in a ring), and the records
         at + 8   the lists at those values: the end of the alias' own, the beginning of others
         at + 4   the values beyond the first live edges at each value
         at + 2   the leaves' lists there
         at       the op; its values are those in the ring, unless they are new

What only walks touch is not asked for where view diffs are not made.

A kernel of inserts of one alias looks ahead itself (`AheadOfInserts`): nothing that its ring names
can be freed meanwhile. It begins 24 steps early, with nothing but looking ahead; short runs are
done without. For ops of any kind each alias has a kernel that does a stage for one op
(`AheadOfAny`); graph/compiled/prefetch.py calls it, and does the same where there is none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from joingraph.graph.compiled.fields import (
    AHEAD_LAST,
    AHEAD_LIST,
    AHEAD_NEXT,
    AHEAD_RECORD,
    AHEAD_SLOT,
    ANTI,
    EDGE,
    LEAF,
    OP_WORDS,
    RING_SLOTS,
    SEMI,
)
from joingraph.graph.compiled.layout import Link, Seat
from joingraph.graph.compiled.memory.state import most_links

if TYPE_CHECKING:
    from joingraph.engines.codegen.paths import Writer
    from joingraph.graph.compiled.layout import Layout

Stage = Callable[[Link, str], None]

AHEAD_GROUPS = 1  # how many ops ahead groups beyond an edge are asked for
FAR_WORDS = 1 << 18  # of all groups, above which they are not near already
MOST_GROUPS = 128  # of a list that are asked for
FIRST_EDGES = 4  # of a list, beyond which values are asked for: most have no more


class Ahead:
    """Writes the stages of looking ahead for one alias through a writer."""

    first_or_last = "<= 1"  # how many rows there are where one more, or one less, is a flip

    def __init__(self, writer: Writer) -> None:
        self.writer, self.say = writer, writer.say
        self.number = writer.start_alias
        self.layout = writer.layout
        links = self.layout.aliases[self.number].links
        self.links = [link for link in links if self.layout.vertices[link.vertex].key]

    def stages(self) -> list[tuple[int, Stage]]:
        """List the stages: how many ops ahead each is done, and who writes it."""
        return [
            (AHEAD_SLOT, self.slot),
            (AHEAD_RECORD, self.record),
            (AHEAD_LIST, self.lists),
            (AHEAD_NEXT, self.next),
            (AHEAD_LAST, self.next_lists),
        ]

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
                if seat.alias == self.number:
                    self.own_list(seat)
                else:
                    self.one_list(seat)
            self.writer.depth -= 1

    def own_list(self, seat: Seat) -> None:
        """Ask for the end of the alias' own list, which will grow."""
        length = f"(ld(likely, {seat.length}) & LENGTH)"
        self.say(f"prefetch(heap, ld(likely, {seat.offset}) + {length})")

    def one_list(self, seat: Seat) -> None:
        """Ask for another list's beginning."""
        self.say(f"if not silent{self.if_it_flips('likely')}:")
        if seat.kind >= EDGE:
            self.say(f"    prefetch(heap, ld(likely, {seat.offset}))")
        else:
            self.say(f"    {self.writer.ask_rows(seat, 'likely')}")

    @property
    def asked(self) -> Seat | None:
        """The alias' seat if it is only asked for: its rows make none, but where the seat flips."""
        alias = self.layout.aliases[self.number]
        return alias.links[0].seat if len(alias.links) == 1 and alias.is_silent else None

    def if_it_flips(self, record: str) -> str:
        """Write the further test that an op at a value leads to a walk."""
        if self.asked is None or self.asked.mode < SEMI:
            return ""
        return f" and ld({record}, {self.asked.length}) & LENGTH {self.first_or_last}"

    def edges(self, link: Link) -> list[Seat]:
        """List the other aliases at a vertex that lead on by an edge."""
        seats = self.layout.vertices[link.vertex].seats
        return [seat for seat in seats if seat.kind == EDGE and seat.alias != self.number]

    def next(self, link: Link, slot: str) -> None:
        """Ask for the values beyond the first live edges."""
        for edge in self.edges(link):
            self.beyond(link, edge, slot)
            self.say("        prefetch(far, 0)")

    def next_lists(self, link: Link, slot: str) -> None:
        """Ask for the leaves' lists at those values."""
        for edge in self.edges(link):
            asked = self.lists_beyond(edge)
            if asked:
                self.beyond(link, edge, slot)
                self.say(*(f"        {each}" for each in asked))

    def lists_beyond(self, edge: Seat) -> list[str]:
        """Write the lines that ask for the beginnings of the leaves' lists at one value."""
        return [
            self.writer.ask_rows(seat, "far")
            for seat in self.layout.vertices[self.other_end(edge).vertex].seats
            if seat.kind == LEAF
        ] + self.entries_beyond(edge)

    def entries_beyond(self, edge: Seat) -> list[str]:
        """Write what asks for the entry at the other end, and for where it comes alive, or dies."""
        if self.asked is None or self.asked.mode not in (SEMI, ANTI):
            return []
        far = self.other_end(edge).seat
        return [
            f"prefetch(heap, ld(far, {far.offset}) + (ld(entries, entry) & LOW))",
            f"prefetch(heap, ld(far, {far.offset}) + (ld(far, {far.live}) & LENGTH))",
        ]

    def beyond(self, link: Link, edge: Seat, slot: str) -> None:
        """Write the loop over the values beyond the first live edges."""
        far = self.other_end(edge).vertex
        self.say(
            f"likely = ld({slot})",
            f"if {self.is_there(link)}{self.if_it_flips('likely')}:",
            f"    entries = heap + ld(likely, {edge.offset}) * 8",
            f"    for entry in range(min(ld(likely, {edge.live}) & LENGTH, {FIRST_EDGES})):",
            f"        far = {self.record_of(far, 'ld(entries, entry)')}",
        )

    def other_end(self, edge: Seat) -> Link:
        """Return the other link of an edge."""
        return self.layout.aliases[edge.alias].links[1 - edge.link]

    def record_of(self, vertex: int, entry: str) -> str:
        """Write the address of the value that an edge's entry names."""
        return f"records_{vertex} + ({entry} >> 32) * {self.layout.vertices[vertex].stride * 8}"

    def is_there(self, link: Link) -> str:
        """Test that a record was found, not an empty slot (an odd number) or nothing at all."""
        return "likely & 1 == 0" if self.layout.vertices[link.vertex].key == 1 else "likely"


class AheadOfInserts(Ahead):
    """Looks ahead in a kernel of inserts, whose loop goes over the ops.

    Of a view that groups, the words of a group's record are given.
    """

    first_or_last = "== 0"

    def __init__(self, writer: Writer, group_words: int = 0) -> None:
        super().__init__(writer)
        self.group_words = group_words

    def begin(self) -> None:
        """Write the beginning of the loop over ops."""
        self.say(
            "ops, ring = ld(st, OPS), ld(st, RING)",
            f"ahead = ld(st, AHEAD) != 0 and end - begin > {AHEAD_SLOT}",
        )
        if self.group_words:
            self.say(f"many = groups != 0 and ld(groups, V_NEXT) > {FAR_WORDS // self.group_words}")
        self.say(f"for at in range(begin - {AHEAD_SLOT} if ahead else begin, end):")

    def look(self) -> None:
        """Write the stages of looking ahead."""
        self.say("if ahead:")
        self.writer.depth += 1
        for distance, stage in self.stages():
            if distance <= AHEAD_NEXT and not any(self.edges(link) for link in self.links):
                continue
            walks = "not silent and " if distance <= AHEAD_NEXT else ""
            self.say(f"if {walks}begin <= at + {distance} < end:")
            self.writer.depth += 1
            self.say(f"row = ld(ops + (at + {distance}) * {OP_WORDS * 8}, O_ROW)")
            for place, link in enumerate(self.links):
                stage(link, f"ring, {ring_slot(place, f'at + {distance}')}")
            self.writer.ask_group(distance)
            self.writer.depth -= 1
        if self.group_words and len(self.layout.aliases[self.number].links) == 1 and self.links:
            self.ask_groups(self.links[0])
        self.say("if at < begin:", "    continue")
        self.writer.depth -= 1

    def ask_groups(self, link: Link) -> None:
        """Ask for the groups of rows that walks from later ops come to, where groups are many."""
        slot = {at: f"ring, {ring_slot(0, f'at + {at}')}" for at in (AHEAD_NEXT, AHEAD_GROUPS)}
        depth = self.writer.depth
        if seats := self.numbered(link.vertex):
            self.say(f"if many and begin <= at + {AHEAD_NEXT} < end:")
            self.say(f"    likely = ld({slot[AHEAD_NEXT]})", f"    if {self.is_there(link)}:")
            self.writer.depth += 2
            self.groups_of(seats, "likely")
            self.writer.depth = depth
        for edge in self.edges(link):
            if seats := self.numbered(self.other_end(edge).vertex):
                self.say(f"if many and begin <= at + {AHEAD_GROUPS} < end:")
                self.writer.depth += 1
                self.beyond(link, edge, slot[AHEAD_GROUPS])
                self.writer.depth += 2
                self.groups_of(seats, "far")
                self.writer.depth = depth

    def numbered(self, vertex: int) -> list[Seat]:
        """List the other leaves at a vertex whose rows have the numbers of their groups."""
        leaves = [seat for seat in self.layout.vertices[vertex].seats if seat.kind == LEAF]
        others = [seat for seat in leaves if seat.alias != self.number]
        return [seat for seat in others if self.layout.aliases[seat.alias].is_numbered]

    def groups_of(self, seats: list[Seat], record: str) -> None:
        """Ask for the groups of the first rows at a value."""
        for seat in seats:
            column = self.layout.aliases[seat.alias].projected
            self.say(
                f"size = ld({record}, {seat.length})",
                f"first = ld({record}, {seat.offset}) + {column} * ((1 << (size >> 40)) >> 1)",
                f"for place in range(min(size & LENGTH, {MOST_GROUPS})):",
                "    number = ld(heap + first * 8, place)",
                f"    prefetch(table, number * {self.group_words})",
            )

    def value(self, link: Link) -> str:
        """Name what the ring holds for a link at the present op."""
        return f"ld(ring, {ring_slot(self.links.index(link), 'at')})"


class AheadOfAny(Ahead):
    """Does one stage for one op of any kind; an update has two rows, and a ring for each.

    The ring is that of graph/compiled/prefetch.py, which has no odd numbers.
    """

    def look(self) -> None:
        """Write the stages, of which each call does one."""
        aliases = self.layout.aliases
        rings = most_links(self.layout)
        self.say(
            f"op = ld(st, OPS) + at * {OP_WORDS * 8}",
            "row, kind, ring = ld(op, O_ROW), ld(op, O_KIND), ld(st, HINTS)",
            "silent = ld(st, SILENT)",
            "for _ in range(2 if kind == UPDATE else 1):",
        )
        self.writer.depth += 1
        for distance, stage in self.stages():
            self.say(f"if stage == {distance}:", "    pass")
            self.writer.depth += 1
            for place, link in enumerate(aliases[self.number].links):
                if link in self.links:
                    stage(link, f"ring, {ring_slot(place, 'at')}")
            self.writer.depth -= 1
        self.say(f"row += {aliases[self.number].width * 8}", f"ring += {rings * RING_SLOTS * 8}")
        self.writer.depth -= 1

    def record(self, link: Link, slot: str) -> None:
        """Find a value's record by its hash, and ask for it."""
        super().record(link, slot)
        if self.layout.vertices[link.vertex].key == 1:
            self.say("if likely & 1:", f"    sto({slot}, 0)")

    def own_list(self, seat: Seat) -> None:
        """Ask for the end of the alias' own list, and for the row if it is one that goes."""
        self.say(f"place, size = ld(likely, {seat.offset}), ld(likely, {seat.length}) & LENGTH")
        self.say("prefetch(heap, place + size)")
        self.say("if kind != INSERT:", "    ask_row(heap, place, size, ld(op, O_PLACE))")

    def is_there(self, link: Link) -> str:
        """Test that a record was found."""
        return "likely"


def ring_slot(link: int, at: str) -> str:
    """Return where the ring has the record of a link's value at an op."""
    return f"{link * RING_SLOTS} + (({at}) & {RING_SLOTS - 1})"


def group_slot(layout: Layout, at: str) -> str:
    """Return where the ring of inserts has the record of the group of the row of an op."""
    return ring_slot(most_links(layout), at)
