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
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import NamedTuple

import pyarrow as pa

from joingraph.expressions.tree import Expression
from joingraph.plan.program import Program
from joingraph.sql.definition import Definition

READS_MAX = 32  # programs of reads that are kept: one holds its conditions, which may be long lists

Maker = Callable[..., Program]  # of a plan, a start, and what is asked for, all of it hashable


@dataclass(frozen=True, slots=True)
class Vertex:
    """A join vertex: the attribute classes by which its aliases meet; no class for a product."""

    index: int
    aliases: tuple[int, ...]
    types: tuple[pa.DataType, ...]
    members: tuple[tuple[Expression, ...], ...]  # per class: what each alias calls it

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


@dataclass(frozen=True, slots=True)
class Slot:
    """Where a kept value is found on a path: in an alias' key at a vertex, or projected."""

    alias: int
    vertex: int | None  # the place among the alias' vertices; None: projected
    position: int
    stored: pa.DataType  # the type it is kept in; the expression's own type is cast from it


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
    _of_aliases: Maker = field(init=False, repr=False, compare=False)
    _of_reads: Maker = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        def made(make: Maker, start: int, asked: tuple[Hashable, ...]) -> Program:
            return make(self, start, *asked)

        object.__setattr__(self, "_of_aliases", cache(made))
        object.__setattr__(self, "_of_reads", lru_cache(READS_MAX)(made))

    def program(self, make: Maker, start: int, *asked: Hashable) -> Program:
        """Return a program from an alias, made when it is first asked for; threads may ask.

        A view of 256 aliases has hundreds of programs, of which most graphs take a few. Those of
        reads, which are asked for more than the alias, are kept for the last few reads.
        """
        kept = self._of_reads if asked else self._of_aliases
        return kept(make, start, asked)

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
