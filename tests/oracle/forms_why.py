"""Why rows are in the view, and why others are not, against DuckDB.

A row's paths are as many as it is often, differ, and show the row's values. In small views every
row is asked, and its paths are recomputed: DuckDB joins the base tables and lists, beside the
view's columns, every base column that the graph keeps.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from random import Random

import duckdb

import joingraph as jg
from joingraph.expressions.tree import Column
from joingraph.reads.why import WhyPath
from tests.bags import Row, bag, difference
from tests.oracle.case import View
from tests.oracle.judges import DuckJudge

SMALL_MAX = 12  # rows of a view that are all asked
Paths = Counter[str]


def check_why(graph: jg.JoinGraph, row: Row, times: int) -> Sequence[WhyPath]:
    """The paths behind a row are as many as it is often, differ, and have the row's values."""
    paths = graph.why(row)
    assert sum(path.times for path in paths) == times, f"why {row}, there {times} times:\n{paths}"
    same = [path for path, count in Counter(map(repr, paths)).items() if count > 1]
    assert not same, f"why {row}: {same} twice"
    for output, value in zip(graph.view.definition.output, row, strict=True):
        if isinstance(output.value, Column):
            shown = {repr(path[output.value.alias][output.value.name]) for path in paths}
            assert shown == {repr(value)}, f"why {row}: {output.name} is {shown}"
    assert graph.why_not(row) == [], f"why not {row}, which is there"
    return paths


def check_why_group(graph: jg.JoinGraph, row: Row, judge: DuckJudge) -> None:
    """A row of groups has the paths of all groups that show it."""
    grouping = judge.asked.grouping
    assert grouping is not None
    expected = sum(paths for each, paths in judge.with_paths() if repr(each) == repr(row))
    found = sum(path.times for path in graph.why(row))
    assert found == expected, f"why {row}: {found} paths, should be {expected}"
    # A row that does not show all that it is grouped by does not say which group it is.
    if not grouping.hidden:
        assert graph.why_not(row) == [], f"why not {row}, which is there"


def check_every_why(
    graph: jg.JoinGraph, view: View, view_rows: Sequence[Row], judge: duckdb.DuckDBPyConnection
) -> None:
    """The paths behind every row are those that DuckDB finds in the base tables."""
    asked = {repr(row): row for row in view_rows}
    found = {
        name: check_why(graph, row, times)
        for (name, row), times in zip(asked.items(), bag(view_rows).values(), strict=True)
    }
    kept = columns_kept(view, next(iter(found.values()))[0]) if found else {}
    if not kept:
        return
    expected = paths_joined(view, kept, judge)
    for name, paths in found.items():
        told: Paths = Counter()
        for path in paths:
            values = (path[alias][column] for alias, column in kept)
            told[repr(tuple(map(unsigned, values)))] += path.times
        wrong = difference(told, expected[name])
        assert not wrong, f"why {name}: paths over {list(kept)}\n{wrong}"


def columns_kept(view: View, path: WhyPath) -> dict[tuple[str, str], str]:
    """Name in SQL the base columns that paths show; none where an alias is no table's."""
    if any("SELECT" in source.sql + source.cte for source in view.sources):
        return {}
    return {
        (source.alias, name): f"{source.alias}.{column.name}"
        for source in view.sources
        for column in source.columns
        if (name := column.name.strip('"')) in path[source.alias]
    }


def paths_joined(
    view: View, kept: Mapping[tuple[str, str], str], judge: duckdb.DuckDBPyConnection
) -> dict[str, Paths]:
    """Join the base tables: for each row of the view its paths, as the kept columns on them."""
    joined, where = view.joined()
    listed = ", ".join([*(each.sql for each in view.outputs), *kept.values()])
    text = f"SELECT {listed} FROM {joined}" + (f" WHERE {' AND '.join(where)}" if where else "")
    found: dict[str, Paths] = defaultdict(Counter)
    width = len(view.outputs)
    for row in judge.execute(text).fetchall():
        found[repr(row[:width])][repr(tuple(map(unsigned, row[width:])))] += 1
    return found


def unsigned(value: object) -> object:
    """Forget the sign of a zero, which a join attribute has not."""
    return 0.0 if isinstance(value, float) and value == 0 else value


def check_why_not(graph: jg.JoinGraph, row: Row) -> None:
    """A row that is not there has no path, and a reason for that."""
    assert graph.why(row) == [], f"why {row}, which is not there"
    names = [alias.name for alias in graph.view.plan.aliases]
    reasons = graph.why_not(row)
    assert reasons and str(reasons), f"no reason why not {row}"
    assert all(reason and set(aliases) <= set(names) for aliases, reason in reasons), reasons


def absent_rows(view_rows: Sequence[Row], rng: Random, count: int) -> Iterator[Row]:
    """Yield rows of values that the view has, put together as it does not."""
    present = bag(view_rows)
    for _ in range(count if view_rows else 0):
        row = tuple(
            value if rng.random() < 0.7 else rng.choice((None, rng.choice(view_rows)[i]))
            for i, value in enumerate(rng.choice(view_rows))
        )
        if repr(row) not in present:
            yield row
