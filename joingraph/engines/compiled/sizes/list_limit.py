"""The memory limit of a graph that keeps no groups, but what vertices are told.

Changes and the keys of their groups are a batch's view diffs, and come on top of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from joingraph.engines.compiled.sizes.allotting import WORD
from joingraph.engines.compiled.sizes.group_limit import GroupRoom
from joingraph.engines.compiled.sizes.group_sizes import GroupSizes
from joingraph.filters.compiled.rows_to_ops import Feed
from joingraph.graph.compiled.groups.group_layout import GroupLayout
from joingraph.graph.compiled.groups.group_memory import GroupMemory


class ListRoom(GroupRoom):
    """The memory limit of one graph and its messages."""

    def sizes(self, at: GroupLayout) -> GroupSizes:
        """Return what counts messages that lie so."""
        return ListSizes(at, self.memory, self.known())

    def new_keys(self, feed: Feed, made: GroupMemory, root: int) -> int:
        """Count no key: no group is kept."""
        return 0

    def all_keys(self, at: GroupLayout) -> int:
        """Count no key."""
        return 0


class ListSizes(GroupSizes):
    """Counts the bytes of messages, and of what one row has told the last values on its way."""

    def bytes(self, keys: int, fresh: Sequence[int], moved: Mapping[int, int]) -> int:
        """Bound what they take with so many more values by vertex."""
        most = 0
        for vertex, meet in enumerate(self.messages.meets):
            if meet.top == self.messages.root:
                words = 2 + sum(self.at.sizes_of(meet.parts))
                most = max(most, WORD * words * self.values(vertex, fresh[vertex]))
        return most + super().bytes(keys, fresh, moved)

    def of_groups(self, groups: int) -> int:
        """Return nothing: no group is kept."""
        return 0
