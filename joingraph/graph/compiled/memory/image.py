"""The compiled graph's memory as it is, to be written into snapshots and mapped by later processes.

    numbers                          how far all is filled, free lists, where NULLs are
    graph 0 | graph 1 | ...          a run for each region that is filled (state.py)
    strings 0 | strings 1 | ...      of the string pool
    keys of 2 0 | keys of 2 1        of an alias' indexed keys
    rows c | nulls c                 of an index on column c

None of it holds an address: what lies in another region is told by its distance, which the regions'
sizes tell in every process (reserved.py; where they cannot be had, distances are written anew), and
where a table begins follows from its size. Names begin with a stamp of all that these words depend
on: the code in the kernels' folders, numba, the layout, the look-ahead, the machine's order of
bytes. Under another stamp they are not found, and the graph is made of rows.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

import numpy as np

from joingraph.graph.blocks import Block, Part
from joingraph.graph.compiled import fields as f
from joingraph.graph.compiled.key_index import Keys
from joingraph.graph.compiled.machine.kernel import SHARED
from joingraph.graph.compiled.machine.stamps import stamp_of_folders
from joingraph.graph.compiled.memory.reserved import Words, bytes_at, lay_over
from joingraph.graph.compiled.memory.state import GraphMemory
from joingraph.graph.compiled.memory.tables import RecordTable
from joingraph.graph.compiled.sorted_index import SortedIndex
from joingraph.graph.compiled.values import string_pool
from joingraph.graph.compiled.values.null_columns import Nulls
from joingraph.graph.compiled.values.string_pool import Interner

FEWEST_BYTES = 4 << 20  # of a graph that is quicker mapped than made of its rows
ROWS, NULLS = "rows ", "nulls "


class Stretch(NamedTuple):
    """A filled run of memory."""

    name: str
    address: int
    size: int


class Arrays:
    """What there is of one graph's memory."""

    def __init__(self, memory: GraphMemory, interner: Interner, keys: Keys, nulls: Nulls) -> None:
        self.memory, self.interner, self.keys, self.nulls = memory, interner, keys, nulls

    @cached_property
    def stamp(self) -> str:
        """Return the stamp of its words; computed once a snapshot is written or read."""
        facts = (
            stamp_of_folders(SHARED),
            sys.byteorder,
            self.memory.layout,
            int(self.memory.words[f.LOOKAHEAD]),
            sorted(self.keys.of),
        )
        return hashlib.sha256(repr(facts).encode()).hexdigest()[:32]

    def dump(self, indexes: Mapping[str, SortedIndex]) -> Iterator[Block]:
        """Write everything, to be read before the next change; nothing of a small graph."""
        stretches = list(self.filled())
        if sum(each.size for each in stretches) < FEWEST_BYTES:
            return
        yield self.block("numbers", np.concatenate([self.spans(), *self.numbers()]))
        for each in stretches:
            yield Block(self.stamp + each.name, [bytes_at(each.address, each.size)], is_array=True)
        for column, index in indexes.items():
            rows, nulls = index.settled()
            yield self.block(ROWS + column, rows)
            yield self.block(NULLS + column, nulls)

    def block(self, name: str, words: Words) -> Block:
        """Write words that lie elsewhere."""
        return Block(self.stamp + name, [words.tobytes()], is_array=True)

    def indexes(self, parts: Mapping[str, Part]) -> Iterator[tuple[str, Words, Words]]:
        """Read the columns that were indexed: rows in order, and those without a value."""
        begin = self.stamp + ROWS
        for column in [name.removeprefix(begin) for name in parts if name.startswith(begin)]:
            nulls = parts[self.stamp + NULLS + column]
            yield column, part_words(parts[begin + column]), part_words(nulls)

    def restore(self, parts: Mapping[str, Part]) -> None:
        """Bring an empty graph to what `dump` wrote."""
        written, numbers = part_words(parts[self.stamp + "numbers"]), self.numbers()
        vertices = len(self.memory.layout.vertices)
        ends = np.cumsum([len(each) for each in (self.spans(), *numbers)])
        spans, *others = np.split(written, ends[:-1])
        for each, of in zip(numbers, others, strict=True):
            each[:] = of
        self.memory.lie_as(spans[:-vertices].tolist())
        self.interner.make_filled()
        for table in self.keys.of.values():
            table.make_filled()
        for name, address, size in self.filled():
            part = parts[self.stamp + name]
            assert len(part.data) == size, "its numbers are of the same moment"
            lay_over(address, part)
        self.memory.shift(spans[-vertices:].tolist())

    def spans(self) -> Words:
        """Return the regions' sizes and distances, with which nothing written has to be changed."""
        return np.array(
            [*self.memory.area.sizes, *self.memory.distances(self.memory.area.regions)], np.int64
        )

    def numbers(self) -> list[Words]:
        """Return views of the words that say how far all is filled, and which columns held NULL."""
        memory, words = self.memory, self.memory.words
        vertices = [memory.vertex(number) for number in range(len(memory.layout.vertices))]
        vertices += [table.state for table in (*self.keys.of.values(), self.interner)]
        aliases = [memory.alias(number) for number in range(len(memory.layout.aliases))]
        return [
            words[f.TOP : f.TOP + 1],
            words[f.PLACES_MASK : f.PLACE_COUNT + 1],
            memory.free_lists,
            *(each[f.V_MASK : f.V_LIVE + 1] for each in vertices),
            *(each[f.A_NEXT : f.A_ROWS + 1] for each in aliases),
            self.interner.state[string_pool.TOP : string_pool.LONGEST + 1],
            self.nulls.met,
        ]

    def filled(self) -> Iterator[Stretch]:
        """Yield the runs of memory that have something in them, as the numbers tell them."""
        owners: dict[str, GraphMemory | RecordTable] = {
            "graph": self.memory,
            "strings": self.interner,
        }
        owners |= {f"keys of {alias}": table for alias, table in self.keys.of.items()}
        for name, owner in owners.items():
            pairs = zip(owner.area.regions, owner.used(), strict=True)
            for number, (region, (start, size)) in enumerate(pairs):
                if size:
                    yield Stretch(f"{name} {number}", region.address + start, size)


def part_words(part: Part) -> Words:
    """Read a part of a file as words."""
    return np.frombuffer(part.data, np.int64) if len(part.data) else np.empty(0, np.int64)
