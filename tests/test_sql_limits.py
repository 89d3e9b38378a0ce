"""Hostile and huge texts: they are answered soon, with a view or a ViewError, never otherwise."""

from __future__ import annotations

import contextlib
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlglot import exp

from joingraph.common.errors import ViewError
from joingraph.sql import define
from joingraph.sql.binder import ALIASES_MAX
from joingraph.sql.ddl.tables import declare, declare_all
from joingraph.sql.text.parse import DIALECTS, NESTING_MAX, SQL_CHARS_MAX, parse_one, parse_part

TABLES = declare_all(
    {
        "a": "CREATE TABLE a (x BIGINT, y INT, s STRING)",
        "b": "CREATE TABLE b (x BIGINT, z DOUBLE)",
    }
)
WORDS = [
    "SELECT",
    "FROM",
    "WHERE",
    "a",
    "b",
    "x",
    "y",
    "s",
    "z",
    "t",
    ".",
    ",",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "*",
    "+",
    "-",
    "/",
    "%",
    "=",
    "<",
    ">",
    "<>",
    "AND",
    "OR",
    "NOT",
    "IN",
    "EXISTS",
    "BETWEEN",
    "LIKE",
    "IS",
    "NULL",
    "TRUE",
    "CASE",
    "WHEN",
    "THEN",
    "ELSE",
    "END",
    "JOIN",
    "LEFT",
    "INNER",
    "CROSS",
    "NATURAL",
    "USING",
    "ON",
    "AS",
    "WITH",
    "UNION",
    "ALL",
    "DISTINCT",
    "GROUP",
    "BY",
    "ORDER",
    "LIMIT",
    "HAVING",
    "OVER",
    "PARTITION",
    "LATERAL",
    "VIEW",
    "UNNEST",
    "explode",
    "VALUES",
    "CREATE",
    "TABLE",
    "1",
    "2.5",
    "'q'",
    '"q"',
    "`x`",
    ";",
    ":",
    "?",
    "@",
    "$",
    "--",
    "/*",
    "*/",
    "||",
    "::",
    "INTERVAL",
    "DATE",
    "'2020-01-01'",
    "CAST",
    "INT",
    "count",
    "sum",
    "rand",
    "PIVOT",
    "FOR",
    "QUALIFY",
    "TABLESAMPLE",
    "WINDOW",
    "FILTER",
    "\x00",
    "é",
    "😀",
    "0x1F",
    "1e400",
    "current_date",
    "ARRAY",
    "STRUCT",
    "->",
    "~",
    "&",
    "|",
    "^",
    "\\",
    "#",
    "EXTRACT",
    "YEAR",
    "MATCH_RECOGNIZE",
    "RECURSIVE",
    "PRIMARY",
    "KEY",
    "STRING",
    "DECIMAL",
    "REFERENCES",
]
SOUP = st.lists(st.sampled_from(WORDS), max_size=40).map(" ".join)
GARBAGE = st.one_of(
    st.text(max_size=80),
    SOUP,
    SOUP.map(lambda soup: f"SELECT x FROM a {soup}"),
    SOUP.map(lambda soup: f"SELECT {soup} FROM a JOIN b USING (x)"),
    SOUP.map(lambda soup: f"CREATE TABLE a ({soup})"),
)


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(sql=GARBAGE, dialect=st.sampled_from(DIALECTS))
def test_garbage_is_a_view_or_a_view_error(sql: str, dialect: str) -> None:
    start = time.process_time()
    for understand in (lambda: define(sql, TABLES, dialect), lambda: declare("a", sql, dialect)):
        try:
            understand()
        except ViewError as error:
            assert str(error)
    assert time.process_time() - start < 1


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT " + "(" * 10_000 + "x" + ")" * 10_000 + " FROM a",
        "SELECT " + "(" * 10_000,
        "SELECT x FROM " + "(SELECT x FROM " * 500 + "a" + ")" * 500,
        "SELECT " + "CASE WHEN TRUE THEN " * 500 + "x" + " END" * 500 + " FROM a",
        "SELECT " + "NOT " * 5_000 + "TRUE FROM a",
        "SELECT " + "- " * 5_000 + "x FROM a",
        "SELECT " + " + ".join(["x"] * 5_000) + " FROM a",
        "SELECT " + "[" * 5_000,
        "SELECT CAST(x AS " + "ARRAY<" * 500 + "INT" + ">" * 500 + ") FROM a",
        "WITH "
        + ", ".join(f"c{n} AS (SELECT x FROM {f'c{n - 1}' if n else 'a'})" for n in range(2_000))
        + " SELECT x FROM c1999",
    ],
    ids=lambda sql: sql[:24],
)
def test_what_nests_too_deep_is_refused_soon(sql: str) -> None:
    start = time.process_time()
    with pytest.raises(ViewError):
        define(sql, TABLES)
    assert time.process_time() - start < 5


