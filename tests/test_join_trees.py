"""How a view's aliases are joined: the trees of LEFT, RIGHT and FULL JOIN.

    a LEFT JOIN b ON a.k = b.k WHERE b.v IS NULL
    ->  (a LEFT b ON a.k = b.k) WHERE b.v IS NULL

Parts of an inner join stand side by side, with its conditions behind WHERE.
"""

from __future__ import annotations

import pytest

from joingraph.common.errors import ViewError
from joingraph.expressions.show import show
from joingraph.sql import define
from joingraph.sql.ddl.tables import declare_all
from joingraph.sql.definition import Definition, Inner, Joined, Leaf, Outer, Probe

TABLES = declare_all(
    {
        "a": "CREATE TABLE a (k INT, v INT, n INT NOT NULL)",
        "b": "CREATE TABLE b (k INT, v INT, n INT NOT NULL)",
        "c": "CREATE TABLE c (k INT, w INT)",
    }
)
DIALECTS = ("spark", "duckdb", "postgres", "sqlite")
ABK, BCK = "ON a.k = b.k", "ON b.k = c.k"


def drawn(joined: Joined) -> str:
    """Write a tree on one line."""
    match joined:
        case Leaf(alias):
            return alias
        case Inner(parts, conditions):
            return " ".join(map(inside, parts)) + behind("WHERE", conditions)
        case Outer(left, right, conditions, is_full):
            word = "FULL" if is_full else "LEFT"
            return f"{inside(left)} {word} {inside(right)}" + behind("ON", conditions)
        case Probe(kind, left, right, conditions, mark):
            word = kind.upper() + (f" {show(mark)!r}" if mark else "")
            return f"{inside(left)} {word} {inside(right)}" + behind("ON", conditions)


def inside(joined: Joined) -> str:
    return drawn(joined) if isinstance(joined, Leaf) else f"({drawn(joined)})"


def behind(word: str, conditions: tuple[object, ...]) -> str:
    texts = [show(each) for each in conditions]  # type: ignore[arg-type]
    return f" {word} {' AND '.join(texts)}" if texts else ""


def defined(text: str, dialect: str = "duckdb") -> Definition:
    """Define a view; a FROM clause shows all columns by numbers."""
    return define(text if text.startswith("SELECT") else f"SELECT a.n {text}", TABLES, dialect)


def tree(text: str, dialect: str = "duckdb") -> str:
    """Draw the tree of a view, which holds all of its conditions."""
    found = defined(text, dialect)
    assert found.tree is not None and found.conditions == ()
    return drawn(found.tree)


def output(text: str, dialect: str = "duckdb") -> list[str]:
    return [f"{each.name}: {show(each.value)}" for each in defined(text, dialect).output]


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        (f"FROM a LEFT JOIN b {ABK}", "a LEFT b ON a.k = b.k"),
        (f"FROM a LEFT OUTER JOIN b {ABK}", "a LEFT b ON a.k = b.k"),
        (f"FROM b RIGHT JOIN a {ABK}", "a LEFT b ON a.k = b.k"),
        (f"FROM a FULL OUTER JOIN b {ABK}", "a FULL b ON a.k = b.k"),
        ("FROM a LEFT JOIN b ON TRUE", "a LEFT b"),
        (
            f"FROM a LEFT JOIN b {ABK} LEFT JOIN c ON a.k = c.k",
            "(a LEFT b ON a.k = b.k) LEFT c ON a.k = c.k",
        ),
        (
            f"FROM a LEFT JOIN (b JOIN c {BCK}) {ABK}",
            "a LEFT (b c WHERE b.k = c.k) ON a.k = b.k",
        ),
        (
            f"FROM a LEFT JOIN b LEFT JOIN c {BCK} {ABK}",
            "a LEFT (b LEFT c ON b.k = c.k) ON a.k = b.k",
        ),
        (
            f"FROM a LEFT JOIN b {ABK} JOIN c {BCK}",
            "(a LEFT b ON a.k = b.k) c WHERE b.k = c.k",
        ),
        (
            f"FROM a FULL JOIN b {ABK} LEFT JOIN c {BCK}",
            "(a FULL b ON a.k = b.k) LEFT c ON b.k = c.k",
        ),
        (
            f"FROM a JOIN b {ABK} RIGHT JOIN c {BCK} AND a.v > 1",
            "c LEFT (a b WHERE a.k = b.k) ON b.k = c.k AND a.v > 1",
        ),
        (
            f"FROM a LEFT JOIN b {ABK} WHERE b.k IS NULL AND (a.v > 3 AND TRUE)",
            "(a LEFT b ON a.k = b.k) WHERE b.k IS NULL AND a.v > 3",
        ),
        (
            "FROM a JOIN b ON a.v = b.v LEFT JOIN c ON b.k = c.k WHERE a.k = 1",
            "((a b WHERE a.v = b.v) LEFT c ON b.k = c.k) WHERE a.k = 1",
        ),
    ],
)
def test_outer_joins_make_a_tree(sql: str, expected: str) -> None:
    assert {tree(sql, dialect) for dialect in DIALECTS} == {expected}


