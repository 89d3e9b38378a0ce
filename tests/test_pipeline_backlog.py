"""How far a backfill is, and how long the rest takes."""

from __future__ import annotations

from pathlib import Path

import pytest

from joingraph.pipeline.model import Source
from joingraph.pipeline.report.eta import Backlog, Estimate


@pytest.fixture
def source(tmp_path: Path) -> Source:
    folder = tmp_path / "a tweet"
    folder.mkdir()
    for number in range(4):
        (folder / f"{number}.csv").write_bytes(b"x" * 250)
    (folder / "_SUCCESS").write_bytes(b"no data")
    return Source("tweet", "csv", str(folder))


def uri(source: Source, number: int) -> str:
    return (Path(source.path) / f"{number}.csv").as_uri()


def test_files_are_counted_by_their_bytes(source: Source) -> None:
    backlog = Backlog([source], [])
    assert backlog.estimate() == Estimate(0, 1000, 0.0, None)
    backlog.take([uri(source, 0), "file:///elsewhere/9.csv", "s3://data/0.csv"])
    found = backlog.estimate()
    assert found is not None
    assert (found.done_bytes, found.bytes) == (250, 1000)
    assert found.left_s is not None
    assert found.left_s == pytest.approx(750 / found.bytes_per_s, abs=0.1)
    assert "kB of files, 25%" in str(found)


def test_what_earlier_runs_did_is_done_and_not_counted_as_speed(source: Source) -> None:
    backlog = Backlog([source], [uri(source, 0), uri(source, 1)])
    assert backlog.estimate() == Estimate(500, 1000, 0.0, None)


def test_sources_without_files_have_no_estimate() -> None:
    sources = [Source("tweet", "redis", "tweets"), Source("user", "parquet", "/not/there")]
    assert Backlog(sources, []).estimate() is None
