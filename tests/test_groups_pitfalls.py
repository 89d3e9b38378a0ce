"""What goes wrong with groups that are kept by differences, and where each is held.

Golden scripts are in tests/golden/scripts/, tests in this file.

     pitfall                                        held by
  1  a value that joins nothing does not fit        groups_narrow_key
     the type of what is grouped by
  2  NaN is not NaN: updates of nothing             groups_nan_and_zeros
  3  net or i-diffs fail when a batch is kept       test_a_refused_batch_is_not_kept_in_any_form
  4  bags mix 0.0 with -0.0, TRUE with 1            groups_nan_and_zeros,
                                                    test_equal_values_of_a_bag_are_one,
                                                    test_true_and_one_are_two_values
  5  an error midway leaves half of a batch         groups_division,
                                                    test_a_batch_refused_midway_is_taken_back
  6  keys are not normalised                        groups_nan_and_zeros
  7  both images of an update one after another;    groups_death_and_rebirth, groups_self_join
     a group noted twice by two uses of a table
  8  dead ends, or no group yet: messages stop      groups_in_any_order,
                                                    test_tables_may_come_in_any_order
  9  whole counts for changes, AVG of averages,     groups_retweet_counter, groups_average,
     a group from several starts, births, deaths    groups_phone_prices
 10  NULL as 0, as TRUE, as no group; no rows       groups_nulls, groups_null_crosses_having,
                                                    groups_first_null, groups_of_no_rows
 11  sums of doubles that overflow on the way       groups_great_doubles, groups_nan_and_zeros
 12  what fails: arguments of rows that join        groups_argument_error,
     nothing, or under FILTER; predicates           groups_filtered_argument,
                                                    groups_of_guarded_paths
 14  a delete of what no group has; a group that    groups_death_and_rebirth
     dies and is born again in a batch
 16  zeros and NULLs that count as nothing          groups_sum_alone, groups_nulls
 17  stale after maintain_only, what_if             groups_maintain_only,
                                                    test_foretelling_leaves_groups_alone
 18  lists are told apart by what they hold         groups_lists
 20  texts that only a group still has              test_texts_of_groups_outlive_their_rows

Of the others, 13 is of the layout of compiled records, 15 and 19 are of cost.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from itertools import permutations
from typing import Any

import pytest

import joingraph as jg
from joingraph.engines.compiled.string_garbage import Sweeper
from tests import ENGINES, LOOKAHEADS
from tests.golden.script import SCRIPTS

TABLE = {"t": "CREATE TABLE t (g INT, x BIGINT, b DOUBLE, s STRING, p BOOLEAN)"}
GREAT = (1 << 63) - 1
FORMS: dict[str, Callable[[jg.ViewDiff], Any]] = {
    "rows": jg.ViewDiff.rows,
    "net": jg.ViewDiff.net,
    "idiffs": jg.ViewDiff.idiffs,
    "factorised": jg.ViewDiff.factorised,
}


def rows_of(graph: jg.JoinGraph) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for row in graph.to_arrow().to_pylist())


def row(g: int, x: int | None = None, b: float | None = None, s: str = "") -> tuple[Any, ...]:
    return g, x, b, s, None


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("form", ["rows", "idiffs", "factorised"])
def test_a_refused_batch_is_not_kept_in_any_form(engine: str, form: str) -> None:
    view = jg.View("SELECT g, SUM(x) AS total FROM t GROUP BY g", TABLE)
    graph = jg.JoinGraph(view, engine=engine)
    graph.insert("t", [row(1, GREAT), row(2, 5)])
    with pytest.raises(jg.DiffError, match=r"SUM\(x\) of the group g = 1"):
        graph.apply([("insert", "t", [row(2, 1), row(3, 1), row(1, 1)])], form=form)
    assert rows_of(graph) == [(1, GREAT), (2, 5)] and graph.seq == 1
    graph.check()
    # Only a result must have a value: what is undone within one base diff never was.
    diff = graph.apply([("update", "t", [row(1, GREAT)], [row(1, 1)])], form=form)
    assert FORMS[form](diff) is not None
    assert rows_of(graph) == [(1, 1), (2, 5)]


@pytest.mark.parametrize("engine", ENGINES)
def test_equal_values_of_a_bag_are_one(engine: str) -> None:
    sql = """SELECT COUNT(DISTINCT b) AS n, MIN(b) AS least, SUM(DISTINCT b) AS total,
        ARRAY_AGG(DISTINCT b ORDER BY b) AS bs FROM t"""
    graph = jg.JoinGraph(jg.View(sql, TABLE, dialect="duckdb"), engine=engine)
    graph.insert("t", [row(1, b=each) for each in (0.0, -0.0, 1.0, float("nan"), float("nan"))])
    (found,) = rows_of(graph)
    assert repr(found) == "(3, 0.0, nan, [0.0, 1.0, nan])"
    assert graph.delete("t", [row(1, b=-0.0), row(1, b=float("nan"))]).rows() == []
    graph.delete("t", [row(1, b=0.0), row(1, b=float("nan"))])
    assert repr(rows_of(graph)) == "[(1, 1.0, 1.0, [1.0])]"


@pytest.mark.parametrize("engine", ENGINES)
def test_true_and_one_are_two_values(engine: str) -> None:
    sql = "SELECT BOOL_OR(p) AS some, MAX(p) AS most, MAX(g) AS g, COUNT(DISTINCT p) AS n FROM t"
    graph = jg.JoinGraph(jg.View(sql, TABLE), engine=engine)
    graph.insert("t", [(1, None, None, "", True), (0, None, None, "", False)])
    assert repr(rows_of(graph)) == "[(True, True, 1, 2)]"


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("lookahead", LOOKAHEADS)
def test_a_batch_refused_midway_is_taken_back(engine: str, lookahead: str) -> None:
    tables = {"f": "CREATE TABLE f (a INT, fan INT)", "t": "CREATE TABLE t (a INT, x BIGINT)"}
    view = jg.View("SELECT fan, SUM(x) AS total FROM f JOIN t ON f.a = t.a GROUP BY fan", tables)
    graph = jg.JoinGraph(view, engine=engine, lookahead=lookahead)
    graph.load({"f": [(1, fan) for fan in range(9)] + [(2, 4)], "t": [(1, 1), (2, GREAT - 1)]})
    before = rows_of(graph)
    assert before[4] == (4, GREAT)
    for _ in range(2):
        with pytest.raises(jg.DiffError, match="of the group fan = 4"):
            graph.apply([("delete", "f", [(1, 8)]), ("update", "t", [(1, 1)], [(1, 2)])])
        assert rows_of(graph) == before
        graph.check()
    assert len(graph.update("t", [(1, 1)], [(1, 0)]).rows()) == 18


def test_tables_may_come_in_any_order() -> None:
    tables = {
        "f": "CREATE TABLE f (a INT, fan STRING)",
        "t": "CREATE TABLE t (a INT, id INT)",
        "r": "CREATE TABLE r (id INT, n INT)",
    }
    sql = """SELECT fan, COUNT(*) AS n, SUM(r.n) AS total, MAX(r.n) AS most
        FROM f JOIN t ON f.a = t.a JOIN r ON r.id = t.id GROUP BY fan"""
    view = jg.View(sql, tables)
    diffs = [("f", (7, "ann")), ("f", (8, "ann")), ("t", (7, 1)), ("t", (8, 1)), ("r", (1, 5))]
    for engine in ENGINES:
        for order in permutations(diffs):
            graph = jg.JoinGraph(view, engine=engine)
            for table, each in order:
                graph.insert(table, [each])
            assert rows_of(graph) == [("ann", 2, 10, 5)], order
            for table, each in order[:-1]:
                graph.delete(table, [each])
            assert rows_of(graph) == []


@pytest.mark.parametrize("engine", ENGINES)
def test_foretelling_leaves_groups_alone(engine: str) -> None:
    view = jg.View("SELECT g, SUM(x) AS total, MIN(x) AS least FROM t GROUP BY g", TABLE)
    graph = jg.JoinGraph(view, engine=engine)
    graph.insert("t", [row(1, 5), row(1, GREAT - 5)])
    assert graph.what_if([("delete", "t", [row(1, 5)])]).rows() == [
        ("update_preimage", (1, GREAT, 5), 1),
        ("update_postimage", (1, GREAT - 5, GREAT - 5), 1),
    ]
    with pytest.raises(jg.DiffError, match="SUM"):
        graph.what_if([("insert", "t", [row(2, 1), row(1, 1)])])
    assert rows_of(graph) == [(1, GREAT, 5)]
    graph.maintain_only = True
    graph.delete("t", [row(1, 5)])
    assert graph.what_if([("insert", "t", [row(1, 1)])]).rows()[0] == (
        "update_preimage",
        (1, GREAT - 5, GREAT - 5),
        1,
    )
    assert rows_of(graph) == [(1, GREAT - 5, GREAT - 5)]
    graph.maintain_only = False
    assert graph.insert("t", [row(1, 1)]).rows()[0] == (
        "update_preimage",
        (1, GREAT - 5, GREAT - 5),
        1,
    )
    graph.check()


def test_texts_of_groups_outlive_their_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    swept, sweep = Counter[str](), Sweeper.sweep

    def counted(*given: Any) -> None:
        swept["times"] += 1
        sweep(*given)

    monkeypatch.setattr(Sweeper, "sweep", counted)
    view = jg.View("SELECT s, COUNT(*) AS n, MAX(s) AS most FROM t GROUP BY s", TABLE)
    graph = jg.JoinGraph(view)
    graph.insert("t", [row(1, s="kept 1"), row(2, s="kept 1"), row(3, s="kept 2")])
    for batch in range(40):
        rows = [row(each, s=f"{batch} {each} {'x' * 2000}") for each in range(100)]
        assert len(graph.insert("t", rows).rows()) == 100
        graph.delete("t", rows)
    assert graph.delete("t", [row(1, s="kept 1"), row(3, s="kept 2")]).rows() == [
        ("update_preimage", ("kept 1", 2, "kept 1"), 1),
        ("update_postimage", ("kept 1", 1, "kept 1"), 1),
        ("delete", ("kept 2", 1, "kept 2"), 1),
    ]
    assert rows_of(graph) == [("kept 1", 1, "kept 1")]
    assert swept["times"]
    graph.check()


def test_the_table_names_what_is_there() -> None:
    named = re.findall(r"\b(?:groups|test)_\w+", __doc__ or "")
    assert len(named) > 25
    assert not [each for each in named if each not in globals() and not is_script(each)]


def is_script(name: str) -> bool:
    return (SCRIPTS / f"{name}.txt").exists()
