"""The memory of groups: their table, what vertices are told, notes of what a base diff touched.

    table      | key words | sums | note | rows |                      as vertex values are kept
    blocks     a side's sums by the id of the value that it tells      | 2, 13 | 1, 4 | ...
    notes      [diff, number] [key words] [sums before] [sums now]     by column

All follows from the rows that are joined: it is made anew whenever that is simpler.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

from joingraph.graph.compiled import fields as f
from joingraph.graph.compiled.groups.bag_contents import contents
from joingraph.graph.compiled.groups.bag_layout import BagLayout
from joingraph.graph.compiled.groups.bag_nodes import (
    B_ENTRIES,
    B_NEXT,
    B_NODES,
    B_ROOT,
    NODE_WORDS,
    TREE_WORDS,
    most_nodes,
    tree_words,
)
from joingraph.graph.compiled.groups.group_layout import BEST_WORDS, EQUALS, GroupLayout, equal_word
from joingraph.graph.compiled.memory.leases import copies
from joingraph.graph.compiled.memory.reserved import Words, reserve
from joingraph.graph.compiled.memory.state import HEAP_WORDS, RECORD_WORDS, GraphMemory
from joingraph.graph.compiled.memory.tables import Bytes, RecordTable, grown, slots_of
from joingraph.graph.compiled.vertex_table import INDEX_WORDS
from joingraph.plan.groups.rooted import Term

NOTES = 1 << 16  # after which a block is taken, between two base diffs
# Columns that lie so far apart that their low addresses differ.
ALIASING_BYTES, COLUMN_OFFSET = 1 << 12, 9 << 6
OWN_REGIONS = 4  # records, index, notes, groups that may be empty; then a block each kept side


class GroupMemory(RecordTable):
    """The groups of one view over the memory of its joined rows; kernels take `gd`.

    `texts` is the address of the string pool's descriptor.
    """

    def __init__(self, at: GroupLayout, memory: GraphMemory, texts: int) -> None:
        self.at, self.messages, self.memory = at, at.messages, memory
        self.most_notes, self.columns = 0, at.note_columns  # of a block, for which there is room
        size = len(Description(at, memory, 0, texts).words)
        self.description = reserve(size)
        self.description.words[:size] = Description(at, memory, self.gd, texts).words
        most = [RECORD_WORDS, INDEX_WORDS, HEAP_WORDS, RECORD_WORDS]
        others = [RECORD_WORDS] * (len(at.kept) + at.tree_count)
        super().__init__(len(at.keys), at.stride, [*most, *others])

    @property
    def gd(self) -> int:
        """The address of the descriptor."""
        return self.description.address

    @property
    def words(self) -> Words:
        """The words of the descriptor."""
        return self.description.words

    def notes(self, rows: int) -> list[Words]:
        """Return the columns of so many notes; those of a folded batch, which are read at once."""
        of, column = self.area.regions[2].words, int(self.words[f.G_COLUMN]) // 8
        columns = [of[at * column :][:rows] for at in range(self.at.note_columns)]
        return columns if self.words[f.G_FOLDS] else copies(columns)

    def up_of(self, alias: int) -> int:
        """Return the vertex that an alias tells."""
        vertex = self.messages.tells[alias].up
        assert vertex is not None, "the root tells no vertex"
        return vertex

    def tells_in_order(self) -> list[int]:
        """List where aliases are described that keep what they tell, sides first, then the root."""
        base = self.gd + 8 * f.GROUPS_WORDS
        wanted = [each for each in self.messages.order if each in self.at.kept]
        if self.messages.root is not None:
            wanted.append(self.messages.root)
        return [base + 8 * f.TELL_WORDS * alias for alias in wanted]

    def root_meet(self) -> tuple[int, int]:
        """Return where a root that is a vertex is described, and its table; or 0 and 0."""
        if self.messages.root is not None:
            return 0, 0
        tells = f.GROUPS_WORDS + len(self.messages.tells) * f.TELL_WORDS
        vertex = self.messages.root_vertex
        address = self.gd + 8 * (tells + vertex * f.MEET_WORDS)
        return address, self.memory.vertex(vertex).ctypes.data

    def told(self) -> tuple[Any, ...]:
        """Return the sums of each group by the words of its key, what vertices are told, bags."""
        vd, keys = self.state, len(self.at.keys)
        stride = int(vd[f.V_STRIDE])
        records = self.area.regions[0].words[: stride * int(vd[f.V_NEXT])].reshape(-1, stride)
        end = keys + self.at.words
        records = records.copy()
        records[:, [keys + self.at.word_of(bag) for bag in self.at.lists]] = 0  # another group's
        rows = [(tuple(row[:keys]), (*row[keys:end], row[end + 1])) for row in records.tolist()]
        groups = {key: sums for key, sums in rows if sums[0] or sums[-1]}
        blocks = [
            block.words[: self.told_bytes(alias) // 8]
            for alias, block in zip(self.at.kept, self.area.regions[OWN_REGIONS:], strict=False)
        ]
        trees = range(self.at.tree_count - len(self.at.logs))
        bags = [self.entries(place, [key for key, _ in rows]) for place in trees]
        return groups, [block.tolist() for block in blocks], bags

    def entries(self, place: int, keys: Sequence[tuple[int, ...]]) -> list[tuple[Any, ...]]:
        """Return what a tree holds; an owner that is a group is known by its key."""
        nodes, (alias, _) = self.nodes(place), self.at.holders[place]
        found = contents(self.tree(place), nodes)
        if alias != self.messages.root:
            return found
        return sorted((keys[owner], *words) for owner, *words in found)

    def most_groups(self, ops: int) -> int:
        """Bound how many groups there are while the next ops are carried out."""
        root = self.messages.root
        if root is not None:
            return int(self.memory.alias(root)[f.A_ROWS]) + ops + 2  # one may be of NULLs
        return int(self.memory.vertex(self.messages.root_vertex)[f.V_NEXT]) + ops + 1

    def needed(self, ops: int) -> list[int]:
        """Bound the bytes that each region needs for the next ops."""
        vd, most = self.state, self.most_groups(ops)
        records = max(int(vd[f.V_NEXT]), most)
        blocks = [self.told_bytes(alias, ops) for alias in self.at.kept]
        self.most_notes = max(self.most_notes, NOTES + most)
        return [
            8 * records * int(vd[f.V_STRIDE]),
            16 * grown(slots_of(vd), most),
            self.at.note_columns * (8 * (NOTES + most) + 2 * ALIASING_BYTES),
            8 * records,
            *blocks,
            *(
                8 * NODE_WORDS * most_nodes(self.most_entries(place, alias, ops), entry)
                for place, (alias, entry) in enumerate(self.at.holders)
            ),
        ]

    def most_entries(self, place: int, alias: int, ops: int) -> int:
        """Bound the entries of a tree that holds an alias' rows, after so many ops."""
        return int(self.memory.alias(alias)[f.A_ROWS]) + ops

    def tree(self, place: int) -> Words:
        """Return the words that describe a bag."""
        start = self.at.first_tree + place * TREE_WORDS
        return self.words[start : start + TREE_WORDS]

    def forget_logs(self) -> None:
        """Forget what the last base diff has changed in lists."""
        for place in self.at.logs.values():
            tree = self.tree(place)
            tree[B_ROOT : B_ENTRIES + 1] = 0
            tree[B_NEXT] = 1
            self.nodes(place)[0] = 0

    def tree_address(self, place: int) -> int:
        """Return the address of a tree's descriptor."""
        return self.gd + 8 * (self.at.first_tree + place * TREE_WORDS)

    def nodes(self, place: int) -> Words:
        """Return the nodes of a tree."""
        return self.area.regions[OWN_REGIONS + len(self.at.kept) + place].words

    def told_bytes(self, alias: int, ops: int = 0) -> int:
        """Return how many bytes there are for what an alias tells, after so many ops at most."""
        values = int(self.memory.vertex(self.up_of(alias))[f.V_NEXT]) + ops
        return 8 * self.at.told_words(alias) * values

    def used(self) -> list[Bytes]:
        """Return which bytes of each region are filled between two batches."""
        blocks = [(0, self.told_bytes(alias)) for alias in self.at.kept]
        trees = range(self.at.tree_count)
        nodes = [(0, 8 * NODE_WORDS * int(self.tree(place)[B_NEXT])) for place in trees]
        return [*super().used(), (0, 0), (0, 0), *blocks, *nodes]

    def find_regions(self) -> None:
        """Write where the regions lie."""
        super().find_regions()
        regions, words = self.area.regions, self.words
        words[f.G_TABLE] = self.descriptor.address
        words[f.G_NOTES], words[f.G_EMPTY] = regions[2].address, regions[3].address
        self.find_columns()
        for alias, block in zip(self.at.kept, regions[OWN_REGIONS:], strict=False):
            words[f.GROUPS_WORDS + alias * f.TELL_WORDS + f.N_BLOCK] = block.address
        for place, nodes in enumerate(regions[OWN_REGIONS + len(self.at.kept) :]):
            self.tree(place)[B_NODES] = nodes.address

    def find_columns(self) -> None:
        """Write how far columns of notes lie apart: pages are large, so not farther than needed."""
        room = self.area.sizes[2] // self.columns // ALIASING_BYTES
        wanted = -(-8 * self.most_notes // ALIASING_BYTES) + 1
        self.words[f.G_COLUMN] = (min(room, wanted) - 1) * ALIASING_BYTES + COLUMN_OFFSET

    def make_room(self, ops: int) -> None:
        """Make room for so many ops and for taking them back; between batches."""
        self.area.prepare(ops, self.needed)
        self.finish_move()
        self.find_columns()

    def bytes(self) -> int:
        """Return how many bytes groups and messages take."""
        return sum(size for _, size in self.used())


class Description:
    """The words that tell kernels who tells whom, for a place where they will lie."""

    def __init__(self, at: GroupLayout, memory: GraphMemory, base: int, texts: int) -> None:
        self.at, self.memory, self.base, self.messages = at, memory, base, at.messages
        tells, meets = self.messages.tells, self.messages.meets
        self.words = [0] * at.first_tree
        for _, best in at.trees:
            self.add(tree_words(at.best_row(self.messages.bests[best]).orders, texts))
        for bag in [*at.bags, *at.lists]:
            self.add(tree_words(bag.orders, texts, weighed=bag.is_weighed))
        fields = {
            f.G_WORDS: at.words,
            f.G_PARTS: len(at.sizes),
            f.G_SIZES: self.add_sizes(at.sizes),
            f.G_SERIAL: 1,  # a group that was never noted has 0
            f.G_DIFF: -1,
            f.G_STATE: len(at.keys),
            f.G_KEYS: self.add(word for key in at.keys for word in key),
            f.G_KEY: self.add([0] * max(1, len(at.keys))),
            f.G_TELLS: self.tell_at(0),
            f.G_BESTS: len(self.messages.bests),
            f.G_BESTS_AT: sum(at.sizes),
            f.G_BAGS: len(at.bags),
            f.G_BAG_LIST: self.add([word for at_bag in at.bags for word in self.bag(at_bag)]),
            f.G_IS_SET: int(self.messages.is_set),
            f.G_IS_LINEAR: int(at.is_linear),
        }
        if self.messages.root is not None:
            fields[f.G_BEST_TELL] = self.tell_at(self.messages.root)
        else:
            fields[f.G_BEST_MEET] = self.meet_at(self.messages.root_vertex)
        self.fill(base, fields | self.missing())
        for number in range(len(tells)):
            self.describe_tell(number)
        for number in range(len(meets)):
            self.describe_meet(number)

    def missing(self) -> dict[int, int]:
        """Describe the group of NULLs, if the root may be missing."""
        if self.messages.missing is None:
            return {}
        side = self.messages.whole_side
        return {
            f.G_MISSING: self.meet_at(self.messages.missing),
            f.G_MISSING_PARTS: self.add(self.messages.missing_parts),
            f.G_MISSING_VECTOR: self.add([0] * sum(self.at.sizes)),
            f.G_WHOLE_SIDE: 0 if side is None else self.tell_at(side),
        }

    def add(self, words: Iterable[int]) -> int:
        """Add some words; gives where they lie."""
        start = len(self.words)
        self.words += words
        return self.base + 8 * start

    def add_sizes(self, sizes: Sequence[int]) -> int:
        """Add where each part lies among the words of all, and its words; gives where."""
        starts = [sum(sizes[:at]) for at in range(len(sizes))]
        return self.add(word for pair in zip(starts, sizes, strict=True) for word in pair)

    def tell_at(self, alias: int) -> int:
        """Return where an alias is described."""
        return self.base + 8 * (f.GROUPS_WORDS + alias * f.TELL_WORDS)

    def meet_at(self, vertex: int) -> int:
        """Return where a vertex is described."""
        return self.tell_at(len(self.messages.tells)) + 8 * vertex * f.MEET_WORDS

    def describe_tell(self, number: int) -> None:
        """Write what an alias tells."""
        told, memory = self.messages.tells[number], self.memory
        links = memory.layout.aliases[number].links
        sizes = self.at.sizes_of(told.parts)
        below = [at for at, link in enumerate(links) if link.vertex != told.up]
        ends = [sum(len(part) for part in told.own[:at]) for at in range(len(told.own) + 1)]
        terms = [word for part in told.own for term in part for word in self.term(term)]
        pairs = [word for at in below for word in (at, self.meet_at(links[at].vertex))]
        fields = {
            f.N_ALIAS: memory.alias(number).ctypes.data,
            f.N_PARTS: len(told.parts),
            f.N_SIZES: self.add_sizes(sizes),
            f.N_WORDS: self.at.told_words(number),
            f.N_BEST_AT: sum(sizes),
            f.N_CARRIED: len(self.messages.carried[number]),
            f.N_BESTS: self.add(
                [word for of in self.messages.carried[number] for word in self.best(number, of)]
            ),
            f.N_OLD: self.add([0] * (BEST_WORDS * len(self.messages.carried[number]))),
            f.N_NUMBERED: int(memory.layout.aliases[number].is_numbered),
            f.N_MODE: f.MODES[told.mode],
            f.N_LINK: next((at for at, link in enumerate(links) if link.vertex == told.up), 0),
            f.N_MEET: 0 if told.up is None else self.meet_at(told.up),
            f.N_OWN: self.add(ends),
            f.N_TERMS: self.add(terms),
            f.N_BELOW: len(below),
            f.N_BELOWS: self.add(pairs),
            f.N_PICKS: self.add(pick for picks in told.below for pick in picks),
            f.N_VECTOR: self.add([0] * (self.at.told_words(number) + 2)),  # and a copy of a length
        }
        self.fill(self.tell_at(number), fields)

    def term(self, term: Term) -> list[int]:
        """Describe a term; of a value of two words, the last one tells whether it is NULL."""
        places = self.at.places(term.slot)
        kind = f.WIDE_VALUE if len(places) > 1 else f.VALUE
        operand = 0
        if term.kind == "known":
            kind = f.KNOWN
        elif term.kind in EQUALS:
            kind, operand = f.EQUAL, equal_word(term)
        elif term.is_float:
            kind = f.REAL if term.type == pa.float32() else f.DOUBLE
            operand = self.at.windows.window(term).low
        source, word = places[-1 if term.kind == "known" else 0]
        return [kind, source, word, int(self.at.plan.is_nullable(term.slot)), operand]

    def best(self, alias: int, number: int) -> list[int]:
        """Describe a best value that an alias tells: of its own rows, or of an alias below."""
        best, messages = self.messages.bests[number], self.messages
        address = self.tree_at(self.at.trees.index((alias, number)))
        if best.slot.alias == alias:
            return [address, number, 1, self.row(self.at.best_row(best)), 0, 0]
        below = (vertex for vertex, meet in enumerate(messages.meets) if meet.top == alias)
        (side,) = (
            each
            for vertex in below
            for each in messages.meets[vertex].sides
            if number in messages.carried[each]
        )
        place = messages.carried[side].index(number)
        return [address, number, 0, 0, self.tell_at(side), place]

    def row(self, bag: BagLayout) -> int:
        """Describe the rows of a bag; gives where."""
        parts = self.add([word for part in bag.parts for word in part])
        return self.add([parts, len(bag.parts), *bag.condition])

    def bag(self, bag: BagLayout) -> list[int]:
        """Describe a bag."""
        rest: Sequence[int] = bag.bag.places or self.sums(bag)
        if bag.bag.kind == "list":
            rest = [self.tree_at(self.at.logs[bag.number]), *[0] * (f.BAG_FIELDS - f.K_LOG - 1)]
        tree = self.tree_at(self.at.tree_of(bag))
        return [bag.kind, tree, self.at.word_of(bag), self.row(bag), *rest]

    def tree_at(self, place: int) -> int:
        """Return where a tree is described."""
        return self.base + 8 * (self.at.first_tree + place * TREE_WORDS)

    def sums(self, bag: BagLayout) -> list[int]:
        """Describe what is added over the rows of a set."""
        factors = [bag.factors(monomial) for monomial in bag.bag.monomials]
        start = self.add([word for of in factors for word in of])
        ends = [start + 8 * sum(map(len, factors[: at + 1])) for at in range(len(factors))]
        return [len(factors), self.add(bag.sizes), start, self.add(ends), self.add([0, 0])]

    def describe_meet(self, number: int) -> None:
        """Write what a vertex is told."""
        meet = self.messages.meets[number]
        sizes = self.at.sizes_of(meet.parts)
        fields = {
            f.M_PARTS: len(meet.parts),
            f.M_SIZES: self.add_sizes(sizes),
            f.M_SIDES: self.add(map(self.tell_at, meet.sides)),
            f.M_SIDE_COUNT: len(meet.sides),
            f.M_PICKS: self.add(pick for picks in meet.told for pick in picks),
            f.M_VECTOR: self.add([0] * sum(sizes)),
        }
        if meet.top is not None:
            links = self.memory.layout.aliases[meet.top].links
            fields[f.M_TOP] = self.tell_at(meet.top)
            fields[f.M_TOP_LINK] = [link.vertex for link in links].index(number)
        self.fill(self.meet_at(number), fields)

    def fill(self, address: int, fields: dict[int, int]) -> None:
        """Write the fields of a description."""
        for field, word in fields.items():
            self.words[(address - self.base) // 8 + field] = word