REPEATED = {  # beside what nests, which is refused by its depth
    " JOIN b": "SELECT x FROM a{}", " LEFT JOIN b": "SELECT x FROM a{}",
    " JOIN b CROSS JOIN b": "SELECT x FROM a{}", " JOIN b, b": "SELECT x FROM a{}",
    " STRAIGHT_JOIN b": "SELECT x FROM a{}", " JOIN b AS ON (c)": "SELECT x FROM a{}",
    " JOIN SELECT 1 FROM a JOIN b": "SELECT x FROM a{}", " JOIN LATERAL (SELECT 1)":
    "SELECT x FROM a{}", " JOIN natural": "SELECT x FROM a{}", " LATERAL VIEW explode(x) t AS y":
    "SELECT x FROM a{}", "NOT ": "SELECT x FROM a WHERE {}TRUE", "- ": "SELECT {}x FROM a",
    "::BIGINT": "SELECT x{} FROM a", "[0]": "SELECT x{} FROM a", ".x": "SELECT a{} FROM a",
    ".f()": "SELECT x{} FROM a", "x -> ": "SELECT f({}x) FROM a", " -> 'a'": "SELECT x{} FROM a",
    " BETWEEN 1 AND 2": "SELECT x FROM a WHERE x{}", " IN (1)": "SELECT x FROM a WHERE x{}",
    "1, ": "SELECT x FROM a WHERE x IN ({}1)", "/* c */ ": "SELECT {}x FROM a",
    "/*+ h(a) */ ": "SELECT {}x FROM a", "WHEN TRUE THEN 1 ": "SELECT CASE {}END FROM a",
    "INTERVAL ": "SELECT {}'1' DAY FROM a", "DATE ": "SELECT {}'2020-01-01' FROM a",
    "ARRAY<": "SELECT CAST(x AS {}INT) FROM a", "a < ": "SELECT {}1 FROM a",
    " AS x": "SELECT x{} FROM a", " x": "SELECT x{} FROM a", "FROM ": "SELECT x {}a",
    " UNION SELECT x FROM a": "SELECT x FROM a{}", " |> SELECT x": "SELECT x FROM a{}",
    "SELECT ": "{}x FROM a", "'": "SELECT {} FROM a",
    " COLLATE x": "SELECT s{} FROM a", " OVER (ORDER BY x)": "SELECT sum(x){} FROM a",
    "9": "SELECT 1{} FROM a", "c AS (SELECT 1), ": "WITH {}d AS (SELECT 1) SELECT x FROM a",
}  # fmt: skip


@pytest.mark.parametrize("times", [30, 1_000])
@pytest.mark.parametrize("part", REPEATED)
def test_whatever_is_repeated_is_answered_soon(part: str, times: int) -> None:
    """Half a second alone; what doubles with every word would take for ever."""
    sql = REPEATED[part].format(part * times)
    start = time.process_time()
    with contextlib.suppress(ViewError):
        define(sql, TABLES)
    assert time.process_time() - start < 10


