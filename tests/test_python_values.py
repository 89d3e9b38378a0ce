"""Values that Python cannot hold travel as Arrow scalars: nothing that tells of them fails."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import joingraph as jg
from joingraph.expressions.python_values import python_values, value_text
from tests import ENGINES

INSTANT, INT = pa.timestamp("us"), pa.int64()
ODD = {
    "far": pa.array([4_000_000], pa.int32()).cast(pa.date32()),
    "early": pa.array([-1_000_000], pa.int32()).cast(pa.date32()),
    "last": pa.array([2**31 - 1], pa.int32()).cast(pa.date32()),
    "moment": pa.array([2**62], INT).cast(INSTANT),
    "zoned": pa.array([2**62], INT).cast(pa.timestamp("us", "UTC")),
    "nowhere": pa.array([7], INT).view(pa.timestamp("us", "Nowhere/Place")),
    "folder": pa.array([7], INT).view(pa.timestamp("us", "Europe")),
    "decimal": pa.array(["9" * 38]).cast(pa.decimal128(38, 0)),
}


@pytest.mark.parametrize("column", [*ODD.values(), pa.array([b"\xff"]).view(pa.string())], ids=str)
def test_every_column_has_python_values_that_go_back_into_it(column: pa.Array) -> None:
    (value,) = python_values(column)
    assert pa.array([value], column.type).equals(column)
    assert value_text(value)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", ODD)
def test_a_graph_tells_of_them_wherever_it_tells_of_rows(
    name: str, engine: str, tmp_path: Path
) -> None:
    column = ODD[name]
    tables = {
        "t": pa.schema([("id", INT), ("d", column.type)]),
        "u": pa.schema([("d", column.type), ("n", INT)]),
    }
    view = jg.View("SELECT t.id, u.d, 12 DIV u.n AS q FROM t JOIN u ON t.d = u.d", tables)
    row = pa.table({"id": pa.array([1], INT), "d": column})
    (value,) = python_values(column)
    with jg.JoinGraph(view, tmp_path / "graph", engine=engine) as graph:
        with pytest.raises(jg.DiffError, match="there is no row"):
            graph.delete("t", row)
        graph.insert("t", row)
        graph.insert("t", [(2, value)])
        told = graph.subscribe("s")
        out = graph.insert("u", [(value, 3)])
        assert told.next().rows() == out.rows()
        assert sorted(out.rows()) == [("insert", (1, value, 4), 1), ("insert", (2, value, 4), 1)]
        assert sorted(out.net()) == sorted(out.rows())
        assert str(graph.why((1, value, 4))).startswith("t (id = 1")
        assert graph.why_not((1, value, 5))
        with pytest.raises(jg.DiffError, match="division by zero"):
            graph.load({"u": [(value, 0)]})
    with jg.open(tmp_path / "graph") as graph:
        assert graph.count() == 2


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", ODD)
def test_a_quarantined_diff_of_them_is_kept_through_restart_snapshot_and_rebuild(
    name: str, engine: str, tmp_path: Path
) -> None:
    column = ODD[name]
    view = jg.View("SELECT id, d FROM t", {"t": pa.schema([("id", INT), ("d", column.type)])})
    row = pa.table({"id": pa.array([1], INT), "d": column})
    folder, (value,) = tmp_path / "graph", python_values(column)
    with jg.JoinGraph(view, folder, engine=engine, on_missing="quarantine") as graph:
        graph.delete("t", row)
        graph.update("t", row, [(2, value)])
        (deleted, updated) = graph.quarantined()
        assert (deleted.pre, updated.post) == ({"id": 1, "d": value}, {"id": 2, "d": value})
    for act in ("open", "snapshot", "rebuild", "open"):
        with jg.open(folder) as graph:
            assert graph.quarantined() == [deleted, updated]
            if act == "snapshot":
                graph.snapshot()
            if act == "rebuild":
                graph.rebuild(jg.View("SELECT d, id FROM t", view.tables))


@pytest.mark.parametrize("engine", ENGINES)
def test_far_dates_have_texts_and_conditions(engine: str) -> None:
    view = jg.View(
        "SELECT id, d, CAST(d AS STRING) AS said FROM t",
        {"t": pa.schema([("id", INT), ("d", pa.date32())])},
    )
    graph = jg.JoinGraph(view, engine=engine)
    graph.insert("t", pa.table({"id": [1], "d": ODD["far"]}))
    assert graph.to_arrow()["said"].to_pylist() == ["12921-08-18"]
    assert graph.count("d > DATE '9999-12-31'") == 1
    with pytest.raises(jg.DiffError, match="out of the range"):
        graph.insert("t", pa.table({"id": [2], "d": ODD["last"]}))
