"""Makes a join tree smaller, and what stands in it; a view keeps what can still be written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tests.oracle.case import Fragment
from tests.oracle.joins import Join, Made, OuterView, Query, Tree, made, visible


def smaller_outer_views(view: OuterView) -> Iterator[OuterView]:
    """Make the tree smaller, or a condition or an output that asks something."""
    assert view.tree is not None
    for tree in smaller_trees(view.tree):
        if (found := fitting(view, tree)) is not None:
            yield found
    for i, each in enumerate(view.conditions):
        for less in smaller_fragments(each):
            yield replace(view, conditions=(*view.conditions[:i], less, *view.conditions[i + 1 :]))
    for i, each in enumerate(view.outputs):
        for less in smaller_fragments(each) if isinstance(each, Made) else ():
            yield replace(view, outputs=(*view.outputs[:i], less, *view.outputs[i + 1 :]))


def fitting(view: OuterView, tree: Tree) -> OuterView | None:
    """Put a smaller tree in a view, without what reads more; None if nothing is left to show."""
    sources = tuple(visible(tree))
    known = {each.alias for each in sources}
    conditions = tuple(each for each in view.conditions if each.aliases <= known)
    outputs = tuple(each for each in view.outputs if each.aliases <= known)
    found = replace(view, sources=sources, tree=tree, conditions=conditions, outputs=outputs)
    if not found.aliases_read <= known or not (outputs or view.grouping):
        return None
    return found


def smaller_trees(tree: Tree) -> Iterator[Tree]:
    """Yield a side of a join alone, or the join with less of it."""
    if not isinstance(tree, Join):
        return
    yield tree.left
    yield tree.right
    for left in smaller_trees(tree.left):
        yield fitting_join(replace(tree, left=left))
    for right in smaller_trees(tree.right):
        yield fitting_join(replace(tree, right=right))
    for i, each in enumerate(tree.on):
        yield replace(tree, on=(*tree.on[:i], *tree.on[i + 1 :]))
        for less in smaller_fragments(each):
            yield replace(tree, on=(*tree.on[:i], less, *tree.on[i + 1 :]))


def fitting_join(join: Join) -> Join:
    """Drop what ON reads and no side has."""
    known = {each.alias for side in (join.left, join.right) for each in visible(side)}
    return replace(join, on=tuple(each for each in join.on if each.aliases <= known))


def smaller_fragments(fragment: Fragment) -> Iterator[Fragment]:
    """Yield a part of a fragment alone, or the fragment with less in a subquery."""
    if not isinstance(fragment, Made):
        return
    if len(fragment.parts) > 1 and " IN " not in fragment.form:
        yield from (each for each in fragment.parts if isinstance(each, Made))
    for i, part in enumerate(fragment.parts):
        less = smaller_queries(part) if isinstance(part, Query) else smaller_fragments(part)
        for each in less:
            yield made(fragment.form, *fragment.parts[:i], each, *fragment.parts[i + 1 :])


def smaller_queries(query: Query) -> Iterator[Query]:
    """Yield a subquery with a smaller tree, or fewer conditions."""
    for i, each in enumerate(query.conditions):
        yield replace(query, conditions=(*query.conditions[:i], *query.conditions[i + 1 :]))
        for less in smaller_fragments(each):
            yield replace(
                query, conditions=(*query.conditions[:i], less, *query.conditions[i + 1 :])
            )
    for tree in smaller_trees(query.tree):
        yield replace(query, tree=tree)
