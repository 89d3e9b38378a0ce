"""Builds the plan of a view: the join tree, and what every alias keeps.

In: a Definition. Out: a Plan, in which nothing is left to be looked up by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from joingraph.expressions.tree import Expression, aliases_of, columns_of
from joingraph.plan.classes import cast_to, class_type, sort_conditions
from joingraph.plan.join_tree import Bundle, make_tree
from joingraph.plan.kept_columns import key_slot
from joingraph.plan.model import AliasPlan, Plan, Slot, Vertex
from joingraph.sql.definition import Alias, Definition


def build(definition: Definition, kept: Iterable[Expression] = ()) -> Plan:
    """Return the plan of a view; `kept` are expressions to keep besides what the view needs."""
    index = {alias.name: i for i, alias in enumerate(definition.aliases)}
    found = sort_conditions(definition)
    classes = [{index[name]: each for name, each in members.items()} for members in found.classes]
    bundles, broken = make_tree(len(index), classes)
    vertices = tuple(vertex_of(i, bundle) for i, bundle in enumerate(bundles))
    residuals = (*found.residuals, *broken)
    keeper = Keeper(index, vertices)
    for wanted in (*residuals, *(column.value for column in definition.output), *kept):
        keeper.keep(wanted)
    aliases = tuple(
        keeper.plan_of(alias, found.filters[alias.name]) for alias in definition.aliases
    )
    return Plan(definition, aliases, vertices, residuals, keeper.slots)


def vertex_of(index: int, bundle: Bundle) -> Vertex:
    """Return the vertex of a bundle: its place in the plan, and the type of each of its classes."""
    types = tuple(class_type(members.values()) for members in bundle.classes)
    members = tuple(tuple(members[alias] for alias in bundle.aliases) for members in bundle.classes)
    return Vertex(index, bundle.aliases, tuple(kind for kind in types if kind), members)


class Keeper:
    """Collects what each alias must keep, and where on a path it will be found.

    slots[expression] = its place; projected[alias] = the expressions kept beside the keys
    """

    def __init__(self, index: dict[str, int], vertices: tuple[Vertex, ...]) -> None:
        self.index = index
        self.slots: dict[Expression, Slot] = {}
        self.projected: list[list[Expression]] = [[] for _ in index]
        self.vertices: list[list[Vertex]] = [[] for _ in index]
        for vertex in vertices:
            for alias in vertex.aliases:
                self.vertices[alias].append(vertex)

    def keep(self, wanted: Expression) -> None:
        """Keep what an output column or a residual predicate needs.

        Over one alias the expression itself is kept, computed by the filter; over several its
        columns are, since it can only be computed on a path.
        """
        parts = (wanted,) if len(aliases_of(wanted)) == 1 else tuple(columns_of(wanted))
        for part in parts:
            if part not in self.slots:
                (name,) = aliases_of(part)
                self.slots[part] = self.place(self.index[name], part)

    def place(self, alias: int, part: Expression) -> Slot:
        """Find a part in the alias' keys; project it if no key can give it back exactly."""
        slot = key_slot(alias, self.vertices[alias], part)
        if slot is None:
            slot = Slot(alias, None, len(self.projected[alias]), part.type)
            self.projected[alias].append(part)
        return slot

    def plan_of(self, alias: Alias, conditions: Sequence[Expression]) -> AliasPlan:
        """Return what an alias keeps of the rows that meet its conditions."""
        index = self.index[alias.name]
        mine = self.vertices[index]
        keys = tuple(
            tuple(
                cast_to(members[vertex.seat(index)], kind)
                for members, kind in zip(vertex.members, vertex.types, strict=True)
            )
            for vertex in mine
        )
        vertices = tuple(each.index for each in mine)
        kept = (tuple(conditions), vertices, keys, tuple(self.projected[index]))
        return AliasPlan(index, alias.name, alias.table, *kept)
