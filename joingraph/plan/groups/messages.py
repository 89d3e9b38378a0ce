"""What each side of the join tree tells the groups, so that sums are had without joined rows.

    SELECT F.fan, COUNT(*), SUM(R.n * 1) ... GROUP BY F.fan          F --- v0 --- T --- v1 --- R

    root F      the alias whose rows name the group; all others lie below it
    monomials   ()  n  [n is not NULL]          each a product of factors, summed over all paths
    R tells v1  ()  n  [n is not NULL]          the sums over its rows there
    T tells v0  ()  n  [n is not NULL]          over its rows, times what v1 is told
    F           adds what v0 is told to the group of each of its rows

A side tells of each monomial its own part, and each part once. () is the number of paths: a group
is there as long as that is not 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa

from joingraph.aggregates.registry import aggregate
from joingraph.aggregates.sums import Kind, Linear
from joingraph.expressions.tree import Expression, Literal
from joingraph.expressions.types import FLOATS, INTEGERS, words_of
from joingraph.plan.groups.bags import Bag, at_home, bag_of, home_of, is_ordered, root_of
from joingraph.plan.model import Plan, Slot
from joingraph.sql.definition import Grouping, Use

# Types whose words are their values; and decimals.
SUMMED = tuple(each for each in INTEGERS if each != pa.uint64())


class Term(NamedTuple):
    """A factor of a monomial: what is taken of a value that an alias keeps."""

    slot: Slot
    kind: Kind
    type: pa.DataType

    @property
    def is_float(self) -> bool:
        """True if it is a DOUBLE or REAL, as an integer of a unit that all values of it have."""
        return self.kind == "value" and self.type in FLOATS


Part = tuple[Term, ...]
PATHS: Part = ()


class Read(NamedTuple):
    """Which sum an aggregate reads, and how often."""

    sum: int
    times: int


class Best(NamedTuple):
    """The least or the greatest of a kept value, of which a side tells only that one.

    The condition of a FILTER is kept by the same alias.
    """

    slot: Slot
    type: pa.DataType
    is_greatest: bool
    condition: Slot | None = None


@dataclass(frozen=True, slots=True)
class Tell:
    """What an alias tells the vertex on its way to the root, part by part.

    `own` are the terms of its own rows in each part, `below` which part each vertex below tells.
    """

    up: int | None  # None: it is the root
    parts: tuple[Part, ...]
    own: tuple[Part, ...]
    below: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Meet:
    """What a vertex is told by all the aliases below it: for each part, which part of each.

    `top` is the alias above; None: the vertex is the root.
    """

    top: int | None
    parts: tuple[Part, ...]
    sides: tuple[int, ...]
    told: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Messages:
    """How sums travel, by alias and by vertex; `sums` are a group's, `reads` tells who reads which.

    `keys` say where the root has the words of the group's key; `order` lists the aliases below the
    root, each behind all that lie below it.
    """

    root: int | None  # an alias; None: a vertex
    order: tuple[int, ...]
    tells: tuple[Tell, ...]
    meets: tuple[Meet, ...]
    keys: tuple[Slot, ...]
    sums: tuple[Part, ...]
    reads: tuple[tuple[Read, ...] | int | Bag, ...]  # a number is that of a best value
    bests: tuple[Best, ...]
    bags: tuple[Bag, ...]
    carried: tuple[tuple[int, ...], ...]  # by alias: the best values that it tells
    is_set: bool  # nothing is counted: a side tells only that it is there

    @property
    def numbered(self) -> int | None:
        """The alias whose rows have the numbers of their groups."""
        return self.root if self.keys else None

    @property
    def root_vertex(self) -> int:
        """The vertex that is the root, where no alias is."""
        return next(at for at, meet in enumerate(self.meets) if meet.top is None)


def homes_of(plan: Plan) -> list[tuple[int, ...]]:
    """Name the vertices of each alias; one without any gets a vertex of its own, without a key."""
    homes = [alias.vertices for alias in plan.aliases]
    return [each or (len(plan.vertices),) for each in homes]


def messages_of(plan: Plan, grouping: Grouping) -> Messages | None:
    """Return how a view's sums travel; None: its groups need the joined rows."""
    if not plan.is_inner:
        return None
    keys = [slot_of(plan, output.value) for output in grouping.joined.output[: grouping.keys]]
    uses = [
        monomials_of(plan, grouping, use)
        or best_of(plan, grouping, use)
        or kept_bag(plan, grouping, use)
        for use in grouping.uses
    ]
    known_keys = [key for key in keys if key is not None]
    known_uses = [use for use in uses if use is not None]
    if plan.residuals or len(known_keys) < len(keys) or len(known_uses) < len(uses):
        return None
    asked = [use for use in known_uses if isinstance(use, Bag)]
    root = root_of(plan, [*known_keys, *(slot for bag in asked for slot in bag.slots)])
    if asked:
        if root is None:
            return None
        known_keys = [at_home(plan, key, root) for key in known_keys]
        known_uses = [u.at_home(plan, root) if isinstance(u, Bag) else u for u in known_uses]
    sums: dict[Part, int] = {PATHS: 0}
    bests: dict[Best, int] = {}
    bags = tuple(dict.fromkeys(use for use in known_uses if isinstance(use, Bag)))
    reads = tuple(read_of(use, sums, bests) for use in known_uses)
    tree = Tree(plan, root) if bags else tree_of(plan, known_keys, tuple(bests))
    if tree is None:
        return None
    tells = tuple(tree.tell(alias, tuple(sums)) for alias in range(len(plan.aliases)))
    meets = tuple(tree.meet(vertex, tuple(sums)) for vertex in range(tree.vertices))
    within = [set(tree.within(alias)) for alias in range(len(plan.aliases))]
    carried = tuple(
        tuple(at for at, best in enumerate(bests) if best.slot.alias in each) for each in within
    )
    is_set = all(isinstance(use, Best) for use in known_uses)
    counted = (tuple(known_keys), tuple(sums), reads, tuple(bests), bags, carried, is_set)
    return Messages(tree.root, tree.order, tells, meets, *counted)


