"""The plan: all that a view settles about its join graph before the first diff arrives.

    SELECT F.followerId, T.tweetId, R.userId FROM follower F
    JOIN tweet T ON F.userId = T.userId JOIN retweet R ON R.retweetTweetId = T.tweetId

    aliases   F ---- v0 <userId> ---- T ---- v1 <tweetId> ---- R       (the join tree)
    keys      F: (F.userId)      T: (T.userId) (T.tweetId)     R: (R.retweetTweetId)
    projected F: [F.followerId]  T: []                         R: [R.userId]
    slots     T.tweetId = T's key at v1;   F.followerId = F's projected 0;   ...
    program   from T: enter F at v0, enter R at v1;   from F: enter T at v0, enter R at v1; ...

An alias' kept attributes are its keys and its projected ones; everything else is dropped by the
filter. An attribute that can be had from a key without loss is not projected again.
Aliases and vertices are named by their index in the plan everywhere after this module.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Literal, NamedTuple

import pyarrow as pa

from joingraph.expressions.tree import Column, Expression
from joingraph.plan.program import Program
from joingraph.sql.definition import Definition

Mode = Literal["req", "opt", "semi", "anti", "mark"]
Presence = Literal["always", "maybe", "asked"]
BLIND: frozenset[Mode] = frozenset({"semi", "anti", "mark"})
WANTED: frozenset[Mode] = frozenset({"req", "semi"})
ALWAYS: Presence = "always"

READS_MAX = 32  # programs of reads that are kept: one holds its conditions, which may be long lists

Maker = Callable[..., Program]  # of a plan, a start, and what is asked for, all of it hashable


@dataclass(frozen=True, slots=True)
class Vertex:
    """A join vertex: the attribute classes by which its aliases meet; no class for a product.

    A seat's mode is what the others want of it:
    req    a live join tuple there                        an inner join; a parent, seen from below
    opt    nothing: what lies beyond is NULL without one  LEFT (the child's seat), FULL (both)
    semi   one, and it is not walked to                   EXISTS
    anti   none                                           NOT EXISTS
    mark   nothing: whether there is one stands on paths  EXISTS under OR, in SELECT
    Who sits where the others only ask (semi, anti, mark) does not look back.
    """

    index: int
    aliases: tuple[int, ...]
    types: tuple[pa.DataType, ...]
    members: tuple[tuple[Expression, ...], ...]  # per class: what each alias calls it
    modes: tuple[Mode, ...]

    def seat(self, alias: int) -> int:
        """The place of an alias among those that meet here."""
        return self.aliases.index(alias)


@dataclass(frozen=True, slots=True)
class AliasPlan:
    """What one alias keeps of its base rows: which rows, their keys, their projected values."""

    index: int
    name: str
    table: str
    conditions: tuple[Expression, ...]  # all must hold; keys must not be NULL besides
    vertices: tuple[int, ...]
    keys: tuple[tuple[Expression, ...], ...]  # per vertex, one expression per class
    projected: tuple[Expression, ...]
    presence: Presence  # in every row of the view, maybe missing, or only asked for
    lone: tuple[bool, ...]  # per vertex: a row without partners there counts, so NULL keys do

    @property
    def binding(self) -> tuple[Expression, ...]:
        """The join attributes of which none may be NULL in a row that counts."""
        pairs = zip(self.keys, self.lone, strict=True)
        return tuple(each for key, is_lone in pairs if not is_lone for each in key)

    @property
    def lone_places(self) -> frozenset[int]:
        """The places among all join attributes of which any may be NULL in a row that counts."""
        flat = (is_lone for key, is_lone in zip(self.keys, self.lone, strict=True) for _ in key)
        return frozenset(place for place, is_lone in enumerate(flat) if is_lone)

    @property
    def is_silent(self) -> bool:
        """True if its rows are asked for, and not shown."""
        return self.presence == "asked"

    @property
    def is_of_pairs(self) -> bool:
        """True if it is of no table, but lists pairs of two other aliases' values."""
        return not self.table

    @property
    def is_shown(self) -> bool:
        """True if rows of the view may have a row of it."""
        return not self.is_silent and not self.is_of_pairs


@dataclass(frozen=True, slots=True)
class Slot:
    """Where a kept value is found on a path: in an alias' key at a vertex, or projected."""

    alias: int
    vertex: int | None  # the place among the alias' vertices; None: projected
    position: int
    stored: pa.DataType  # the type it is kept in; the expression's own type is cast from it


class PairedSide(NamedTuple):
    """One of two aliases whose values are paired: the vertex where it has them."""

    alias: int
    vertex: int
    place: int  # of the vertex among the alias' vertices
    read: Mapping[Column, tuple[int, int | None]]  # its class, and the one that says if it is NULL


@dataclass(frozen=True, slots=True)
class Pairs:
    """An alias of pairs: of two others' values that meet by `keys` classes, and on a condition.

    If it is counted, it lists the near side's values that are in a pair; else both sides'.
    """

    alias: int
    keys: int
    condition: Expression
    sides: tuple[PairedSide, PairedSide]
    is_counted: bool


class Nearer(NamedTuple):
    """What lies before an alias on the way from another: an alias, and where both meet."""

    alias: int
    vertex: int


@dataclass(frozen=True, slots=True)
class Plan:
    """A view's plan, and the programs that were made of it (plan/arrange.py, plan/branches.py)."""

    definition: Definition
    aliases: tuple[AliasPlan, ...]
    vertices: tuple[Vertex, ...]
    residuals: tuple[Expression, ...]
    slots: Mapping[Expression, Slot]
    marks: Mapping[Expression, int]  # of each mark, the alias that is asked for
    pairs: tuple[Pairs, ...] = ()
    is_inner: bool = field(init=False)  # all aliases stand in every row of the view
    _of_aliases: Maker = field(init=False, repr=False, compare=False)
    _of_reads: Maker = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        def made(make: Maker, start: int, asked: tuple[Hashable, ...]) -> Program:
            return make(self, start, *asked)

        is_inner = all(alias.presence == ALWAYS for alias in self.aliases)
        object.__setattr__(self, "is_inner", is_inner)
        object.__setattr__(self, "_of_aliases", cache(made))
        object.__setattr__(self, "_of_reads", lru_cache(READS_MAX)(made))

    def program(self, make: Maker, start: int, *asked: Hashable) -> Program:
        """Return a program from an alias, made when it is first asked for; threads may ask.

        A view of 256 aliases has hundreds of programs, of which most graphs take a few. Those of
        reads, which are asked for more than the alias, are kept for the last few reads.
        """
        kept = self._of_reads if asked else self._of_aliases
        return kept(make, start, asked)

    @property
    def of_tables(self) -> tuple[AliasPlan, ...]:
        """The aliases of base tables: all but those that list pairs."""
        return tuple(alias for alias in self.aliases if not alias.is_of_pairs)

    def paired_with(self, pairs: int, alias: int) -> int:
        """Return the alias whose values an alias of pairs pairs with another one's."""
        (found,) = (each for each in self.pairs if each.alias == pairs)
        near, far = (side.alias for side in found.sides)
        return far if alias == near else near

    def is_nullable(self, slot: Slot) -> bool:
        """True if what is kept in a slot may be NULL: of keys, where a row counts alone."""
        return slot.vertex is None or self.aliases[slot.alias].lone[slot.vertex]

    def mode(self, alias: int, vertex: int) -> Mode:
        """Return what is wanted of an alias at a vertex."""
        at = self.vertices[vertex]
        return at.modes[at.seat(alias)]

    def asked_seats(self) -> Iterator[tuple[Vertex, int]]:
        """Yield the seats at which it counts whether an alias has a row: vertices, and aliases."""
        for vertex in self.vertices:
            for alias, mode in zip(vertex.aliases, vertex.modes, strict=True):
                if mode != "req":
                    yield vertex, alias

    @property
    def starts(self) -> tuple[int, ...]:
        """The aliases from which reads may start: those in every row; else the first one shown.

        In the latter case (FULL JOIN) other rows begin at values without what leads to that alias.
        """
        always = tuple(alias.index for alias in self.aliases if alias.presence == ALWAYS)
        shown = (alias.index for alias in self.aliases if not alias.is_silent)
        return always or (next(shown),)

    def optional_ways(self, start: int) -> Iterator[tuple[int, int]]:
        """Yield vertices where who leads to an alias may be missing: each, and who leads there."""
        tree = self.tree_from(start)
        for vertex in self.vertices:
            leading = next(
                alias
                for alias in vertex.aliases
                if alias == start or tree[alias].vertex != vertex.index
            )
            if self.mode(leading, vertex.index) == "opt" and not self.aliases[leading].is_silent:
                yield vertex.index, leading

    def tree_from(self, start: int) -> dict[int, Nearer]:
        """Return the join tree as seen from an alias: every other one, nearest first."""
        found: dict[int, Nearer] = {}
        frontier = deque([(start, -1)])
        while frontier:
            near, entry = frontier.popleft()
            for vertex in self.aliases[near].vertices:
                others = self.vertices[vertex].aliases if vertex != entry else ()
                for alias in others:
                    if alias != near:
                        found[alias] = Nearer(near, vertex)
                        frontier.append((alias, vertex))
        return found
