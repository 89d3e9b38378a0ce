"""The shape of a plan: filters, join vertices to be, residual predicates, and who may be missing.

blocks  {T, F}  {R}      edge  T -> R  opt  (T.id, R.id)
->  vertices  <k>: T F          <id>: T, R opt
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from joingraph.expressions.tree import Expression
from joingraph.plan.classes import bare, merge, one_member_each, spread_constants
from joingraph.plan.join_tree import Bundle, Class, make_tree
from joingraph.plan.model import Mode, Presence
from joingraph.plan.outer.pairs import Tie
from joingraph.plan.outer.pieces import Block, Edge, piece_of, refuse
from joingraph.plan.outer.simplify import simplified
from joingraph.sql.definition import Definition


@dataclass(slots=True)
class Shape:
    """What a plan is made of; `presence` names the aliases that are not in every row."""

    filters: dict[str, list[Expression]]
    bundles: list[Bundle]
    residuals: list[Expression]
    presence: Mapping[str, Presence] = field(default_factory=dict)
    marks: Mapping[Expression, str] = field(default_factory=dict)
    ties: Sequence[Tie] = ()


def outer_shape(definition: Definition) -> Shape:
    """Return the shape of a view whose joins are a tree."""
    assert definition.tree is not None, "it says how aliases are joined"
    piece = piece_of(simplified(definition.tree))
    names = [alias.name for alias in definition.aliases] + [tie.name for tie in piece.ties]
    index = {name: at for at, name in enumerate(names)}
    filters = {alias.name: piece.filters.get(alias.name, []) for alias in definition.aliases}
    meetings, residuals = list[Meeting](), list(piece.residuals)
    for block in piece.blocks:
        found, broken = meetings_of(block, index, filters)
        if broken and block is not piece.block:
            refuse(broken[0], "its joins close a cycle on a side of an outer join, EXISTS or IN")
        meetings += found
        residuals += broken
    home = {name: block for block in piece.blocks for name in block.aliases}
    for edge in piece.edges:
        hang(edge, meetings, index, home)
    counted = (tie for tie in piece.ties if tie.is_counted)
    meetings += [alone(tie, index[tie.far], home[tie.far]) for tie in counted]
    presence: dict[str, Presence] = dict.fromkeys(piece.visible - piece.always, "maybe")
    presence |= dict.fromkeys(piece.silent, "asked")
    marks: dict[Expression, str] = {
        edge.mark: edge.far for edge in piece.edges if edge.mark is not None
    }
    bundles = [meeting.bundle() for meeting in meetings]
    return Shape(filters, bundles, residuals, presence, marks, piece.ties)


@dataclass(slots=True)
class Meeting:
    """A vertex to be, of the block whose aliases hang others there."""

    block: Block
    classes: list[Class]
    modes: dict[int, Mode]

    def bundle(self) -> Bundle:
        """Return it with its aliases in order."""
        return Bundle(tuple(self.classes), tuple(sorted(self.modes)), self.modes)

    def has(self, alias: int, key: Iterable[Expression]) -> bool:
        """True if an alias meets others here by just this key, and is here wherever they are."""
        is_here = self.modes.get(alias) == "req"  # not at the vertex of a FULL JOIN
        return is_here and {each[alias] for each in self.classes} == set(key)


def meetings_of(
    block: Block, index: Mapping[str, int], filters: dict[str, list[Expression]]
) -> tuple[list[Meeting], list[Expression]]:
    """Make the join tree of one block; also give the equalities that it cannot hold."""
    groups, residuals = list[list[Expression]](), list[Expression]()
    for each in block.equalities:
        if not merge(groups, each):
            residuals.append(each)
    classes = [one_member_each(group, filters) for group in groups]
    for members in classes:
        spread_constants(members, filters)
    place = {name: at for at, name in enumerate(block.aliases)}
    local = [{place[name]: member for name, member in each.items()} for each in classes]
    bundles, broken = make_tree(len(place), local)
    numbers = [index[name] for name in block.aliases]
    return [moved(each, block, numbers) for each in bundles], [*residuals, *broken]


def moved(bundle: Bundle, block: Block, numbers: list[int]) -> Meeting:
    """Return a block's bundle with the view's numbers of aliases."""
    classes = [{numbers[at]: member for at, member in each.items()} for each in bundle.classes]
    return Meeting(block, classes, {numbers[at]: "req" for at in bundle.aliases})


def alone(tie: Tie, far: int, block: Block) -> Meeting:
    """Seat an alias by itself, at the values by which its rows are partners."""
    classes = [{far: value} for value, _ in tie.links(1)]
    return Meeting(block, classes, {far: "req"})


def hang(
    edge: Edge, meetings: list[Meeting], index: Mapping[str, int], home: Mapping[str, Block]
) -> None:
    """Seat the far side of an edge: where the near alias meets others by this key, or anew."""
    near, far, block = index[edge.near], index[edge.far], home[edge.near]
    pairs = {bare(one): other for one, other in edge.keys}
    is_plain = len(pairs) == len(edge.keys) and not edge.is_full and not edge.is_of_pairs
    for meeting in meetings if is_plain else ():
        if meeting.block is block and meeting.has(near, pairs):
            for members in meeting.classes:
                members[far] = pairs[members[near]]
            meeting.modes[far] = edge.mode
            return
    classes = [{near: one, far: other} for one, other in edge.keys]
    modes: dict[int, Mode] = {near: "opt" if edge.is_full else "req", far: edge.mode}
    meetings.append(Meeting(block, classes, modes))