def read_of(
    use: list[tuple[Part, int]] | Best | Bag, sums: dict[Part, int], bests: dict[Best, int]
) -> tuple[Read, ...] | int | Bag:
    """Return what an aggregate reads; sums and best values are numbered as they are asked for."""
    if isinstance(use, Bag):
        return use
    if isinstance(use, Best):
        return bests.setdefault(use, len(bests))
    return tuple(Read(sums.setdefault(part, len(sums)), times) for part, times in use)


def tree_of(plan: Plan, keys: Sequence[Slot], bests: Sequence[Best]) -> Tree | None:
    """Root the join tree where the groups' keys are; None: no alias and no vertex has them all.

    A vertex is the better root: what a message changes there is one group, whatever the fan-out.
    But a best value needs a bag where several values of a vertex are one group.
    """
    at = {None if key.vertex is None else homes_of(plan)[key.alias][key.vertex] for key in keys}
    aliases = {key.alias for key in keys} or {best.slot.alias for best in bests[:1]}
    vertex = next(iter(at), None)
    is_one_value = (
        vertex is not None
        and vertex < len(plan.vertices)
        and ({key.position for key in keys} == set(range(len(plan.vertices[vertex].types))))
    )
    if len(at) == 1 and vertex is not None and (is_one_value or not bests):
        return Tree(plan, None, vertex)
    if not keys and not bests and len(plan.aliases) > 1:
        return Tree(plan, None, middle(homes_of(plan)))
    return Tree(plan, min(aliases, default=0)) if len(aliases) < 2 else None


def slot_of(plan: Plan, value: Expression) -> Slot | None:
    """Find where a value is kept as it is; None: it is made on paths."""
    slot = plan.slots.get(value)
    return slot if slot is not None and slot.stored == value.type else None


def monomials_of(plan: Plan, grouping: Grouping, use: Use) -> list[tuple[Part, int]] | None:
    """Return the monomials whose sums decide an aggregate, each with a number of times."""
    found = aggregate(use.asked)
    if not isinstance(found, Linear):
        return None
    values = [output.value for output in grouping.joined.output]
    parts = []
    for monomial in found.monomials:
        wanted: list[tuple[Expression, Kind]] = [
            (values[use.columns[each.argument]], each.kind) for each in monomial
        ]
        if use.condition is not None:
            wanted.append((values[use.condition], "true"))
        part = part_of(plan, wanted)
        if part is None:
            return None
        parts.append(part)
    return parts


def best_of(plan: Plan, grouping: Grouping, use: Use) -> Best | None:
    """Return the best value that an aggregate is; None: it is none, or of values without order."""
    values = [output.value for output in grouping.joined.output]
    if use.asked.name not in ("MIN", "MAX"):
        return None
    value = values[use.columns[0]]
    slot = slot_of(plan, value)
    if slot is None or not is_ordered(value.type) or words_of(value.type) > 1:
        return None
    condition = None
    if use.condition is not None:
        kept = slot_of(plan, values[use.condition])
        condition = None if kept is None else home_of(plan, kept, slot.alias)
        if condition is None:
            return None
    return Best(slot, value.type, use.asked.name == "MAX", condition)


def kept_bag(plan: Plan, grouping: Grouping, use: Use) -> Bag | None:
    """Return the bag that an aggregate needs; None: it has none, or is not of kept values."""
    columns = use.columns if use.condition is None else (*use.columns, use.condition)
    slots = [slot_of(plan, grouping.joined.output[column].value) for column in columns]
    known = [slot for slot in slots if slot is not None]
    return bag_of(use, known) if len(known) == len(slots) else None


def part_of(plan: Plan, wanted: Iterable[tuple[Expression, Kind]]) -> tuple[Part, int] | None:
    """Return a product of factors of kept values, and of constants."""
    factors, times = list[tuple[Slot, Kind, pa.DataType]](), 1
    for value, kind in wanted:
        if isinstance(value, Literal):
            if kind == "known" or value.value is None:
                times *= value.value is not None
                continue
            return None
        slot = slot_of(plan, value)
        if slot is None or not is_taken(kind, value.type):
            return None
        factors.append((slot, kind, value.type))
    return product(factors), times


