"""The join tree as the groups see it: who tells whom, and which part of each sum.

    a --- v0 --- b (opt) --- v1 --- c (opt)          root a
    c tells v1, b tells v0;   above v1 is b, above v0 is a

A side tells what its seat's mode makes of the sums over its paths:

    req    the sums                     a value without a path has no path beyond it
    opt    the sums; of no path, those of one row of NULLs: 1 path, and 0 of all else
    semi   1 path where there are some, else none           anti   the reverse

What an optional alias keeps is NULL in that row (plan/outer/missing.py), and of NULL every term
is 0: so a mode changes the number of paths alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa

from joingraph.aggregates.sums import Kind
from joingraph.expressions.types import FLOATS
from joingraph.plan.model import Mode, Plan, Slot


class Term(NamedTuple):
    """A factor of a monomial: what is taken of a value that an alias keeps."""

    slot: Slot
    kind: Kind
    type: pa.DataType

    @property
    def is_float(self) -> bool:
        """True if it is a DOUBLE or REAL, as an integer of a unit that all values of it have."""
        return self.kind == "value" and self.type in FLOATS


Part = tuple[Term, ...]
PATHS: Part = ()


@dataclass(frozen=True, slots=True)
class Tell:
    """What an alias tells the vertex on its way to the root, part by part.

    `own` are the terms of its own rows in each part, `below` which part each vertex below tells.
    """

    up: int | None  # None: it is the root
    mode: Mode  # of its seat there
    parts: tuple[Part, ...]
    own: tuple[Part, ...]
    below: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Meet:
    """What a vertex is told by all the aliases below it: for each part, which part of each.

    `top` is the alias above; None: the vertex is the root.
    """

    top: int | None
    parts: tuple[Part, ...]
    sides: tuple[int, ...]
    told: tuple[tuple[int, ...], ...]


def homes_of(plan: Plan) -> list[tuple[int, ...]]:
    """Name the vertices of each alias; one without any gets a vertex of its own, without a key."""
    homes = [alias.vertices for alias in plan.aliases]
    return [each or (len(plan.vertices),) for each in homes]


class Tree:
    """The join tree as seen from the root."""

    def __init__(self, plan: Plan, root: int | None, at: int = 0) -> None:
        self.plan, self.root, self.homes = plan, root, homes_of(plan)
        self.vertices = 1 + max(vertex for home in self.homes for vertex in home)
        self.up: dict[int, int] = {}
        self.top: dict[int, int | None] = {}
        if root is None:
            self.hang(None, at)
        else:
            for vertex in self.homes[root]:
                self.hang(root, vertex)

    def hang(self, top: int | None, vertex: int) -> None:
        """Note what lies below an alias at a vertex."""
        waiting = [(top, vertex)]
        while waiting:
            above, here = waiting.pop()
            self.top[here] = above
            for alias, home in enumerate(self.homes):
                if here in home and alias != above:
                    self.up[alias] = here
                    waiting += [(alias, beyond) for beyond in home if beyond != here]

    @property
    def stands(self) -> bool:
        """True if who is told is there whatever it is told: no group is of a row of NULLs above."""
        if self.plan.is_inner:
            return True
        is_told = all("req" in map(self.mode, self.sides(at)) for at in self.roots)
        return is_told and not self.optional

    @property
    def roots(self) -> list[int]:
        """The vertex that is the root, if no alias is."""
        return [at for at, top in self.top.items() if top is None]

    @property
    def optional(self) -> list[int]:
        """List the vertices above which a row may be missing."""
        if self.plan.is_inner:
            return []
        tops = [(at, top) for at, top in self.top.items() if top is not None]
        return [at for at, top in tops if self.plan.mode(top, at) != "req"]

    @property
    def missing(self) -> int | None:
        """The only vertex at which the root may be missing: what it is told then is of NULLs.

        Beyond the root's other vertices nothing is wanted, so that its rows alone say where it is.
        Of a FULL JOIN, one side tells: else one of them might be there, or none.
        """
        if self.root is None or len(self.optional) != 1:
            return None
        (here,) = self.optional
        others = [side for at in self.homes[self.root] if at != here for side in self.sides(at)]
        is_live = all(self.mode(side) == "opt" for side in others)
        modes = list(map(self.mode, self.sides(here)))
        is_root = self.top[here] == self.root and self.plan.mode(self.root, here) == "opt"
        return here if is_root and is_live and ("req" in modes or modes == ["opt"]) else None

    def mode(self, alias: int) -> Mode:
        """Return what is wanted of an alias where it tells."""
        vertex = self.up.get(alias)
        if vertex is None or self.plan.is_inner:
            return "req"
        return self.plan.mode(alias, vertex)

    @property
    def order(self) -> tuple[int, ...]:
        """The aliases below the root, each behind all that lie below it."""
        depth = {alias: len(list(self.above(alias))) for alias in self.up}
        return tuple(sorted(self.up, key=lambda alias: (-depth[alias], alias)))

    def above(self, alias: int) -> Iterator[int]:
        """Yield the aliases on the way to the root."""
        here: int | None = alias
        while here is not None and here in self.up:
            here = self.top[self.up[here]]
            if here is not None:
                yield here

    def sides(self, vertex: int) -> tuple[int, ...]:
        """List the aliases that tell a vertex."""
        return tuple(alias for alias, up in sorted(self.up.items()) if up == vertex)

    def below(self, alias: int) -> tuple[int, ...]:
        """List the vertices below an alias."""
        return tuple(each for each in self.homes[alias] if each != self.up.get(alias))

    def within(self, alias: int) -> Iterator[int]:
        """Yield an alias and all that lie below it."""
        waiting = [alias]
        while waiting:
            here = waiting.pop()
            yield here
            waiting += [side for vertex in self.below(here) for side in self.sides(vertex)]

    def parts(self, aliases: Iterable[int], sums: Sequence[Part]) -> dict[Part, int]:
        """Number what some aliases have of each sum, each part once; the paths come first."""
        some, found = set(aliases), {PATHS: 0}
        for part in sums:
            found.setdefault(cut(part, some), len(found))
        return found

    def parts_at(self, vertex: int, sums: Sequence[Part]) -> dict[Part, int]:
        """Number what all the aliases below a vertex have of each sum."""
        if self.top[vertex] is None:
            return {part: at for at, part in enumerate(sums)}
        return self.parts((a for side in self.sides(vertex) for a in self.within(side)), sums)

    def tell(self, alias: int, sums: Sequence[Part]) -> Tell:
        """Return what an alias tells."""
        parts = self.parts(self.within(alias), sums)
        if alias == self.root:
            parts = {part: at for at, part in enumerate(sums)}
        below = [
            (self.parts_at(vertex, sums), {a for s in self.sides(vertex) for a in self.within(s)})
            for vertex in self.below(alias)
        ]
        return Tell(
            self.up.get(alias),
            self.mode(alias),
            tuple(parts),
            tuple(cut(part, {alias}) for part in parts),
            tuple(tuple(known[cut(part, some)] for known, some in below) for part in parts),
        )

    def meet(self, vertex: int, sums: Sequence[Part]) -> Meet:
        """Return what a vertex is told."""
        parts, sides = self.parts_at(vertex, sums), self.sides(vertex)
        known = [(self.parts(self.within(side), sums), set(self.within(side))) for side in sides]
        told = tuple(tuple(of[cut(part, some)] for of, some in known) for part in parts)
        return Meet(self.top[vertex], tuple(parts), sides, told)


def cut(part: Part, aliases: set[int]) -> Part:
    """Cut a part down to the terms of some aliases."""
    return tuple(term for term in part if term.slot.alias in aliases)


def by_reach(homes: Sequence[tuple[int, ...]]) -> list[int]:
    """List the vertices, first those from which the farthest alias is nearest."""

    def reach(vertex: int) -> int:
        steps, seen, front = 0, {vertex}, {vertex}
        while front:
            met = {each for home in homes if front & set(home) for each in home}
            front, steps = met - seen, steps + 1
            seen |= met
        return steps

    return sorted(range(1 + max(each for home in homes for each in home)), key=reach)
