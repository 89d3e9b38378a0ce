"""The memory limit of a graph that keeps groups: what a batch may add to them is counted, too.

    keys      of a root's rows that are new, each once        a group each
    values    of vertices that are new                        what sides tell of them
    moves     of values in bags                               ops, times the rows above that hear

While no groups are known, the rows alone count; before groups are made of all rows, their keys are
counted, and they are refused where they may have no room.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from joingraph.common.errors import LimitError
from joingraph.engines.compiled.sizes.allotting import Allotment
from joingraph.engines.compiled.sizes.group_sizes import GroupSizes, Longest
from joingraph.engines.compiled.sizes.limit import Room
from joingraph.filters.compiled.rows_to_ops import Feed
from joingraph.generators.compiled.reads.find_values import find_in
from joingraph.generators.compiled.reads.starts import Starts
from joingraph.graph.compiled import fields as f
from joingraph.graph.compiled.groups.group_layout import GroupLayout
from joingraph.graph.compiled.groups.group_memory import GroupMemory
from joingraph.graph.compiled.layout import Link, row_places
from joingraph.graph.compiled.memory.reserved import Words, lent
from joingraph.graph.compiled.op_rows import came, rows_of

NEGATIVE_ZEROS = {f.FLOAT_32: f.NEGATIVE_ZERO_32, f.FLOAT_64: f.NEGATIVE_ZERO_64}
Known = Callable[[], GroupMemory | None]
Layouts = Callable[[int], GroupLayout]  # how groups lie after so many ops


class GroupRoom(Room):
    """The memory limit of one graph and its groups."""

    def __init__(self, starts: Starts, limit: int, known: Known, layouts: Layouts) -> None:
        super().__init__(starts.walker, limit)
        self.starts, self.known, self.layouts = starts, known, layouts
        self.memory = starts.walker.memory

    def held(self) -> int:
        """Return how many bytes the graph takes, with its groups."""
        made = self.known()
        return super().held() + (0 if made is None else self.sizes(made.at).held())

    def sizes(self, at: GroupLayout) -> GroupSizes:
        """Return what counts groups that lie so."""
        return GroupSizes(at, self.memory, self.known())

    def quick(self, ops: Words) -> int:
        """Bound what ops take, knowing little of the graph but its size."""
        rows, fresh = self.brought(ops), [0] * len(self.walker.layout.vertices)
        for alias, count in zip(self.walker.layout.aliases, rows, strict=True):
            for link in alias.links:
                fresh[link.vertex] += count
        return super().quick(ops) + self.more(ops, rows, fresh, self.all_rows)

    def taken(self, feed: Feed) -> int:
        """Return how many bytes more the rows take, and what they bring to groups."""
        allotted, ops = Allotment(self.walker, feed), feed.ops
        most, rows, made = allotted.bytes(), self.brought(ops), self.known()
        if made is None or not any(rows):
            return most
        root = made.messages.root
        if root is not None and rows[root]:
            rows[root] = self.new_keys(feed, made, root)
        return most + self.more(ops, rows, allotted.fresh, self.longest)

    def new_keys(self, feed: Feed, made: GroupMemory, root: int) -> int:
        """Count the keys of rows of the root that are no group's yet."""
        with lent(*feed.matrices):
            rows = rows_of(came(feed.ops, root), self.walker.layout, root, post=True)
        return int(np.count_nonzero(find_in(made.state, self.keys([rows])) < 0))

    def more(self, ops: Words, rows: Sequence[int], fresh: Sequence[int], lists: Longest) -> int:
        """Bound what ops take of groups, that bring so many rows by alias, and values by vertex."""
        made = self.known()
        if made is None or not any(rows):
            return 0
        after, root = self.sizes(self.layouts(len(ops))), made.messages.root
        keys = fresh[made.messages.root_vertex] if root is None else rows[root]
        counts = np.bincount(ops[:, f.O_ALIAS], minlength=len(rows)).tolist()
        moved = {alias: after.moves(alias, counts, lists) for alias, _ in after.at.holders}
        return max(0, after.bytes(keys, fresh, moved) - self.sizes(made.at).held())

    def brought(self, ops: Words) -> list[int]:
        """Count the rows that ops bring, by alias."""
        return [len(came(ops, number)) for number in range(len(self.walker.layout.aliases))]

    def all_rows(self, alias: int, link: Link) -> int:
        """Bound the longest list of an alias: all of its rows."""
        return int(self.memory.alias(alias)[f.A_ROWS])

    def longest(self, alias: int, link: Link) -> int:
        """Return the longest list of an alias at one of its vertices."""
        lengths = self.walker.records(link.vertex)[:, link.seat.length] & f.LENGTH
        return int(lengths.max(initial=0))

    def check_groups(self, at: GroupLayout) -> None:
        """Refuse to make the groups of all rows where they may have no room."""
        sizes, keys = self.sizes(at), self.all_keys(at)
        moved = {alias: int(self.memory.alias(alias)[f.A_ROWS]) for alias, _ in at.holders}
        held = super().held()
        more = sizes.bytes(keys, [0] * len(self.walker.layout.vertices), moved)
        if held + more > self.limit:
            raise LimitError(
                f"memory_limit={self.limit:,}: the graph takes {held:,} bytes and its groups take"
                f" {more:,} more; nothing was changed: raise the limit, or keep_groups=False"
            )

    def all_keys(self, at: GroupLayout) -> int:
        """Count the keys of all rows of a root that is an alias."""
        root = at.messages.root
        if root is None or not at.keys:
            return 0
        rows = (self.walker.row_words(each, root) for each in self.starts.everyone(root))
        return len(self.keys(rows))

    def no_groups_of_rows(self) -> LimitError:
        """Make the error for sums that messages cannot keep, while memory has a limit."""
        return LimitError(
            f"the sums of {self.walker.plan.definition.name} may need more than 126 bits, and"
            " memory_limit=… is not kept by groups of joined rows; nothing was applied: CAST what"
            " is added to a narrower type, or leave the limit out"
        )

    def keys(self, pieces: Iterable[Words]) -> Words:
        """Return the keys of rows of the root that is an alias, each once."""
        at = self.layouts(0)
        own, slots = self.walker.layout.aliases[at.messages.keys[0].alias], at.messages.keys
        places = [place for slot in slots for place in row_places(at.plan, own, slot)]
        found = np.empty((0, len(places)), np.int64)
        for rows in pieces:
            some = rows[:, places]
            for word, (_, _, kind) in enumerate(at.keys):
                if kind:
                    some[some[:, word] == NEGATIVE_ZEROS[kind], word] = 0
            found = np.unique(np.concatenate([found, some]), axis=0)
        return found
