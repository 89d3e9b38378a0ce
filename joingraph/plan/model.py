"""The plan: all that a view settles about its join graph before the first diff arrives.

    SELECT F.followerId, T.tweetId, R.userId FROM follower F
    JOIN tweet T ON F.userId = T.userId JOIN retweet R ON R.retweetTweetId = T.tweetId

    aliases   F ---- v0 <userId> ---- T ---- v1 <tweetId> ---- R       (the join tree)
    keys      F: (F.userId)      T: (T.userId) (T.tweetId)     R: (R.retweetTweetId)
    projected F: [F.followerId]  T: []                         R: [R.userId]
    slots     T.tweetId = T's key at v1;   F.followerId = F's projected 0;   ...
    routes    from T: enter F by v0, enter R by v1;   from F: enter T by v0, enter R by v1; ...

An alias' kept attributes are its keys and its projected ones; everything else is dropped by the
filter. An attribute that can be had from a key without loss is not projected again.
Aliases and vertices are named by their index in the plan everywhere after this module.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa

from joingraph.expressions.tree import Expression
from joingraph.sql.definition import Definition


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


@dataclass(frozen=True, slots=True)
class Hop:
    """One step of a route: from the value that `near` has at `vertex`, enter `alias`."""

    near: int
    vertex: int
    alias: int
    residuals: tuple[int, ...]  # the predicates that this hop makes decidable


@dataclass(frozen=True, slots=True)
class Plan:
    """A view's plan; `routes[a]` visits every other alias from alias `a`, nearest first."""

    definition: Definition
    aliases: tuple[AliasPlan, ...]
    vertices: tuple[Vertex, ...]
    residuals: tuple[Expression, ...]
    slots: Mapping[Expression, Slot]
    routes: tuple[tuple[Hop, ...], ...]


class Leg(NamedTuple):
    """A hop, and what can be decided once it is made."""

    hop: Hop
    tests: tuple[Expression, ...]
