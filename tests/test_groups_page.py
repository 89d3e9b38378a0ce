"""The page lists aggregates by dialect: a view takes each line of it, and no dialect more."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import joingraph as jg
from joingraph.expressions.types import DIALECTS
from tests.aggregates import COLUMNS

PAGE = Path(__file__).parents[1] / "docs" / "functions.md"


def page_lines() -> list[tuple[str, list[bool]]]:
    section = PAGE.read_text(encoding="utf-8").split("\n## Aggregates\n")[1]
    rows = [line.split("|") for line in section.splitlines() if line.startswith("| `")]
    return [
        (row[1].strip().strip("`"), [bool(cell.strip()) for cell in row[2:6]])
        for row in rows
        if len(row) == 8
    ]


def is_taken(text: str, dialect: str) -> bool:
    try:
        jg.View(f"SELECT {text} AS found FROM q", {"q": pa.schema(COLUMNS)}, dialect=dialect)
    except jg.ViewError:
        return False
    return True


@pytest.mark.parametrize(("text", "dialects"), page_lines())
def test_a_view_takes_each_line_of_the_page(text: str, dialects: list[bool]) -> None:
    assert [is_taken(text, dialect) for dialect in DIALECTS] == dialects


def test_a_view_takes_names_that_parsers_read_otherwise() -> None:
    assert is_taken("NOT ANY(p) AND SOME(p)", "spark") and not is_taken("ANY(p)", "duckdb")
    assert is_taken("PERCENTILE(i, 0.3)", "spark") and is_taken("QUANTILE(i, 0.3)", "duckdb")
    assert not is_taken("i = ANY(p)", "spark")