def test_joins_without_conditions_that_double_the_parsers_time_are_refused_by_name() -> None:
    joins = [f" JOIN b b{number}" for number in range(60)]
    assert len(define(f"SELECT a.x FROM a{''.join(joins[:11])}", TABLES).aliases) == 12
    start = time.process_time()
    with pytest.raises(ViewError, match="give each JOIN its ON or USING, or write CROSS JOIN"):
        define(f"SELECT a.x FROM a{''.join(joins)}", TABLES)
    with pytest.raises(ViewError, match="too many ways"):
        parse_part(f"x IN (SELECT x FROM a{''.join(joins)})", exp.Condition, "spark")
    assert time.process_time() - start < 2


@pytest.mark.parametrize(
    "join",
    [
        ", b b{0}",
        " CROSS JOIN b b{0}",
        " JOIN b b{0} ON a.x = b{0}.x",
        " JOIN b b{0} USING (x)",
        " NATURAL JOIN (SELECT x, z AS z{0} FROM b) b{0}",
    ],
)
def test_64_tables_are_joined_soon_in_every_way(join: str) -> None:
    joins = "".join(join.format(number) for number in range(63))
    start = time.process_time()
    assert len(define(f"SELECT a.s FROM a{joins}", TABLES).aliases) == 64
    assert time.process_time() - start < 1


def test_64_tables_whose_conditions_all_come_in_the_end_are_parsed_soon() -> None:
    joins = "".join(f" JOIN b b{number}" for number in range(63))
    conditions = "".join(f" ON b{number}.x = a.x" for number in reversed(range(63)))
    start = time.process_time()
    parse_one(f"SELECT a.s FROM a{joins}{conditions}", "spark")
    assert time.process_time() - start < 0.5


def test_a_constraint_that_says_nothing_is_refused_by_name() -> None:
    with pytest.raises(ViewError, match="what it means for the column's values is not settled"):
        declare("a", "CREATE TABLE a (x BIGINT CONSTRAINT c)")


def test_forty_levels_of_parentheses_are_taken() -> None:
    levels = NESTING_MAX
    define("SELECT " + "(" * levels + "x" + ")" * levels + " FROM a", TABLES)
    with pytest.raises(ViewError, match="nests deeper"):
        define("SELECT " + "(" * (levels + 1) + "x" + ")" * (levels + 1) + " FROM a", TABLES)


def test_a_text_of_more_characters_than_are_taken_is_refused_unread() -> None:
    with pytest.raises(ViewError, match=f"at most {SQL_CHARS_MAX:,} are taken"):
        define("SELECT x FROM a --" + "x" * SQL_CHARS_MAX, TABLES)


def test_queries_that_double_are_refused_at_the_limit_of_tables() -> None:
    queries = ["c0 AS (SELECT x FROM a)"] + [
        f"c{n} AS (SELECT l.x FROM c{n - 1} l, c{n - 1} r)" for n in range(1, 40)
    ]
    with pytest.raises(ViewError, match=f"over {ALIASES_MAX} tables"):
        define(f"WITH {', '.join(queries)} SELECT x FROM c39", TABLES)


def test_expressions_that_double_are_refused_at_the_limit_of_their_size() -> None:
    queries = ["c0 AS (SELECT x FROM a)"] + [
        f"c{n} AS (SELECT x + x AS x FROM c{n - 1})" for n in range(1, 40)
    ]
    start = time.process_time()
    with pytest.raises(ViewError, match="that many are not taken"):
        define(f"WITH {', '.join(queries)} SELECT x FROM c39", TABLES)
    assert time.process_time() - start < 5


def test_64_tables_are_bound_in_half_a_second() -> None:
    joins = " ".join(f"JOIN a a{n} ON a{n - 1}.x = a{n}.x" for n in range(1, 64))
    start = time.process_time()
    found = define(f"SELECT a0.s FROM a a0 {joins}", TABLES)
    assert time.process_time() - start < 0.5
    assert len(found.aliases) == 64
    assert len(found.conditions) == 63


def test_a_thousand_terms_of_and_or_of_or_are_taken() -> None:
    terms = [f"x <> {number}" for number in range(1_000)]
    assert len(define(f"SELECT x FROM a WHERE {' AND '.join(terms)}", TABLES).conditions) == 1_000
    assert len(define(f"SELECT x FROM a WHERE {' OR '.join(terms)}", TABLES).conditions) == 1
