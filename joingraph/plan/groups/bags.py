"""Which aggregates of a group are kept in a bag: of what rows, and what is made of it.

    set     COUNT(DISTINCT x), SUM(DISTINCT x)     sums over the different rows
    best    MIN(x), MAX_BY(x, y)                   the first row
    places  MEDIAN(x), PERCENTILE_CONT(x)          how many rows, and those in some places
    list    ARRAY_AGG(x ORDER BY y)                all rows, each time they are asked for

A bag counts the joined rows of a group by some values of the root's. So all of these, and what the
groups are named by, must be known where the root's rows are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import pyarrow as pa

from joingraph.aggregates.bag import Ordered
from joingraph.aggregates.bags.extremes import AGGREGATES as ONE
from joingraph.aggregates.bags.extremes_by import AGGREGATES as BY
from joingraph.aggregates.bags.percentiles import Places, places_of
from joingraph.aggregates.contract import Asked, Order
from joingraph.aggregates.distinct import Distinct
from joingraph.aggregates.registry import aggregate
from joingraph.aggregates.sums import Linear, Monomial
from joingraph.expressions.texts import is_text
from joingraph.expressions.types import FLOATS, INTEGERS, words_of
from joingraph.plan.model import ALWAYS, Plan, Slot
from joingraph.sql.definition import Use

MOST_WORDS = 10  # of a row in a bag
MOST_SHARE_BITS = 20  # of a percentile's denominator
EXTREMES: dict[str, Literal["up", "down"]] = {
    name: "down" if "MAX" in name else "up" for name in (*ONE, *BY)
}


class Kept(NamedTuple):
    """A value of the rows in a bag: where it is kept, what is one value of it, and its order.

    `argument` is the aggregate's that it is, if it tells that one's value.
    """

    slot: Slot
    type: pa.DataType
    is_one_zero: bool = False  # -0.0 is 0.0
    order: Literal["none", "up", "down"] = "none"
    skips_null: bool = False
    nulls_first: bool = False
    argument: int | None = None


@dataclass(frozen=True, slots=True)
class Bag:
    """Rows of a group, each with a count; those where the condition is not TRUE are left out.

    `monomials` are what is added over the different rows of a set.
    """

    kind: Literal["set", "best", "places", "list"]
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
    columns = [Kept(*each, argument=at) for at, each in enumerate(zip(slots, types, strict=False))]
    if isinstance(found, Distinct) and isinstance(found.of_set, Linear):
        monomials = found.of_set.monomials
        factors = [factor for monomial in monomials for factor in monomial]
        if not all(is_added(types[each.argument]) or each.kind == "known" for each in factors):
            return None
        rows = (each._replace(is_one_zero=True) for each in columns)
        return Bag("set", tuple(rows), condition, monomials)
    if not all(map(is_ordered, types)):
        return None
    if use.asked.name in EXTREMES:
        can_be = len(columns) == 1 or not use.asked.is_distinct
        return Bag("best", best_row(use.asked, columns), condition) if can_be else None
    row = row_of_places(use.asked, columns)
    if row is not None:
        return Bag("places", row, condition, places=places_of(use.asked))
    of_bag = found.of_set if isinstance(found, Distinct) else found
    if isinstance(of_bag, Ordered):
        is_set = isinstance(found, Distinct)
        first, *others = (each._replace(is_one_zero=is_set, order="up") for each in columns)
        first = first._replace(skips_null=not of_bag.keeps_null)
        listed = row_in_order(use.asked.order, [first, *others])
        if sum(words_of(each.type) for each in listed) <= MOST_WORDS:
            return Bag("list", listed, condition)
    return None


def row_in_order(order: Sequence[Order], columns: Sequence[Kept]) -> tuple[Kept, ...]:
    """Return a row that compares as ORDER BY asks for; ties go by its values.

    A value tells itself where it is ordered by, but for a float: both its zeros are one there.
    """
    found = list[Kept]()
    for by in order:
        column = columns[by.argument]
        is_float = column.type in FLOATS
        direction: Literal["up", "down"] = "down" if by.descending else "up"
        found.append(
            column._replace(
                order=direction,
                nulls_first=by.nulls_first,
                is_one_zero=is_float,
                argument=None if is_float else by.argument,
            )
        )
    told = {each.argument for each in found}
    return (*found, *(each for each in columns if each.argument not in told))


def best_row(asked: Asked, columns: Sequence[Kept]) -> tuple[Kept, ...]:
    """Return a row whose least is the least, or greatest, value; or by which another one is."""
    *shown, by = columns
    best = by._replace(is_one_zero=True, order=EXTREMES[asked.name], skips_null=True)
    skips_null = asked.dialect == "duckdb"
    return (best, *(each._replace(order="up", skips_null=skips_null) for each in shown))


def row_of_places(asked: Asked, columns: Sequence[Kept]) -> tuple[Kept, ...] | None:
    """Return a row whose order decides at what places values are; None: they are listed instead."""
    places = None if asked.is_distinct or len(columns) > 1 else places_of(asked)
    if places is None or places.bottom.bit_length() > MOST_SHARE_BITS:
        return None
    is_down = any(each.descending for each in asked.order)
    if is_down and asked.types[0] in FLOATS:
        return None  # both zeros go up where all others go down
    return (columns[0]._replace(order="down" if is_down else "up", skips_null=True),)


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
    """Find the alias in every row of the view whose rows tell all of these values."""
    every = (alias.index for alias in plan.aliases if alias.presence == ALWAYS)
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
