"""Writes the part of a view's own kernels that links a new row: `link.py` with constants put in.

r0 = ld(ring, 0 + (at & 31)) if ahead else 1              the value of v0, found ahead,
if r0 & 1:
    r0 = put_absent(vertex_0, ld(row, 0), r0 - 1, 8)      made where a slot was empty, if it is
elif ld(r0, 0) != ld(row, 0):
    r0 = put_word(vertex_0, ld(row, 0), 8)                found now or made
sized = ld(r0, 2)                                         a leaf's list there grows by a row
...
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from joingraph.graph.compiled.fields import COUNT, EDGE, EXACT, GLOBAL, LEAF, OPT, SEMI
from joingraph.graph.compiled.layout import Around, Link, Seat

if TYPE_CHECKING:
    from joingraph.engines.codegen.paths import Writer
    from joingraph.engines.codegen.prefetch import AheadOfInserts


class Linker:
    """Writes the linking of one alias' rows through a writer."""

    def __init__(self, writer: Writer, ahead: AheadOfInserts, own: Around | None = None) -> None:
        self.own = own  # the flip of the alias' own seat, of which the kernel itself tells
        self.writer, self.ahead, self.say = writer, ahead, writer.say
        self.number = writer.start_alias
        self.layout = writer.layout
        self.alias = writer.layout.aliases[writer.start_alias]
        self.exact, self.kept = writer.lookahead == EXACT, writer.lookahead >= GLOBAL

    def link(self) -> None:
        """Write everything from the vertex values to the live counts."""
        for link in self.alias.links:
            self.put(link)
        self.say("sto(ad, A_ROWS, ld(ad, A_ROWS) + 1)")
        if self.alias.kind == COUNT:
            self.count()
        elif self.alias.kind == LEAF:
            self.leaf()
        elif self.alias.kind == EDGE:
            self.edge()
        else:
            for each in self.alias.links:
                self.say(f"sto(sources, {2 * each.vertex}, r{each.vertex})")
            self.say("link_node(st, ad, row)", "settle(st)")

    def put(self, link: Link) -> None:
        """Take the value of a link from the ring, if it is the one; else find or make it."""
        v, vertex, key = link.vertex, self.layout.vertices[link.vertex], f"row + {link.key * 8}"
        if vertex.key == 0:
            self.say(f"r{v} = put(vertex_{v}, {key})")
            return
        ahead = self.ahead.value(link)
        if vertex.key == 1:
            self.say(
                *put_lines(f"r{v}", ahead, f"vertex_{v}", f"ld(row, {link.key})", vertex.stride)
            )
        else:
            self.say(f"r{v} = {ahead} if ahead else 0")
            self.say(f"if r{v} == 0 or not same_key(r{v}, {key}, {vertex.key}):")
            self.say(f"    r{v} = put(vertex_{v}, {key})")

    def count(self) -> None:
        """Count one row more."""
        (link,) = self.alias.links
        v = link.vertex
        self.say(f"was = ld(r{v}, {link.seat.length})")
        self.say(f"sto(r{v}, {link.seat.length}, was + 1)")
        self.first_row("was", v)

    def leaf(self) -> None:
        """Append a row's projected words, one to each column."""
        (link,) = self.alias.links
        v, seat, columns = link.vertex, link.seat, self.alias.projected
        self.say(
            f"sized = ld(r{v}, {seat.length})",
            "was = sized & LENGTH",
            "room = (1 << (sized >> 40)) >> 1",
            *self.begin(seat, v),
            "elif was == room:",
            f"    resize(st, r{v} + {seat.offset * 8}, {seat.shape}, sized >> 40)",
            f"    sized = ld(r{v}, {seat.length})",
            "    room = (1 << (sized >> 40)) >> 1",
            f"sto(r{v}, {seat.length}, sized + 1)",
            f"place = heap + (ld(r{v}, {seat.offset}) + was) * 8",
        )
        for word in range(columns):
            at = "0" if word == 0 else f"{word} * room"
            self.say(f"sto(place, {at}, ld(row, {self.alias.keys + word}))")
        self.note(f"r{v}", "was")
        self.first_row("was", v)

    @staticmethod
    def begin(seat: Seat, vertex: int) -> list[str]:
        """Let an empty list lie in its record, if that has room, or else in the heap."""
        group = f"r{vertex} + {seat.offset * 8}"
        inside, apart = (
            f"begin_inside(st, {group}, {seat.shape})",
            f"begin_block(st, {group}, {seat.columns})",
        )
        return ["if sized == 0:", f"    sized, room = {inside if seat.room else apart}, 1"]

    def note(self, record: str, at: str) -> None:
        """Tell the index of long lists, if there is one."""
        self.say("if ld(st, PLACE_COUNT):")
        self.say(f"    note_appended(st, ad, {record}, {at})")

    def first_row(self, was: str, vertex: int) -> None:
        """Tell the others of the first row at a value, and note if the seat flips by it."""
        if self.own is not None:
            self.turn(vertex)
        elif self.kept and (self.is_heard(vertex) or self.layout.flips_at(vertex, self.number)):
            self.say(f"if {was} == 0:", f"    spread(st, ld(ad, A_LINKS), r{vertex}, ad, 1)")
            self.say("    settle(st)")

    def turn(self, vertex: int) -> None:
        """Tell the others of the first row at a value, where they ask for one, or for none."""
        (mode,) = (each.seat.mode for each in self.alias.links)
        if mode != OPT and self.is_heard(vertex):
            up = int(mode == SEMI)
            self.say("if was == 0:", f"    spread_on(st, ld(ad, A_LINKS), r{vertex}, ad, {up})")
            self.say("    settle(st)")

    def is_heard(self, vertex: int) -> bool:
        """True if another alias at a vertex leads on, and looks back to it."""
        seats = self.layout.vertices[vertex].seats
        others = (each for each in seats if each.alias != self.number and each.mode < SEMI)
        return any(each.kind >= EDGE for each in others)

    def edge(self) -> None:
        """Append to both lists, each entry knowing the other's place."""
        one, two = self.alias.links
        for name, link in (("near", one), ("far", two)):
            self.say(f"{name} = ld(r{link.vertex}, {link.seat.length}) & LENGTH")
        for here, there, at in ((one, two, "far"), (two, one, "near")):
            v, w = here.vertex, there.vertex
            self.say(
                f"entry = append(st, r{v} + {here.seat.offset * 8}, {here.seat.shape})",
                f"sto(entry, 0, ({self.identity(w)} << 32) | {at})",
            )
        self.note(f"r{one.vertex}", "near")
        if self.kept:
            self.enliven(two, 0, f"r{one.vertex}", "near")
            self.enliven(one, 1, f"r{two.vertex}", "far")
            self.say("settle(st)")

    def identity(self, vertex: int) -> str:
        """Write the id of a bound value."""
        return number_of(f"r{vertex} - records_{vertex}", self.layout.vertices[vertex].stride * 8)

    def enliven(self, beyond: Link, link: int, record: str, at: str) -> None:
        """Enliven an entry if the value beyond it is complete (exact), or anyway (global)."""
        tests = self.writer.others(beyond.vertex) if self.exact else []
        call = f"enliven(st, ad, {link}, {record}, {at})"
        if tests:
            self.say(f"if not ({' or '.join(tests)}):", f"    {call}")
        else:
            self.say(call)


def put_lines(record: str, ahead: str, table: str, key: str, stride: int) -> list[str]:
    """Return the lines that take a key's record as it was found ahead; else it is found or made."""
    return [
        f"{record} = {ahead} if ahead else 1",
        f"if {record} & 1:",
        f"    {record} = put_absent({table}, {key}, {record} - 1, {stride})",
        f"elif ld({record}, 0) != {key}:",
        f"    {record} = put_word({table}, {key}, {stride})",
    ]


def number_of(distance: str, size: int) -> str:
    """Write the number of a record, which lies so far behind the first one of its size."""
    if size & (size - 1) == 0:
        return f"(({distance}) >> {size.bit_length() - 1})"
    return f"(({distance}) // {size})"
