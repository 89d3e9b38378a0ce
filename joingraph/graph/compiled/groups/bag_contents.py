"""What a bag's tree holds, read off its memory entry by entry: for `check`, and for tests."""

from __future__ import annotations

from collections.abc import Iterator

from joingraph.graph.compiled.groups.bag_nodes import (
    B_ENTRY,
    B_HEIGHT,
    B_ROOT,
    B_WEIGHED,
    B_WORDS,
    NODE_WORDS,
)
from joingraph.graph.compiled.memory.reserved import Words


def contents(tree: Words, nodes: Words) -> list[tuple[int, ...]]:
    """Return the owner, the words and the count of each entry, in order."""
    return list(_below(tree, nodes, int(tree[B_ROOT]), int(tree[B_HEIGHT])))


def _below(tree: Words, nodes: Words, identity: int, level: int) -> Iterator[tuple[int, ...]]:
    """Yield the entries below a node, whose weights must be right."""
    size, words = int(tree[B_ENTRY]), 1 + int(tree[B_WORDS])
    node = nodes[identity * NODE_WORDS : (identity + 1) * NODE_WORDS].tolist()
    for at in range(node[0]):
        entry = node[1 + at * size : 1 + (at + 1) * size]
        found = [tuple(entry[: words + 1])]
        if level > 0:
            found = list(_below(tree, nodes, entry[words], level - 1))
        weight = sum(each[-1] for each in found)
        assert not tree[B_WEIGHED] or entry[-1] == weight, "an entry is not weighed right"
        yield from found
