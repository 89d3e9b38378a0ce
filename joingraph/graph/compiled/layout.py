"""Where a view's graph lies in memory: each alias' kind, each record's groups, and its programs.

    F --- v0 <userId> --- T --- v1 <tweetId> --- R

    F  one vertex                            LEAF, one column (followerId)
    T  two vertices, nothing projected       EDGE
    R  one vertex                            LEAF, one column
    v0's record: | userId | F: offset length | T: offset length live | row of F | row of T |

The plan names things; a layout counts words. It is immutable, and two plans with equal layouts
can share kernels. `fields.py` says what each word means.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import NamedTuple

from joingraph.expressions.types import words_of
from joingraph.graph.compiled.fields import COUNT, EDGE, LEAF, MODES, NODE, REQ
from joingraph.plan.arrange import around_kernel_program, kernel_program, scan_program
from joingraph.plan.groups.rooted import homes_of
from joingraph.plan.kept_columns import kept_parts
from joingraph.plan.model import Plan, Slot
from joingraph.plan.program import Program


@dataclass(frozen=True, slots=True)
class Seat:
    """An alias at a vertex: where its group lies in the vertex value's record."""

    alias: int
    link: int
    kind: int
    offset: int
    length: int
    live: int
    columns: int
    mode: int
    room: int = 0  # where the record has room for a list of one row; 0 if it has none

    @property
    def shape(self) -> int:
        """Return the columns of the list, and how far from its group a row of it has room."""
        return self.columns | ((self.room - self.offset) << 32 if self.room else 0)


@dataclass(frozen=True, slots=True)
class VertexLayout:
    """A vertex value's record: key words, then the group of each seat."""

    key: int
    stride: int
    seats: tuple[Seat, ...]


@dataclass(frozen=True, slots=True)
class Link:
    """A vertex of an alias: its seat there, and where its key begins in the alias' rows."""

    vertex: int
    seat: Seat
    key: int


@dataclass(frozen=True, slots=True)
class AliasLayout:
    """An alias: its rows are the key words of its links, then its projected words."""

    kind: int
    links: tuple[Link, ...]
    keys: int
    projected: int
    stride: int
    is_numbered: bool = False  # each row also has the number of its group, behind its own words
    is_silent: bool = False  # its rows are asked for, and not shown
    lone: frozenset[int] = frozenset()  # key words that tell NULL, where it may be
    full: frozenset[int] = frozenset()  # of these, where another alias' NULL may be, too
    apart: frozenset[int] = frozenset()  # of these, where NULL is another word

    def apart_at(self, vertex: int) -> list[int]:
        """List the key words of a vertex in which NULL is another word.

        They end where those of the next vertex begin: one without classes has none.
        """
        at = next(place for place, link in enumerate(self.links) if link.vertex == vertex)
        first, *ends = (link.key for link in self.links[at : at + 2])
        return [place - first for place in self.apart if first <= place < (*ends, self.keys)[0]]

    @property
    def width(self) -> int:
        """The words of a row."""
        return self.keys + self.projected


class Around(NamedTuple):
    """The walk of the rows around a value whose seat flips; of a mark both, by what is told."""

    vertex: int
    alias: int
    told: bool | None
    program: Program


@dataclass(frozen=True, slots=True)
class Layout:
    """A view's layout; `outputs` are (source, word), sources being vertices, then aliases.

    `programs` walk from a row of each alias, `scans` from a value of each vertex; predicates are
    tested by column on what comes of them.
    """

    vertices: tuple[VertexLayout, ...]
    aliases: tuple[AliasLayout, ...]
    programs: tuple[Program, ...]
    scans: tuple[Program, ...]
    slots: tuple[Slot, ...]
    outputs: tuple[tuple[int, int], ...]
    arounds: tuple[Around, ...] = ()

    @property
    def is_inner(self) -> bool:
        """True if every alias wants a row of every other."""
        return all(seat.mode == REQ for vertex in self.vertices for seat in vertex.seats)

    def flips_at(self, vertex: int, alias: int) -> bool:
        """True if rows come and go around a value as the seat of an alias flips."""
        return any((each.vertex, each.alias) == (vertex, alias) for each in self.arounds)

    def tells_flips(self, alias: int) -> bool:
        """True if a seat may flip by a change of an alias: it lies on the seat's own side."""
        return any(alias in self.side_of(each.vertex, each.alias) for each in self.arounds)

    def side_of(self, vertex: int, alias: int) -> frozenset[int]:
        """Return an alias and all that lies beyond it, seen from one of its vertices."""
        found, waiting = {alias}, [(alias, vertex)]
        while waiting:
            near, entry = waiting.pop()
            for link in self.aliases[near].links:
                if link.vertex != entry:
                    seats = self.vertices[link.vertex].seats
                    new = [each.alias for each in seats if each.alias not in found]
                    found.update(new)
                    waiting += [(each, link.vertex) for each in new]
        return frozenset(found)


def lay_out(plan: Plan, *, exact: bool, numbered: int | None = None) -> Layout:
    """Settle the layout of a plan; live counts have a word only where they are kept.

    Of one alias, rows may have the numbers of their groups.
    """
    forms = Forms(plan, exact, numbered)
    vertices = tuple(
        forms.vertex(vertex)
        for vertex in range(1 + max(each for home in forms.homes for each in home))
    )
    aliases = tuple(forms.alias(alias, vertices) for alias in range(len(plan.aliases)))
    # The kept values that the output and the residual predicates read, each once.
    wanted = (*(output.value for output in plan.definition.output), *plan.residuals)
    parts = [part for each in wanted for part in kept_parts(plan, each)]
    slots = tuple(dict.fromkeys(plan.slots[part] for part in parts))
    outputs = tuple(
        word for slot in slots for word in slot_words(plan, len(vertices), aliases, slot)
    )
    if plan.is_inner:
        programs = tuple(kernel_program(plan, alias) for alias in range(len(aliases)))
        scans = tuple(scan_program(plan, vertex) for vertex in range(len(vertices)))
        return Layout(vertices, aliases, programs, scans, slots, outputs)
    silent = Program(None, None, (), ())
    programs = tuple(
        silent if alias.is_silent else kernel_program(plan, alias.index) for alias in plan.aliases
    )
    return Layout(vertices, aliases, programs, (), slots, outputs, tuple(arounds_of(plan)))


