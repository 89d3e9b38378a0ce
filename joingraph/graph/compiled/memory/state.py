"""The graph's memory: reservations for records, lists and indexes, and the descriptors over them.

    GraphMemory(layout, lookahead)
        state          what every kernel is given: the address of the state's words
        regions        heap, per vertex records and index, per node alias records, places, scratch

A region is larger than what it holds and takes memory only where it has been touched: kernels need
no test. Before a batch `make_room` bounds what it may need (growth.py) and moves all regions if
that is more than there is; the descriptors alone tell where they lie.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from joingraph.graph.compiled import fields as f
from joingraph.graph.compiled.layout import AliasLayout, Layout, VertexLayout
from joingraph.graph.compiled.memory.blocks import Filling, pool
from joingraph.graph.compiled.memory.growth import needed, nodes_of, shift_lists
from joingraph.graph.compiled.memory.regions import Regions
from joingraph.graph.compiled.memory.reserved import Region, Words, reserve
from joingraph.graph.compiled.memory.tables import (
    Bytes,
    place_table,
    release_outgrown,
    slots_of,
    table_used,
)
from joingraph.graph.compiled.vertex_table import FIRST_INDEX, INDEX_WORDS
from joingraph.plan.program import Ask, Enter, Program, Weigh

HEAP_WORDS = 1 << 34
RECORD_WORDS = 1 << 32
PLACE_WORDS = 1 << 33
FIRST_PLACES = 1 << 10
SCRATCH_WORDS = (1 << 32, 1 << 33)  # of the look-ahead's stack and of admission's running counts
FLIP_REGION_WORDS = 1 << 32


class GraphMemory:
    """A view's graph in memory; `st` is the address that kernels take, `words` what lies there."""

    def __init__(self, layout: Layout, lookahead: int) -> None:
        self.layout = layout
        vertices = len(layout.vertices)
        self.numbers = [n for n, alias in enumerate(layout.aliases) if alias.kind == f.NODE]
        records = [RECORD_WORDS] * (vertices + len(self.numbers))
        words = [HEAP_WORDS, *records, *[INDEX_WORDS] * vertices, PLACE_WORDS, *SCRATCH_WORDS]
        self.area = Regions([8 * each for each in words])
        self.descriptors = reserve(descriptor_words(layout))
        self.words: Words = self.descriptors.words
        self.st = self.descriptors.address
        self._top = f.STATE_WORDS
        self._capacities, self._places = [FIRST_INDEX] * vertices, FIRST_PLACES
        self._is_mapped = False
        self._describe(lookahead)
        self.find_regions()
        self.filling = Filling(self.words, pool(len(layout.outputs)))

    def make_room(self, ops: int) -> None:
        """Make room for so many ops and for taking them back, or refuse them; between batches."""
        self.area.prepare(ops, partial(needed, self))
        self.finish_move()

    def finish_move(self) -> None:
        """Bring a move to other regions to its end; called again, do it anew."""
        if self.area.before:
            distances = self.distances(self.area.before)
            self.area.copy(self.used())
            self.find_regions()
            self.shift(distances)
            self.area.settle()

    def used(self) -> list[Bytes]:
        """Return which bytes of each region hold something between two batches."""
        numbers = range(len(self.layout.vertices))
        tables = [table_used(self.vertex(number)) for number in numbers]
        places = 16 * (int(self.words[f.PLACES_MASK]) + 1)
        return [
            (0, 8 * int(self.words[f.TOP])),
            *(records for records, _ in tables),
            *((0, 8 * int(ad[f.A_NEXT]) * int(ad[f.A_STRIDE])) for ad in nodes_of(self)),
            *(index for _, index in tables),
            (places, places),
            *[(0, 0)] * len(SCRATCH_WORDS),
        ]

    def forget_places(self) -> None:
        """Give an empty table of places back; one mapped from a file would not read as zero."""
        if self._places > FIRST_PLACES and not self.words[f.PLACE_COUNT] and not self._is_mapped:
            self.places.release(0, 4 * self._places)
            self.words[f.PLACES_MASK] = FIRST_PLACES - 1
            self.find_regions()

    def lie_as(self, sizes: list[int]) -> None:
        """Let an empty graph's regions have such sizes, or room for what its words say."""
        self._is_mapped = True
        self.area.resemble(sizes, needed(self, 0))
        self.find_regions()
        self.area.settle()

    def distances(self, regions: Sequence[Region]) -> list[int]:
        """Return how many bytes behind the heap each vertex' records lie."""
        heap, *others = regions
        return [each.address - heap.address for each in others[: len(self.layout.vertices)]]

    def shift(self, before: Sequence[int]) -> None:
        """Let lists that lie in records be found again, given the distances of before."""
        for number, (old, new) in enumerate(
            zip(before, self.distances(self.area.regions), strict=True)
        ):
            if old != new:
                shift_lists(self.vertex(number).ctypes.data, (new - old) >> 3)

    def find_regions(self) -> None:
        """Write into the descriptors where regions lie, and tables whose sizes alone are known."""
        vertices, words = len(self.layout.vertices), self.words
        self.heap, *regions = self.area.regions
        self.records, self.indexes = regions[:vertices], regions[-vertices - 3 : -3]
        self.nodes = dict(zip(self.numbers, regions[vertices:], strict=False))
        self.places, stack, running = regions[-3:]
        words[f.HEAP], words[f.PLACES_BASE] = self.heap.address, self.places.address
        words[f.STACK], words[f.RUNNING] = stack.address, running.address
        self._places = int(words[f.PLACES_MASK]) + 1
        words[f.PLACES] = self.places.address + 16 * self._places
        for number, (records, index) in enumerate(zip(self.records, self.indexes, strict=True)):
            vd = self.vertex(number)
            self._capacities[number] = slots_of(vd)
            place_table(vd, records, index)
        for number, records in self.nodes.items():
            self.alias(number)[f.A_RECORDS] = records.address

    def release(self) -> None:
        """Give back the memory of tables that have been outgrown; each lay before the next."""
        capacity = int(self.words[f.PLACES_MASK]) + 1
        if capacity > self._places:
            self.places.release(2 * self._places, 2 * capacity)
            self._places = capacity
        for number, index in enumerate(self.indexes):
            before = self._capacities[number]
            self._capacities[number] = release_outgrown(self.vertex(number), index, before)

    def walk_words(self) -> dict[int, int]:
        """Return how many words a walk writes to, by the word of the state that tells where."""
        layout = self.layout
        arounds = (each.program for each in layout.arounds)
        deepest = max(len(each.steps) for each in (*layout.programs, *layout.scans, *arounds))
        return {
            f.SOURCES: f.SOURCE_WORDS * (len(layout.vertices) + len(layout.aliases)),
            f.WHEELS: f.WALK_WORDS * (deepest + 1),
            f.HINTS: 2 * f.RING_SLOTS * most_links(layout),
        }

    @property
    def free_lists(self) -> Words:
        """The heads of the heap's free lists."""
        start = (int(self.words[f.FREE]) - self.st) // 8
        return self.words[start : start + (widest(self.layout) + 1) * f.FREE_CLASSES]

    def vertex(self, number: int) -> Words:
        """Return the descriptor of a vertex."""
        start = self._vertices + number * f.VERTEX_WORDS
        return self.words[start : start + f.VERTEX_WORDS]

    def alias(self, number: int) -> Words:
        """Return the descriptor of an alias."""
        start = self._aliases + number * f.ALIAS_WORDS
        return self.words[start : start + f.ALIAS_WORDS]

    def _take(self, words: int) -> int:
        """Return the index of the descriptors' next free words."""
        start = self._top
        self._top += words
        return start

    def _address(self, index: int) -> int:
        return self.st + index * 8

    def _describe(self, lookahead: int) -> None:
        """Write all that the layout says into the descriptors."""
        layout, words = self.layout, self.words
        lengths = self.walk_words()
        vertices, aliases = len(layout.vertices), len(layout.aliases)
        self._vertices = self._take(vertices * f.VERTEX_WORDS)
        self._aliases = self._take(aliases * f.ALIAS_WORDS)
        columns = self._take(2 * len(layout.outputs))
        words[columns : columns + 2 * len(layout.outputs)] = [
            word for output in layout.outputs for word in output
        ]
        words[f.TOP] = 8
        words[f.FREE] = self._address(self._take((widest(layout) + 1) * f.FREE_CLASSES))
        words[f.VERTICES] = self._address(self._vertices)
        words[f.ALIASES] = self._address(self._aliases)
        words[f.VERTEX_COUNT], words[f.ALIAS_COUNT] = vertices, aliases
        words[f.LOOKAHEAD], words[f.AHEAD] = lookahead, 1
        words[f.STRIDE], words[f.LIMIT] = f.COLUMN_STRIDE, f.BLOCK_LIMIT
        words[f.COLUMNS], words[f.COLUMN_COUNT] = self._address(columns), len(layout.outputs)
        sources = self._take(lengths[f.SOURCES])
        words[sources + 1 : sources + 2 * vertices : 2] = 8
        words[f.SOURCES] = self._address(sources)
        words[f.WHEELS] = self._address(self._take(lengths[f.WHEELS]))
        self._describe_aids()
        for number, vertex in enumerate(layout.vertices):
            self._describe_vertex(number, vertex)
        for number, alias in enumerate(layout.aliases):
            self._describe_alias(number, alias)
        for number, program in enumerate(layout.scans):
            self.vertex(number)[f.V_PROGRAM] = self._describe_program(program)
        for number, program in enumerate(layout.programs):
            if not layout.aliases[number].is_silent:
                self.alias(number)[f.A_PROGRAM] = self._describe_program(program)
        self._describe_missing()
        assert self._top <= descriptor_words(layout), "the descriptors have room"

    def _describe_missing(self) -> None:
        """Write what is walked where a row is missing, and where seats that flip are noted."""
        layout, words = self.layout, self.words
        for around in layout.arounds:
            field = f.L_AROUND_NOT if around.told is False else f.L_AROUND
            self.link(around.alias, around.vertex)[field] = self._describe_program(around.program)
        if layout.arounds:
            self.flips = reserve(FLIP_REGION_WORDS)
            words[f.FLIPS] = self.flips.address
        words[f.TRUE_WORD] = 1
        words[f.NULL_RECORD] = self._address(self._take(max(v.stride for v in layout.vertices)))
        row, width = self._top, max(alias.stride for alias in layout.aliases)
        words[f.NULL_ROW] = self._address(self._take(width))
        words[row : row + width] = f.NULL_WORD

    def _describe_aids(self) -> None:
        """Write where the kernels keep what they remember for a while."""
        words, links = self.words, most_links(self.layout)
        words[f.RING] = self._address(self._take(f.RING_SLOTS * (links + 1)))  # and of groups
        words[f.HINTS] = self._address(self._take(self.walk_words()[f.HINTS]))
        words[f.MOST_LINKS] = links
        words[f.PLACES_MASK], words[f.LONG] = FIRST_PLACES - 1, f.LONG_LIST

    def _describe_vertex(self, number: int, vertex: VertexLayout) -> None:
        vd = self.vertex(number)
        seats = self._take(len(vertex.seats) * f.SEAT_WORDS)
        vd[f.V_MASK] = FIRST_INDEX - 1
        vd[f.V_STRIDE], vd[f.V_KEY], vd[f.V_NUMBER] = vertex.stride, vertex.key, number
        vd[f.V_SEATS], vd[f.V_SEAT_COUNT] = self._address(seats), len(vertex.seats)
        for place, seat in enumerate(vertex.seats):
            sd = self.words[seats + place * f.SEAT_WORDS :]
            sd[f.S_ALIAS] = self._address(self._aliases + seat.alias * f.ALIAS_WORDS)
            sd[f.S_KIND], sd[f.S_OFFSET] = seat.kind, seat.offset
            sd[f.S_LENGTH], sd[f.S_LIVE], sd[f.S_LINK] = seat.length, seat.live, seat.link
            sd[f.S_SHAPE], sd[f.S_MODE] = seat.shape, seat.mode

    def _describe_alias(self, number: int, alias: AliasLayout) -> None:
        ad = self.alias(number)
        links = self._take(len(alias.links) * f.LINK_WORDS)
        ad[f.A_KIND], ad[f.A_LINKS] = alias.kind, self._address(links)
        ad[f.A_LINK_COUNT], ad[f.A_PROJECTED] = len(alias.links), alias.projected
        ad[f.A_STRIDE], ad[f.A_WIDTH], ad[f.A_KEY_WORDS] = alias.stride, alias.width, alias.keys
        ad[f.A_SOURCE], ad[f.A_NUMBER] = len(self.layout.vertices) + number, number
        for place, link in enumerate(alias.links):
            ln = self.words[links + place * f.LINK_WORDS :]
            ln[f.L_VERTEX] = self._address(self._vertices + link.vertex * f.VERTEX_WORDS)
            ln[f.L_NUMBER], ln[f.L_OFFSET] = link.vertex, link.seat.offset
            ln[f.L_LENGTH], ln[f.L_LIVE], ln[f.L_KEY] = link.seat.length, link.seat.live, link.key
            ln[f.L_SHAPE], ln[f.L_MODE] = link.seat.shape, link.seat.mode
            ln[f.L_ALIAS] = ad.ctypes.data

    def link(self, alias: int, vertex: int) -> Words:
        """Return the descriptor of an alias' link to a vertex."""
        places = [link.vertex for link in self.layout.aliases[alias].links]
        start = (int(self.alias(alias)[f.A_LINKS]) - self.st) // 8
        start += places.index(vertex) * f.LINK_WORDS
        return self.words[start : start + f.LINK_WORDS]

    def _describe_program(self, program: Program) -> int:
        """Write the steps of a program, a level each; gives the program's address."""
        start = self._take(f.PROGRAM_WORDS)
        levels = self._take(len(program.steps) * f.LEVEL_WORDS)
        self.words[start + f.T_LEVELS] = self._address(levels)
        self.words[start + f.T_COUNT] = len(program.steps)
        for place, step in enumerate(program.steps):
            level = step.enter if isinstance(step, Weigh) else step
            assert isinstance(level, Enter | Ask), "a kernel's program enters, weighs, or marks"
            hd = self.words[levels + place * f.LEVEL_WORDS :]
            links = self.layout.aliases[level.alias].links
            (link,) = (i for i, each in enumerate(links) if each.vertex == level.vertex)
            seat = links[link].seat
            hd[f.H_KIND] = f.COUNT if isinstance(step, Weigh) else seat.kind
            if isinstance(level, Ask):
                told = {None: f.REQ, False: f.TOLD_NO, True: f.TOLD_YES}
                hd[f.H_KIND], hd[f.H_MODE] = f.MARKED, told[level.told]
            elif level.mode != "req":
                hd[f.H_MODE] = f.OPT if level.mode == "opt" else f.TAKEN_MISSING
            hd[f.H_VERTEX] = level.vertex
            hd[f.H_ALIAS] = self._address(self._aliases + level.alias * f.ALIAS_WORDS)
            hd[f.H_OFFSET], hd[f.H_LIVE], hd[f.H_LINK] = seat.offset, seat.live, link
        return self._address(start)


