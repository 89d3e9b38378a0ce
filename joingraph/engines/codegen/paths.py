"""Writes the loops of a view's own kernels, which find all paths through a row of an alias.

    F --- v0 --- T --- v1 --- R        a row of F comes:

    for at in range(begin, end):                            inserts of F, one after the other
        row = ld(ops + at * 32, O_ROW)
        ...                                                 linked by what link.py writes
        list_1 = heap + ld(r0, 2) * 8                       T's entries at the value of v0
        for at_1 in range(ld(r0, 4) & LENGTH):              the live ones
            r1 = records_1 + (ld(list_1, at_1) >> 32) * 64  the value of v1
            ...                                             R's rows there, copied in runs

The text is made of fixed templates with integers in their places: aliases, vertices and columns
are numbers here, and nothing of SQL or of data can reach it. A kernel that would overflow the
block gives up on that op and has written nothing that counts; the odometer then walks it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from joingraph.engines.codegen.module_text import HEAD, NOTE
from joingraph.graph.compiled.fields import (
    ALIAS_WORDS,
    ANTI,
    COLUMN_STRIDE,
    COUNT,
    EDGE,
    EXACT,
    GLOBAL,
    LEAF,
    LOCAL,
    MARK,
    NODE,
    NONE,
    OPT,
    SEMI,
    VERTEX_WORDS,
)
from joingraph.graph.compiled.layout import Layout, Link, Seat
from joingraph.plan.program import Enter, Step, Weigh

SHORT = 4  # lists below this length are copied row by row


@dataclass(slots=True)
class Writer:
    """The lines written so far, and how deep the loops are."""

    layout: Layout
    lookahead: int
    start_alias: int
    lines: list[str] = field(default_factory=list)
    depth: int = 1
    weight: str = "weight"  # the variable that holds it
    flagging: str = "ld(st, FLAGGING)"  # whether dead ends may be laid dead (global)
    varies: bool = False  # whether it differs from path to path
    giving_up: list[str] = field(default_factory=list)  # what must be left for the odometer
    closing: list[tuple[int, str]] = field(
        default_factory=list
    )  # what ends a loop's body, how deep

    def say(self, *lines: str) -> None:
        """Write lines at the current depth."""
        self.lines += ["    " * self.depth + line for line in lines]

    def module(self, title: str, signature: str) -> str:
        """Return the module's text."""
        text = f'"""{title}\n\n{NOTE}\n"""\n\n{HEAD}{signature}'
        return text + "\n".join(self.lines) + "\n"

    def bases(self) -> None:
        """Load what stays the same while the kernel runs."""
        layout = self.layout
        self.say("heap, out, sources = ld(st, HEAP), ld(st, OUT), ld(st, SOURCES)")
        for vertex in range(len(layout.vertices)):
            self.say(f"vertex_{vertex} = ld(st, VERTICES) + {vertex * VERTEX_WORDS * 8}")
            self.say(f"records_{vertex} = ld(vertex_{vertex}, V_RECORDS)")
        for number, alias in enumerate(layout.aliases):
            if alias.kind == NODE:
                place = number * ALIAS_WORDS * 8
                self.say(f"nodes_{number} = ld(ld(st, ALIASES) + {place}, A_RECORDS)")

    def others(self, vertex: int) -> list[str]:
        """Write the tests that another alias is not at a bound value as it is wanted there."""
        seats = self.layout.vertices[vertex].seats
        if any(seat.alias == self.start_alias and seat.mode >= SEMI for seat in seats):
            return []
        return self.unmet(vertex)

    def unmet(self, vertex: int) -> list[str]:
        """Write the same tests, also for an alias that looks at no other."""
        return [
            f"ld(r{vertex}, {seat.live}) & LENGTH {'!=' if seat.mode == ANTI else '=='} 0"
            for seat in self.layout.vertices[vertex].seats
            if seat.alias != self.start_alias and seat.mode not in (OPT, MARK)
        ]

    def paths(self) -> None:
        """Write the loops over all paths through the row, whose values are bound."""
        layout, alias = self.layout, self.layout.aliases[self.start_alias]
        self.begin_paths()
        if self.lookahead == GLOBAL:
            self.say(f"flagging = {self.flagging}")
        for link in alias.links:
            self.load_key(link.vertex)
        for word in self.words_of(len(layout.vertices) + self.start_alias):
            self.say(f"a{self.start_alias}_{word} = ld(row, {alias.keys + word})")
        self.walk(layout.programs[self.start_alias].steps)

    def begin_paths(self) -> None:
        """Note where the rows and segments of what comes begin."""
        self.say("n = first = ld(st, ROWS)", "began = ld(st, SEGMENT_COUNT)")

    def walk(self, steps: Sequence[Step]) -> None:
        """Write the loops of a program, whose start is bound."""
        depth, leaves = self.depth, list[Enter]()
        for step in steps:
            if isinstance(step, Enter) and self.is_leaf(step):
                leaves.append(step)
            else:
                self.write(step)
        self.leaves(leaves)
        while self.closing:
            self.depth, line = self.closing.pop()
            self.say(line)
        self.depth = depth
        if not self.varies:
            self.say("if n > first:", f"    segment(st, {self.weight})")
        self.say("sto(st, ROWS, n)")

    def is_leaf(self, step: Enter) -> bool:
        """True if an alias has its rows at one vertex, side by side."""
        return self.layout.aliases[step.alias].kind == LEAF

    def write(self, step: Step) -> None:
        """Write a step of a kernel's program."""
        if isinstance(step, Weigh):
            self.weigh(step)
        else:
            assert isinstance(step, Enter), "a kernel's program enters and weighs"
            self.enter(step)

    def consume(self) -> None:
        """Let the rows be taken: by a sink after each op, or else when the block is full."""
        self.say("if sink:", "    call3(sink, st, 0, 0)", "    sto(st, ROWS, 0)")
        self.say("    sto(st, SEGMENT_COUNT, 0)", "elif n >= limit:")
        self.say("    sto(st, CURSOR, at + 1)", "    return FULL")

    def words_of(self, source: int) -> list[int]:
        """List the words of a source that the output needs."""
        return sorted({word for each, word in self.layout.outputs if each == source})

    def load_key(self, vertex: int) -> None:
        """Load the key words of a bound vertex value that the output needs."""
        for word in self.words_of(vertex):
            self.say(f"k{vertex}_{word} = ld(r{vertex}, {word})")

    def weigh(self, step: Weigh) -> None:
        """Multiply the weight by what a side sums up to; only some look-ahead rules 0 out."""
        self.varies = self.varies or self.depth > 1
        before, self.weight = self.weight, f"weight_{step.enter.alias}"
        is_count = self.layout.aliases[step.enter.alias].kind < EDGE
        self.say(f"{self.weight} = {before} * {self.sum(step)}")
        if self.lookahead == NONE or (not is_count and self.lookahead != EXACT):
            self.say(f"if {self.weight}:")
            self.depth += 1

    def sum(self, side: Weigh) -> str:
        """Write the loops that sum up a side; gives what holds the sum."""
        a, v, alias = side.enter.alias, side.enter.vertex, self.layout.aliases[side.enter.alias]
        seat = self.entry(side.enter).seat
        if alias.kind == COUNT:
            return f"ld(r{v}, {seat.length})"
        if alias.kind == LEAF:
            return f"(ld(r{v}, {seat.live}) & LENGTH)"
        self.say(f"sum_{a} = 0", f"list_{a} = heap + ld(r{v}, {seat.offset}) * 8")
        self.say(f"for at_{a} in range(ld(r{v}, {seat.live}) & LENGTH):")
        self.depth += 1
        self.bind(side.enter)
        beyond = [self.sum(each) for each in side.steps if isinstance(each, Weigh)]
        self.say(f"sum_{a} += {' * '.join(beyond) or '1'}")
        self.depth -= 1
        return f"sum_{a}"

    def entry(self, step: Enter) -> Link:
        """Find the link by which an alias is entered."""
        links = self.layout.aliases[step.alias].links
        return next(link for link in links if link.vertex == step.vertex)

    def enter(self, step: Enter) -> None:
        """Go through an alias' entries at a value, binding the values at their other ends."""
        a, v, alias, entry = (
            step.alias,
            step.vertex,
            self.layout.aliases[step.alias],
            self.entry(step),
        )
        self.say(f"list_{a} = heap + ld(r{v}, {entry.seat.offset}) * 8")
        live = f"ld(r{v}, {entry.seat.live}) & LENGTH"
        backwards = f"({live}) - 1, -1, -1" if self.lookahead == GLOBAL else live
        self.say(f"for at_{a} in range({backwards}):")
        self.depth += 1
        self.bind(step)
        self.look(step)
        for own in self.words_of(len(self.layout.vertices) + a):
            self.say(f"a{a}_{own} = ld(node_{a}, {1 + len(alias.links) + own})")

    def bind(self, step: Enter) -> None:
        """Find the values that an entry has at an alias' other vertices."""
        a, alias = step.alias, self.layout.aliases[step.alias]
        if alias.kind == NODE:
            self.say(f"node_{a} = nodes_{a} + ld(list_{a}, at_{a}) * {alias.stride * 8}")
        for place, link in enumerate(alias.links):
            if link.vertex == step.vertex:
                continue
            stride = self.layout.vertices[link.vertex].stride * 8
            word = f"ld(list_{a}, at_{a})" if alias.kind == EDGE else f"ld(node_{a}, {1 + place})"
            self.say(f"r{link.vertex} = records_{link.vertex} + ({word} >> 32) * {stride}")
            self.load_key(link.vertex)

    def look(self, step: Enter) -> None:
        """Skip an entry beyond which an alias is missing; lay it dead, also if it is so in the end.

        The exact look-ahead knows beforehand, and without any there is nothing to know.
        """
        a, links = step.alias, self.layout.aliases[step.alias].links
        if self.lookahead not in (LOCAL, GLOBAL):
            return
        test = " or ".join(
            f"ld(r{link.vertex}, {seat.live}) & LENGTH == 0"
            for link in links
            for seat in self.layout.vertices[link.vertex].seats
            if link.vertex != step.vertex and seat.alias != a
        )
        place = next(place for place, link in enumerate(links) if link.vertex == step.vertex)
        ad = f"ld(st, ALIASES) + {a * ALIAS_WORDS * 8}"
        dead = f"lay_dead(st, {ad}, {place}, r{step.vertex}, at_{a})"
        if test and self.lookahead == GLOBAL:
            flag = f"if flagging and ({test}):\n{'    ' * self.depth}    {dead}"
            self.closing.append((self.depth, flag))
            self.say(flag, f"if {test}:", "    continue")
        elif test:
            self.say(f"if {test}:", "    continue")

    def ask_group(self, distance: int) -> None:
        """Prefetch nothing for groups: a path has none."""

    def ask_rows(self, seat: Seat, record: str) -> str:
        """Write what prefetches the rows of a leaf at a value."""
        return f"prefetch_run(heap, {record} + {seat.offset * 8}, {seat.columns})"

    def leaves(self, leaves: list[Enter]) -> None:
        """Write the product of the leaves' rows; of two, the longer list is the inner loop."""
        for leaf in leaves:
            self.measure(leaf)
        if len(leaves) == 2:
            one, two = leaves
            self.say(f"if c{one.alias} <= c{two.alias}:")
            self.nest([one, two], self.depth + 1)
            self.say("else:")
            self.nest([two, one], self.depth + 1)
        elif leaves:
            self.nest(leaves, self.depth)
        else:
            self.emit_row()

    def nest(self, leaves: list[Enter], depth: int) -> None:
        """Loop over all leaves but the last, and emit the last one's rows in runs."""
        outside, self.depth = self.depth, depth
        for leaf in leaves[:-1]:
            a = leaf.alias
            self.say(f"for at_{a} in range(c{a}):")
            self.depth += 1
            for word in self.words_of(len(self.layout.vertices) + a):
                self.say(f"a{a}_{word} = ld(b{a}{self.column(a, word)}, at_{a})")
        self.emit_run(leaves[-1].alias)
        self.depth = outside

    def measure(self, leaf: Enter) -> None:
        """Load where a leaf's rows lie and how many there are."""
        a, v = leaf.alias, leaf.vertex
        (entry,) = self.layout.aliases[a].links
        self.say(f"b{a} = heap + ld(r{v}, {entry.seat.offset}) * 8")
        self.say(f"s{a} = ld(r{v}, {entry.seat.length})")
        self.say(f"c{a} = s{a} & LENGTH")
        if self.layout.aliases[a].projected > 1:
            self.say(f"s{a} = ((1 << (s{a} >> 40)) >> 1) * 8")

    @staticmethod
    def column(alias: int, word: int) -> str:
        """Return how far behind a leaf's block one of its columns begins."""
        return "" if word == 0 else f" + {word} * s{alias}" if word > 1 else f" + s{alias}"

    def value(self, source: int, word: int) -> str:
        """Name the variable that holds an output word."""
        vertices = len(self.layout.vertices)
        return f"k{source}_{word}" if source < vertices else f"a{source - vertices}_{word}"

    def new_segment(self) -> None:
        """Begin a segment where the weight may differ from the last path's."""
        if self.varies:
            self.say("sto(st, ROWS, n)", f"segment(st, {self.weight})")

    def give_up(self, test: str) -> None:
        """Undo the diff's segments if the block has no room."""
        self.say(f"if {test}:")
        if self.varies:
            self.say("    sto(st, ROWS, first)", "    sto(st, SEGMENT_COUNT, began)")
        self.say(*(f"    {line}" for line in self.giving_up), "    return OVERFLOW")

    def emit_row(self) -> None:
        """Write one row."""
        self.give_up("n == BLOCK_ROWS")
        self.new_segment()
        for place, (source, word) in enumerate(self.layout.outputs):
            self.say(f"sto(out, n + {place * COLUMN_STRIDE}, {self.value(source, word)})")
        self.say("n += 1")

    def emit_run(self, leaf: int) -> None:
        """Write a row for each of a leaf's rows: short lists singly, others eight at a time."""
        source = len(self.layout.vertices) + leaf
        self.give_up(f"n + c{leaf} > BLOCK_ROWS")
        self.new_segment()
        if self.layout.outputs:
            self.copy_run(leaf, source)
        self.say(f"n += c{leaf}")

    def copy_run(self, leaf: int, source: int) -> None:
        """Copy a leaf's column where it is one, fill in one value where it is not."""
        self.say(f"if c{leaf} < {SHORT}:", f"    for j in range(c{leaf}):")
        for place, (each, word) in enumerate(self.layout.outputs):
            of = f"b{leaf}{self.column(leaf, word)}"
            value = f"ld({of}, j)" if each == source else self.value(each, word)
            self.say(f"        sto(out, n + j + {place * COLUMN_STRIDE}, {value})")
        self.say("else:", f"    for j in range(0, c{leaf}, 8):")
        for place, (each, word) in enumerate(self.layout.outputs):
            to = f"out, n + j + {place * COLUMN_STRIDE}"
            of = f"b{leaf}{self.column(leaf, word)}"
            copy = f"copy8({to}, {of}, j)"
            self.say(
                f"        {copy if each == source else f'fill8({to}, {self.value(each, word)})'}"
            )