def product(factors: Iterable[tuple[Slot, Kind, pa.DataType]]) -> Part:
    """Return a product of what is taken of kept values; a square is a value twice."""
    terms = list[Term]()
    for slot, kind, type in factors:
        is_square = kind == "square"
        terms += [Term(slot, "value" if is_square else kind, type)] * (1 + is_square)
    return tuple(sorted(terms, key=str))


def is_taken(kind: Kind, type: pa.DataType) -> bool:
    """True if a factor is an integer that a value's words tell."""
    if kind in ("value", "square"):
        return type in SUMMED or type in FLOATS or pa.types.is_decimal(type)
    return True


class Tree:
    """The join tree as seen from the root."""

    def __init__(self, plan: Plan, root: int | None, at: int = 0) -> None:
        self.plan, self.root, self.homes = plan, root, homes_of(plan)
        self.vertices = 1 + max(vertex for home in self.homes for vertex in home)
        self.up: dict[int, int] = {}
        self.top: dict[int, int | None] = {}
        if root is None:
            self.hang(None, at)
        else:
            for vertex in self.homes[root]:
                self.hang(root, vertex)

    def hang(self, top: int | None, vertex: int) -> None:
        """Note what lies below an alias at a vertex."""
        waiting = [(top, vertex)]
        while waiting:
            above, here = waiting.pop()
            self.top[here] = above
            for alias, home in enumerate(self.homes):
                if here in home and alias != above:
                    self.up[alias] = here
                    waiting += [(alias, beyond) for beyond in home if beyond != here]

    @property
    def order(self) -> tuple[int, ...]:
        """The aliases below the root, each behind all that lie below it."""
        depth = {alias: len(list(self.above(alias))) for alias in self.up}
        return tuple(sorted(self.up, key=lambda alias: (-depth[alias], alias)))

    def above(self, alias: int) -> Iterator[int]:
        """Yield the aliases on the way to the root."""
        here: int | None = alias
        while here is not None and here in self.up:
            here = self.top[self.up[here]]
            if here is not None:
                yield here

    def sides(self, vertex: int) -> tuple[int, ...]:
        """List the aliases that tell a vertex."""
        return tuple(alias for alias, up in sorted(self.up.items()) if up == vertex)

    def below(self, alias: int) -> tuple[int, ...]:
        """List the vertices below an alias."""
        return tuple(each for each in self.homes[alias] if each != self.up.get(alias))

    def within(self, alias: int) -> Iterator[int]:
        """Yield an alias and all that lie below it."""
        waiting = [alias]
        while waiting:
            here = waiting.pop()
            yield here
            waiting += [side for vertex in self.below(here) for side in self.sides(vertex)]

    def parts(self, aliases: Iterable[int], sums: Sequence[Part]) -> dict[Part, int]:
        """Number what some aliases have of each sum, each part once; the paths come first."""
        some, found = set(aliases), {PATHS: 0}
        for part in sums:
            found.setdefault(cut(part, some), len(found))
        return found

    def parts_at(self, vertex: int, sums: Sequence[Part]) -> dict[Part, int]:
        """Number what all the aliases below a vertex have of each sum."""
        if self.top[vertex] is None:
            return {part: at for at, part in enumerate(sums)}
        return self.parts((a for side in self.sides(vertex) for a in self.within(side)), sums)

    def tell(self, alias: int, sums: Sequence[Part]) -> Tell:
        """Return what an alias tells."""
        parts = self.parts(self.within(alias), sums)
        if alias == self.root:
            parts = {part: at for at, part in enumerate(sums)}
        below = [
            (self.parts_at(vertex, sums), {a for s in self.sides(vertex) for a in self.within(s)})
            for vertex in self.below(alias)
        ]
        return Tell(
            self.up.get(alias),
            tuple(parts),
            tuple(cut(part, {alias}) for part in parts),
            tuple(tuple(known[cut(part, some)] for known, some in below) for part in parts),
        )

    def meet(self, vertex: int, sums: Sequence[Part]) -> Meet:
        """Return what a vertex is told."""
        parts, sides = self.parts_at(vertex, sums), self.sides(vertex)
        known = [(self.parts(self.within(side), sums), set(self.within(side))) for side in sides]
        told = tuple(tuple(of[cut(part, some)] for of, some in known) for part in parts)
        return Meet(self.top[vertex], tuple(parts), sides, told)


def cut(part: Part, aliases: set[int]) -> Part:
    """Cut a part down to the terms of some aliases."""
    return tuple(term for term in part if term.slot.alias in aliases)


def middle(homes: Sequence[tuple[int, ...]]) -> int:
    """Choose the vertex from which the farthest alias is nearest."""

    def reach(vertex: int) -> int:
        steps, seen, front = 0, {vertex}, {vertex}
        while front:
            met = {each for home in homes if front & set(home) for each in home}
            front, steps = met - seen, steps + 1
            seen |= met
        return steps

    return min(range(1 + max(each for home in homes for each in home)), key=reach)
