"""Sorts a join tree into blocks of aliases that stand together, and edges that hang them on others.

    tweet T JOIN follower F ON F.k = T.k LEFT JOIN retweet R ON R.id = T.id AND R.n > 2
    ->  block   {T, F}   classes {T.k, F.k}
        block   {R}
        edge    T -> R   opt   keys (T.id, R.id)         filter of R   R.n > 2

A block's aliases are tied by inner joins: in each row that has one of them, all of them stand.
What no vertex can hold is refused, with its remedy.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

import pyarrow as pa

from joingraph.common.errors import ViewError
from joingraph.expressions.show import show
from joingraph.expressions.strict import nulling, rejected
from joingraph.expressions.tree import Call, Column, Expression, Literal, aliases_of
from joingraph.plan.classes import bare, class_type, null_safe_parts
from joingraph.plan.model import Mode
from joingraph.plan.outer.pairs import Tie, tie_of
from joingraph.sql.definition import Inner, Joined, Leaf, Outer, Probe

TRUE = Literal(True, pa.bool_())
NO_ALIAS = frozenset({""})  # of a mark
REMEDY = "keep a view of that side, and join that"


@dataclass(slots=True, eq=False)
class Block:
    """Aliases that stand together, and the equalities between them."""

    aliases: list[str]
    equalities: list[Expression] = field(default_factory=list)


@dataclass(slots=True)
class Edge:
    """How a block hangs on another: by which aliases, on which keys, and what is wanted."""

    near: str
    far: str
    keys: list[tuple[Expression, Expression]]
    mode: Mode
    is_full: bool = False
    mark: Column | None = None
    is_of_pairs: bool = False


@dataclass(slots=True)
class Piece:
    """A part of a join tree: its block, if aliases stand in every row, and what hangs on it."""

    block: Block | None
    visible: set[str]
    silent: set[str] = field(default_factory=set)
    blocks: list[Block] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    filters: dict[str, list[Expression]] = field(default_factory=dict)
    residuals: list[Expression] = field(default_factory=list)
    ties: list[Tie] = field(default_factory=list)
    on: Expression | None = None  # of a FULL JOIN, a condition

    @property
    def always(self) -> set[str]:
        """The aliases that stand in every row."""
        return set() if self.block is None else set(self.block.aliases)

    def take(self, other: Piece) -> None:
        """Add what another piece has, but for its block and its residual predicates."""
        self.silent |= other.silent
        self.blocks += other.blocks
        self.edges += other.edges
        self.ties += other.ties
        for alias, conditions in other.filters.items():
            self.filters.setdefault(alias, []).extend(conditions)


def used(*expressions: Expression) -> frozenset[str]:
    """Name the aliases that expressions read."""
    return frozenset().union(*map(aliases_of, expressions)) - NO_ALIAS


def is_marked(condition: Expression) -> bool:
    """True if a condition reads a mark."""
    return "" in aliases_of(condition)


class RefusedJoin(ViewError):
    """A join that no vertex can hold; the condition by which it is found in the text."""

    def __init__(self, text: str, condition: Expression | None) -> None:
        super().__init__(text)
        self.condition = condition


def refuse(condition: Expression, why: str) -> NoReturn:
    """Refuse a view whose joins need a view of a part of it."""
    raise RefusedJoin(f"{show(condition)}: {why}; {REMEDY}", condition)


def refuse_full(piece: Piece, why: str) -> NoReturn:
    """Refuse a FULL JOIN, as it has no table in every row."""
    raise RefusedJoin(f"{why}; {REMEDY}", piece.on)


def piece_of(tree: Joined) -> Piece:
    """Sort a simplified join tree."""
    match tree:
        case Leaf(alias):
            block = Block([alias])
            return Piece(block, {alias}, blocks=[block])
        case Inner(parts, conditions):
            return inner([piece_of(part) for part in parts], conditions)
        case Outer(left, right, conditions, is_full):
            return Hanging(piece_of(left), piece_of(right), "opt", is_full=is_full).by(conditions)
        case Probe(kind, left, right, conditions, mark):
            return Hanging(piece_of(left), piece_of(right), kind, mark=mark).by(conditions)


def inner(pieces: Sequence[Piece], conditions: Iterable[Expression]) -> Piece:
    """Make one block of the blocks of several pieces."""
    for each in pieces:
        if each.block is None and len(pieces) > 1:
            refuse_full(each, "a FULL JOIN below an inner join has no table in every row")
    if len(pieces) == 1 and pieces[0].block is None:
        whole = pieces[0]
    else:
        blocks = [each.block for each in pieces if each.block is not None]
        block = Block(
            [a for b in blocks for a in b.aliases], [e for b in blocks for e in b.equalities]
        )
        whole = Piece(block, set().union(*(each.visible for each in pieces)))
        for each in pieces:
            whole.take(each)
            whole.residuals += each.residuals
        whole.blocks = [block, *(each for each in whole.blocks if each not in blocks)]
    for condition in conditions:
        for part in null_safe_parts(condition):
            place(whole, part)
    return whole


def place(whole: Piece, condition: Expression) -> None:
    """Bring a condition to where it is asked: a filter, a class of the block, or the path's end."""
    aliases = used(condition)
    if aliases <= whole.always and not is_marked(condition):
        if len(aliases) < 2 and whole.always:
            alias = next(iter(aliases), min(whole.always))
            whole.filters.setdefault(alias, []).append(condition)
            return
        if aliases and is_class(condition):
            assert whole.block is not None, "it has these aliases"
            whole.block.equalities.append(condition)
            return
    whole.residuals.append(condition)


