"""Walk programs: how the join tree is walked, settled with the plan, the same for every walker.

    F --- v0 --- T --- v1 --- R        SELECT F.fan, T.id ...;  the view reads nothing of R

    a diff of T     start T   weigh (enter R at v1)   enter F at v0                     -> rows
    its fan-out     start T   weigh (enter R at v1)   weigh (enter F at v0)             -> a number
    factorised      start T   weigh (enter R at v1)   list F (enter F at v0)            -> lists
    why             start T   enter F at v0           enter R at v1   test F.fan = ..   -> paths

A step says what happens to a path; a walker carries out the steps of a program one after the
other. A step names the vertex it leaves from, not an alias: the value bound there is the same
whichever alias bound it. A branch of the tree is not a branch of the list: its steps come once its
vertex is bound, and paths of several branches multiply. Only Weigh and List have steps of their
own, which no other step sees.

A program does not say which rows of its start a walk takes, nor in which order: that is the access
path's. It does not say where paths go, either: the caller takes as many as it wants.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Literal

from joingraph.expressions.tree import Expression


@dataclass(frozen=True, slots=True)
class Enter:
    """Make one path for each row that an alias has at the value bound at a vertex: a loop.

    It binds the alias' row and its other vertices, and multiplies by the row's count. Rows beyond
    which look-ahead knows no complete path are left out. Where no row is, an optional alias (opt)
    has one row of NULLs; one that is taken for missing (null) has no other.
    """

    alias: int
    vertex: int
    mode: Literal["req", "opt", "null"] = "req"


@dataclass(frozen=True, slots=True)
class Ask:
    """Keep the paths at whose value an alias has a live row, or none; or note which, as its row.

    `told` is what is noted in place of what is there: before a flip, or after it.
    """

    alias: int
    vertex: int
    mode: Literal["semi", "anti", "mark"]
    told: bool | None = None


@dataclass(frozen=True, slots=True)
class Test:
    """Keep the paths on which a predicate is TRUE."""

    predicate: Expression


@dataclass(frozen=True, slots=True)
class Side:
    """A step with steps of its own, of which the first enters an alias."""

    steps: tuple[Step, ...]

    @property
    def enter(self) -> Enter:
        """The step that begins the side."""
        first = self.steps[0]
        assert isinstance(first, Enter), "a side begins where it is entered"
        return first


@dataclass(frozen=True, slots=True)
class Weigh(Side):
    """Multiply a path by the sum over the paths of its own steps; 0 drops it.

    The sum depends on the value that the first step leaves from, and else on the start alone.
    """


@dataclass(frozen=True, slots=True)
class List(Side):
    """Attach the paths of its own steps to a path, as a list; an empty list drops the path."""

    name: str
    columns: tuple[int, ...]  # of the view, which the list shows


Step = Enter | Test | Weigh | List | Ask


@dataclass(frozen=True, slots=True)
class Program:
    """Where paths start, at a row of an alias or a value of a vertex, and the steps they take.

    `tests` read the start alone: they come before its rows are sorted.
    """

    alias: int | None
    vertex: int | None
    tests: tuple[Expression, ...]
    steps: tuple[Step, ...]

    @property
    def entered(self) -> frozenset[int]:
        """The aliases that have a row on each path: the start and those that are entered."""
        start = () if self.alias is None else (self.alias,)
        return frozenset((*start, *(step.alias for step in self.steps if isinstance(step, Enter))))

    def without(self, tests: Collection[Expression]) -> Program:
        """Return the program with some predicates left out that come behind all else."""
        left_out = {Test(each) for each in tests}
        return replace(self, steps=tuple(each for each in self.steps if each not in left_out))
