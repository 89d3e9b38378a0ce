"""Quotes inside texts: each dialect's own way of writing them, wherever SQL is read."""

from __future__ import annotations

import pytest

import joingraph as jg
from joingraph.expressions.tree import Literal
from joingraph.sql.text.parse import DIALECTS

TABLE = {"t": "CREATE TABLE t (s STRING)"}


def constant(text: str, dialect: str) -> object:
    """Bind a constant in the SELECT list and give its value."""
    view = jg.View(f"SELECT {text} AS q FROM t", TABLE, dialect=dialect)
    (found,) = (each.value for each in view.definition.output)
    assert isinstance(found, Literal)
    return found.value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("'o''b'", "o'b"),
        ("''", ""),
        ("''''", "'"),
        ("''''''", "''"),
        (r"'o\'b'", "o'b"),
        (r"'o\'''s'", "o''s"),
        (r"'a\\''b'", r"a\'b"),
        ('"a""b"', 'a"b'),
        ("'a\"\"b'", 'a""b'),
        ("\"a''b\"", "a''b"),
    ],
)
def test_spark_reads_a_doubled_quote_as_one(text: str, value: str) -> None:
    """The answers of Spark 4.2; up to 3.5 it read 'o''b' as two texts, and put them together."""
    assert constant(text, "spark") == value


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_doubled_quote_is_read_alike_in_all_dialects(dialect: str) -> None:
    assert [constant(text, dialect) for text in ("'o''b'", "''''")] == ["o'b", "'"]


@pytest.mark.parametrize("text", ["'o' 'b'", "'o'\n'b'", "'o'/**/'b'", "'o' \"b\"", "'o'\"b\""])
def test_texts_side_by_side_are_refused(text: str) -> None:
    with pytest.raises(jg.ViewError, match="side by side"):
        constant(text, "spark")


@pytest.mark.parametrize("engine", ["reference", "compiled"])
def test_a_doubled_quote_is_read_wherever_sql_is(engine: str) -> None:
    """In a view, in a read, in what expires, in a declaration."""
    tables = {"t": "CREATE TABLE t (s STRING COMMENT 'Bob''s', n INT) COMMENT 'it''s'"}
    sql = "SELECT s, n FROM t WHERE s IN ('o''b', 'x''') OR s = 'ob'"
    graph = jg.JoinGraph(jg.View(sql, tables), engine=engine)
    graph.insert("t", [("o'b", 1), ("ob", 2), ("x'", 3), ("o''b", 4)])
    assert graph.count() == 3
    assert graph.scan(where="s = 'o''b'").read_all()["n"].to_pylist() == [1]
    assert graph.count(where="s LIKE '%''%'") == 2
    assert graph.expire("t", "s = 'x'''").rows() == [("delete", ("x'", 3), 1)]
