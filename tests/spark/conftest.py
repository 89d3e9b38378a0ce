"""One session for all tests of Spark, and the feeds they share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import joingraph as jg

# Without Spark there is nothing to collect; `make spark` installs it.
collect_ignore_glob = [] if find_spec("pyspark") and find_spec("redis") else ["test_*.py"]

FOLLOWER = "CREATE TABLE follower (userId BIGINT NOT NULL, followerId BIGINT, note STRING)"
TWEET = "CREATE TABLE tweet (userId BIGINT, tweetId BIGINT, text STRING, PRIMARY KEY (tweetId))"
SQL = (
    "CREATE VIEW timeline AS SELECT F.followerId, T.tweetId, T.text FROM follower F "
    "JOIN tweet T ON F.userId = T.userId WHERE T.tweetId > 5"
)
GROUPS = (  # with the same columns
    "CREATE VIEW timeline AS SELECT F.followerId, COUNT(*) AS tweetId, MIN(T.text) AS text "
    "FROM follower F JOIN tweet T ON F.userId = T.userId WHERE T.tweetId > 5 "
    "GROUP BY F.followerId HAVING COUNT(*) > 2"
)

# A Java that lives for a minute is not worth optimizing: Spark starts twice as fast without.
QUICK = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    session = jg.spark.session(QUICK, master="local[2]", delta=True)
    yield session
    session.stop()


@pytest.fixture
def view() -> jg.View:
    return jg.View(SQL, tables={"follower": FOLLOWER, "tweet": TWEET})


Write = Callable[[str, str, dict[str, list[object]]], None]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a Parquet file into a source's folder."""

    def written(table: str, name: str, columns: dict[str, list[object]]) -> None:
        folder = tmp_path / table
        folder.mkdir(exist_ok=True)
        pq.write_table(pa.table(columns), folder / f"{name}.parquet")

    return written


def rows(view: Any) -> list[tuple[object, ...]]:
    """Give a table's rows, sorted."""
    return sorted(tuple(row.values()) for row in view.to_pylist())