def is_class(condition: Expression) -> bool:
    """True if a condition is an equality of two aliases whose types have a common one."""
    match condition:
        case Call("equal", (left, right)):
            one, other = aliases_of(left), aliases_of(right)
            apart = len(one) == 1 == len(other) and one != other
            return apart and class_type((bare(left), bare(right))) is not None
        case _:
            return False


@dataclass
class Hanging:
    """Hangs the right piece on the left one: by LEFT, FULL, or as what is asked for."""

    left: Piece
    right: Piece
    mode: Mode
    is_full: bool = False
    mark: Column | None = None

    def by(self, conditions: Iterable[Expression]) -> Piece:
        """Sort the conditions of ON, and make one piece."""
        conditions = list(conditions)
        keys, others = list[tuple[Expression, Expression]](), list[Expression]()
        left_gates, right_gates = list[Expression](), list[Expression]()
        for condition in (part for each in conditions for part in null_safe_parts(each)):
            aliases = used(condition)
            if is_marked(condition):
                refuse(condition, "what it asks for stands in ON of a join that is not inner")
            if aliases <= self.right.visible and not self.is_full:
                self.filter(condition, aliases)
            elif aliases <= self.left.visible:
                left_gates.append(condition)
            elif aliases <= self.right.visible:
                right_gates.append(condition)
            elif (sides := self.sides(condition)) is not None:
                keys.append(sides)
            else:
                others.append(condition)
        self.check_residuals()
        near = self.end(self.left, [one for one, _ in keys], left_gates, others)
        far = self.end(self.right, [other for _, other in keys], right_gates, others)
        keys = gated(keys, left_gates, right_gates)
        mode = self.asked_on_paths(near)
        whole = Piece(None if self.is_full else self.left.block, set(self.left.visible))
        whole.on = next(iter(conditions), None)
        whole.take(self.left)
        whole.take(self.right)
        whole.residuals = self.left.residuals
        shown = whole.visible if mode == "opt" else whole.silent
        shown |= self.right.visible
        if others:
            is_counted = mode != "opt" and len(self.right.silent | self.right.visible) == 1
            self.tie(whole, tie_of(near, far, keys, others, is_counted=is_counted), mode)
        else:
            whole.edges.append(Edge(near, far, keys, mode, self.is_full, self.mark))
        return whole

    def tie(self, whole: Piece, tie: Tie, mode: Mode) -> None:
        """Hang the pairs on the left side; the right one is joined to them, or has them, too."""
        whole.ties.append(tie)
        whole.blocks.append(Block([tie.name]))
        (whole.visible if mode == "opt" else whole.silent).add(tie.name)
        back: Mode = "opt" if self.is_full or tie.is_counted else "req"
        near, far = tie.links(0), [] if tie.is_counted else tie.links(1)
        whole.edges += [
            Edge(tie.near, tie.name, near, mode, mark=self.mark, is_of_pairs=True),
            Edge(tie.far, tie.name, far, back, is_of_pairs=True),
        ]

    def filter(self, condition: Expression, aliases: frozenset[str]) -> None:
        """Let a condition of the right side alone filter it."""
        place(self.right, condition)
        assert aliases <= self.right.visible, "it reads the right side alone"

    def sides(self, condition: Expression) -> tuple[Expression, Expression] | None:
        """Return an equality of one alias of each side as (left, right)."""
        match condition:
            case Call("equal", (one, other)) if is_class(condition):
                for left, right in ((one, other), (other, one)):
                    if used(left) <= self.left.visible and used(right) <= self.right.visible:
                        return bare(left), bare(right)
            case _:
                pass
        return None

    def check_residuals(self) -> None:
        """Refuse predicates over several aliases on a side that is looked at as a whole."""
        sides = (self.left, self.right) if self.is_full else (self.right,)
        for side in sides:
            if side.residuals:
                refuse(side.residuals[0], "it is asked of rows of one side of the join")

    def end(
        self,
        piece: Piece,
        keys: Sequence[Expression],
        gates: Sequence[Expression],
        others: Sequence[Expression],
    ) -> str:
        """Name the one alias of a side by which it is tied to the other."""
        aliases = used(*keys, *gates, *others) & piece.visible
        if len(aliases) > 1:
            refuse((*others, *keys, *gates)[0], "the join reads several tables of one side")
        alias = next(iter(aliases), None) or min(piece.always, default=None)
        if alias is None:
            refuse_full(piece, "a FULL JOIN below an outer one has no table in every row")
        if alias not in piece.always and alias not in nulling(keys) | rejected((*gates, *others)):
            refuse((*keys, *gates, *others)[0], "it may hold where its table has no row")
        return alias

    def asked_on_paths(self, near: str) -> Mode:
        """Ask NOT EXISTS on the path where the near side may be missing: the join came before."""
        if self.mode == "anti" and near not in self.left.always:
            far = min(self.right.always)
            self.mark = Column("", f"not exists {far}", pa.bool_())
            self.left.residuals.append(Call("not", (self.mark,), pa.bool_()))
            return "mark"
        return self.mode


def gated(
    keys: Sequence[tuple[Expression, Expression]], *gates: Sequence[Expression]
) -> list[tuple[Expression, Expression]]:
    """Make keys NULL unless all gates of their side are TRUE."""
    pairs = list(keys)
    if not pairs and any(gates):
        pairs = [(TRUE, TRUE)]
    left, right = gates
    return [(behind(one, left), behind(other, right)) for one, other in pairs]


def behind(key: Expression, gates: Sequence[Expression]) -> Expression:
    """Return a key that is NULL unless gates are TRUE."""
    if not gates:
        return key
    test = gates[0] if len(gates) == 1 else Call("and", tuple(gates), pa.bool_())
    return Call("case", (test, key, Literal(None, key.type)), key.type)
