"""Positions that come twice, and subscribers who come back."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

import joingraph as jg
from joingraph.api.subscription import Subscription
from joingraph.storage import journal

SQL = "SELECT r.a, s.b FROM r JOIN s ON r.k = s.k"
VIEW = jg.View(SQL, {"r": "CREATE TABLE r (k INT, a INT)", "s": "CREATE TABLE s (k INT, b INT)"})
Rows = list[tuple[str, tuple[object, ...], int]]


def made(folder: Path | None) -> jg.JoinGraph:
    """Make a graph in which each row of r is a row of the view."""
    graph = jg.JoinGraph(VIEW, folder, engine="reference")
    if graph.seq == 0 and graph.count() == 0 and not graph.positions():
        graph.load({"s": [(1, 7)]}, source="s", position=0)
    return graph


@pytest.fixture(params=["memory", "disk"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path | None:
    return tmp_path / "graph" if request.param == "disk" else None


def insert(
    graph: jg.JoinGraph, number: int, source: str | None = None, position: object = None
) -> jg.ViewDiff:
    return graph.apply([("insert", "r", [(1, number)])], source=source, position=position)


def test_a_batch_that_comes_twice_is_answered_as_it_was(folder: Path | None) -> None:
    with made(folder) as graph:
        first = insert(graph, 5, source="r", position=10)
        again = insert(graph, 5, source="r", position=10)
        assert (again.seq, again.rows(), again.net()) == (first.seq, first.rows(), first.net())
        assert graph.count() == 1
        assert graph.positions() == {"s": 0, "r": 10}


def test_what_a_load_covers_is_recognised(folder: Path | None) -> None:
    with made(folder) as graph:
        graph.load({"r": [(1, 1), (1, 2)]}, source="r", position=[0, 20])
        graph.load({"r": [(1, 1), (1, 2)]}, source="r", position=[0, 20])
        assert insert(graph, 2, source="r", position=[0, 19]).rows() == []
        assert insert(graph, 3, source="r", position=[0, 21]).rows() == [("insert", (3, 7), 1)]
        assert graph.count() == 3


@pytest.mark.parametrize(
    ("position", "said"),
    [
        (15, "no batch ended there"),
        ("ten", "all positions of a source are of one kind"),
        (1.5, "position is an integer"),
        (None, "go together"),
        (True, "position is an integer"),
    ],
)
def test_a_position_that_cannot_be_placed_is_refused(
    folder: Path | None, position: object, said: str
) -> None:
    with made(folder) as graph:
        insert(graph, 1, source="r", position=10)
        insert(graph, 2, source="r", position=20)
        with pytest.raises(jg.DiffError, match=said):
            insert(graph, 3, source="r", position=position)
        assert graph.count() == 2


def test_the_last_batch_of_a_source_is_answered_after_snapshots_and_restarts(
    tmp_path: Path,
) -> None:
    with made(tmp_path / "graph") as graph:
        first = insert(graph, 1, source="r", position=10).rows()
        insert(graph, 2, source="r", position=20)
        last = insert(graph, 3, source="r", position=30).rows()
    for _ in range(2):
        with jg.open(tmp_path / "graph") as graph:
            assert insert(graph, 3, source="r", position=30).rows() == last
            assert insert(graph, 1, source="r", position=10).seq == 1
            if graph.seq == 3:
                graph.snapshot()
            insert(graph, 4)
    with jg.open(tmp_path / "graph") as graph:
        again = insert(graph, 1, source="r", position=10)
        assert (again.seq, first) == (1, [("insert", (1, 7), 1)])
        with pytest.raises(jg.StoreError, match="no longer kept"):
            again.rows()


def test_a_subscriber_is_told_every_batch_once_across_restarts(tmp_path: Path) -> None:
    told: list[tuple[int, Rows]] = []
    with made(tmp_path / "graph") as graph:
        graph.subscribe("search")
    for life in range(4):
        with jg.open(tmp_path / "graph") as graph:
            subscription = graph.subscribe("search")
            for number in range(3):
                insert(graph, 10 * life + number)
            if life == 1:
                graph.snapshot()
            for diff in subscription:
                if len(told) < 5 * life:
                    break
                told.append((diff.seq, diff.rows()))
                subscription.ack(diff.seq)
    with jg.open(tmp_path / "graph") as graph:
        told += [(diff.seq, diff.rows()) for diff in graph.subscribe("search")]
    expected = [10 * life + number for life in range(4) for number in range(3)]
    assert [seq for seq, _ in told] == list(range(1, 13))
    assert [rows for _, rows in told] == [[("insert", (each, 7), 1)] for each in expected]


def test_what_was_not_acknowledged_comes_again(tmp_path: Path) -> None:
    with made(tmp_path / "graph") as graph:
        subscription = graph.subscribe("search")
        for number in range(4):
            insert(graph, number)
        assert [diff.seq for diff in subscription] == [1, 2, 3, 4]
        subscription.ack(2)
        for wrong in (1, 5, "2"):
            with pytest.raises(jg.StoreError, match="can acknowledge batches 2 to 4"):
                subscription.ack(wrong)  # type: ignore[arg-type]  # wrong on purpose
    with jg.open(tmp_path / "graph") as graph:
        assert [diff.seq for diff in graph.subscribe("search")] == [3, 4]


def test_a_subscriber_can_wait_for_the_next_batch(folder: Path | None) -> None:
    with made(folder) as graph:
        subscription = graph.subscribe("search")
        assert subscription.next(0.01) is None
        later = threading.Timer(0.05, insert, (graph, 1))
        later.start()
        diff = subscription.next(10)
        later.join()
        assert diff is not None
        assert diff.rows() == [("insert", (1, 7), 1)]


def test_a_subscriber_who_lets_too_much_wait_is_dropped_by_name(folder: Path | None) -> None:
    with made(folder) as graph:
        subscription = graph.subscribe("slow", max_bytes=200, when_full="drop")
        for number in range(9):
            insert(graph, number)
        with pytest.raises(jg.StoreError, match=r"'slow' was dropped after batch 0: .* bytes"):
            subscription.next(0)
        graph.unsubscribe("slow")
        assert graph.subscribe("slow").next(0) is None


def test_or_batches_wait_for_it_and_then_are_refused(
    folder: Path | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "BLOCK_S", 0.05)
    with made(folder) as graph:
        subscription = graph.subscribe("slow", max_bytes=1)
        insert(graph, 1)
        with pytest.raises(jg.LimitError, match="subscriber slow has not acknowledged enough"):
            insert(graph, 2)
        assert graph.count() == 1
        for diff in subscription:
            subscription.ack(diff.seq)
        assert insert(graph, 2).seq == 2


def test_an_unknown_subscriber_or_option_is_refused(folder: Path | None) -> None:
    with made(folder) as graph:
        for call in (
            lambda: graph.unsubscribe("nobody"),
            lambda: graph.subscribe(""),
            lambda: graph.subscribe("a", max_bytes=0),
            lambda: graph.subscribe("a", when_full="cry"),
        ):
            with pytest.raises(jg.StoreError):
                call()


def test_a_closed_graph_tells_what_it_ended_with_and_refuses_all_else(folder: Path | None) -> None:
    graph = made(folder)
    subscription = graph.subscribe("a")
    other = graph.subscribe("b")
    diff = insert(graph, 1, source="r", position=10)
    assert subscription.next(0) is not None
    waiting = subscription.waiting_bytes()
    graph.close()
    calls: list[Callable[[], object]] = [
        partial(other.next, 0),
        partial(other.told, diff),
        partial(subscription.ack, diff.seq),
        partial(graph.subscribe, "a"),
        partial(graph.subscribe, "c"),
        partial(graph.unsubscribe, "a"),
        partial(graph.what_if, []),
        partial(graph.fanout, []),
        partial(graph.apply, []),
        graph.snapshot if folder else graph.count,
        graph.count,
    ]
    for call in calls * 2:
        with pytest.raises(jg.StoreError, match="the graph is closed"):
            call()
    graph.close()
    assert (graph.seq, graph.positions(), graph.quarantined()) == (1, {"s": 0, "r": 10}, [])
    assert (graph.subscribers(), subscription.waiting_bytes()) == (["a", "b"], waiting)


def test_a_graph_is_closed_beside_a_thread_that_acknowledges(tmp_path: Path) -> None:
    for number in range(10):
        graph, raised = made(tmp_path / str(number)), list[BaseException]()
        subscription = graph.subscribe("a")
        for each in range(20):
            insert(graph, each)
        thread = threading.Thread(target=acknowledge, args=(subscription, raised))
        thread.start()
        time.sleep(number / 2_000)
        graph.close()
        thread.join()
        assert [str(error) for error in raised] == ["the graph is closed; open it again"]


def acknowledge(subscription: Subscription, raised: list[BaseException]) -> None:
    """Acknowledge whatever comes, till an exception."""
    try:
        while True:
            diff = subscription.next(1)
            if diff is not None:
                subscription.ack(diff.seq)
    except BaseException as error:  # noqa: BLE001  # any of them is judged by the caller
        raised.append(error)
