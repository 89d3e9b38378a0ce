"""What published rules for view diffs get wrong of groups and joins, right here; by document.

      rule as printed                                 held by
E-I2  COUNT adds 1 for a delete; no births, deaths    test_a_count_goes_down_by_a_delete
E-I3  AVG joins the changes of COUNT and SUM          test_an_average_changes_with_its_sum
E-I4  diffs commute by whole rows                     test_idiffs_lead_to_the_view_in_any_order
E-I5  a delta reads the value that is already new     test_a_sum_changes_by_the_difference
E-I6  an update of a join's column passes as it is    test_an_update_of_a_join_column
E-F1  a join and groups for a nested subquery         test_a_business_without_reviews_has_a_row
E-F7  one changed row a group and batch               test_two_rows_of_a_group_change_at_once
E-F8  no births, deaths, rows without partners        test_groups_live_by_rows_without_partners
"""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from typing import Any

import joingraph as jg
from tests.bags import bag
from tests.judged import Judged

SUMS = "SELECT a.k, SUM(b.y) AS total FROM a LEFT JOIN b ON a.x = b.x GROUP BY a.k"


def folded(changes: list[Any]) -> list[tuple[str, Any]]:
    """List view diffs without their counts."""
    return [(kind, row) for kind, row, _ in changes]


def test_a_count_goes_down_by_a_delete() -> None:
    """E-I2: and its group is born with its first row, and dies with its last."""
    judged = Judged("SELECT a.k, COUNT(*) AS n FROM a JOIN b ON a.x = b.x GROUP BY a.k")
    judged.apply(("insert", "b", [(0, 1, 0), (1, 1, 0)]))
    assert folded(judged.apply(("insert", "a", [(7, 1, 0)]))) == [("insert", (7, 2))]
    found = judged.apply(("delete", "b", [(0, 1, 0)]))
    assert folded(found) == [("update_preimage", (7, 2)), ("update_postimage", (7, 1))]
    assert folded(judged.apply(("delete", "b", [(1, 1, 0)]))) == [("delete", (7, 1))]


def test_an_average_changes_with_its_sum() -> None:
    """E-I3: {4, 6} with 4 -> 8 goes from 5 to 7, though COUNT stays as it is."""
    judged = Judged("SELECT a.k, AVG(b.y) AS mean FROM a LEFT JOIN b ON a.x = b.x GROUP BY a.k")
    judged.apply(("insert", "a", [(1, 1, 0)]), ("insert", "b", [(1, 1, 4), (2, 1, 6)]))
    found = judged.apply(("update", "b", [(1, 1, 4)], [(1, 1, 8)]))
    assert folded(found) == [("update_preimage", (1, 5.0)), ("update_postimage", (1, 7.0))]


def test_idiffs_lead_to_the_view_in_any_order() -> None:
    """E-I4: an insert of a key that is there, and an update of the row that has it."""
    tables = {
        "a": "CREATE TABLE a (k INTEGER PRIMARY KEY, x INTEGER)",
        "b": "CREATE TABLE b (k INTEGER PRIMARY KEY, y INTEGER)",
    }
    sql = "SELECT a.k, a.x, b.k AS bk, b.y FROM a LEFT JOIN b ON b.k = a.k"
    graph = jg.JoinGraph(jg.View(sql, tables=tables))
    graph.load({"a": [(1, 10), (2, 20)], "b": [(2, 5)]})
    before = graph.to_arrow()
    batch = [
        ("delete", "a", [(1, 10)]),
        ("insert", "a", [(1, 11)]),
        ("insert", "b", [(1, 6)]),
        ("update", "b", [(2, 5)], [(2, 7)]),
    ]
    idiffs = graph.apply(batch, form="idiffs").idiffs()
    expected = bag(zip(*graph.to_arrow().to_pydict().values(), strict=True))
    assert expected == bag([(1, 11, 1, 6), (2, 20, 2, 7)])
    for parts in permutations(idiffs.parts):
        copy = jg.apply_idiffs(before, replace(idiffs, parts=parts))
        assert bag(zip(*copy.to_pydict().values(), strict=True)) == expected


