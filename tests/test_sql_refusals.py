"""Golden refusals: tests/refusals/*.sql hold SQL that is not taken and the text that says so.

    ==== duckdb                       a case begins; its dialect, Spark where none is named
    SELECT x FROM a ORDER BY x
    ----
    line 1, column 17: ORDER BY is not taken: ...

`REWRITE_REFUSALS=1 pytest tests/test_sql_refusals.py` writes the texts anew, to be read as a diff.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import pytest

import joingraph as jg
from joingraph.common.errors import ViewError
from joingraph.sql import define
from joingraph.sql.ddl.tables import declare_all

FOLDER = Path(__file__).parent / "refusals"
LONG = "SELECT * FROM " + ", ".join(f"tweet t{number}" for number in range(60))
TABLES = declare_all(
    {
        "tweet": "CREATE TABLE tweet (tweetId BIGINT PRIMARY KEY, userId BIGINT, text STRING)",
        "follower": "CREATE TABLE follower (userId BIGINT, followerId BIGINT)",
        "retweet": "CREATE TABLE retweet (tweetId BIGINT, userId BIGINT, at TIMESTAMP)",
    }
)


class Case(NamedTuple):
    """One text, and what is said of it."""

    dialect: str
    sql: str
    expected: str


def read(path: Path) -> list[Case]:
    """Read the cases of a file, in order."""
    cases = []
    for block in path.read_text(encoding="utf-8").split("====")[1:]:
        head, _, body = block.partition("\n")
        sql, _, expected = body.partition("\n----\n")
        cases.append(Case(head.strip() or "spark", sql, expected.strip("\n")))
    return cases


def refuse(case: Case) -> str:
    """Give the text of a refusal, trailing blanks off; what is taken has none."""
    try:
        jg.View(case.sql, TABLES, case.dialect)
    except ViewError as error:
        return "\n".join(line.rstrip() for line in str(error).split("\n"))
    return "taken"


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.sql")), ids=lambda path: path.stem)
def test_what_is_not_taken_is_refused_in_these_words(path: Path) -> None:
    cases = read(path)
    if os.environ.get("REWRITE_REFUSALS"):
        blocks = [f"==== {case.dialect}\n{case.sql}\n----\n{refuse(case)}\n" for case in cases]
        path.write_text("\n".join(blocks), encoding="utf-8")
    assert cases
    for case in read(path):
        assert refuse(case) == case.expected, case.sql


def test_every_golden_refusal_names_its_place() -> None:
    placed = [case.expected for path in FOLDER.glob("*.sql") for case in read(path)]
    assert [text for text in placed if not text.startswith("line ")] == []


def test_the_select_that_is_offered_for_columns_of_one_name_works() -> None:
    refused = [case for path in FOLDER.glob("*.sql") for case in read(path)]
    offered = [
        (case.expected.split("; write ")[1].split("\n")[0], case.dialect)
        for case in refused
        if "two columns of the view" in case.expected and "; write " in case.expected
    ]
    assert len(offered) > 4
    for sql, dialect in offered:
        names = define(sql, TABLES, dialect).schema.names
        assert len({name.lower() for name in names}) == len(names), sql


def test_no_select_is_offered_that_is_too_long_to_be_read() -> None:
    for sql in (f"SELECT text, text FROM tweet WHERE text <> '{'x' * 1_000}'", LONG):
        with pytest.raises(ViewError, match="list the columns and rename one with AS"):
            define(sql, TABLES)
