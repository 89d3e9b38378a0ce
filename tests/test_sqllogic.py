"""sqllogictest files are replayed: right answers pass, wrong ones are told with their place."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import ENGINES
from tests.sqllogic.records import Query, read_records
from tests.sqllogic.replay import replay
from tests.sqllogic.texts import OutOfPlace, as_view, without_order
from tests.sqllogic.values import hashed, typed

FILES = Path(__file__).parent / "sqllogic" / "files"


@pytest.mark.parametrize("name,dialect", [("updates", "sqlite"), ("duckdb", "duckdb")])
def test_a_file_of_right_answers_passes(name: str, dialect: str) -> None:
    """Every result is right, both maintained and loaded; nothing is left undecided."""
    outcome = replay(FILES / f"{name}.test", dialect)
    assert not outcome.wrong, "\n".join(outcome.wrong)
    assert not outcome.undecided and not outcome.stopped
    assert outcome.right == 2 * len(ENGINES) * (outcome.queries - outcome.refused.total()) > 0


def test_a_wrong_answer_is_told_with_its_place(tmp_path: Path) -> None:
    """A runner that cannot fail holds nothing."""
    path = tmp_path / "wrong.test"
    path.write_text(
        "statement ok\nCREATE TABLE t(a INTEGER)\n\nstatement ok\nINSERT INTO t VALUES(1)\n\n"
        "query I nosort\nSELECT a FROM t\n----\n2\n"
    )
    wrong = replay(path, "sqlite").wrong
    assert len(wrong) == 2 * len(ENGINES)  # maintained and loaded
    assert wrong[0].startswith(f"{path}:7 (maintained") and "expected\n2\nfound\n1\n" in wrong[0]


def test_a_value_that_does_not_fit_its_column_refuses_the_table(tmp_path: Path) -> None:
    """SQLite columns hold any type; ours do not, so such a table is refused by name."""
    path = tmp_path / "dynamic.test"
    path.write_text(
        "statement ok\nCREATE TABLE t(a INTEGER)\n\nstatement ok\nINSERT INTO t VALUES('x')\n\n"
        "query I nosort\nSELECT a FROM t\n----\n0\n"
    )
    outcome = replay(path, "sqlite")
    assert not outcome.wrong and "table refused" in next(iter(outcome.refused))


def test_hashes_are_those_of_sqllogictest() -> None:
    """From SQLite's select1.test: three values, each with a line end."""
    assert hashed([("1",), ("2",), ("3",)], "nosort") == "c0710d6b4f15dfa88f600b0e6b624077"


def test_values_are_written_as_their_letter_asks() -> None:
    """As in SQLite's runner: I cuts off, R has three decimals, T shows what is empty."""
    assert [typed(v, "I") for v in (7, 7.9, "12ab", "x", None)] == ["7", "7", "12", "0", "NULL"]
    assert [typed(v, "R") for v in (7, 0.12345)] == ["7.000", "0.123"]
    assert [typed(v, "T") for v in ("", "a\x01b", 5)] == ["(empty)", "a@b", "5"]


def test_an_order_by_of_the_whole_result_is_cut_off() -> None:
    """One inside a subquery stays; LIMIT reads part of a view and is no view's."""
    assert without_order("SELECT a FROM t ORDER BY a", "sqlite") == "SELECT a FROM t"
    inner = "SELECT a FROM (SELECT a FROM t ORDER BY a)"
    assert without_order(inner, "sqlite") == inner
    with pytest.raises(OutOfPlace, match="LIMIT"):
        without_order("SELECT a FROM t ORDER BY a LIMIT 1", "sqlite")


def test_a_view_of_the_file_becomes_a_cte() -> None:
    """Also one that stands on another."""
    views = {"v": "v AS (SELECT a FROM t)", "w": "w AS (SELECT a FROM v)"}
    assert as_view("SELECT * FROM w", 1, views, "sqlite") == (
        "CREATE VIEW query(column1) AS"
        " WITH v AS (SELECT a FROM t), w AS (SELECT a FROM v) SELECT * FROM w"
    )


def test_both_flavours_of_results_are_read() -> None:
    """A value a line, or tab-separated rows."""
    text = "query II rowsort\nSELECT 1, 2\n----\n1\n2\n\nquery II\nSELECT 1, 2\n----\n1\t2\n"
    first, second = read_records(text, "duckdb")
    assert isinstance(first, Query) and isinstance(second, Query)
    assert (first.values, first.by_rows, first.sort) == (("1", "2"), False, "rowsort")
    assert (second.values, second.by_rows, second.sort) == (("1\t2",), True, "nosort")