def test_inner_joins_alone_make_no_tree() -> None:
    found = defined(f"FROM (a JOIN b {ABK}), c WHERE a.v > 1")
    assert found.tree is None
    assert [show(each) for each in found.conditions] == ["a.k = b.k", "a.v > 1"]


def test_the_comma_binds_as_the_dialect_says() -> None:
    sql = "FROM a, b LEFT JOIN c ON b.k = c.k"
    assert tree(sql, "postgres") == tree(sql, "duckdb") == "a (b LEFT c ON b.k = c.k)"
    assert tree(sql, "spark") == tree(sql, "sqlite") == "(a b) LEFT c ON b.k = c.k"


def test_a_join_without_a_condition_is_of_all_rows_where_the_dialect_takes_one() -> None:
    for dialect in ("spark", "sqlite"):
        assert tree("FROM a LEFT JOIN b", dialect) == "a LEFT b"


def test_aliases_stand_in_the_order_of_the_text() -> None:
    found = defined("SELECT 1 AS x FROM b RIGHT JOIN a ON a.k = b.k LEFT JOIN a AS z ON z.k = a.k")
    assert [each.name for each in found.aliases] == ["b", "a", "z"]


USING = "SELECT * FROM (SELECT v, k FROM a) s {} JOIN (SELECT w, k FROM c) t USING (k)"


@pytest.mark.parametrize(
    ("side", "joined", "key"),
    [
        ("LEFT", "s.a LEFT t.c", "s.a.k"),
        ("RIGHT", "t.c LEFT s.a", "t.c.k"),
        ("FULL", "s.a FULL t.c", "coalesce(s.a.k, t.c.k)"),
    ],
)
def test_the_common_column_is_that_of_the_side_that_is_there(
    side: str, joined: str, key: str
) -> None:
    for dialect in DIALECTS:
        assert tree(USING.format(side), dialect) == f"{joined} ON s.a.k = t.c.k"
        assert tree(f"SELECT s.v FROM a s NATURAL {side} JOIN c t", dialect)
        first = [f"k: {key}", "v: s.a.v"]
        in_front = dialect in ("spark", "postgres")
        listed = [*(first if in_front else reversed(first)), "w: t.c.w"]
        assert output(USING.format(side), dialect) == listed
    both = f"SELECT k, s.k AS l, t.k AS r FROM a s {side} JOIN c t USING (k)"
    plain = key.replace("s.a", "s").replace("t.c", "t")
    assert output(both) == [f"k: {plain}", "l: s.k", "r: t.k"]


def test_full_joins_by_one_name_join_what_is_there() -> None:
    sql = "SELECT k FROM a FULL JOIN b USING (k) FULL JOIN c USING (k)"
    first = "coalesce(a.k, b.k)"
    assert tree(sql) == f"(a FULL b ON a.k = b.k) FULL c ON {first} = c.k"
    assert output(sql) == ["k: coalesce(a.k, b.k, c.k)"]
    many = "".join(f" FULL JOIN b AS b{at} USING (k)" for at in range(100))
    assert len(defined(f"SELECT k FROM a{many}").aliases) == 101


