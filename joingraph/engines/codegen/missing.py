"""Writes the loops of a view's kernels where rows may be missing, or are asked for.

    T LEFT JOIN R, R LEFT JOIN S        a row of T comes:

    live_1 = ld(r0, 4) & LENGTH                              R's live entries at the value of v0
    for at_1 in range(live_1 + (live_1 == 0)):               or one round without any
        r1 = records_1 + (ld(list_1, at_1) >> 32) * 64
        r1 = r1 if live_1 else null_record                   the value of v1, or one all zero
        c2 = ld(r1, 2) & LENGTH
        c2 += c2 == 0                                        S's rows there, or one of NULLs

An empty list begins at the heap's first words, which are NULL, and has a step of 0: it is read as a
list of one row. What is asked for costs a walk nothing: look-ahead keeps no entry alive that does
not find it as it is wanted; a mark is one test.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from joingraph.engines.codegen.paths import Writer
from joingraph.graph.compiled.fields import EDGE, NODE
from joingraph.plan.program import Ask, Enter, Step, Weigh


@dataclass(slots=True)
class OuterWriter(Writer):
    """Vertices that may lie beyond a missing row, and those that do on every path."""

    uncertain: set[int] = field(default_factory=set)
    absent: set[int] = field(default_factory=set)

    def bases(self) -> None:
        """Load what stays the same while the kernel runs."""
        super(OuterWriter, self).bases()
        self.say("null_record, null_row = ld(st, NULL_RECORD), ld(st, NULL_ROW)")

    def begin_anew(self, weight: str) -> None:
        """Forget what the last walk was like; the next has another weight."""
        self.weight, self.varies = weight, False
        self.uncertain, self.absent = set(), set()

    def is_leaf(self, step: Enter) -> bool:
        """True if an alias has its rows at one vertex, side by side, and may have some."""
        return super(OuterWriter, self).is_leaf(step) and not self.is_absent(step)

    def is_absent(self, step: Enter) -> bool:
        """True if an alias is missing on every path."""
        return step.mode == "null" or step.vertex in self.absent

    def may_be_missing(self, step: Enter) -> bool:
        """True if one row of NULLs stands for an alias that has none at a value."""
        return step.mode == "opt" or step.vertex in self.uncertain

    def beyond(self, step: Enter) -> set[int]:
        """Return the vertices that an alias binds."""
        return {link.vertex for link in self.layout.aliases[step.alias].links} - {step.vertex}

    def write(self, step: Step) -> None:
        """Write a step of a kernel's program."""
        if isinstance(step, Ask):
            self.mark(step)
        else:
            super(OuterWriter, self).write(step)

    def mark(self, step: Ask) -> None:
        """Bind whether an alias is there, or what is told of it."""
        seats = self.layout.vertices[step.vertex].seats
        (live,) = (seat.live for seat in seats if seat.alias == step.alias)
        found = f"1 if ld(r{step.vertex}, {live}) & LENGTH else 0"
        if step.told is not None or step.vertex in self.absent:
            found = "1" if step.told else "0"
        self.say(f"a{step.alias}_0 = {found}")

    def enter(self, step: Enter) -> None:
        """Go through an alias' entries at a value, or once for a row of NULLs."""
        a, v = step.alias, step.vertex
        words = self.words_of(len(self.layout.vertices) + a)
        if self.is_absent(step):
            self.absent |= self.beyond(step)
            self.say(*(f"a{a}_{word} = NULL_WORD" for word in words))
            return
        if not self.may_be_missing(step):
            super(OuterWriter, self).enter(step)
            return
        alias, seat = self.layout.aliases[a], self.entry(step).seat
        self.uncertain |= self.beyond(step)
        self.say(f"list_{a} = heap + ld(r{v}, {seat.offset}) * 8")
        self.say(f"live_{a} = ld(r{v}, {seat.live}) & LENGTH")
        self.say(f"for at_{a} in range(live_{a} + (live_{a} == 0)):")
        self.depth += 1
        self.bind_or_miss(step)
        first = 1 + len(alias.links)
        self.say(*(f"a{a}_{own} = ld(node_{a}, {first + own})" for own in words))

    def bind_or_miss(self, step: Enter) -> None:
        """Find the values that an entry has at an alias' other vertices, or those of none."""
        a, alias = step.alias, self.layout.aliases[step.alias]
        if alias.kind == NODE:
            self.say(f"node_{a} = nodes_{a} + ld(list_{a}, at_{a}) * {alias.stride * 8}")
            self.say(f"node_{a} = node_{a} if live_{a} else null_row")
        for place, link in enumerate(alias.links):
            w = link.vertex
            if w != step.vertex:
                word = f"ld(list_{a}, at_{a})"
                word = word if alias.kind == EDGE else f"ld(node_{a}, {1 + place})"
                stride = self.layout.vertices[w].stride * 8
                self.say(f"r{w} = records_{w} + ({word} >> 32) * {stride}")
                self.say(f"r{w} = r{w} if live_{a} else null_record")
                self.load_key(w)

    def weigh(self, step: Weigh) -> None:
        """Multiply the weight by what a side sums up to, if it may have rows."""
        if not self.is_absent(step.enter):
            super(OuterWriter, self).weigh(step)

    def sum(self, side: Weigh) -> str:
        """Write the loops that sum up a side; one that is missing has one path."""
        found = super(OuterWriter, self).sum(side)
        if not self.may_be_missing(side.enter):
            return found
        ways = f"ways_{side.enter.alias}"
        self.say(f"{ways} = {found}", f"{ways} += {ways} == 0")
        return ways

    def measure(self, leaf: Enter) -> None:
        """Load where a leaf's rows lie and how many there are, a row of NULLs if there are none."""
        super(OuterWriter, self).measure(leaf)
        if self.may_be_missing(leaf):
            self.say(f"c{leaf.alias} += c{leaf.alias} == 0")
