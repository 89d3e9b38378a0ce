"""Brings the join graph up to date with one base row: Algorithms 2 to 4 of the thesis.

In: an alias and the image of a base row. Out: the change, from which view diffs are generated.
Only the graph is read, never a base table. Departs from the print where that is wrong: a change
carries what changed (+1, -1), never the whole count, and a new join tuple gets its first
projected tuple too.
"""

from __future__ import annotations

from joingraph.graph.join_graph import Change, Diff, Flip, Graph, Image, LookAhead, Move


def insert(graph: Graph, look: LookAhead, alias: int, image: Image, *, times: int = 1) -> Change:
    """Count base rows more; the first of a join tuple makes it, and its vertex values."""
    found = graph.tuples[alias].get(image.key)
    if found is None:
        found = graph.link(alias, image.key)
        look.entered(found)
    found.rows[image.row] = found.rows.get(image.row, 0) + times
    return Change(found, image.row, times)


def delete(graph: Graph, look: LookAhead, alias: int, image: Image, *, times: int = 1) -> Change:
    """Count base rows less; the last of a join tuple takes it away, and its vertex values."""
    found = graph.tuples[alias][image.key]
    found.rows[image.row] -= times
    assert found.rows[image.row] >= 0, "a batch is applied only if every row it removes is there"
    if not found.rows[image.row]:
        del found.rows[image.row]
    if not found.rows:
        graph.unlink(found)
        look.left(found)
    return Change(found, image.row, -times)


def update(
    graph: Graph, look: LookAhead, alias: int, sides: tuple[Image, Image]
) -> tuple[Change | Move, ...]:
    """Move a base row: within its join tuple, or out of one and into another."""
    pre, post = sides
    new = insert(graph, look, alias, post)
    old = delete(graph, look, alias, pre)
    if pre.key == post.key:
        return (Move(old.tuple, pre.row, post.row),)
    return (old, new)


def maintain(graph: Graph, look: LookAhead, diff: Diff) -> tuple[Change | Move | Flip, ...]:
    """Do what a diff asks of one alias; two equal images ask for nothing.

    A change comes before the flips that it brings about: seats that are no longer empty, or are.
    """
    return (*carried_out(graph, look, diff), *look.flipped())


def carried_out(graph: Graph, look: LookAhead, diff: Diff) -> tuple[Change | Move, ...]:
    """Bring rows of one alias up to date."""
    alias, pre, post = diff
    if pre == post:
        return ()
    if pre is None:
        return (insert(graph, look, alias, post),) if post else ()
    if post is None:
        return (delete(graph, look, alias, pre),)
    return update(graph, look, alias, (pre, post))
