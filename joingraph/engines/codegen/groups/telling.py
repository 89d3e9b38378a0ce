"""Writes the kernels of a view that groups: a row is linked, then told of, up to the groups.

    R of  F --- v0 --- T --- v1 --- R, root F, COUNT(*)        a row of R comes:

    d2_0 = weight                                        R tells v1: by its list's length
    for at_1 in range(ld(r1, 2) & LENGTH):               T's entries at the value of v1
        r0 = records_0 + (ld(list_1, at_1) >> 32) * 64
        d1_0 = d2_0
        ... += d1_0                                      T tells v0
        for at_0 in range(c0):                           F's rows there: their groups
            group = table + ld(b0 + s0, at_0) * 32
            sto(group, 1, ld(group, 1) + d1_0)           noted, if it is the first time

maintainers/compiled/groups/messages.py and its neighbours do the same for any view; this is that
with constants put in. A sum of two words is a pair of variables.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from joingraph.engines.codegen.groups.notes import ALWAYS, add_lines, eight_lines, note_lines
from joingraph.engines.codegen.groups.sums import (
    ONE,
    Sum,
    path_test,
    told_part,
    unit_of,
    write_added,
    write_product,
    write_term,
    write_turned,
)
from joingraph.engines.codegen.link import Linker, number_of, put_lines
from joingraph.engines.codegen.module_text import HEAD_OF_GROUPS, INSERTS, NOTE, PATHS
from joingraph.engines.codegen.paths import Writer
from joingraph.engines.codegen.prefetch import AheadOfInserts, group_slot
from joingraph.graph.compiled.fields import (
    AHEAD_RECORD,
    AHEAD_SLOT,
    ALIAS_WORDS,
    COUNT,
    EDGE,
    LEAF,
    N_BLOCK,
    N_TERMS,
    NODE,
    OP_WORDS,
    T_OPERAND,
    TERM_WORDS,
)
from joingraph.graph.compiled.groups.group_layout import GroupLayout, tell_word
from joingraph.graph.compiled.layout import Link, Seat
from joingraph.plan.groups.rooted import Term
from joingraph.plan.keys.distinct import is_told_once


def write_telling(groups: GroupLayout, lookahead: int, alias: int) -> str:
    """Write the kernel that tells of a row whose vertex values are bound."""
    writer = Teller(groups.layout, lookahead, alias, groups=groups)
    writer.bases()
    for link in groups.layout.aliases[alias].links:
        writer.say(f"r{link.vertex} = ld(sources, {2 * link.vertex})")
    writer.say(f"ad = ld(st, ALIASES) + {alias * ALIAS_WORDS * 8}", "gd = ld(st, GROUPS)")
    writer.say("begin_diff(st, gd)", "own_source(st, ad, row)")
    if groups.layout.aliases[alias].is_numbered:
        writer.say("group = number_row(st, ad, weight)")
    writer.load_group_bases()
    writer.begin()
    writer.tell()
    writer.say("sto(st, ROWS, n)", "sto(gd, G_SERIAL, serial + n)", "return DONE")
    return writer.text(f"Tell of a row of alias {alias}.", PATHS)


def write_telling_inserts(groups: GroupLayout, lookahead: int, alias: int) -> str:
    """Write the kernel that links new rows and tells of each."""
    marks = "folds" if is_told_once(groups.plan, groups.messages, alias) else ALWAYS
    writer = Teller(groups.layout, lookahead, alias, groups=groups, marks=marks)
    writer.bases()
    ahead = AheadOfInserts(writer, groups.stride)
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
    writer.say("if silent:", "    continue", "begin_diff(st, gd)", *writer.own_source())
    if groups.layout.aliases[alias].is_numbered:
        writer.number()
    writer.begin()
    writer.tell()
    writer.say("sto(st, ROWS, n)", "sto(gd, G_SERIAL, serial + n)")
    writer.say("if sink and n:", "    call3(sink, st, 0, 0)", "    sto(st, ROWS, 0)")
    writer.say("elif n >= limit:")
    following = f"ld(ops + (at + 1) * {OP_WORDS * 8}, O_DIFF) << 32"
    writer.say(f"    if at + 1 == ld(st, OP_COUNT) or {following} != diff:")
    writer.say("        sto(st, CURSOR, at + 1)", "        return FULL")
    writer.depth = 1
    writer.say("sto(st, CURSOR, end)", "return DONE")
    return writer.text(f"Link new rows of alias {alias}, and tell of each.", INSERTS)


@dataclass(slots=True)
class Teller(Writer):
    """The lines written so far."""

    groups: GroupLayout = field(kw_only=True)
    marks: str = ALWAYS  # whether a group may be told of twice in a base diff, or in a batch

    def text(self, title: str, signature: str) -> str:
        """Return the module's text."""
        head = f'"""{title}\n\n{NOTE}\n"""\n\n{HEAD_OF_GROUPS}{signature}'
        return head + "\n".join(self.lines) + "\n"

    @property
    def key_word(self) -> int | None:
        """The word of a new row that is the key; None: the key is longer, or made of the word."""
        own = self.layout.aliases[self.start_alias]
        if not own.is_numbered or own.kind != LEAF or len(self.groups.keys) > 1:
            return None
        ((source, word, is_float),) = self.groups.keys
        return None if is_float or source < len(self.layout.vertices) else own.keys + word

    def number(self) -> None:
        """Write how a new row is numbered, and counted by its group."""
        own, rows = self.layout.aliases[self.start_alias], self.groups.rows_word
        if self.key_word is None:
            places = (f"sto(sources, {2 * each.vertex}, r{each.vertex})" for each in own.links)
            self.say(*places, "group = number_row(st, ad, 1)")
            return
        stride, ahead = self.groups.stride, f"ld(ring, {group_slot(self.layout, 'at')})"
        self.say(*put_lines("group", ahead, "groups", f"ld(row, {self.key_word})", stride))
        self.say(f"sto(group, {rows}, ld(group, {rows}) + 1)")
        self.say(f"sto(place, {own.projected} * room, {number_of('group - table', stride * 8)})")

    def ask_group(self, distance: int) -> None:
        """Prefetch the slot of a later row's group, or its record."""
        if self.key_word is None:
            return
        word, slot = f"ld(row, {self.key_word})", group_slot(self.layout, f"at + {distance}")
        if distance == AHEAD_SLOT:
            self.say("if not silent:", f"    prefetch_word(groups, {word})")
        elif distance == AHEAD_RECORD:
            self.say(
                "if not silent:", f"    likely = likely_word(groups, {word}, {self.groups.stride})"
            )
            self.say(f"    sto(ring, {slot}, likely)", "    prefetch(likely, 0)")

    def ask_rows(self, seat: Seat, record: str) -> str:
        """Write what prefetches the rows of a leaf at a value: of most, the numbers are enough."""
        own = self.layout.aliases[seat.alias]
        if own.is_numbered and not any(self.groups.messages.tells[seat.alias].own):
            return f"prefetch_numbers(heap, {record} + {seat.offset * 8}, {own.projected})"
        return f"prefetch_run(heap, {record} + {seat.offset * 8}, {seat.columns})"

    def group_bases(self) -> list[str]:
        """Name what stays the same while rows are told of."""
        notes = [f"notes_{at}" for at in range(self.groups.note_columns)]
        units = (unit_of(term) for term, *_ in self.floats())
        told = (f"told_{at}" for at in self.groups.kept)
        return ["groups", "table", "quiet", "folds", *notes, *told, *units]

    def floats(self) -> Iterator[tuple[Term, int, int]]:
        """Yield each term of floats once, whose alias describes it, and as which of its terms."""
        seen = set[str]()
        for alias, told in enumerate(self.groups.messages.tells):
            for at, term in enumerate(term for part in told.own for term in part):
                if term.is_float and unit_of(term) not in seen:
                    seen.add(unit_of(term))
                    yield term, alias, at

    def load_group_bases(self) -> None:
        """Load what stays the same while rows are told of."""
        self.say("groups, quiet = ld(gd, G_TABLE), ld(st, SILENT)", "table = ld(groups, V_RECORDS)")
        self.say("notes_0, folds = ld(gd, G_NOTES), ld(gd, G_FOLDS)")
        for at in range(1, self.groups.note_columns):
            self.say(f"notes_{at} = notes_{at - 1} + ld(gd, G_COLUMN)")
        for alias in self.groups.kept:
            self.say(f"told_{alias} = ld(gd, {tell_word(alias, N_BLOCK)})")
        for term, alias, at in self.floats():
            terms = f"ld(gd, {tell_word(alias, N_TERMS)})"
            self.say(f"{unit_of(term)} = ld({terms}, {at * TERM_WORDS + T_OPERAND})")

    def begin(self) -> None:
        """Load where the notes of a base diff begin."""
        self.say("n, first, diff = ld(st, ROWS), ld(gd, G_FIRST), ld(gd, G_DIFF) << 32")
        self.say("serial = ld(gd, G_SERIAL) - n")

    def own_source(self) -> list[str]:
        """Bind a new row's own words, where a group is found by its key and not by the kernel."""
        own = self.layout.aliases[self.start_alias]
        is_found = self.groups.messages.root is None or own.is_numbered
        return ["own_source(st, ad, row)"] if is_found and self.key_word is None else []

    def tell(self) -> None:
        """Write what a row brings, and where that goes."""
        alias, depth = self.start_alias, self.depth
        own = self.layout.aliases[alias]
        found = self.brought(alias, Sum("weight"), {}, self.row_words(alias, "row", own.keys))
        self.go_on(alias, found, "group" if own.is_numbered else None)
        self.depth = depth

    def row_words(self, alias: int, base: str, first: int) -> dict[int, str]:
        """Name the projected words of a row whose words lie together."""
        count = self.layout.aliases[alias].projected
        return {word: f"ld({base}, {first + word})" for word in range(count)}

    def brought(
        self, alias: int, weight: Sum, known: dict[int, list[Sum]], words: dict[int, str]
    ) -> list[Sum]:
        """Write what a row brings, part by part; rows beside which a vertex has no path are left.

        `known` has what vertices are told by the way that was taken.
        """
        told = self.groups.messages.tells[alias]
        links = [each for each in self.layout.aliases[alias].links if each.vertex != told.up]
        below = [known.get(link.vertex) or self.met(link.vertex, None, []) for link in links]
        found = []
        for part, own in enumerate(told.own):
            factors = [of[told.below[part][at]] for at, of in enumerate(below)]
            factors += [self.taken(alias, part, place, words) for place in range(len(own))]
            found.append(write_product(self.say, f"d{alias}_{part}", [weight, *factors]))
        return found

    def taken(self, alias: int, part: int, place: int, words: dict[int, str]) -> Sum:
        """Write what a term takes of a row; NULL gives 0."""
        own = self.groups.messages.tells[alias].own
        term = own[part][place]
        places = self.groups.places(term.slot)
        texts = [
            words[word] if source >= len(self.layout.vertices) else f"ld(r{source}, {word})"
            for source, word in places
        ]
        nullable = self.groups.plan.is_nullable(term.slot)
        return write_term(self.say, f"x{alias}_{part}_{place}", term, texts, nullable=nullable)

    def met(self, vertex: int, teller: int | None, change: Sequence[Sum]) -> list[Sum]:
        """Write what a value is told, part by part; if by no path, what follows is left out.

        `change` is what one alias tells, in place of all that it has told.
        """
        messages, found, read = self.groups.messages, list[Sum](), self.message
        meet = messages.meets[vertex]
        for part, picks in enumerate(meet.told):
            factors = [
                change[at]
                if side == teller
                else told_part(messages, side, at, read(vertex, side, at))
                for side, at in zip(meet.sides, picks, strict=True)
            ]
            found.append(write_product(self.say, f"e{vertex}_{part}", factors or [ONE]))
            if part == 0 and len(meet.sides) > (teller is not None):
                self.say(f"if {path_test(self.groups, vertex, teller, [*found, *factors])}:")
                self.depth += 1
        return found

    def message(self, vertex: int, side: int, pick: int) -> Sum:
        """Read a part of what an alias has told a bound value."""
        link = self.link_of(side, vertex)
        if side not in self.groups.kept:
            length = f"(ld(r{vertex}, {link.seat.length}) & LENGTH)"
            return Sum(length, "0") if self.groups.wide else Sum(length)
        parts = self.groups.sizes_of(self.groups.messages.tells[side].parts)
        place, name = sum(parts[:pick]), f"m{side}_{pick}"
        base = f"told_{side} + {self.identity(vertex)} * {sum(parts) * 8}"
        self.say(f"{name} = ld({base}, {place})")
        if parts[pick] == 1:
            return Sum(name)
        self.say(f"{name}_h = ld({base}, {place + 1})")
        return Sum(name, f"{name}_h")

    def link_of(self, alias: int, vertex: int) -> Link:
        """Return the link of an alias at a vertex."""
        links = self.layout.aliases[alias].links
        return next(link for link in links if link.vertex == vertex)

    def identity(self, vertex: int) -> str:
        """Write the id of a bound value."""
        return number_of(f"r{vertex} - records_{vertex}", self.layout.vertices[vertex].stride * 8)

    def go_on(self, alias: int, change: Sequence[Sum], group: str | None) -> None:
        """Write where a change goes: to a group, or to what a vertex is told, and on from there."""
        vertex = self.groups.messages.tells[alias].up
        if vertex is None:
            self.add_to_group(change, group)
            return
        if alias in self.groups.kept:
            sizes = self.groups.sizes_of(self.groups.messages.tells[alias].parts)
            self.say(f"at_told = told_{alias} + {self.identity(vertex)} * {sum(sizes) * 8}")
            write_added(self.say, "at_told", sizes, change)
        if (mode := self.groups.messages.tells[alias].mode) != "req":
            now = self.message(vertex, alias, 0).low
            more = "" if alias in self.groups.kept else f" + ({change[0].low} >> 63)"  # as it goes
            change = write_turned(self.say, mode, now + more, change)
            self.depth += 1
        met = self.met(vertex, alias, change)
        top = self.groups.messages.meets[vertex].top
        if top is None:
            self.say(f"sto(sources, {2 * vertex}, r{vertex})")
            self.add_to_group(met, None)
            return
        self.enter_top(top, vertex, met)

    def enter_top(self, alias: int, vertex: int, met: list[Sum]) -> None:
        """Write the loop over the rows of the alias above, at a value that was told of a change."""
        own, link = self.layout.aliases[alias], self.link_of(alias, vertex)
        if own.kind == COUNT:
            weight = Sum(f"(ld(r{vertex}, {link.seat.length}) & LENGTH)")
            self.go_on(alias, self.brought(alias, weight, {vertex: met}, {}), None)
            return
        depth = self.depth
        if own.kind == LEAF:
            words, number = self.enter_leaf(alias, link, {vertex: met})
        else:
            words, number = self.enter_list(alias, link)
        self.depth += 1
        if own.kind >= EDGE:
            self.bind_others(alias, vertex)
        change = self.brought(alias, ONE, {vertex: met}, words)
        group = None
        if own.is_numbered:
            group = "numbered"
            self.say(f"number = {number}", f"group = table + number * {self.groups.stride * 8}")
        self.go_on(alias, change, group)
        self.depth = depth

    def enter_leaf(
        self, alias: int, link: Link, known: dict[int, list[Sum]]
    ) -> tuple[dict[int, str], str]:
        """Write the head of the loop over a leaf's rows; gives their words, and their number.

        What all rows bring alike is added to eight groups at a time before, if it may.
        """
        own, v, seat = self.layout.aliases[alias], link.vertex, link.seat
        self.say(f"b{alias} = heap + ld(r{v}, {seat.offset}) * 8")
        self.say(f"s{alias} = ld(r{v}, {seat.length})", f"c{alias} = s{alias} & LENGTH")
        self.say(f"s{alias} = ((1 << (s{alias} >> 40)) >> 1) * 8", "rest = 0")
        column = f"b{alias} + {own.projected} * s{alias}"
        is_alike = own.is_numbered and not any(self.groups.messages.tells[alias].own)
        if is_alike and self.marks != ALWAYS:
            change = self.brought(alias, ONE, known, {})
            self.say(f"numbers = {column}")
            self.say(*eight_lines(self.groups, change, f"c{alias}", self.marks))
        self.say(f"for at_{alias} in range(rest, c{alias}):")
        words = {w: f"ld(b{alias} + {w} * s{alias}, at_{alias})" for w in range(own.projected)}
        return words, f"ld({column}, at_{alias})"

    def enter_list(self, alias: int, link: Link) -> tuple[dict[int, str], str]:
        """Write the head of the loop over entries; gives the words of a row, and its number."""
        own, v = self.layout.aliases[alias], link.vertex
        self.say(f"list_{alias} = heap + ld(r{v}, {link.seat.offset}) * 8")
        self.say(f"c{alias} = ld(r{v}, {link.seat.length}) & LENGTH")
        if self.marks != ALWAYS and alias != self.groups.messages.root:
            self.say(f"marks_{alias} = {self.marks} or c{alias} > 1")
            self.marks = f"marks_{alias}"
        self.say(f"for at_{alias} in range(c{alias}):")
        first = 1 + len(own.links)
        words = self.row_words(alias, f"node_{alias}", first) if own.kind == NODE else {}
        return words, f"ld(node_{alias}, {first + own.projected})"

    def bind_others(self, alias: int, vertex: int) -> None:
        """Bind the values that an entry has at an alias' other vertices."""
        own = self.layout.aliases[alias]
        if own.kind == NODE:
            node = f"nodes_{alias} + ld(list_{alias}, at_{alias}) * {own.stride * 8}"
            self.say(f"node_{alias} = {node}")
        for place, link in enumerate(own.links):
            if link.vertex == vertex:
                continue
            stride = self.layout.vertices[link.vertex].stride * 8
            word = (
                f"ld(list_{alias}, at_{alias})"
                if own.kind == EDGE
                else f"ld(node_{alias}, {1 + place})"
            )
            self.say(f"r{link.vertex} = records_{link.vertex} + ({word} >> 32) * {stride}")

    def add_to_group(self, change: Sequence[Sum], group: str | None) -> None:
        """Write how sums are added to a group, which is noted before and after."""
        if group is None:
            self.say(*self.bound_keys(), "group = group_of(st)")
        if group != "numbered":
            self.say(f"number = {number_of('group - table', self.groups.stride * 8)}")
        lines, news = add_lines(self.groups, change)
        self.say(*lines, *note_lines(self.groups, news, self.marks))
        if group is None or self.groups.messages.tells[self.start_alias].up is None:
            self.say(f"list_empty(gd, group + {len(self.groups.keys) * 8})")

    def bound_keys(self) -> Iterator[str]:
        """Bind what `group_of` reads: values of vertices; rows are numbered, but for the start."""
        for source in {source for source, *_ in self.groups.keys}:
            if source < len(self.layout.vertices):
                yield f"sto(sources, {2 * source}, r{source})"
