"""Columns of a view that are called as those which view diffs add: refused, or read around."""

from __future__ import annotations

from pathlib import Path

import pytest

import joingraph as jg
from joingraph.sql.definition import META_NAMES
from tests import ENGINES

TABLES = {"tweet": "CREATE TABLE tweet (id BIGINT PRIMARY KEY, n BIGINT)"}


@pytest.mark.parametrize("name", [*META_NAMES, "_COUNT", "_Change_Type"])
def test_a_view_is_refused_with_the_rename_to_write(name: str) -> None:
    with pytest.raises(jg.ViewError, match=rf"{name}.* rename it, .*AS .*{name.lstrip('_')}"):
        jg.View(f"SELECT T.id, T.n AS {name} FROM tweet T", TABLES)
    with pytest.raises(jg.ViewError, match="rename it"):
        jg.View(f"CREATE VIEW v (a, {name}) AS SELECT T.id, T.n FROM tweet T", TABLES)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", META_NAMES)
def test_a_folder_of_before_that_has_such_a_column_goes_on(
    name: str, engine: str, tmp_path: Path
) -> None:
    sql = f"SELECT T.id, T.n AS {name} FROM tweet T"
    view = jg.View.stored(sql, jg.View("SELECT id FROM tweet", TABLES).tables, "spark")
    with jg.JoinGraph(view, tmp_path / "g", engine=engine) as graph:
        graph.subscribe("s")
        graph.insert("tweet", [(1, 5)])
    with jg.open(tmp_path / "g") as graph:
        diff = graph.update("tweet", [(1, 5)], [(1, 6)])
        assert diff.rows() == [
            ("update_preimage", (1, 5), 1), ("update_postimage", (1, 6), 1)
        ]  # fmt: skip
        assert sorted(diff.net()) == [("delete", (1, 5), 1), ("insert", (1, 6), 1)]
        assert [len(each.rows()) for each in graph.subscribe("s")] == [1, 2]
        assert graph.to_arrow().num_rows == 1
        graph.unsubscribe("s")
        refused = [
            lambda: diff.to_arrow(positions=True),
            diff.idiffs,
            diff.factorised,
            lambda: graph.insert("tweet", [(2, 5)], form="idiffs"),
            lambda: graph.insert("tweet", [(2, 5)], form="factorised"),
        ]
        for ask in refused[:1] if name == "_seq" else refused:
            if name != "_diff" or ask not in refused[1:3]:  # rows without `_diff`
                with pytest.raises(jg.DiffError, match=f"two columns called .*{name}"):
                    ask()
        assert (graph.seq, graph.count()) == (2, 1) or name == "_seq"
        graph.check()
    with jg.open(tmp_path / "g") as graph:
        assert graph.seq == 2 or name == "_seq"
        graph.rebuild(jg.View("SELECT T.id, T.n AS renamed FROM tweet T", TABLES))
        assert graph.insert("tweet", [(3, 3)]).to_arrow().column_names[:2] == ["id", "renamed"]
