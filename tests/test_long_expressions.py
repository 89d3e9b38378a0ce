"""Expressions of 1,000 terms and more: all that is done with one takes time linear in its length.

Each limit below is some twenty times what it takes on a slow machine; quadratic or exponential
work over as many terms would take minutes, or for ever.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager
from itertools import product

import pyarrow as pa
import pytest

import joingraph as jg
from joingraph.expressions.show import QUOTED_CHARS_MAX, brief, show
from joingraph.expressions.tree import Call, Column, Expression
from joingraph.sql.conditions import bind_where

ENGINES = ("reference", "compiled")
TABLES = {
    "t": "CREATE TABLE t (k INT, a INT, s STRING)",
    "u": "CREATE TABLE u (k INT, b INT)",
}
LARGEST = 2**31 - 1


@contextmanager
def within(seconds: float) -> Generator[None]:
    """Fail if a block takes longer in this thread: the machine, or a compiler's, may be busy."""
    start = time.thread_time()
    yield
    took = time.thread_time() - start
    assert took < seconds, f"took {took:.1f} s, at most {seconds} s are right"


def of_one(output: str, where: str, engine: str) -> jg.JoinGraph:
    return jg.JoinGraph(jg.View(f"SELECT {output} FROM t{where}", TABLES), engine=engine)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("sign", ["+", "||"])
def test_a_thousand_terms_in_chains_are_shown_and_refused_soon(sign: str, engine: str) -> None:
    """A chain of one operator nests: at most 199 terms are taken, so here are six columns."""
    word = "a" if sign == "+" else "s"
    chain = f" {sign} ".join([word] * 197)
    output = ", ".join(f"{chain} {sign} {word} AS q{i}" for i in range(6))
    row = (1,) * 6 if sign == "+" else ("x",) * 6
    with within(4):
        graph = of_one(output, "", engine)
        graph.insert("t", [(1, 1, "s")])
        assert str(graph.view.explain()).count(f"t.{word}") >= 1000
        assert len(graph.why_not(row)) == 1
        if sign == "+":
            with pytest.raises(jg.DiffError, match=r"t\.a \+ t\.a has no answer"):
                graph.insert("t", [(1, LARGEST, "s")])
    assert graph.count() == 1


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("output", "where"),
    [
        ("CASE " + " ".join(f"WHEN a = {i} THEN {i}" for i in range(1000)) + " ELSE a * 2 END", ""),
        ("a", " WHERE " + " OR ".join(f"a + {i} = 1000" for i in range(1000))),
        ("a", " WHERE " + " AND ".join(f"a + {i} <> 7" for i in range(1000))),
    ],
)
def test_a_thousand_branches_or_conditions_are_shown_and_refused_soon(
    output: str, where: str, engine: str
) -> None:
    with within(6):
        graph = of_one(f"{output} AS q", where, engine)
        assert str(graph.view.explain()).count("t.a") >= 1000
        graph.insert("t", [(1, 500, "s")])
        with pytest.raises(jg.DiffError) as raised:
            graph.insert("t", [(1, LARGEST, "s")])
        assert len(str(raised.value)) < 300
        ((_, reason),) = graph.why_not((3,))
        assert len(reason) < 40_000
    assert graph.count() == 1


def test_an_error_quotes_the_ends_of_a_long_expression_only() -> None:
    long = "x" * 50_000
    graph = of_one(f"CAST(s || '{long}' AS INT) AS q", "", "reference")
    with pytest.raises(jg.DiffError) as raised:
        graph.insert("t", [(1, 1, "s")])
    assert "no answer" in str(raised.value)
    assert len(str(raised.value)) < 3 * QUOTED_CHARS_MAX
    with pytest.raises(jg.ViewError) as refused:
        of_one(f"nope(s || '{long}') AS q", "", "reference")
    assert len(str(refused.value)) < 2 * QUOTED_CHARS_MAX
    assert brief("abc") == "abc"
    assert len(brief(long)) <= QUOTED_CHARS_MAX


def test_showing_an_expression_visits_each_part_once() -> None:
    """A hundred nested calls of each kind: two visits a level would be 2**100."""
    a: Expression = Column("t", "a", pa.int64())
    for function in ("add", "is_null", "not", "like", "in", "case", "upper", "cast"):
        nested = a
        for _ in range(100):
            args = {"add": (nested, a), "like": (nested, a, a), "in": (nested, a, a)}.get(
                function, (nested, a, a) if function == "case" else (nested,)
            )
            nested = Call(function, args, pa.int64())
        with within(1):
            assert show(nested).count("t.a") >= 1


@pytest.mark.parametrize("engine", ENGINES)
def test_nine_thousand_ors_are_asked_as_fast_as_a_list(engine: str) -> None:
    sql = "SELECT t.k, t.a, u.b FROM t JOIN u ON t.k = u.k"
    graph = jg.JoinGraph(jg.View(sql, TABLES), engine=engine)
    graph.load({"t": [(i % 50, i, "s") for i in range(12_000)], "u": [(i, i) for i in range(50)]})
    ors = " OR ".join(f"a = {i}" for i in range(9000))
    listed = f"a IN ({', '.join(map(str, range(9000)))})"
    with within(10):
        assert graph.count(where=ors) == graph.count(where=listed) == 9000
        assert graph.scan(where=ors).read_all().num_rows == 9000
    with within(20):
        assert graph.count(where=" AND ".join(f"a <> {i}" for i in range(3000))) == 9000


@pytest.mark.parametrize(
    "text",
    [
        "a = 1 OR a = 2",
        "a = 1 OR k = 2 OR a = 2 OR k = 3",
        "a = 1 OR a = NULL OR a = 2",
        "a = 1 OR a IN (2, 3) OR a = 4",
        "c OR c = TRUE OR c = FALSE OR a = 2",
        "d = 0.0D OR d = -0.0D OR d = 1D",
        "NOT (a = 1 OR a = 2 OR 3 = a OR k IS NULL)",
        "(a = 1 OR 6 / k = 2 OR a = 3) IS NULL",
    ],
)
def test_an_or_of_constants_asked_of_a_view_means_what_it_means_in_one(text: str) -> None:
    sql = "SELECT a, k, a = 7 AS c, CAST(k AS DOUBLE) AS d FROM t"
    whole, part = sql, f"SELECT * FROM ({sql}) WHERE {text}"
    rows = [(k, a, "s") for k, a in product([None, 1, 2, 3], [None, 1, 2, 3, 7])]
    graphs = [jg.JoinGraph(jg.View(each, TABLES), engine="reference") for each in (whole, part)]
    for graph in graphs:
        graph.load({"t": rows})
    assert graphs[0].count(where=text) == graphs[1].count() > 0


def test_an_or_of_constants_asked_of_a_view_becomes_a_list() -> None:
    definition = jg.View("SELECT a, k, CAST(k AS DOUBLE) AS d FROM t", TABLES).definition
    (bound,) = bind_where("a = 1 OR k = 2 OR a = 2", definition)
    assert show(bound) == "(t.a IN (1, 2)) OR (t.k = 2)"
    (bound,) = bind_where("d = 0D OR d = 2D", definition)
    assert " IN " not in show(bound), "0.0 equals -0.0, and a list looks up"
