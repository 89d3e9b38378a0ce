"""What conditions and columns ask of subqueries: the trees of EXISTS, IN, ANY, ALL, SEMI JOIN.

a WHERE EXISTS (SELECT 1 FROM b WHERE b.k = a.k)   ->   a SEMI exists.b ON exists.b.k = a.k
a WHERE v = 1 OR EXISTS (...)    ->   (a MARK 'exists 1' exists.b ON ...) WHERE v = 1 OR exists 1
"""

from __future__ import annotations

import pytest

from joingraph.common.errors import ViewError
from joingraph.expressions.show import show
from joingraph.sql import define
from tests.test_join_trees import DIALECTS, TABLES, defined, drawn, output, tree


def exists(condition: str, table: str = "b") -> str:
    return f"EXISTS (SELECT 1 FROM {table} WHERE {condition})"


E = exists("b.k = a.k")


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (E, "a SEMI exists.b ON exists.b.k = a.k"),
        (f"NOT {E}", "a ANTI exists.b ON exists.b.k = a.k"),
        (f"NOT (NOT {E})", "a SEMI exists.b ON exists.b.k = a.k"),
        (
            f"{E} AND a.v > 3 AND NOT {E}",
            (
                "((a WHERE a.v > 3) SEMI exists.b ON exists.b.k = a.k) "
                "ANTI exists.b#2 ON exists.b#2.k = a.k"
            ),
        ),
        (
            f"NOT (a.v > 3 OR NOT {E})",
            "(a WHERE NOT (a.v > 3)) SEMI exists.b ON exists.b.k = a.k",
        ),
        (exists("v = 1"), "a SEMI exists.b ON exists.b.v = 1"),
        ("EXISTS (SELECT * FROM b)", "a SEMI exists.b"),
        ("EXISTS (SELECT DISTINCT v FROM b ORDER BY v LIMIT 1)", "a SEMI exists.b"),
        ("k IN (SELECT v FROM b WHERE n = 1)", "a SEMI in.b ON a.k = in.b.v AND in.b.n = 1"),
        ("k IN (SELECT DISTINCT v FROM b ORDER BY v)", "a SEMI in.b ON a.k = in.b.v"),
        ("k = ANY (SELECT v FROM b)", "a SEMI any.b ON a.k = any.b.v"),
        ("k <= SOME (SELECT v FROM b)", "a SEMI any.b ON a.k <= any.b.v"),
        ("(k, v) IN (SELECT v, k FROM b)", "a SEMI in.b ON a.k = in.b.v AND a.v = in.b.k"),
        (
            exists("b.k = a.k AND " + exists("c.k = b.v", "c")),
            (
                "a SEMI (exists.b SEMI exists.exists.c ON exists.exists.c.k = exists.b.v) "
                "ON exists.b.k = a.k"
            ),
        ),
        (
            exists("b.k = a.k", "b LEFT JOIN c ON b.v = c.w"),
            "a SEMI (exists.b LEFT exists.c ON exists.b.v = exists.c.w) ON exists.b.k = a.k",
        ),
        (
            exists("b.n = 1", "b JOIN c ON b.v = c.w AND c.k = a.k"),
            (
                "a SEMI (exists.b exists.c WHERE exists.b.v = exists.c.w) "
                "ON exists.c.k = a.k AND exists.b.n = 1"
            ),
        ),
        (
            exists("s.v = 1", "(SELECT * FROM b WHERE b.k = a.k) s"),
            "a SEMI exists.s.b ON exists.s.b.k = a.k AND exists.s.b.v = 1",
        ),
        (
            "k IN (WITH q AS (SELECT v FROM b WHERE b.k = a.v) SELECT v FROM q)",
            "a SEMI in.q.b ON a.k = in.q.b.v AND in.q.b.k = a.v",
        ),
    ],
)
def test_what_stands_under_and_is_a_semi_or_anti_join(where: str, expected: str) -> None:
    assert {tree(f"FROM a WHERE {where}", dialect) for dialect in DIALECTS} == {expected}


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("n NOT IN (SELECT n FROM b)", "a ANTI in.b ON a.n = in.b.n"),
        ("NOT n = ANY (SELECT n FROM b)", "a ANTI any.b ON a.n = any.b.n"),
        ("3 <> ALL (SELECT n FROM b)", "a ANTI all.b ON 3 = all.b.n"),
        (
            "n NOT IN (SELECT k FROM b)",
            "(a ANTI in.b ON a.n = in.b.k) ANTI in.b#2 ON in.b#2.k IS NULL",
        ),
        (
            "k NOT IN (SELECT k FROM b WHERE b.v = a.v)",
            (
                "((a ANTI in.b ON a.k = in.b.k AND in.b.v = a.v) "
                "ANTI in.b#2 ON in.b#2.k IS NULL AND in.b#2.v = a.v) "
                "ANTI in.b#3 ON a.k IS NULL AND in.b#3.v = a.v"
            ),
        ),
        (
            "n NOT IN (SELECT b.n FROM c LEFT JOIN b ON b.k = c.k)",
            (
                "(a ANTI (in.c LEFT in.b ON in.b.k = in.c.k) ON a.n = in.b.n) "
                "ANTI (in.c#2 LEFT in.b#2 ON in.b#2.k = in.c#2.k) ON in.b#2.n IS NULL"
            ),
        ),
        (
            "(n, k) NOT IN (SELECT n, k FROM b)",
            "a ANTI in.b ON a.n = in.b.n AND NOT ((a.k = in.b.k) IS FALSE)",
        ),
        ("n > ALL (SELECT n FROM b)", "a ANTI all.b ON a.n <= all.b.n"),
        ("k > ALL (SELECT n FROM b)", "a ANTI all.b ON NOT ((a.k > all.b.n) IS TRUE)"),
        ("NOT k > ALL (SELECT n FROM b)", "a SEMI all.b ON a.k <= all.b.n"),
        ("NOT k > ANY (SELECT n FROM b)", "a ANTI any.b ON NOT ((a.k <= any.b.n) IS TRUE)"),
        ("k = ALL (SELECT n FROM b)", "a ANTI all.b ON NOT ((a.k = all.b.n) IS TRUE)"),
    ],
)
def test_what_is_null_answers_not_in_and_all(where: str, expected: str) -> None:
    assert {tree(f"FROM a WHERE {where}", dialect) for dialect in DIALECTS} == {expected}


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (
            f"v = 1 OR {E}",
            "(a MARK 'exists 1' exists.b ON exists.b.k = a.k) WHERE (a.v = 1) OR exists 1",
        ),
        (
            f"NOT (v = 1 AND {E})",
            (
                "(a MARK 'exists 1' exists.b ON exists.b.k = a.k) "
                "WHERE (NOT (a.v = 1)) OR (NOT exists 1)"
            ),
        ),
        (
            f"v = 1 OR {E} OR (v = 2 AND NOT {E})",
            (
                "(a MARK 'exists 1' exists.b ON exists.b.k = a.k) "
                "WHERE (a.v = 1) OR exists 1 OR ((a.v = 2) AND (NOT exists 1))"
            ),
        ),
        (
            "v = 1 OR k IN (SELECT k FROM b)",
            "(a MARK 'in 1' in.b ON a.k = in.b.k) WHERE (a.v = 1) OR in 1",
        ),
        (
            "v = 1 OR k NOT IN (SELECT n FROM b)",
            (
                "((a MARK 'in 1' in.b ON a.k = in.b.n) MARK 'in 2' in.b#2 ON a.k IS NULL) "
                "WHERE (a.v = 1) OR ((NOT in 1) AND (NOT in 2))"
            ),
        ),
        (
            "v = 1 OR k < ALL (SELECT n FROM b)",
            (
                "(a MARK 'all 1' all.b ON NOT ((a.k < all.b.n) IS TRUE)) "
                "WHERE (a.v = 1) OR (NOT all 1)"
            ),
        ),
        (
            f"a.k = 1 AND CASE WHEN {E} THEN v = 1 ELSE v = 2 END",
            (
                "((a WHERE a.k = 1) MARK 'exists 1' exists.b ON exists.b.k = a.k) "
                "WHERE CASE WHEN exists 1 THEN a.v = 1 ELSE a.v = 2 END"
            ),
        ),
        (
            "(n IN (SELECT k FROM b)) IS NOT TRUE",
            (
                "((a MARK 'in 1' in.b ON a.n = in.b.k) MARK 'in 2' in.b#2 ON in.b#2.k IS NULL) "
                "WHERE NOT ((CASE WHEN in 1 THEN TRUE WHEN in 2 THEN NULL ELSE FALSE END) IS TRUE)"
            ),
        ),
    ],
)
def test_what_stands_elsewhere_is_a_mark(where: str, expected: str) -> None:
    assert {tree(f"FROM a WHERE {where}", dialect) for dialect in DIALECTS} == {expected}


