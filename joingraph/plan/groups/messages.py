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
from joingraph.plan.groups.rooted import PATHS, Meet, Part, Tell, Term, Tree, by_reach, homes_of
from joingraph.plan.model import Plan, Slot
from joingraph.sql.definition import Grouping, Use

# Types whose words are their values; and decimals.
SUMMED = tuple(each for each in INTEGERS if each != pa.uint64())


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
    missing: int | None  # the vertex at which the root may be missing, and a group is of NULLs

    @property
    def whole_side(self) -> int | None:
        """The one side that tells where the root may be missing, if that may be missing, too."""
        if self.missing is None:
            return None
        side, *others = self.meets[self.missing].sides
        return None if others or self.tells[side].mode == "req" else side

    @property
    def missing_parts(self) -> tuple[int, ...]:
        """Which part of what is told there each sum is, where the root has no row; -1: it is 0."""
        if self.missing is None:
            return ()
        side = self.whole_side
        parts = self.meets[self.missing].parts if side is None else self.tells[side].parts
        return tuple(parts.index(each) if each in parts else -1 for each in self.sums)

    @property
    def numbered(self) -> int | None:
        """The alias whose rows have the numbers of their groups."""
        return self.root if self.keys else None

    @property
    def highest(self) -> int:
        """How many aliases lie above the lowest one."""
        heights = dict[int, int]()
        for alias in reversed(self.order):
            up = self.tells[alias].up
            assert up is not None, "an alias below the root tells a vertex"
            top = self.meets[up].top
            heights[alias] = 1 + heights.get(top, 0) if top is not None else 0
        return max(heights.values(), default=0)

    @property
    def root_vertex(self) -> int:
        """The vertex that is the root, where no alias is."""
        return next(at for at, meet in enumerate(self.meets) if meet.top is None)


def messages_of(plan: Plan, grouping: Grouping) -> Messages | None:
    """Return how a view's sums travel; None: its groups need the joined rows."""
    if plan.marks or plan.pairs:
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
    trees = [Tree(plan, root)] if bags else list(trees_of(plan, known_keys, tuple(bests)))
    tree = standing(trees, is_linear=not bags and not bests)
    if tree is None:
        return None
    tells = tuple(tree.tell(alias, tuple(sums)) for alias in range(len(plan.aliases)))
    meets = tuple(tree.meet(vertex, tuple(sums)) for vertex in range(tree.vertices))
    within = [set(tree.within(alias)) for alias in range(len(plan.aliases))]
    carried = tuple(
        tuple(at for at, best in enumerate(bests) if best.slot.alias in each) for each in within
    )
    is_set = tree.stands and all(isinstance(use, Best) for use in known_uses)
    counted = (tuple(known_keys), tuple(sums), reads, tuple(bests), bags, carried, is_set)
    return Messages(tree.root, tree.order, tells, meets, *counted, tree.missing)


def standing(trees: Sequence[Tree], *, is_linear: bool) -> Tree | None:
    """Return the first tree whose root is always there; of sums alone, one that may be missing."""
    found = next((each for each in trees if each.stands), None)
    if found is None and is_linear:
        found = next((each for each in trees if each.missing is not None), None)
    return found


def read_of(
    use: list[tuple[Part, int]] | Best | Bag, sums: dict[Part, int], bests: dict[Best, int]
) -> tuple[Read, ...] | int | Bag:
    """Return what an aggregate reads; sums and best values are numbered as they are asked for."""
    if isinstance(use, Bag):
        return use
    if isinstance(use, Best):
        return bests.setdefault(use, len(bests))
    return tuple(Read(sums.setdefault(part, len(sums)), times) for part, times in use)


def trees_of(plan: Plan, keys: Sequence[Slot], bests: Sequence[Best]) -> Iterator[Tree]:
    """Yield the join tree, rooted where the groups' keys are: of no alias and no vertex, never.

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
        yield Tree(plan, None, vertex)
    if not keys and not bests and len(plan.aliases) > 1:
        yield from (Tree(plan, None, each) for each in by_reach(homes_of(plan)))
    if len(aliases) < 2:
        yield Tree(plan, min(aliases, default=0))
    if not keys:
        yield from (Tree(plan, each) for each in plan.starts)


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
