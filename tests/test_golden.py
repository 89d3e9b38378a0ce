"""Every golden script gives what it expects, on every form of the graph and look-ahead mode."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

import pyarrow as pa
import pytest

import joingraph as jg
from tests import ENGINES, LOOKAHEADS
from tests.golden.__main__ import differences
from tests.golden.literals import Reader, parse, render, render_row, tokens
from tests.golden.script import SCRIPTS, parse_script, read

PATHS = sorted(SCRIPTS.glob("*.txt"))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("lookahead", LOOKAHEADS)
@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_a_golden_script_gives_what_it_expects(path: Path, engine: str, lookahead: str) -> None:
    """The script is the whole statement of the behaviour; `--update` rewrites it for review."""
    assert not (found := differences(read(path), engine, lookahead)), found


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_reading_a_script_and_writing_it_loses_nothing(path: Path) -> None:
    """Otherwise `--update` would change more than the expectations."""
    assert read(path).text == path.read_text(encoding="utf-8")


def test_a_script_with_a_wrong_expectation_fails() -> None:
    """A runner that cannot fail holds nothing."""
    script = parse_script(
        Path("wrong.txt"),
        "CREATE TABLE t (a INT);\nCREATE VIEW v AS SELECT a FROM t;\n\n> insert t (1)\n+ (2)\n",
    )
    found = differences(script, ENGINES[0], LOOKAHEADS[0]).splitlines()
    assert found[0] == "line 4: > insert t (1)" and {"- + (2)", "+ + (1)"} <= set(found)


@pytest.mark.parametrize("engine", ENGINES)
def test_no_base_table_is_read_after_loading(engine: str) -> None:
    """The graph is self-maintainable: what was loaded may be gone, and diffs still find it."""
    tables = {"a": "CREATE TABLE a (x INT, p INT)", "b": "CREATE TABLE b (x INT, q INT)"}
    view = jg.View("SELECT a.p, b.q FROM a JOIN b ON a.x = b.x", tables=tables)
    graph = jg.JoinGraph(view, engine=engine)
    rows = pa.table({"x": pa.array([1, 2], pa.int32()), "p": pa.array([10, 11], pa.int32())})
    base = weakref.ref(rows)
    graph.load({"a": rows})
    del rows
    gc.collect()
    assert base() is None
    assert graph.insert("b", [(2, 20)]).rows() == [("insert", (11, 20), 1)]


@pytest.mark.parametrize(
    "literal",
    [
        *("NULL", "true", "0", "-1", "0.5", "-0.0", "1e+300", "NaN", "Infinity", "-Infinity"),
        *("'it''s'", "''", "X'00ff'", "DECIMAL '1.50'", "DATE '2015-02-02'"),
        *("TIMESTAMP '2015-02-02 01:02:03.000004'", "'(a, b) -> *2'"),
    ],
)
def test_a_literal_reads_back_as_it_was_written(literal: str) -> None:
    """Every type has a form of its own, so that a wrong type shows in a script."""
    assert render(parse(literal)) == literal
    (row, again) = Reader(list(tokens(f"({literal}, {literal}) *2"))).rows()
    assert render_row(row) == render_row(again) == f"({literal}, {literal})"
