"""How many bytes groups and messages take, and may take after some changes.

    groups    a record, slots, and the note that one base diff may make of each
    told      what each side tells, for each value of its vertex
    bags      nodes: those that there are, and those that may be split off

A root that is a vertex counts as many groups as it has values, as each may get its first path.
A full node of a bag is split into two halves. So a value that comes splits one leaf at the most,
and many split one for each half node that they fill, beyond those that are nearly full already.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from joingraph.engines.compiled.sizes.allotting import WORD
from joingraph.graph.compiled import fields as f
from joingraph.graph.compiled.groups.bag_nodes import (
    B_ENTRIES,
    B_HEIGHT,
    B_NEXT,
    NODE_WORDS,
    count_free_nodes,
    most_entries,
    most_nodes,
)
from joingraph.graph.compiled.groups.group_layout import GroupLayout
from joingraph.graph.compiled.groups.group_memory import GroupMemory
from joingraph.graph.compiled.layout import Link
from joingraph.graph.compiled.memory.reserved import Words
from joingraph.graph.compiled.memory.state import GraphMemory
from joingraph.graph.compiled.memory.tables import grown, slots_of
from joingraph.graph.compiled.vertex_table import FIRST_INDEX

Longest = Callable[[int, Link], int]  # of an alias' lists at one of its vertices


class GroupSizes:
    """Counts the bytes of groups that lie so; `made` is None before there are any."""

    def __init__(self, at: GroupLayout, memory: GraphMemory, made: GroupMemory | None) -> None:
        self.at, self.memory, self.made, self.messages = at, memory, made, at.messages

    def held(self) -> int:
        """Return how many bytes they take now."""
        return self.bytes(0, [0] * len(self.messages.meets), {})

    def bytes(self, keys: int, fresh: Sequence[int], moved: Mapping[int, int]) -> int:
        """Bound what they take with so many more keys, values by vertex, and entries by alias."""
        told = sum(
            WORD * self.at.told_words(alias) * self.values(up, fresh[up])
            for alias in self.at.kept
            if (up := self.messages.tells[alias].up) is not None
        )
        nodes = (
            self.nodes(place, alias, moved.get(alias, 0))
            for place, (alias, _) in enumerate(self.at.holders)
        )
        return self.of_groups(self.groups(keys)) + told + WORD * NODE_WORDS * sum(nodes)

    def groups(self, keys: int) -> int:
        """Return how many groups there may be, with so many more keys."""
        if not self.at.keys:
            return 1
        if self.messages.root is None:
            return int(self.memory.vertex(self.messages.root_vertex)[f.V_LIVE]) + keys
        of_nulls = int(self.messages.missing is not None)
        return keys + of_nulls + (0 if self.made is None else int(self.made.state[f.V_LIVE]))

    def of_groups(self, groups: int) -> int:
        """Return what so many groups take, in a table that does not shrink."""
        records, slots = groups, FIRST_INDEX
        if self.made is not None:
            records = max(groups, int(self.made.state[f.V_NEXT]))
            slots = slots_of(self.made.state)
        noted = groups * (1 + self.at.note_columns)  # and listed, where it is empty
        return WORD * (records * self.at.stride + grown(slots, groups) + noted)

    def values(self, vertex: int, fresh: int) -> int:
        """Return how many records a vertex has, with so many more values."""
        vd = self.memory.vertex(vertex)
        return max(int(vd[f.V_NEXT]), int(vd[f.V_LIVE]) + fresh)

    def nodes(self, place: int, alias: int, moved: int) -> int:
        """Bound the nodes of a bag to which so many entries come."""
        tree = None if self.made is None else self.made.tree(place)
        entries, nodes, height = (0, 1, 0) if tree is None else shape_of(tree)
        if not moved:
            return nodes
        entry, rows = self.at.holders[place][1], int(self.memory.alias(alias)[f.A_ROWS])
        full = most_entries(entry)
        half = full // 2
        leaves = min(moved, (entries * (full - half) // full + moved) // half + 1)
        above = min(leaves * (height + 1), (nodes + leaves) // (half - 1)) + 1
        free = 0 if tree is None else count_free_nodes(tree.ctypes.data)
        most = most_nodes(rows + moved, entry)
        return max(nodes, min(most, nodes + leaves + above - free))

    def moves(self, alias: int, ops: Sequence[int], lists: Longest) -> int:
        """Bound how often so many ops by alias change what rows of one tell."""
        told, count = self.messages.tells[alias], ops[alias]
        for link in self.memory.layout.aliases[alias].links:
            if link.vertex != told.up:
                sides = self.messages.meets[link.vertex].sides
                below = sum(self.moves(side, ops, lists) for side in sides)
                count += below * lists(alias, link)
        return count


def shape_of(tree: Words) -> tuple[int, int, int]:
    """Return the entries of a bag, its nodes, and how many levels lie above the leaves."""
    return int(tree[B_ENTRIES]), int(tree[B_NEXT]), int(tree[B_HEIGHT])