@pytest.mark.parametrize(
    ("value", "joined", "shown"),
    [
        (E, "a MARK 'exists 1' exists.b ON exists.b.k = a.k", "exists 1"),
        (
            "n IN (SELECT n FROM b)",
            "a MARK 'in 1' in.b ON a.n = in.b.n",
            "in 1",
        ),
        (
            "k NOT IN (SELECT k FROM b)",
            (
                "((a MARK 'in 1' in.b ON a.k = in.b.k) MARK 'in 2' in.b#2 ON in.b#2.k IS NULL) "
                "MARK 'in 3' in.b#3 ON a.k IS NULL"
            ),
            "NOT (CASE WHEN in 1 THEN TRUE WHEN in 2 OR in 3 THEN NULL ELSE FALSE END)",
        ),
        (
            "n < ALL (SELECT k FROM b)",
            "(a MARK 'all 1' all.b ON a.n >= all.b.k) MARK 'all 2' all.b#2 ON all.b#2.k IS NULL",
            "NOT (CASE WHEN all 1 THEN TRUE WHEN all 2 THEN NULL ELSE FALSE END)",
        ),
        (
            "(n, k) IN (SELECT n, k FROM b)",
            (
                "(a MARK 'in 1' in.b ON a.n = in.b.n AND a.k = in.b.k) "
                "MARK 'in 2' in.b#2 ON a.n = in.b#2.n AND NOT ((a.k = in.b#2.k) IS FALSE)"
            ),
            "CASE WHEN in 1 THEN TRUE WHEN in 2 THEN NULL ELSE FALSE END",
        ),
    ],
)
def test_a_subquery_in_the_select_list_is_a_mark(value: str, joined: str, shown: str) -> None:
    for dialect in DIALECTS:
        sql = f"SELECT {value} AS x, CASE WHEN {value} THEN 1 END AS y FROM a"
        assert tree(sql, dialect) == joined
        inside = f"({shown})" if shown.startswith("(") else shown
        assert output(sql, dialect) == [
            f"x: {shown}",
            f"y: CASE WHEN {inside} THEN 1 ELSE NULL END",
        ]