def most_links(layout: Layout) -> int:
    """Return how many links an alias has at most."""
    return max(len(alias.links) for alias in layout.aliases)


def widest(layout: Layout) -> int:
    """Return how many projected words an alias has at most, or one."""
    return max(1, *(alias.projected + alias.is_numbered for alias in layout.aliases))


def descriptor_words(layout: Layout) -> int:
    """Return how many words the state and all descriptors take at most."""
    vertices, aliases = len(layout.vertices), len(layout.aliases)
    links = sum(len(alias.links) for alias in layout.aliases)
    programs = vertices + aliases + len(layout.arounds)
    return (
        f.STATE_WORDS
        + vertices * f.VERTEX_WORDS
        + aliases * f.ALIAS_WORDS
        + links * (f.SEAT_WORDS + f.LINK_WORDS)
        + (widest(layout) + 1) * f.FREE_CLASSES
        + 2 * len(layout.outputs)
        + f.RING_SLOTS * (3 * most_links(layout) + 1)
        + f.SOURCE_WORDS * (vertices + aliases)
        + f.WALK_WORDS * (aliases + 1)
        + max(vertex.stride for vertex in layout.vertices)
        + max(alias.stride for alias in layout.aliases)
        + programs * (f.PROGRAM_WORDS + (aliases + 1) * f.LEVEL_WORDS)
    )
