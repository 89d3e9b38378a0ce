"""Where sources stand, as `joingraph status` says it."""

from __future__ import annotations

import time

import pytest

from joingraph.cli.pipeline import shown
from joingraph.pipeline.model import Source
from joingraph.pipeline.offsets import Reached
from joingraph.pipeline.report.source_lag import source_lag


@pytest.mark.parametrize(
    ("format", "lanes", "expected"),
    [
        ("parquet", {"file:///a/1.parquet": (5_000_000, 9), "file:///a/b%20c": (7_000_000, 1)},
         ("b c", 3.0)),
        ("redis", {"": (9_000, 3)}, ("9000-3", 1.0)),
        ("redis", {"": (11_000, 0)}, ("11000-0", 0.0)),
        ("delta", {"": (17, 0)}, ("version 17", None)),
        ("generator", {"": (17, 0)}, ("number 17", None)),
        ("kafka", {"t-1": (4, 0), "t-0": (9, 0)}, ("t-0 at 9, t-1 at 4", None)),
        ("dataframe", {"": (0, 0)}, ("has no positions", None)),
        ("csv", {}, ("has no positions", None)),
    ],
)  # fmt: skip
def test_a_source_stands_at_its_newest_mark(
    format: str, lanes: dict[str, tuple[int, int]], expected: tuple[str, float | None]
) -> None:
    assert source_lag(Source("t", format), Reached(lanes), 10.0) == expected


def test_status_shows_places_and_lags() -> None:
    sources = {"a": {"place": "1.csv", "lag_s": 0.42}, "b": {"place": "version 2", "lag_s": None}}
    said = shown({"updated": time.time(), "by_table": {"a": 1, "b": 2}, "sources": sources})
    assert "a: 1 diffs, at 1.csv, applied 0.4 s after it was written" in said
    assert said.endswith("b: 2 diffs, at version 2")
