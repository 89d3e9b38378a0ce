"""The join tree as seen from one alias: what may be listed side by side, and what must be together.

    F --- T --- R --- U      from T: branch F; branch R, and below it U
    residual F.x < U.y       from T: one branch F, R, U, each of its combinations listed
    residual T.x < U.y       from T: branch F; branch R, U: a combination is kept or not

A residual predicate or an output expression over several aliases ties together all aliases on the
ways between those it reads, the root left out: of that there is only one. A branch that shows
nothing of itself or below is mute: its partners only count.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from joingraph.expressions.tree import Expression, aliases_of
from joingraph.plan.kept_columns import kept_parts
from joingraph.plan.model import Leg, Plan

Groups = Mapping[int, frozenset[int]]  # alias -> those it is tied to, itself among them


@dataclass(frozen=True, slots=True)
class Branch:
    """Aliases that are listed together, what the view shows of them, and what lies beyond."""

    name: str
    legs: tuple[Leg, ...]
    columns: tuple[int, ...]  # of the view
    beyond: tuple[Branch, ...]

    @property
    def mute(self) -> bool:
        """Hold if the view shows nothing of it."""
        return not self.columns and all(each.mute for each in self.beyond)


def branches_of(plan: Plan, root: int) -> Branch:
    """Take the join tree apart as seen from one alias, which is the top branch."""
    index = {alias.name: alias.index for alias in plan.aliases}
    near = {hop.alias: hop.near for hop in plan.routes[root]}
    group = {alias.index: frozenset([alias.index]) for alias in plan.aliases}
    for wanted in tying(plan):
        tied = between(near, root, {index[name] for name in aliases_of(wanted)})
        merged = tied.union(*(group[each] for each in tied))
        group |= dict.fromkeys(merged, merged)
    return branch(plan, root, group, frozenset([root]))


def tying(plan: Plan) -> Iterator[Expression]:
    """Yield what is computed of several aliases."""
    yield from plan.residuals
    for each in plan.definition.output:
        if len(aliases_of(each.value)) > 1:
            yield each.value


def unread(plan: Plan, alias: int) -> frozenset[int]:
    """Name the projected values of an alias that nothing reads: a key index alone keeps them."""
    wanted = [*plan.residuals, *(each.value for each in plan.definition.output)]
    slots = [plan.slots[part] for each in wanted for part in kept_parts(plan, each)]
    read = {slot.position for slot in slots if slot.alias == alias and slot.vertex is None}
    return frozenset(range(len(plan.aliases[alias].projected))) - read


def between(near: dict[int, int], root: int, read: set[int]) -> frozenset[int]:
    """Find the aliases on the ways between some, the root left out."""
    ways = [way_to(near, root, each) for each in read]
    shared = set.intersection(*map(set, ways))
    last = next(each for each in ways[0] if each in shared)
    apart = (each for way in ways for each in way if each not in shared)
    return frozenset([last, *apart]) - {root}


def way_to(near: dict[int, int], root: int, alias: int) -> list[int]:
    """List the aliases from one back to the root."""
    way = [alias]
    while way[-1] != root:
        way.append(near[way[-1]])
    return way


def branch(plan: Plan, root: int, group: Groups, members: frozenset[int]) -> Branch:
    """Describe a branch and what lies beyond it."""
    route = plan.routes[root]
    nexts = (hop.alias for hop in route if hop.near in members and hop.alias not in members)
    names = {plan.aliases[each].name for each in members}
    return Branch(
        ", ".join(plan.aliases[each].name for each in sorted(members)),
        tuple(legs_of(plan, root, members)),
        tuple(
            at
            for at, each in enumerate(plan.definition.output)
            if aliases_of(each.value) - {plan.aliases[root].name} <= names
            and (root in members or aliases_of(each.value) & names)
        ),
        tuple(branch(plan, root, group, each) for each in dict.fromkeys(group[at] for at in nexts)),
    )


def legs_of(plan: Plan, root: int, members: frozenset[int]) -> Iterator[Leg]:
    """Yield the hops of a branch, each with the residual predicates it makes decidable."""
    bound = {plan.aliases[root].name}
    left = list(plan.residuals)
    for hop in plan.routes[root]:
        if hop.alias in members:
            bound.add(plan.aliases[hop.alias].name)
            yield Leg(hop, tuple(each for each in left if aliases_of(each) <= bound))
            left = [each for each in left if not aliases_of(each) <= bound]