def arounds_of(plan: Plan) -> Iterator[Around]:
    """Yield the walks that flips ask for."""
    for vertex in plan.vertices:
        for alias, mode in zip(vertex.aliases, vertex.modes, strict=True):
            others = (plan.aliases[each] for each in vertex.aliases if each != alias)
            if mode == "req" or all(each.is_silent for each in others):
                continue
            for told in (True, False) if mode == "mark" else (None,):
                program = around_kernel_program(plan, vertex.index, alias, told)
                yield Around(vertex.index, alias, told, program)


class Forms:
    """The form that each alias' rows take in the graph, and where its words lie."""

    def __init__(self, plan: Plan, exact: bool, numbered: int | None) -> None:
        self.plan, self.exact, self.numbered = plan, exact, numbered
        self.homes = homes_of(plan)
        self.kinds = [self.kind(alias) for alias in range(len(plan.aliases))]

    def kind(self, alias: int) -> int:
        """Choose the form that an alias' rows take."""
        links = len(self.homes[alias])
        has_words = bool(self.plan.aliases[alias].projected) or alias == self.numbered
        if links == 1:
            return LEAF if has_words else COUNT
        return NODE if links > 2 or has_words else EDGE

    def vertex(self, vertex: int) -> VertexLayout:
        """Place the groups of a vertex value's record behind its key."""
        plan = self.plan
        types = plan.vertices[vertex].types if vertex < len(plan.vertices) else ()
        key = place = sum(map(words_of, types))
        seats = []
        for alias, home in enumerate(self.homes):
            if vertex not in home:
                continue
            kind = self.kinds[alias]
            length = place if kind == COUNT else place + 1
            live = length + 1 if self.exact and kind in (EDGE, NODE) else length
            columns = self.projected(alias) + (alias == self.numbered)
            columns = {COUNT: 0, LEAF: columns}.get(kind, 1)
            mode = plan.mode(alias, vertex) if vertex < len(plan.vertices) else "req"
            words = (place, length, live, columns, MODES[mode])
            seats.append(Seat(alias, home.index(vertex), kind, *words))
            place = live + 1
        stride = 4 if place <= 4 else -(-place // 8) * 8
        return VertexLayout(key, stride, with_room(seats, place, stride))

    def projected(self, alias: int) -> int:
        """Count the words that an alias projects."""
        return sum(words_of(each.type) for each in self.plan.aliases[alias].projected)

    def alias(self, alias: int, vertices: tuple[VertexLayout, ...]) -> AliasLayout:
        """Place an alias' key and projected words in its rows, and in its node records."""
        links, place = [], 0
        for vertex in self.homes[alias]:
            seat = next(seat for seat in vertices[vertex].seats if seat.alias == alias)
            links.append(Link(vertex, seat, place))
            place += vertices[vertex].key
        projected, is_numbered = self.projected(alias), alias == self.numbered
        stride = 1 + len(links) + projected + is_numbered
        own = self.plan.aliases[alias]
        words = (self.kinds[alias], tuple(links), place, projected, stride, is_numbered)
        lone, full, apart = set[int](), set[int](), set[int]()
        for link, is_lone in zip(links, own.lone, strict=False):
            at = self.plan.vertices[link.vertex]
            ends = accumulate(map(words_of, at.types)) if is_lone else ()
            lone |= (found := {link.key + end - 1 for end in ends})
            if set(at.modes) == {"opt"}:
                full |= found
                apart |= found if at.seat(alias) > 0 else set()
        return AliasLayout(*words, own.is_silent, *map(frozenset, (lone, full, apart)))


def with_room(seats: list[Seat], place: int, stride: int) -> tuple[Seat, ...]:
    """Return what a record has to spare to lists of one row, as many as it holds."""
    rooms = {}
    for seat in sorted(seats, key=lambda each: each.columns):
        if seat.columns and place + seat.columns <= stride:
            rooms[seat.alias] = place
            place += seat.columns
    return tuple(replace(seat, room=rooms.get(seat.alias, 0)) for seat in seats)


def row_places(plan: Plan, alias: AliasLayout, slot: Slot) -> list[int]:
    """Return which words of its alias' row a slot's value is made of."""
    if slot.vertex is None:
        first, types = alias.keys, [each.type for each in plan.aliases[slot.alias].projected]
        types = types or [slot.stored]  # of a mark
    else:
        link = alias.links[slot.vertex]
        first, types = link.key, list(plan.vertices[link.vertex].types)
    first += sum(map(words_of, types[: slot.position]))
    return list(range(first, first + words_of(types[slot.position])))


def slot_words(
    plan: Plan, vertices: int, aliases: tuple[AliasLayout, ...], slot: Slot
) -> list[tuple[int, int]]:
    """Return which words of which sources a slot's value is made of."""
    alias = aliases[slot.alias]
    source, first = vertices + slot.alias, alias.keys
    if slot.vertex is not None:
        source, first = alias.links[slot.vertex].vertex, alias.links[slot.vertex].key
    return [(source, place - first) for place in row_places(plan, alias, slot)]
