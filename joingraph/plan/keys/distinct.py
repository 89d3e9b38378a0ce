"""Whether a view's rows tell the base rows apart that they are made of.

    SELECT F.fan, T.id ..., keys follower (author, fan) and tweet (id)
    id tells the tweet, the tweet its author, author and fan the follower: no two rows are equal

That holds while the declared keys do. It saves looking for equal rows, and decides nothing else.
So it is with groups: where keys tell rows apart, a new row changes a group once at most.
"""

from __future__ import annotations

from itertools import compress

import pyarrow as pa

from joingraph.expressions.tree import Expression
from joingraph.plan.classes import bare
from joingraph.plan.groups.messages import Messages
from joingraph.plan.model import AliasPlan, Plan


def are_told_apart(plan: Plan) -> bool:
    """True if the key of every alias follows from what a row shows."""
    shown = {bare(each.value) for each in plan.definition.output}
    known = set(shown)
    left = [alias for alias in plan.aliases if alias.is_shown]
    while left:
        named = [
            alias
            for alias in left
            if is_named(plan, alias, known) or is_told(plan, alias, shown, known)
        ]
        if not named:
            return False
        for alias in named:
            left.remove(alias)
            known |= {bare(each) for key in alias.keys for each in key}
            known |= classes_of(plan, known)
    return True


def is_named(plan: Plan, alias: AliasPlan, known: set[Expression]) -> bool:
    """True if an alias' table has a key, and all of it is known."""
    key = set[Expression](plan.definition.key_columns(alias.name, alias.table))
    return bool(key) and key <= known | classes_of(plan, known)


def is_told(plan: Plan, alias: AliasPlan, shown: set[Expression], known: set[Expression]) -> bool:
    """True if what is known tells the row that an alias has there, and whether it has one.

    Where it has one, its columns equal those of the near side. That it has one is seen by what is
    shown of its key, which is not NULL.
    """
    key = set[Expression](plan.definition.key_columns(alias.name, alias.table))
    near = known | classes_of(plan, known)
    equal = set(near)
    for vertex in plan.vertices:
        if alias.index in vertex.aliases and vertex.modes[vertex.seat(alias.index)] == "opt":
            present = [mode == "req" for mode in vertex.modes]
            for members in vertex.members:
                if near & {bare(member) for member in compress(members, present)}:
                    equal.add(bare(members[vertex.seat(alias.index)]))
    return bool(key & shown) and key <= equal


def classes_of(plan: Plan, known: set[Expression]) -> set[Expression]:
    """Return all that equals something known, whichever aliases may be missing."""
    found: set[Expression] = set()
    for vertex in plan.vertices:
        together = [mode == "req" for mode in vertex.modes]
        for members in vertex.members:
            equal = {bare(member) for member in compress(members, together)}
            if equal & known:
                found |= equal
    return found


def is_told_once(plan: Plan, messages: Messages, start: int) -> bool:
    """True if a row of an alias changes a group once, as keys are declared.

    It must meet one row at most of each alias on its way to the root, which a kernel sees; and no
    other alias may have the row. Then it meets the root's rows at one value, and this value and the
    group tell their key. Should that not hold, a group is still told of no more often than the root
    has rows, for which there is room.
    """
    tables, root = [alias.table for alias in plan.aliases], messages.root
    up = messages.tells[start].up
    if root is None or tables.count(tables[start]) > 1:
        return False
    if up is None:
        return True
    while (top := messages.meets[up].top) != root:
        assert top is not None, "the root is an alias"
        up = messages.tells[top].up
        assert up is not None, "the root is above all others"
    return are_groups_apart(plan, messages, up)


def is_listed_once(plan: Plan, messages: Messages, start: int) -> bool:
    """True if no two rows of one list to which a row of an alias leads are of one group.

    The list is that of the root at a value. It may have other rows if the base diff changes a row
    of the root, too. Should declared keys not hold, a group is listed twice.
    """
    tables, root = [alias.table for alias in plan.aliases], messages.root
    if tables.count(tables[start]) > 1:
        return False
    above: int | None = start
    while above != root and above is not None:
        up = messages.tells[above].up
        assert up is not None, "only the root tells no vertex"
        above = messages.meets[up].top
        if above == root and root is not None:
            return are_groups_apart(plan, messages, up)
    return True  # a row of the root, or a value: one group


def are_groups_apart(plan: Plan, messages: Messages, vertex: int) -> bool:
    """True if no two rows of the root's alias at a value are of one group, as keys are declared."""
    assert messages.root is not None, "an alias is the root"
    alias = plan.aliases[messages.root]
    known = {bare(each) for each in alias.keys[alias.vertices.index(vertex)]}
    known |= {bare(each) for each, slot in plan.slots.items() if slot in messages.keys}
    key = plan.definition.key_columns(alias.name, alias.table)
    is_exact = not any(pa.types.is_floating(each.type) for each in key)  # zeros are one value
    return bool(key) and is_exact and known.issuperset(key)