def test_a_sum_changes_by_the_difference() -> None:
    """E-I5: a price from 10 to 11 adds 1 to each sum that it is in, twice where it is twice."""
    judged = Judged(SUMS)
    judged.apply(("insert", "a", [(1, 1, 0), (2, 1, 0), (2, 1, 0)]))
    judged.apply(("insert", "b", [(1, 1, 10)]))
    found = judged.apply(("update", "b", [(1, 1, 10)], [(1, 1, 11)]))
    assert set(folded(found)) == {
        ("update_preimage", (1, 10)),
        ("update_postimage", (1, 11)),
        ("update_preimage", (2, 20)),
        ("update_postimage", (2, 22)),
    }


def test_an_update_of_a_join_column() -> None:
    """E-I6: a delete and an insert for the joins it leaves and enters; else an update."""
    judged = Judged("SELECT a.k, b.y FROM a LEFT JOIN b ON a.x = b.x")
    judged.apply(("insert", "a", [(1, 1, 0), (2, 2, 0)]), ("insert", "b", [(1, 1, 5)]))
    found = judged.apply(("update", "b", [(1, 1, 5)], [(1, 2, 5)]))
    assert set(folded(found)) == {
        ("delete", (1, 5)),
        ("insert", (1, None)),
        ("delete", (2, None)),
        ("insert", (2, 5)),
    }
    found = judged.apply(("update", "b", [(1, 2, 5)], [(1, 2, 6)]))
    assert folded(found) == [("update_preimage", (2, 5)), ("update_postimage", (2, 6))]


def test_a_business_without_reviews_has_a_row() -> None:
    """E-F1: with NULLs by LEFT JOIN, 0 by COUNT; and a NATURAL join would compare names as well."""
    tables = {
        "business": "CREATE TABLE business (bid INTEGER, name VARCHAR)",
        "review": "CREATE TABLE review (bid INTEGER, name VARCHAR, stars INTEGER)",
    }
    counted, natural = (
        jg.JoinGraph(jg.View(sql, tables=tables))
        for sql in (
            (
                "SELECT business.name, COUNT(review.stars) AS n FROM business"
                " LEFT JOIN review ON review.bid = business.bid GROUP BY business.name"
            ),
            "SELECT bid, stars FROM business NATURAL LEFT JOIN review",
        )
    )
    for graph in (counted, natural):
        graph.insert("business", [(1, "tnhf"), (2, "k7")])
        graph.insert("review", [(1, "ann", 5)])
    rows = dict(zip(*counted.to_arrow().to_pydict().values(), strict=True))
    assert rows == {"tnhf": 1, "k7": 0}
    assert natural.to_arrow().to_pydict() == {"bid": [1, 2], "stars": [None, None]}


def test_two_rows_of_a_group_change_at_once() -> None:
    """E-F7: the sum takes both, in one batch and in one update of one table."""
    judged = Judged(SUMS)
    judged.apply(("insert", "a", [(1, 1, 0)]), ("insert", "b", [(1, 1, 10), (2, 1, 20)]))
    judged.apply(("update", "b", [(1, 1, 10), (2, 1, 20)], [(1, 1, 11), (2, 1, 22)]))
    assert judged.rows == bag([(1, 33)])
    judged.apply(("insert", "b", [(3, 1, 1), (4, 1, 2)]), ("delete", "b", [(1, 1, 11)]))
    assert judged.rows == bag([(1, 25)])


def test_groups_are_born_and_die_by_rows_without_partners() -> None:
    """E-F8: the group of NULL is that of rows without partners, and goes as they find some."""
    judged = Judged("SELECT b.y, COUNT(*) AS n FROM a LEFT JOIN b ON a.x = b.x GROUP BY b.y")
    assert folded(judged.apply(("insert", "a", [(1, 1, 0)]))) == [("insert", (None, 1))]
    found = judged.apply(("insert", "b", [(1, 1, 5)]))
    assert set(folded(found)) == {("delete", (None, 1)), ("insert", (5, 1))}
    found = judged.apply(("delete", "b", [(1, 1, 5)]))
    assert set(folded(found)) == {("delete", (5, 1)), ("insert", (None, 1))}
