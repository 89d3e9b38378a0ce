"""Which aggregates of a group are kept in a bag: of what rows, and what is made of it.

    set     COUNT(DISTINCT x), SUM(DISTINCT x)     sums over the different rows
    best    MIN(x), MAX_BY(x, y)                   the first row
    places  MEDIAN(x), PERCENTILE_CONT(x)          how many rows, and those in some places

A bag counts the joined rows of a group by some values of the root's. So all of these, and what the
groups are named by, must be known where the root's rows are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import pyarrow as pa

from joingraph.aggregates.bags.extremes import AGGREGATES as ONE
from joingraph.aggregates.bags.extremes_by import AGGREGATES as BY
from joingraph.aggregates.bags.percentiles import Places, places_of
from joingraph.aggregates.contract import Asked
from joingraph.aggregates.distinct import Distinct
from joingraph.aggregates.registry import aggregate
from joingraph.aggregates.sums import Linear, Monomial
from joingraph.expressions.texts import is_text
from joingraph.expressions.types import FLOATS, INTEGERS, words_of
from joingraph.plan.model import Plan, Slot
from joingraph.sql.definition import Use

MOST_WORDS = 10  # of a row in a bag
MOST_SHARE_BITS = 20  # of a percentile's denominator
EXTREMES: dict[str, Literal["up", "down"]] = {
    name: "down" if "MAX" in name else "up" for name in (*ONE, *BY)
}


class Kept(NamedTuple):
    """A value of the rows in a bag: where it is kept, what is one value of it, and its order.

    NULL comes last, unless rows with it are left out.
    """

    slot: Slot
    type: pa.DataType
    is_one_zero: bool = False  # -0.0 is 0.0
    order: Literal["none", "up", "down"] = "none"
    skips_null: bool = False


@dataclass(frozen=True, slots=True)
class Bag:
    """Rows of a group, each with a count; those where the condition is not TRUE are left out.

    `monomials` are what is added over the different rows of a set.
    """

    kind: Literal["set", "best", "places"]
    columns: tuple[Kept, ...]
    condition: Slot | None
    monomials: tuple[Monomial, ...] = ()
    places: Places | None = None

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
    if sum(map(words_of, types)) > MOST_WORDS:
        return None
    condition = None if use.condition is None else slots[-1]
    columns = [Kept(*each) for each in zip(slots, types, strict=False)]
    if isinstance(found, Distinct) and isinstance(found.of_set, Linear):
        monomials = found.of_set.monomials
        factors = [factor for monomial in monomials for factor in monomial]
        if not all(is_added(types[each.argument]) or each.kind == "known" for each in factors):
            return None
        rows = (each._replace(is_one_zero=True) for each in columns)
        return Bag("set", tuple(rows), condition, monomials)
    if not all(map(is_ordered, types)):
        return None
    if use.asked.name in EXTREMES and (len(columns) == 1 or not use.asked.is_distinct):
        return Bag("best", best_row(use.asked, columns), condition)
    places = None if use.asked.is_distinct else places_of(use.asked)
    if places is not None and places.bottom.bit_length() <= MOST_SHARE_BITS:
        is_down = any(each.descending for each in use.asked.order)
        if len(columns) == 1 and not (is_down and types[0] in FLOATS):  # equal zeros go up
            row = columns[0]._replace(order="down" if is_down else "up", skips_null=True)
            return Bag("places", (row,), condition, places=places)
    return None


def best_row(asked: Asked, columns: Sequence[Kept]) -> tuple[Kept, ...]:
    """Return a row whose least is the least, or greatest, value; or by which another one is."""
    *shown, by = columns
    best = by._replace(is_one_zero=True, order=EXTREMES[asked.name], skips_null=True)
    skips_null = asked.dialect == "duckdb"
    return (best, *(each._replace(order="up", skips_null=skips_null) for each in shown))


def is_added(type: pa.DataType) -> bool:
    """True if all that sums take of a value follows from its words as an integer."""
    is_signed = type in INTEGERS and type != pa.uint64()
    return is_signed or type == pa.bool_() or bool(pa.types.is_decimal(type))


def is_ordered(type: pa.DataType) -> bool:
    """True if words tell the order of a type's values, or the texts that they name."""
    is_time = pa.types.is_date32(type) or type in (pa.timestamp("us"), pa.timestamp("us", "UTC"))
    is_known = type in INTEGERS or type in FLOATS or type == pa.bool_() or is_text(type)
    return is_known or bool(is_time or pa.types.is_decimal(type))


def share_bits(bags: Sequence[Bag]) -> int:
    """Bound the bits by which a count is multiplied where places are found."""
    return max(
        (bag.places.bottom.bit_length() for bag in bags if bag.places is not None), default=0
    )


def root_of(plan: Plan, slots: Sequence[Slot]) -> int | None:
    """Find the alias whose rows tell all of these values."""
    every = range(len(plan.aliases))
    return next((a for a in every if all(home_of(plan, slot, a) for slot in slots)), None)


def home_of(plan: Plan, slot: Slot, root: int) -> Slot | None:
    """Return where the root's rows tell a value: as it is kept there, or at a vertex of theirs."""
    if slot.alias == root:
        return slot
    if slot.vertex is None:
        return None
    vertex, own = plan.aliases[slot.alias].vertices[slot.vertex], plan.aliases[root].vertices
    return replace(slot, alias=root, vertex=own.index(vertex)) if vertex in own else None


def at_home(plan: Plan, slot: Slot, root: int) -> Slot:
    """Return where the root's rows tell a value which they surely tell."""
    found = home_of(plan, slot, root)
    assert found is not None, "the root was chosen so"
    return found
