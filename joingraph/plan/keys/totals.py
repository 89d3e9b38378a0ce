"""Which columns the deltas of a view that groups have: what names a group, and its totals.

    SELECT F.fan, COUNT(*) AS n, AVG(T.score) AS mean ... GROUP BY F.fan HAVING COUNT(*) > 1

    fan | _diff | n | mean_sum | mean_count        by how much a base diff changes each total

The count of a group's paths is always one of them: COUNT(*) if the view shows it, else `_paths`.
A group is born or dies where it leaves or comes to 0; a sum is NULL where the count beside it is 0.
Which groups HAVING shows is not asked: that follows from totals, and not from their changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

import pyarrow as pa

from joingraph.aggregates.contract import Refused
from joingraph.aggregates.registry import aggregate
from joingraph.aggregates.sums import Linear, Total
from joingraph.aggregates.totals import totals_of
from joingraph.common.errors import ViewError
from joingraph.common.names import quoted
from joingraph.expressions.show import show
from joingraph.expressions.tree import Expression, columns_of
from joingraph.sql.definition import Definition, Grouping, Output, Use

DIFF: Final = "_diff"
GROUPS: Final = "_groups"  # of factorised deltas
PATHS: Final = Total("", 0, pa.int64())
PATHS_NAME: Final = "_paths"

Meaning: TypeAlias = tuple[object, ...]


class Change(NamedTuple):
    """A column of changes: of a total of one of the view's aggregates, None being the paths."""

    name: str
    use: int | None
    total: Total


@dataclass(frozen=True, slots=True)
class DeltaColumns:
    """The columns of deltas: those that name a group, `_diff`, changes."""

    key: tuple[str, ...]
    changes: tuple[Change, ...]
    schema: pa.Schema


def delta_columns(definition: Definition) -> DeltaColumns:
    """Return the columns of a view's deltas; raise ViewError where it has none."""
    grouping = definition.grouping
    if grouping is None:
        why = "does not group its rows, so it has no totals"
        raise ViewError(f'form="deltas": {definition.name} {why}; ask for form="rows"')
    changes = list[Change]()
    for output in definition.output:
        try:
            changes += changes_of(definition, output)
        except Refused as error:
            raise ViewError(f"{definition.name} has no deltas of {error}") from None
    told = {each.use for each in changes}
    if not any(is_count_of_rows(use) for at, use in enumerate(grouping.uses) if at in told):
        changes.insert(0, Change(PATHS_NAME, None, PATHS))
    changes = one_each(definition, changes)
    shown = {output.value: output.name for output in definition.output}
    keys = grouping.values[: grouping.keys]
    key = tuple(shown.get(each, each.name) for each in keys)
    fields = [pa.field(name, each.type) for name, each in zip(key, keys, strict=True)]
    fields.append(pa.field(DIFF, pa.int64()))
    fields += [pa.field(each.name, each.total.type) for each in changes]
    check_names(definition, [*(each.name for each in fields), GROUPS])
    return DeltaColumns(key, tuple(changes), pa.schema(fields))


def changes_of(definition: Definition, output: Output) -> list[Change]:
    """Return the changes that tell of a column of the view; raise Refused where none do."""
    grouping = definition.grouping
    assert grouping is not None, "a view of groups"
    places: dict[Expression, int] = {use.value: at for at, use in enumerate(grouping.uses)}
    if output.value in places:
        at = places[output.value]
        return [
            Change(f"{output.name}_{each.ending}" if each.ending else output.name, at, each)
            for each in totals_named(grouping.uses[at])
        ]
    # An expression is computed of the group's key, and of totals that other columns tell.
    told = {each.value for each in definition.output}
    told |= {use.value for use in grouping.uses if is_count_of_rows(use)}
    hidden = [each.name for each in columns_of(output.value) if each in places.keys() - told]
    if hidden:
        instead = f"show {', '.join(hidden)} in columns of their own"
        raise Refused(quoted(output.name), "it is computed of aggregates", instead)
    return []


def totals_named(use: Use) -> tuple[Total, ...]:
    """Return an aggregate's totals, or raise Refused by the text that it is written as."""
    try:
        return totals_of(use.asked)
    except Refused as error:
        raise Refused(use.text, error.why, error.instead) from None


def is_count_of_rows(use: Use) -> bool:
    """True for COUNT(*), which counts the paths of a group."""
    return use.asked.name == "COUNT" and not use.columns and use.condition is None


def meaning(grouping: Grouping, change: Change) -> Meaning:
    """Return what a change is of: a product of factors of joined columns, in some of the rows."""
    if change.use is None:
        return ()
    use = grouping.uses[change.use]
    found = aggregate(use.asked)
    assert isinstance(found, Linear), "what has totals is computed of sums"
    monomial = found.monomials[change.total.at]
    return (use.condition, tuple((use.columns[at], kind) for at, kind in monomial))


def one_each(definition: Definition, changes: list[Change]) -> list[Change]:
    """Leave out what is told twice: SUM(x) AS s, COUNT(x) AS s_count have one count."""
    assert definition.grouping is not None, "a view of groups"
    found = dict[str, Change]()
    for each in changes:
        other = found.setdefault(each.name, each)
        if meaning(definition.grouping, other) != meaning(definition.grouping, each):
            raise ViewError(twice(definition, [each.name]))
    return list(found.values())


def check_names(definition: Definition, names: list[str]) -> None:
    """Refuse columns of which two have one name."""
    if len(set(names)) < len(names):
        raise ViewError(twice(definition, sorted({n for n in names if names.count(n) > 1})))


def twice(definition: Definition, names: list[str]) -> str:
    """Return the refusal of names that several columns would have."""
    called = ", ".join(map(quoted, names))
    return f"deltas of {definition.name} would have two columns called {called}: write another AS"


def delta_lines(definition: Definition) -> Iterator[str]:
    """Yield which columns tell of each aggregate, or why none does."""
    grouping = definition.grouping
    if grouping is None:
        return
    for output in definition.output:
        try:
            names = [each.name for each in changes_of(definition, output)]
        except Refused as error:
            yield f"none of {show(output.value)}: {error.why}; {error.instead}"
        else:
            if names:
                yield f"{', '.join(names)} of {show(output.value)}"
    try:
        columns = delta_columns(definition)
    except ViewError as error:
        yield f'form="deltas" is refused: {error}'
        return
    if columns.changes[0].use is None:
        yield f"{PATHS_NAME}, the count of a group's paths"
    if grouping.having is not None:
        yield "HAVING is not applied to them"
