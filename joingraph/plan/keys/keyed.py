"""Finds which aliases' rows the view names: where it does, one i-diff stands for many row diffs.

    SELECT F.fan, T.tweetId, T.text FROM follower F JOIN tweet T ON F.author = T.author
    T, its key tweetId   names = column 1        own = column 2 (text): settled by tweetId alone
    F declares no key    rows

Alias A is keyed exactly when for each column of its declared key the view outputs that column, or
one that the join classes hold equal to it and whose type holds all its values. What the other
aliases output does not matter. `own` columns are computed from A alone, so in any state of the view
all rows with one key of A agree on them; a column by which another alias is named has no owner.
Where A may be missing, its key is NULL in the rows without it; no base row's declared key is.
The rest of A, by which rows meet or are told apart, is `binding`: when it changes, rows change.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa

from joingraph.expressions.show import show
from joingraph.expressions.tree import Column, Expression, aliases_of
from joingraph.expressions.types import join_type
from joingraph.plan.classes import bare, sort_conditions
from joingraph.plan.kept_columns import kept_parts
from joingraph.plan.model import AliasPlan, Plan


@dataclass(frozen=True, slots=True)
class Keyed:
    """An alias whose rows the view names; columns of the view are given by position."""

    alias: AliasPlan
    key: tuple[str, ...]  # of the base table
    names: tuple[int, ...]  # the column that holds each of them
    own: tuple[int, ...]


Classes = list[dict[str, Expression]]


def keyed_aliases(plan: Plan) -> dict[int, Keyed]:
    """Return the aliases that have update and delete i-diffs."""
    found = {i: names for i, names in enumerate(naming_columns(plan)) if not isinstance(names, str)}
    naming = {at for names in found.values() for at in names}
    keyed = {}
    for index, names in found.items():
        alias = plan.aliases[index]
        own = tuple(at for at in columns_of_one(plan, alias) if at not in naming)
        keyed[index] = Keyed(alias, plan.definition.tables[alias.table].key, names, own)
    return keyed


def naming_columns(plan: Plan) -> list[tuple[int, ...] | str]:
    """Find for each alias the view's columns that hold its key, or say why there are none."""
    is_inner = plan.definition.tree is None
    classes = sort_conditions(plan.definition).classes if is_inner else classes_of_blocks(plan)
    return [naming_of(plan, alias, classes) for alias in plan.aliases]


def classes_of_blocks(plan: Plan) -> Classes:
    """Return what is equal in every row: values by which aliases meet that stand together.

    Across the edge of an outer join they are not: one of them may be NULL.
    """
    return [
        {
            plan.aliases[alias].name: bare(member)
            for alias, member, mode in zip(vertex.aliases, members, vertex.modes, strict=True)
            if mode == "req"
        }
        for vertex in plan.vertices
        for members in vertex.members
    ]


def naming_of(plan: Plan, alias: AliasPlan, classes: Classes) -> tuple[int, ...] | str:
    """Find the view's columns that hold an alias' key, or say why there are none."""
    if alias.is_of_pairs:
        return "it is of no table"
    if alias.is_silent:
        return "it is asked for, and in no row"
    names = []
    for column in plan.definition.key_columns(alias.name, alias.table):
        if pa.types.is_floating(column.type):
            return (
                f"{alias.name}.{column.name} is a floating-point number, which names no row safely"
            )
        at = naming_column(plan, column, classes)
        if at is None:
            return f"the view does not output {alias.name}.{column.name}"
        names.append(at)
    return tuple(names) or f"{alias.table} declares no key"


def naming_column(plan: Plan, key: Column, classes: Classes) -> int | None:
    """Find the column of the view that holds a key column; itself rather than one equal to it."""
    equals: list[Expression] = [key]
    for members in classes:
        if members.get(key.alias) == key:
            equals += members.values()
    for each in equals:
        for at, output in enumerate(plan.definition.output):
            kind = output.value.type
            if bare(output.value) == each and join_type(key.type, kind) == kind:
                return at
    return None


def columns_of_one(plan: Plan, alias: AliasPlan) -> tuple[int, ...]:
    """Return the view's columns that are computed from one alias alone."""
    output, mine = plan.definition.output, frozenset([alias.name])
    return tuple(at for at, each in enumerate(output) if aliases_of(each.value) == mine)


def view_key(plan: Plan, keyed: Mapping[int, Keyed]) -> tuple[int, ...] | None:
    """Return the columns that name every row of the view; None unless all in it are keyed."""
    if any(alias.index not in keyed for alias in plan.aliases if alias.is_shown):
        return None
    return tuple(dict.fromkeys(at for each in keyed.values() for at in each.names))


def shared_columns(plan: Plan, keyed: Mapping[int, Keyed]) -> tuple[int, ...]:
    """Return the columns that are no keyed alias' own: together they tell different rows apart."""
    own = {at for each in keyed.values() for at in each.own}
    return tuple(at for at in range(len(plan.definition.output)) if at not in own)


def binding(plan: Plan, alias: AliasPlan, own: tuple[int, ...]) -> list[Expression]:
    """Return what an alias' rows meet others by, and what of them is in columns not their own."""
    found, mine = [each for key in alias.keys for each in key], frozenset([alias.name])
    outputs = [each.value for at, each in enumerate(plan.definition.output) if at not in own]
    for wanted in (*plan.residuals, *outputs):
        found += [part for part in kept_parts(plan, wanted) if aliases_of(part) == mine]
    return list(dict.fromkeys(found))


def idiff_lines(plan: Plan) -> Iterator[str]:
    """Yield for each alias whether it has i-diffs, by which columns, or why not."""
    keyed = keyed_aliases(plan)
    for alias, names in zip(plan.aliases, naming_columns(plan), strict=True):
        if alias.is_of_pairs:
            continue
        if isinstance(names, str):
            yield f"{alias.name}  rows, since {names}"
        else:
            updated = updates(plan, keyed[alias.index])
            yield f"{alias.name}  delete by {listed(plan, names)}{updated}"
    key = view_key(plan, keyed)
    if key is None:
        yield "inserts are rows with a count, since not every alias is named"
    else:
        yield f"inserts are upserts by {listed(plan, key)}"


def updates(plan: Plan, of: Keyed) -> str:
    """Return which columns an alias' updates set, and what of it changes rows instead."""
    key = {f"{of.alias.name}.{name}" for name in of.key}  # when it changes, it is another row
    texts = dict.fromkeys(show(bare(each)) for each in binding(plan, of.alias, of.own))
    changing = ", ".join(each for each in texts if each not in key)
    rows = f"; changes of {changing} make rows" if changing else ""
    return (f", update of {listed(plan, of.own)}" if of.own else "") + rows


def listed(plan: Plan, columns: tuple[int, ...]) -> str:
    """Name columns of the view."""
    return "(" + ", ".join(plan.definition.output[at].name for at in columns) + ")"
