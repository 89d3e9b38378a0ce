"""Join trees of the oracle's views, and what their conditions ask of subqueries: data, and its SQL.

Join("LEFT JOIN", a, Join("JOIN", b, c, on), on)   ->   t0 AS a LEFT JOIN (t1 AS b JOIN ...) ...
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from tests.oracle.case import Fragment, Source, View

UNSEEN = ("SEMI JOIN", "ANTI JOIN")  # above them their right side has no names


@dataclass(frozen=True, slots=True)
class Join:
    """Two trees joined by ON, or by names: `by` is USING (...) or NATURAL."""

    kind: str
    left: Tree
    right: Tree
    on: tuple[Fragment, ...] = ()
    by: str = ""

    @property
    def sql(self) -> str:
        """The join as it stands in FROM."""
        right = f"({self.right.sql})" if isinstance(self.right, Join) else named(self.right)
        left = self.left.sql if isinstance(self.left, Join) else named(self.left)
        if self.by == "NATURAL":
            return f"{left}\nNATURAL {self.kind} {right}"
        if not self.on and not self.by and self.kind == "JOIN":
            return f"{left}\nCROSS JOIN {right}"
        on = " AND ".join(each.sql for each in self.on) or "1 = 1"
        return f"{left}\n{self.kind} {right} {self.by or f'ON {on}'}"


Tree: TypeAlias = Source | Join


@dataclass(frozen=True, slots=True)
class Query:
    """A subquery of a condition: what it selects from where."""

    shown: Fragment
    tree: Tree
    conditions: tuple[Fragment, ...]

    @property
    def sql(self) -> str:
        """The subquery, without parentheses."""
        where = " AND ".join(each.sql for each in self.conditions)
        return f"SELECT {self.shown.sql} FROM {text(self.tree)}" + (where and f" WHERE {where}")

    @property
    def columns(self) -> frozenset[tuple[str, str]]:
        """The columns that it reads of the query around."""
        own = {each.alias for each in leaves(self.tree)}
        found = (self.shown, *self.conditions, *ons(self.tree))
        return frozenset(at for each in found for at in each.columns if at[0] not in own)


@dataclass(frozen=True, slots=True)
class Made(Fragment):
    """A fragment made of others, and of subqueries; `form` has a place for each."""

    form: str = "{}"
    parts: tuple[Fragment | Query, ...] = ()


def made(form: str, *parts: Fragment | Query) -> Made:
    """Make a fragment of parts."""
    columns = frozenset(at for each in parts for at in each.columns)
    return Made(form.format(*(each.sql for each in parts)), columns, False, form, parts)


@dataclass(frozen=True, slots=True)
class OuterView(View):
    """A view whose FROM is a tree; its `sources` are those that can be seen above it."""

    tree: Tree | None = None

    @property
    def tables_read(self) -> list[str]:
        """The tables of all aliases, those of subqueries, too."""
        assert self.tree is not None
        found = [each for source in leaves(self.tree) for each in source.tables]
        for fragment in (*self.fragments, *ons(self.tree)):
            found += tables_asked(fragment)
        return found

    @property
    def flat(self) -> View:
        """The view as if all its conditions stood in WHERE: what may drop a row is all there."""
        assert self.tree is not None
        everything = (*self.conditions, *ons(self.tree))
        return View(self.sources, everything, self.outputs, self.style)

    @property
    def fragments(self) -> list[Fragment]:
        """What stands in WHERE and SELECT."""
        return [*self.conditions, *self.outputs]

    def joined(self) -> tuple[str, list[str]]:
        """Write the FROM clause, and the conditions of WHERE."""
        assert self.tree is not None
        return text(self.tree), [each.sql for each in self.conditions]


def named(source: Source) -> str:
    """Write a source with its alias."""
    return f"{source.sql} AS {source.alias}"


def text(tree: Tree) -> str:
    """Write a tree as it stands in FROM."""
    return tree.sql if isinstance(tree, Join) else named(tree)


def leaves(tree: Tree) -> list[Source]:
    """List all sources of a tree."""
    return [*leaves(tree.left), *leaves(tree.right)] if isinstance(tree, Join) else [tree]


def visible(tree: Tree) -> list[Source]:
    """List the sources whose columns can be called above a tree."""
    if not isinstance(tree, Join):
        return [tree]
    return visible(tree.left) + ([] if tree.kind in UNSEEN else visible(tree.right))


def ons(tree: Tree) -> Iterator[Fragment]:
    """Yield the conditions of every ON."""
    if isinstance(tree, Join):
        yield from (*tree.on, *ons(tree.left), *ons(tree.right))


def joins(tree: Tree) -> Iterator[Join]:
    """Yield every join of a tree."""
    if isinstance(tree, Join):
        yield from (tree, *joins(tree.left), *joins(tree.right))


def tables_asked(part: Fragment | Query) -> list[str]:
    """List the tables of the subqueries in a fragment."""
    if isinstance(part, Query):
        own = [table for source in leaves(part.tree) for table in source.tables]
        parts: tuple[Fragment | Query, ...] = (*part.conditions, *ons(part.tree))
    else:
        own, parts = [], part.parts if isinstance(part, Made) else ()
    return own + [table for each in parts for table in tables_asked(each)]
