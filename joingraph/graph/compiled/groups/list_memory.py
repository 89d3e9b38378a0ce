"""The memory of messages where no groups are kept: changes, and the keys of groups they go to.

    changes    | diff << 32 | where its groups begin | sums |
    keys       by column of words
    gathered   what each value has been told by one row, and which values were
    blocks     a side's sums by the id of the value that it tells, as beside groups

There is no table: what describes one is left as it is where it is empty.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from joingraph.graph.compiled import fields as f
from joingraph.graph.compiled.groups.group_layout import GroupLayout
from joingraph.graph.compiled.groups.group_memory import (
    ALIASING_BYTES,
    OWN_REGIONS,
    GroupMemory,
)
from joingraph.graph.compiled.memory.leases import FEWEST_WORDS, MOST_WORDS, copies, leased
from joingraph.graph.compiled.memory.path_blocks import Paths
from joingraph.graph.compiled.memory.reserved import Words, address_of
from joingraph.graph.compiled.memory.state import GraphMemory
from joingraph.graph.compiled.memory.tables import Bytes

KEYS = 1 << 17  # after which a block is taken, between two base diffs
LENT_KEYS = KEYS + (1 << 13)  # that have room where they are lent; more are copied
FEW = 4  # of the room for keys a part so large is few
ANY = 1 << 62
OVERSHOT_WORDS = 8  # that a copy of eight words at once may write behind the last key


@dataclass(frozen=True, slots=True)
class Listed(Paths):
    """Changes and their groups: `words` are keys, `ops` base diffs, `sums` words a row a change."""

    sums: Words


class ListMemory(GroupMemory):
    """What is told of one view over the memory of its joined rows, and the changes of a block."""

    def __init__(self, at: GroupLayout, memory: GraphMemory, texts: int) -> None:
        super().__init__(at, memory, texts)
        self.lent: Words | None = None
        self.state[f.V_KEY] = 1  # a table without a key would have a group from the start
        self.columns = max(1, len(at.keys))
        self.words[f.G_LISTS] = 1
        self.words[f.G_GATHERED_WORDS] = self.gathered_words
        root = self.messages.root
        if root is not None:
            place = f.GROUPS_WORDS + root * f.TELL_WORDS
            self.words[place + f.N_ALIKE] = self.is_alike(root)

    def is_alike(self, root: int) -> bool:
        """True if all rows of the root at a value bring what the value is told."""
        is_leaf = self.memory.layout.aliases[root].kind == f.LEAF
        return is_leaf and not any(self.messages.tells[root].own)

    @property
    def gathered_words(self) -> int:
        """The words of what a value has been told: whether it was, and its sums."""
        meets = (self.messages.meets[vertex] for vertex in self.last_vertices())
        return 1 + max((sum(self.at.sizes_of(meet.parts)) for meet in meets), default=0)

    def last_vertices(self) -> list[int]:
        """Name the vertices at which lists of groups are: below the root, or the root itself."""
        root = self.messages.root
        return [at for at, meet in enumerate(self.messages.meets) if meet.top == root]

    def tells_in_order(self) -> list[int]:
        """List where aliases are described that keep what they tell, sides first."""
        base = self.gd + 8 * f.GROUPS_WORDS
        wanted = [each for each in self.messages.order if each in self.at.kept]
        return [base + 8 * f.TELL_WORDS * alias for alias in wanted]

    def most_rows(self, ops: int) -> int:
        """Bound the keys that a block has room for: a base diff is in one block.

        A row that comes or goes lists each group of the root once for each of its rows; a base diff
        changes a row of each alias of its table, and takes one away and adds one.
        """
        tables = [alias.table for alias in self.at.plan.aliases]
        return KEYS + 2 * max(map(tables.count, tables)) * self.most_groups(ops)

    def needed(self, ops: int) -> list[int]:
        """Bound the bytes that each region needs for the next ops."""
        rows = self.most_notes = max(self.most_notes, self.most_rows(ops) + OVERSHOT_WORDS)
        values = [int(self.memory.vertex(each)[f.V_NEXT]) + ops for each in self.last_vertices()]
        gathered = max(values, default=0)
        return [
            8 * rows * (1 + self.at.words),
            8 * gathered * self.gathered_words,
            self.columns * (8 * rows + 2 * ALIASING_BYTES),
            8 * gathered,
            *(self.told_bytes(alias, ops) for alias in self.at.kept),
        ]

    def used(self) -> list[Bytes]:
        """Return which bytes of each region are filled between two batches."""
        return [(0, 0)] * OWN_REGIONS + [(0, self.told_bytes(alias)) for alias in self.at.kept]

    def find_regions(self) -> None:
        """Write where the regions lie."""
        super().find_regions()
        changes, gathered, *_ = self.area.regions
        self.words[f.G_CHANGES], self.words[f.G_GATHERED] = changes.address, gathered.address

    def find_columns(self) -> None:
        """Write how far columns of keys lie apart where all have room, and that they lie there."""
        super().find_columns()
        words = self.words
        words[f.G_ALL] = words[f.G_NOTES] = self.area.regions[2].address
        words[f.G_ALL_COLUMN], words[f.G_ROOM] = words[f.G_COLUMN], ANY

    def begin_block(self) -> None:
        """Let keys be written where arrays can lie over them, as long as they are so few."""
        if not FEWEST_WORDS <= len(self.at.keys) * LENT_KEYS <= MOST_WORDS:
            return
        if self.lent is None:
            self.lent = leased((len(self.at.keys), LENT_KEYS))
        words = self.words
        words[f.G_NOTES], words[f.G_COLUMN] = address_of(self.lent), self.lent.strides[0]
        words[f.G_ROOM] = LENT_KEYS - OVERSHOT_WORDS

    def release(self) -> None:
        """Give back no index: there is none."""

    def told(self) -> tuple[Any, ...]:
        """Return what vertices are told."""
        blocks = zip(self.at.kept, self.area.regions[OWN_REGIONS:], strict=True)
        return tuple(of.words[: self.told_bytes(each) // 8].tolist() for each, of in blocks)

    def listed(self, rows: int, count: int) -> Listed:
        """Return the changes of a block, and the keys of their groups."""
        words = 1 + self.at.words
        changes = self.area.regions[0].words[: words * count].reshape(count, words).copy()
        heads, one = changes[:, 0], np.ones(1, np.int64)
        return Listed(self.keys(rows), heads & f.LOW, heads >> 32, one, rows, changes[:, 1:])

    def keys(self, rows: int) -> list[Words]:
        """Return the keys of a block by column: what was lent, if they are many, or copies."""
        if self.words[f.G_NOTES] == self.words[f.G_ALL] or self.lent is None:
            column = int(self.words[f.G_COLUMN]) // 8
            of = self.area.regions[2].words
            found = [of[at * column :][:rows] for at in range(len(self.at.keys))]
            return copies(found) if found else []
        found = [each[:rows] for each in self.lent]
        if rows < LENT_KEYS // FEW:  # who keeps few rows should not keep room for many
            return copies(found)
        self.lent = None
        return found
