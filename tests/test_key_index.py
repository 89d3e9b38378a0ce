"""Deletes and updates by key: rows given by their keys alone, where an index was asked for."""

from __future__ import annotations

import pyarrow as pa
import pytest

import joingraph as jg
from joingraph.plan.view import View
from tests.test_expire import SQL, TABLES, timeline

INDEXED = ["tweet", "follower"]


@pytest.mark.parametrize("form", ["rows", "idiffs", "factorised"])
def test_a_row_is_deleted_by_its_key(form: str) -> None:
    graph = timeline(key_index=INDEXED)
    graph.delete("tweet", [{"id": 2}], form=form)
    graph.delete("tweet", pa.table({"ID": [3, 1]}), form=form)
    graph.delete("follower", [{"fan": "bob", "author": "ann"}], form=form)
    assert graph.to_arrow().to_pylist() == [{"fan": "eve", "id": 4, "day": None}]
    graph.check()


@pytest.mark.parametrize("form", ["rows", "idiffs", "factorised"])
def test_a_row_is_updated_by_its_key(form: str) -> None:
    graph, other = timeline(key_index=INDEXED), timeline()
    whole = {"id": 2, "author": "ann", "day": None}
    old = pa.table({"id": [2], "author": ["ann"], "day": pa.array([20], pa.int32()).cast("date32")})
    found = graph.update("tweet", [{"id": 2}], [whole], form=form)
    expected = other.update("tweet", old, [whole], form=form)
    assert found.idiffs() == expected.idiffs()
    if form != "idiffs":
        assert sorted(found.rows(), key=repr) == sorted(expected.rows(), key=repr)


def test_a_batch_may_delete_by_key_what_it_inserted() -> None:
    graph = timeline(key_index=INDEXED)
    new = {"id": 9, "author": "ann", "day": None}
    batch = [("insert", "tweet", [new]), ("delete", "tweet", [{"id": 9}])]
    for form in ("rows", "idiffs"):
        assert len(graph.apply(batch, form=form).idiffs()) == 0
    with pytest.raises(jg.DiffError, match=r"there is no row \(id=9\)"):
        graph.apply([*batch, ("delete", "tweet", [{"id": 9}])])
    graph.apply([*batch, batch[0]])
    assert graph.delete("tweet", [{"id": 9}]).net() != []


def test_what_was_undone_is_found_again() -> None:
    graph = timeline(key_index=INDEXED)
    graph.what_if([("delete", "tweet", [{"id": 2}])])
    with pytest.raises(jg.DiffError):
        graph.apply([("delete", "tweet", [{"id": 2}]), ("delete", "tweet", [{"id": 99}])])
    assert len(graph.delete("tweet", [{"id": 2}])) == 2
    graph.expire("tweet", where="id = 1")
    with pytest.raises(jg.DiffError, match="there is no row"):
        graph.delete("tweet", [{"id": 1}])


def test_without_an_index_the_error_says_how_to_get_one() -> None:
    with pytest.raises(jg.DiffError, match=r"key \(id\) alone.*key_index=\['tweet'\]"):
        timeline().delete("tweet", [{"id": 2}])
    with pytest.raises(jg.ViewError, match="keyless declares no key"):
        view = View("SELECT a FROM keyless", {"keyless": "CREATE TABLE keyless (a INT)"})
        jg.JoinGraph(view, key_index=["keyless"])


def test_a_second_row_with_an_indexed_key_is_refused() -> None:
    graph = timeline(key_index=INDEXED)
    again = {"id": 2, "author": "zed", "day": None}
    with pytest.raises(jg.DiffError, match=r"already has a row with the key \(id=2\)"):
        graph.insert("tweet", [again])
    with pytest.raises(jg.DiffError, match=r"already has a row"):
        graph.load({"tweet": [again]})
    graph.apply([("delete", "tweet", [{"id": 2}]), ("insert", "tweet", [again])])
    graph.check()


def test_a_key_that_every_alias_may_have_dropped_is_no_error() -> None:
    graph = timeline(f"{SQL} WHERE T.id <> 4", key_index=INDEXED)
    assert len(graph.delete("tweet", [{"id": 4}])) == 0
    filtered = [{"id": 4, "author": "ann", "day": None}]
    assert len(graph.update("tweet", [{"id": 4}], [filtered[0] | {"id": 5}])) == 2


def test_the_index_may_be_of_a_key_that_the_view_does_not_show() -> None:
    graph = jg.JoinGraph(
        View("SELECT F.fan, T.day FROM follower F JOIN tweet T USING (author)", TABLES),
        key_index=["tweet"],
    )
    graph.load({"follower": [("ann", "bob")], "tweet": [(1, "ann", None), (2, "ann", None)]})
    assert graph.delete("tweet", [{"id": 1}]).rows() == [("delete", ("bob", None), 1)]
    assert graph.why(("bob", None))[0]["T"]["id"] == 2
