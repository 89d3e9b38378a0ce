"""Writes the kernels of a view whose groups are not kept: a row is linked, and its change listed.

    R of  F --- v0 --- T --- v1 --- R, root F, COUNT(*)        a row of R comes:

    d2_0 = weight                                        R tells v1: by its list's length
    for at_1 in range(ld(r1, 2) & LENGTH):               T's entries at the value of v1
        r0 = records_0 + (ld(list_1, at_1) >> 32) * 64
        d1_0 = d2_0
        ... += d1_0                                      T tells v0
        sto(vector, 0, d1_0)
        gather(st, told, r0)                             v0 may be told on several ways
    list_gathered(st)                                    F's rows there: copied, with the change

What lists the keys of groups is maintainers/compiled/groups/change_lists.py, which does the same as
these kernels for any view; a list is long, so a call for each costs little. From T there is one way
to v0, and nothing to gather.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from joingraph.engines.codegen.groups.sums import Sum, write_added
from joingraph.engines.codegen.groups.telling import Teller
from joingraph.engines.codegen.link import Linker
from joingraph.engines.codegen.module_text import HEAD_OF_LISTS, INSERTS, NOTE, PATHS
from joingraph.engines.codegen.prefetch import AheadOfInserts
from joingraph.graph.compiled.fields import (
    ALIAS_WORDS,
    GROUPS_WORDS,
    M_VECTOR,
    MEET_WORDS,
    N_BLOCK,
    N_VECTOR,
    OP_WORDS,
    TELL_WORDS,
)
from joingraph.graph.compiled.groups.group_layout import GroupLayout, tell_word
from joingraph.plan.groups.rooted import Part


def write_listing(groups: GroupLayout, lookahead: int, alias: int) -> str:
    """Write the kernel that tells of a row whose vertex values are bound."""
    writer = ListTeller(groups.layout, lookahead, alias, groups=groups)
    writer.bases()
    for link in groups.layout.aliases[alias].links:
        writer.say(f"r{link.vertex} = ld(sources, {2 * link.vertex})")
    writer.say(f"ad = ld(st, ALIASES) + {alias * ALIAS_WORDS * 8}", "gd = ld(st, GROUPS)")
    writer.load_group_bases()
    writer.say("own_source(st, ad, row)")
    writer.tell()
    writer.say("return DONE")
    return writer.text(f"Tell of a row of alias {alias}.", PATHS)


def write_listing_inserts(groups: GroupLayout, lookahead: int, alias: int) -> str:
    """Write the kernel that links new rows and tells of each."""
    writer = ListTeller(groups.layout, lookahead, alias, groups=groups)
    writer.bases()
    ahead = AheadOfInserts(writer)
    writer.say("gd = ld(st, GROUPS)", "silent = gd == 0")
    writer.say(f"{' = '.join(writer.group_bases())} = 0", "if gd:")
    writer.depth = 2
    writer.load_group_bases()
    writer.depth = 1
    writer.say("sink, limit = ld(st, SINK), ld(st, LIMIT)")
    writer.say("weight = 1", f"ad = ld(st, ALIASES) + {alias * ALIAS_WORDS * 8}")
    ahead.begin()
    writer.depth = 2
    ahead.look()
    writer.say(f"row = ld(ops + at * {OP_WORDS * 8}, O_ROW)", "sto(st, CURSOR, at)")
    Linker(writer, ahead).link()
    writer.say("if silent:", "    continue")
    if groups.messages.tells[alias].up is None:
        writer.say("own_source(st, ad, row)")
    writer.tell()
    writer.say("if sink:", "    if ld(st, ROWS):", "        call3(sink, st, 0, 0)")
    writer.say("        sto(st, ROWS, 0)", "        sto(st, SEGMENT_COUNT, 0)")
    writer.say("elif ld(st, ROWS) >= limit:")
    following = f"ld(ops + (at + 1) * {OP_WORDS * 8}, O_DIFF)"
    writer.say(f"    if at + 1 == ld(st, OP_COUNT) or {following} != ld(gd, G_DIFF):")
    writer.say("        sto(st, CURSOR, at + 1)", "        return FULL")
    writer.depth = 1
    writer.say("sto(st, CURSOR, end)", "return DONE")
    return writer.text(f"Link new rows of alias {alias}, and list what each changes.", INSERTS)


@dataclass(slots=True)
class ListTeller(Teller):
    """The lines written so far."""

    def text(self, title: str, signature: str) -> str:
        """Return the module's text."""
        head = f'"""{title}\n\n{NOTE}\n"""\n\n{HEAD_OF_LISTS}{signature}'
        return head + "\n".join(self.lines) + "\n"

    def group_bases(self) -> list[str]:
        """Name what stays the same while rows are told of."""
        return ["quiet", *(f"told_{at}" for at in self.groups.kept)]

    def load_group_bases(self) -> None:
        """Load what stays the same while rows are told of."""
        self.say("quiet = ld(st, SILENT)")
        for alias in self.groups.kept:
            self.say(f"told_{alias} = ld(gd, {tell_word(alias, N_BLOCK)})")

    def tell(self) -> None:
        """Write what a row brings, and where that goes."""
        alias, depth = self.start_alias, self.depth
        self.say(f"begin_change(st, gd, gd + {8 * tell_word(alias, 0)})")
        words = self.row_words(alias, "row", self.layout.aliases[alias].keys)
        self.go_on(alias, self.brought(alias, Sum("weight"), {}, words), None)
        self.depth = depth
        if not self.is_near(alias):
            self.say("list_gathered(st)")

    def is_near(self, alias: int) -> bool:
        """True if a row of an alias tells one list at the most."""
        up = self.groups.messages.tells[alias].up
        return up is None or self.is_last(up)

    def is_last(self, vertex: int) -> bool:
        """True if lists of groups are at a vertex, or it is the root."""
        top = self.groups.messages.meets[vertex].top
        return top is None or top == self.groups.messages.root

    def go_on(self, alias: int, change: Sequence[Sum], group: str | None) -> None:
        """Write where a change goes: to lists, or to what a vertex is told and on from there."""
        vertex = self.groups.messages.tells[alias].up
        if vertex is None:
            for link in self.layout.aliases[alias].links:
                self.say(f"sto(sources, {2 * link.vertex}, r{link.vertex})")
            self.say("if not quiet:")
            parts = self.groups.messages.tells[alias].parts
            self.store(parts, change, tell_word(alias, N_VECTOR))
            self.say("    list_path(st, vector)")
            return
        if alias in self.groups.kept:
            sizes = self.groups.sizes_of(self.groups.messages.tells[alias].parts)
            self.say(f"at_told = told_{alias} + {self.identity(vertex)} * {sum(sizes) * 8}")
            write_added(self.say, "at_told", sizes, change)
        met = self.met(vertex, alias, change)
        if self.is_last(vertex):
            self.list_at(alias, vertex, met)
            return
        top = self.groups.messages.meets[vertex].top
        assert top is not None, "a vertex that is the root is the last"
        self.enter_top(top, vertex, met)

    def list_at(self, alias: int, vertex: int, met: Sequence[Sum]) -> None:
        """Write how the groups at a value are listed: at once, or once all ways were gone."""
        told, messages = f"gd + {8 * tell_word(alias, 0)}", self.groups.messages
        meets = GROUPS_WORDS + len(messages.tells) * TELL_WORDS
        self.say("if not quiet:")
        self.store(messages.meets[vertex].parts, met, meets + vertex * MEET_WORDS + M_VECTOR)
        if alias != self.start_alias:
            self.say(f"    gather(st, {told}, r{vertex})")
            return
        self.say(f"    sto(sources, {2 * vertex}, r{vertex})")
        self.say(f"    list_value(st, {told}, r{vertex})")

    def store(self, parts: Sequence[Part], change: Sequence[Sum], word: int) -> None:
        """Write sums into the vector whose address a word of the description holds."""
        self.say(f"    vector = ld(gd, {word})")
        place = 0
        for size, each in zip(self.groups.sizes_of(parts), change, strict=True):
            self.say(f"    sto(vector, {place}, {each.low})")
            if size > 1:
                self.say(f"    sto(vector, {place + 1}, {each.upper})")
            place += size
