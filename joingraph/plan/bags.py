"""Which aggregates of a group are kept in a bag: of what rows, and what is made of it.

    set     COUNT(DISTINCT x), SUM(DISTINCT x)     sums over the different rows

A bag counts the joined rows of a group by some values of the root's. So all of these, and what the
groups are named by, must be known where the root's rows are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import pyarrow as pa

from joingraph.aggregates.distinct import Distinct
from joingraph.aggregates.registry import aggregate
from joingraph.aggregates.sums import Linear, Monomial
from joingraph.expressions.types import INTEGERS, words_of
from joingraph.plan.model import Plan, Slot
from joingraph.sql.definition import Use

MOST_WORDS = 10  # of a row in a bag


class Kept(NamedTuple):
    """A value of the rows in a bag: where it is kept, and what is one value of it."""

    slot: Slot
    type: pa.DataType
    is_one_zero: bool = False  # -0.0 is 0.0


@dataclass(frozen=True, slots=True)
class Bag:
    """Rows of a group, each with a count; those where the condition is not TRUE are left out.

    `monomials` are what is added over the different rows of a set.
    """

    kind: Literal["set"]
    columns: tuple[Kept, ...]
    condition: Slot | None
    monomials: tuple[Monomial, ...] = ()

    @property
    def slots(self) -> list[Slot]:
        """Where its values are kept."""
        found = [each.slot for each in self.columns]
        return found if self.condition is None else [*found, self.condition]

    def at_home(self, plan: Plan, root: int) -> Bag:
        """Return the bag of the same values as the root's rows tell them."""
        columns = tuple(e._replace(slot=at_home(plan, e.slot, root)) for e in self.columns)
        condition = None if self.condition is None else at_home(plan, self.condition, root)
        return replace(self, columns=columns, condition=condition)


def bag_of(use: Use, slots: Sequence[Slot]) -> Bag | None:
    """Return the bag that an aggregate needs, by where its columns are kept; None: it has none.

    The condition's is the last one.
    """
    types, found = use.asked.types, aggregate(use.asked)
    condition = None if use.condition is None else slots[-1]
    if sum(map(words_of, types)) > MOST_WORDS:
        return None
    if isinstance(found, Distinct) and isinstance(found.of_set, Linear):
        monomials, columns = found.of_set.monomials, list(zip(slots, types, strict=False))
        factors = [factor for monomial in monomials for factor in monomial]
        if not all(is_added(types[each.argument]) or each.kind == "known" for each in factors):
            return None
        rows = tuple(Kept(*each, is_one_zero=True) for each in columns)
        return Bag("set", rows, condition, monomials)
    return None


def is_added(type: pa.DataType) -> bool:
    """True if all that sums take of a value follows from its words as an integer."""
    is_signed = type in INTEGERS and type != pa.uint64()
    return is_signed or type == pa.bool_() or bool(pa.types.is_decimal(type))


def root_of(plan: Plan, slots: Sequence[Slot]) -> int | None:
    """Find the alias whose rows tell all of these values."""
    every = range(len(plan.aliases))
    return next((a for a in every if all(home(plan, slot, a) for slot in slots)), None)


def home(plan: Plan, slot: Slot, root: int) -> Slot | None:
    """Return where the root's rows tell a value: as it is kept there, or at a vertex of theirs."""
    if slot.alias == root:
        return slot
    if slot.vertex is None:
        return None
    vertex, own = plan.aliases[slot.alias].vertices[slot.vertex], plan.aliases[root].vertices
    return replace(slot, alias=root, vertex=own.index(vertex)) if vertex in own else None


def at_home(plan: Plan, slot: Slot, root: int) -> Slot:
    """Return where the root's rows tell a value which they surely tell."""
    found = home(plan, slot, root)
    assert found is not None, "the root was chosen so"
    return found
