"""Interrupts between two steps on the files of a log: nothing is written twice, or lost."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import joingraph as jg
from joingraph.storage.disk import files
from joingraph.storage.disk.log import Log
from tests import ENGINES
from tests.crash.interrupting import Interrupted

VIEW = jg.View(
    "SELECT F.fan, T.id FROM follower F JOIN tweet T ON F.author = T.author",
    {
        "follower": "CREATE TABLE follower (author BIGINT, fan BIGINT)",
        "tweet": "CREATE TABLE tweet (author BIGINT, id BIGINT)",
    },
)
BATCH = [("insert", "tweet", [(1, 1), (2, 2)]), ("update", "follower", [(1, 5)], [(2, 6)])]


@pytest.mark.parametrize("engine", ENGINES)
def test_view_diffs_of_a_segment_whose_removal_was_interrupted_are_those_of_the_snapshot(
    engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A segment is gone, and the log does not know it yet: a rebuild once was refused so."""
    graph = jg.JoinGraph(VIEW, tmp_path, engine=engine, durability="os")
    graph.load({"follower": [(1, 5), (1, 5)]})
    rows = graph.apply(BATCH, source="feed", position=1).rows()

    def remove(path: Path) -> None:
        path.unlink()
        raise Interrupted

    with monkeypatch.context() as patch, pytest.raises(Interrupted):
        patch.setattr(files, "try_unlink", remove)
        graph.snapshot()
    assert graph.apply(BATCH, source="feed", position=1).rows() == rows
    graph.rebuild(VIEW)
    assert graph.apply(BATCH, source="feed", position=1).rows() == rows
    graph.close()


def test_what_is_held_is_written_once_though_writing_it_was_interrupted_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second time as the first is dealt with: records came twice, and what followed was Stale.

    A batch that comes again is answered from the log, so what is held is written before.
    """
    graph = jg.JoinGraph(VIEW, tmp_path, engine="reference", durability="none")
    first = partial(graph.apply, [("insert", "follower", [(1, 5)])], source="s", position=1)
    second = partial(graph.apply, [("insert", "tweet", [(1, 1)])], source="s", position=2)
    first()
    write, settle = files.write, Log.settle

    def interrupted(*given: Any) -> None:
        write(*given)
        raise Interrupted

    def unsettled(log: Log, *, stands: bool = True) -> None:
        if log._writing is not None:
            raise Interrupted
        settle(log, stands=stands)

    with monkeypatch.context() as patch, pytest.raises(Interrupted):
        patch.setattr(files, "write", interrupted)
        patch.setattr(Log, "settle", unsettled)
        first()
    assert not first().rows()
    rows = second().rows()
    assert second().rows() == rows
    graph.rebuild(VIEW)
    graph.close()
    with jg.open(tmp_path) as graph:
        assert (graph.seq, graph.count()) == (2, 1)


def test_view_diffs_are_not_asked_for_while_what_is_held_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a signal handler: it would write what is held once more."""
    graph = jg.JoinGraph(VIEW, tmp_path, engine="reference", durability="none")
    subscription = graph.subscribe("s")
    graph.apply(BATCH[:1], source="s", position=1)
    again, refused = partial(graph.apply, BATCH[:1], source="s", position=1), list[jg.StoreError]()
    asking: list[Callable[[], object]] = [again, partial(subscription.next, 0)]
    asking.append(partial(graph.partitions, 2))
    write = files.write

    def handled(*given: Any) -> None:
        for ask in asking:
            with pytest.raises(jg.StoreError, match="in the middle of another call") as error:
                ask()
            refused.append(error.value)
        write(*given)

    with monkeypatch.context() as patch:
        patch.setattr(files, "write", handled)
        again()
    assert len(refused) == len(asking)
    assert all(ask() is not None for ask in asking)
    graph.close()
