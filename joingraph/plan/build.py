"""Builds the plan of a view: the join tree, and what every alias keeps.

In: a Definition. Out: a Plan, in which nothing is left to be looked up by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from joingraph.expressions.strict import IS_THERE
from joingraph.expressions.tree import Call, Column, Expression, Literal, aliases_of
from joingraph.plan.classes import cast_to, class_type, sort_conditions
from joingraph.plan.join_tree import Bundle, make_tree
from joingraph.plan.kept_columns import key_slot
from joingraph.plan.model import (
    ALWAYS,
    BLIND,
    WANTED,
    AliasPlan,
    Mode,
    PairedSide,
    Pairs,
    Plan,
    Slot,
    Vertex,
)
from joingraph.plan.outer.missing import null_answer
from joingraph.plan.outer.pairs import Member, Tie
from joingraph.plan.outer.shape import Shape, outer_shape
from joingraph.sql.definition import Alias, Definition


def build(definition: Definition, kept: Iterable[Expression] = ()) -> Plan:
    """Return the plan of a view; `kept` are expressions to keep besides what the view needs."""
    shape = inner_shape(definition) if definition.tree is None else outer_shape(definition)
    used = (*definition.aliases, *(Alias(tie.name, "") for tie in shape.ties))
    index = {alias.name: i for i, alias in enumerate(used)}
    vertices = tuple(vertex_of(i, bundle) for i, bundle in enumerate(shape.bundles))
    keeper = Keeper(index, vertices, shape)
    for wanted in (*shape.residuals, *(column.value for column in definition.output), *kept):
        keeper.keep(wanted)
    aliases = tuple(keeper.plan_of(alias, shape.filters.get(alias.name, ())) for alias in used)
    marks = {mark: index[far] for mark, far in shape.marks.items()}
    pairs = tuple(pairs_of(tie, index, aliases, vertices) for tie in shape.ties)
    residuals = tuple(shape.residuals)
    return Plan(definition, aliases, vertices, residuals, keeper.slots, marks, pairs)


def pairs_of(
    tie: Tie,
    index: Mapping[str, int],
    aliases: Sequence[AliasPlan],
    vertices: Sequence[Vertex],
) -> Pairs:
    """Return what an alias of pairs pairs: at one vertex each, the classes of a side in order."""
    own, far = index[tie.name], index[tie.far]
    near_vertex, far_vertex = aliases[own].vertices
    if tie.is_counted:
        (far_vertex,) = (each.index for each in vertices if each.aliases == (far,))
    sides = [
        paired_side(members[tie.keys :], aliases[index[name]], vertices[vertex], tie.keys)
        for members, name, vertex in zip(
            tie.sides, (tie.near, tie.far), (near_vertex, far_vertex), strict=True
        )
    ]
    return Pairs(own, tie.keys, tie.condition, (sides[0], sides[1]), tie.is_counted)


def paired_side(
    members: Sequence[Member], alias: AliasPlan, vertex: Vertex, first: int
) -> PairedSide:
    """Return one side, and where at its vertex the columns are that the condition reads."""
    read: dict[Column, tuple[int, int | None]] = {}
    for at, member in enumerate(members, first):
        match member.value:
            case Column():
                read[member.value] = at, None
            case Call("coalesce", (Column() as column, _)):
                read[column] = at, at + 1
            case _:
                pass
    return PairedSide(alias.index, vertex.index, alias.vertices.index(vertex.index), read)


def inner_shape(definition: Definition) -> Shape:
    """Sort the conditions of a view of inner joins, and make its join tree."""
    index = {alias.name: i for i, alias in enumerate(definition.aliases)}
    found = sort_conditions(definition)
    classes = [{index[name]: each for name, each in members.items()} for members in found.classes]
    bundles, broken = make_tree(len(index), classes)
    return Shape(found.filters, bundles, [*found.residuals, *broken])


def vertex_of(index: int, bundle: Bundle) -> Vertex:
    """Return the vertex of a bundle: its place in the plan, and the type of each of its classes."""
    types = tuple(class_type(members.values()) for members in bundle.classes)
    members = tuple(tuple(members[alias] for alias in bundle.aliases) for members in bundle.classes)
    modes: tuple[Mode, ...] = tuple(bundle.modes.get(alias, "req") for alias in bundle.aliases)
    return Vertex(index, bundle.aliases, tuple(kind for kind in types if kind), members, modes)


class Keeper:
    """Collects what each alias must keep, and where on a path it will be found.

    slots[expression] = its place; projected[alias] = the expressions kept beside the keys
    """

    def __init__(self, index: dict[str, int], vertices: tuple[Vertex, ...], shape: Shape) -> None:
        self.index, self.presence = index, shape.presence
        self.slots: dict[Expression, Slot] = {
            mark: Slot(index[far], None, 0, mark.type) for mark, far in shape.marks.items()
        }
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
        for part in self.parts(wanted):
            if part not in self.slots:
                (name,) = aliases_of(part)
                self.slots[part] = self.place(self.index[name], part)

    def parts(self, wanted: Expression) -> Iterator[Expression]:
        """Yield what is kept of an expression."""
        aliases = aliases_of(wanted)
        if len(aliases) == 1 and aliases <= self.index.keys() and self.answers(wanted):
            yield wanted
        else:
            yield from read_by(wanted)

    def answers(self, wanted: Expression) -> bool:
        """True if an expression is NULL where its alias is missing, if it may be."""
        (name,) = aliases_of(wanted)
        return name not in self.presence or null_answer(wanted) == (None,)

    def place(self, alias: int, part: Expression) -> Slot:
        """Find a part in the alias' keys; project it if no key can give it back exactly."""
        may_miss = not aliases_of(part).isdisjoint(self.presence)  # NULL then, whatever its vertex
        slot = None if may_miss else key_slot(alias, self.vertices[alias], part)
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
        presence = self.presence.get(alias.name, ALWAYS)
        lone = tuple(is_lone(vertex, index) for vertex in mine)
        return AliasPlan(index, alias.name, alias.table, *kept, presence, lone)


def read_by(wanted: Expression) -> Iterator[Expression]:
    """Yield the columns and marks that an expression reads, and where it asks for a row."""
    if isinstance(wanted, Call) and wanted.function != IS_THERE:
        for arg in wanted.args:
            yield from read_by(arg)
    elif not isinstance(wanted, Literal):
        yield wanted


def is_lone(vertex: Vertex, alias: int) -> bool:
    """True if a row of an alias counts though no other one is at its value."""
    seat = vertex.seat(alias)
    others = (mode for at, mode in enumerate(vertex.modes) if at != seat)
    return vertex.modes[seat] not in BLIND and WANTED.isdisjoint(others)