def test_a_mark_may_be_grouped_by_and_summed_up() -> None:
    sql = f"SELECT {E} AS e, SUM(CASE WHEN {E} THEN 1 ELSE 0 END) AS s FROM a GROUP BY e"
    found = defined(sql).joined
    assert found.tree is not None
    assert drawn(found.tree) == "a MARK 'exists 1' exists.b ON exists.b.k = a.k"
    assert [show(each.value) for each in found.output] == [
        "exists 1",
        "CASE WHEN exists 1 THEN 1 ELSE 0 END",
    ]


def test_a_mark_of_an_optional_side_is_null_where_that_is_missing() -> None:
    sql = f"SELECT s.e FROM c LEFT JOIN (SELECT k, {E} AS e FROM a) s ON c.k = s.k"
    side = "s.a MARK 'exists 1' s.exists.b ON s.exists.b.k = s.a.k"
    assert tree(sql) == f"c LEFT ({side}) ON c.k = s.a.k"
    assert output(sql) == ["e: CASE WHEN is_there(s.a.k) THEN exists 1 ELSE NULL END"]


def test_an_inner_join_asks_what_its_on_asks() -> None:
    sql = "FROM a JOIN c ON a.k = c.k AND c.w IN (SELECT n FROM b) LEFT JOIN b ON a.k = b.k"
    asked = "(a c WHERE a.k = c.k) SEMI in.b ON c.w = in.b.n"
    assert tree(sql) == f"({asked}) LEFT b ON a.k = b.k"


@pytest.mark.parametrize("join", ["{} JOIN", "LEFT {} JOIN"])
@pytest.mark.parametrize("word", ["SEMI", "ANTI"])
def test_semi_and_anti_joins_show_the_left_side_alone(join: str, word: str) -> None:
    join = join.format(word)
    for dialect in ("spark", "duckdb"):
        sql = f"SELECT * FROM a {join} b ON a.k = b.k AND b.v > 1 WHERE a.v = 2"
        joined = f"a {word} b ON a.k = b.k AND b.v > 1"
        assert tree(sql, dialect) == f"({joined}) WHERE a.v = 2"
        assert output(sql, dialect) == ["k: a.k", "v: a.v", "n: a.n"]
    using = f"SELECT * FROM a {join} b USING (v)"
    assert tree(using) == f"a {word} b ON a.v = b.v"
    assert output(using) == ["k: a.k", "v: a.v", "n: a.n"]
    assert output(using, "spark") == ["v: a.v", "k: a.k", "n: a.n"]


def test_a_subquery_reads_the_query_around_it_where_its_own_tables_lack_a_name() -> None:
    sql = "SELECT v FROM a WHERE w IN (SELECT v FROM b WHERE w = k)"
    with pytest.raises(ViewError, match='a has no column "w"'):
        defined(sql)
    sql = "SELECT w FROM c WHERE w IN (SELECT v FROM b WHERE w = k)"
    assert tree(sql) == "c SEMI in.b ON c.w = in.b.v AND c.w = in.b.k"


def test_what_is_asked_by_a_query_of_with_is_asked_wherever_it_is_used() -> None:
    sql = f"WITH q AS (SELECT k FROM a WHERE {E}) SELECT x.k FROM q x JOIN q y ON x.k = y.k"
    found = define(sql, TABLES, "duckdb")
    assert found.tree is not None
    assert drawn(found.tree) == (
        "(x.a SEMI x.exists.b ON x.exists.b.k = x.a.k) "
        "(y.a SEMI y.exists.b ON y.exists.b.k = y.a.k) WHERE x.a.k = y.a.k"
    )


def test_subqueries_are_limited_as_tables_are() -> None:
    """Each NOT IN of a column with NULLs asks three times, and those inside it as well."""
    sql = "TRUE"
    for _ in range(18):
        sql = f"k NOT IN (SELECT k FROM b WHERE {sql})"
    with pytest.raises(ViewError, match="over 256 tables"):
        defined(f"FROM a WHERE {sql}")
    unused = "TRUE"
    for _ in range(18):
        unused = f"k NOT IN (WITH u AS (SELECT k FROM b WHERE {unused}) SELECT k FROM b)"
    assert len(defined(f"FROM a WHERE {unused}").aliases) == 4
