"""Writes the part of a view's own kernels that links a new row: `link.py` with constants put in.

r0 = put_word(ld(st, VERTICES) + 0, ld(row, 0), 8)        the value of v0, found or made
size = ld(r0, 2)                                          a leaf's list there grows by a row
...
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from joingraph.kernels.fields import ALIAS_WORDS, COUNT, EDGE, EXACT, LEAF, VERTEX_WORDS
from joingraph.kernels.layout import Link

if TYPE_CHECKING:
    from joingraph.kernels.codegen import Writer


class Linker:
    """Writes the linking of one alias' rows through a writer."""

    def __init__(self, writer: Writer) -> None:
        self.writer, self.say = writer, writer.say
        self.number = writer.start_alias
        self.layout = writer.layout
        self.alias = writer.layout.aliases[writer.start_alias]
        self.exact = writer.lookahead == EXACT

    def link(self) -> None:
        """Write everything from the vertex values to the live counts."""
        self.say(f"ad = ld(st, ALIASES) + {self.number * ALIAS_WORDS * 8}")
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
            self.say("link_node(st, ad, row)")
        if self.exact:
            self.say("settle(st)")

    def put(self, link: Link) -> None:
        """Find or make the value of a link, and bind it for the odometer."""
        v, vertex = link.vertex, self.layout.vertices[link.vertex]
        vd = f"ld(st, VERTICES) + {v * VERTEX_WORDS * 8}"
        if vertex.key == 1:
            self.say(f"r{v} = put_word({vd}, ld(row, {link.key}), {vertex.stride})")
        else:
            self.say(f"r{v} = put({vd}, row + {link.key * 8})")
        self.say(f"sto(sources, {2 * v}, r{v})")

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
            "if was == room:",
            f"    resize(st, r{v} + {seat.offset * 8}, {columns}, sized >> 40)",
            f"    sized = ld(r{v}, {seat.length})",
            "    room = (1 << (sized >> 40)) >> 1",
            f"sto(r{v}, {seat.length}, sized + 1)",
            f"end = heap + (ld(r{v}, {seat.offset}) + was) * 8",
        )
        for word in range(columns):
            at = "0" if word == 0 else f"{word} * room"
            self.say(f"sto(end, {at}, ld(row, {self.alias.keys + word}))")
        self.first_row("was", v)

    def first_row(self, was: str, vertex: int) -> None:
        """Tell the others of the first row at a value (exact)."""
        seats = self.layout.vertices[vertex].seats
        if self.exact and any(s.kind >= EDGE and s.alias != self.number for s in seats):
            vd = f"ld(st, VERTICES) + {vertex * VERTEX_WORDS * 8}"
            self.say(f"if {was} == 0:", f"    spread(st, {vd}, r{vertex}, ad, 1)")

    def edge(self) -> None:
        """Append to both lists, each entry knowing the other's place."""
        one, two = self.alias.links
        for name, link in (("near", one), ("far", two)):
            self.say(f"{name} = ld(r{link.vertex}, {link.seat.length}) & LENGTH")
        for here, there, at in ((one, two, "far"), (two, one, "near")):
            v, w = here.vertex, there.vertex
            stride = self.layout.vertices[w].stride * 8
            self.say(
                f"entry = append(st, r{v} + {here.seat.offset * 8}, 1)",
                f"sto(entry, 0, ((r{w} - records_{w}) // {stride} << 32) | {at})",
            )
        if self.exact:
            self.enliven(two, 0, f"r{one.vertex}", "near")
            self.enliven(one, 1, f"r{two.vertex}", "far")

    def enliven(self, beyond: Link, link: int, record: str, at: str) -> None:
        """Enliven an entry if the value beyond it is complete."""
        tests = self.writer.others(beyond.vertex)
        call = f"enliven(st, ad, {link}, {record}, {at})"
        if tests:
            self.say(f"if not ({' or '.join(tests)}):", f"    {call}")
        else:
            self.say(call)