def test_sqlites_right_join_by_columns_of_two_types_is_one_value_by_type() -> None:
    tables = declare_all({"i": "CREATE TABLE i (k BIGINT)", "r": "CREATE TABLE r (k REAL)"})
    with pytest.raises(ViewError, match="EAL"):
        define("SELECT k FROM i RIGHT JOIN r USING (k)", tables, "sqlite")


def test_a_full_joins_common_column_is_offered_by_its_bare_name() -> None:
    with pytest.raises(ViewError, match=r"SELECT k, a\.v, a\.n, b\.v AS b_v, b\.n AS b_n FROM a"):
        define("SELECT * FROM a FULL JOIN b USING (k)", TABLES, "duckdb")


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("SELECT k, v AS x FROM b", "s.b.v"),
        ("SELECT k, 1 AS x FROM b", "CASE WHEN is_there(s.b.k) THEN 1 ELSE NULL END"),
        (
            "SELECT k, COALESCE(v, 0) AS x FROM b",
            "CASE WHEN is_there(s.b.k) THEN coalesce(s.b.v, 0) ELSE NULL END",
        ),
        ("SELECT k, COALESCE(v, n) AS x FROM b", "coalesce(s.b.v, s.b.n)"),
        ("SELECT k, ABS(v * n) AS x FROM b", "abs(s.b.v * s.b.n)"),
        ("SELECT b.k, b.v + c.w AS x FROM b JOIN c ON b.k = c.k", "s.b.v + s.c.w"),
        (
            "SELECT k, v IS NULL AS x FROM b",
            "CASE WHEN is_there(s.b.k) THEN s.b.v IS NULL ELSE NULL END",
        ),
        ("SELECT k, CAST(NULL AS INT) AS x FROM b", "NULL"),
        (
            "SELECT b.k, 1 AS x FROM c LEFT JOIN b ON b.k = c.k",
            "CASE WHEN is_there(s.c.k) THEN 1 ELSE NULL END",
        ),
        (
            "SELECT b.k, 1 AS x FROM c FULL JOIN b ON b.k = c.k",
            "CASE WHEN is_there(s.c.k) OR is_there(s.b.k) THEN 1 ELSE NULL END",
        ),
        (
            "SELECT b.k, t.x FROM b LEFT JOIN (SELECT k, 1 AS x FROM c) t ON b.k = t.k",
            "CASE WHEN is_there(s.t.c.k) THEN 1 ELSE NULL END",
        ),
    ],
)
def test_a_value_is_null_where_its_side_is_missing(part: str, value: str) -> None:
    for join in (f"a LEFT JOIN ({part}) s", f"({part}) s RIGHT JOIN a"):
        assert output(f"SELECT x, s.x AS y FROM {join} ON a.k = s.k") == [
            f"x: {value}",
            f"y: {value}",
        ]


def test_the_condition_of_a_join_reads_values_of_rows_that_are_there() -> None:
    sql = "FROM a LEFT JOIN (SELECT COALESCE(k, 1) AS k FROM b) s ON a.k = s.k WHERE s.k > 0"
    there = "(CASE WHEN is_there(s.b.k) THEN coalesce(s.b.k, 1) ELSE NULL END) > 0"
    assert tree(sql) == f"(a LEFT s.b ON a.k = coalesce(s.b.k, 1)) WHERE {there}"


def test_a_view_that_groups_groups_the_rows_of_its_tree() -> None:
    found = defined("SELECT a.k, COUNT(b.v) AS n FROM a LEFT JOIN b ON a.k = b.k GROUP BY a.k")
    assert found.tree is not None and found.joined.tree == found.tree
    assert drawn(found.tree) == "a LEFT b ON a.k = b.k"
