"""Exceptions between any two instructions: a call is done whole, or it has not happened."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import FrameType
from unittest.mock import Mock

import pyarrow as pa
import pytest
from sqlglot import Dialect
from sqlglot.errors import TokenError

import joingraph as jg
from joingraph.api import writes
from joingraph.api.durability import Durability
from joingraph.api.subscription import Subscription
from joingraph.engines.calls.calls import Calls
from joingraph.engines.streaming import Stream, do_nothing, one_table
from joingraph.storage import live_graph
from joingraph.storage.live_graph import LiveGraph
from tests import ENGINES
from tests.crash import interrupts
from tests.crash.interrupting import Interrupted, stepped

VIEW = jg.View(
    "SELECT F.fan, T.id FROM follower F JOIN tweet T ON F.author = T.author",
    {
        "follower": "CREATE TABLE follower (author BIGINT, fan BIGINT)",
        "tweet": "CREATE TABLE tweet (author BIGINT, id BIGINT)",
    },
)
BATCH = [("insert", "tweet", [(1, 1), (2, 2)]), ("update", "follower", [(1, 5)], [(2, 6)])]
STRIDE = 9  # of the steps at which a call is interrupted; the campaign takes any


@pytest.fixture(autouse=True)
def _quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let files that an interrupt has left open be closed in silence."""
    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)


def made(engine: str, folder: Path | None) -> jg.JoinGraph:
    return jg.JoinGraph(VIEW, folder, engine=engine, durability="os")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("is_durable", [True, False], ids=["in a folder", "in memory"])
def test_a_batch_interrupted_at_any_step_is_there_whole_or_not_at_all(
    engine: str, is_durable: bool, tmp_path: Path
) -> None:
    seen, at, came, stride = set[tuple[int, int]](), 0, 1, STRIDE * (8 if is_durable else 1)
    while came:
        folder = tmp_path / str(at) if is_durable else None
        graph = made(engine, folder)
        graph.load({"follower": [(1, 5), (1, 5)]})
        came, _ = stepped(partial(graph.apply, BATCH), [at])
        found = graph.seq, graph.count()
        graph.check()
        assert found in {(0, 0), (1, 2)}, f"at step {at}"
        assert graph.insert("tweet", [(1, 9)]).seq == found[0] + 1
        count = graph.count()
        graph.close()
        if folder is not None:
            with jg.open(folder) as graph:
                assert (graph.seq, graph.count()) == (found[0] + 1, count)
        seen.add(found)
        at += stride
    assert seen == {(0, 0), (1, 2)}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("is_durable", [True, False], ids=["in a folder", "in memory"])
def test_random_calls_are_interrupted_at_random_moments(
    engine: str, is_durable: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(interrupts.log, "SEGMENT_BYTES", interrupts.SEGMENT_BYTES)
    carry_out = Mock(side_effect=Calls.carry_out, autospec=True)
    monkeypatch.setattr(Calls, "carry_out", lambda *given: carry_out(*given))
    seen = interrupts.run(60, 17, engine, durable=is_durable)
    assert seen["before"] and seen["before"] + seen["after"] + seen["refused"] >= 60
    assert (carry_out.call_count > 5) == (engine == "compiled"), "few rows are one compiled call"


@pytest.mark.parametrize("engine", ENGINES)
def test_a_call_from_the_midst_of_another_is_refused_and_harms_nothing(engine: str) -> None:
    """A signal handler may ask the graph that it interrupts, at any step."""
    refused, at, came = 0, 0, True
    while came:
        graph, asked = made(engine, None), Asked(at)
        asked.graph = graph
        graph.load({"follower": [(1, 5), (1, 5)]})
        sys.setprofile(asked)
        graph.apply(BATCH)
        sys.setprofile(None)
        assert (graph.seq, graph.count()) == (1, 2)
        refused, came = refused + asked.is_refused, asked.steps > at
        at += STRIDE
    assert refused


class Asked:
    """Asks a graph for its count at one step of another call."""

    graph: jg.JoinGraph

    def __init__(self, at: int) -> None:
        self.at, self.steps, self.is_refused = at, 0, False

    def __call__(self, frame: FrameType, event: str, given: object) -> None:
        self.steps += event in ("call", "c_return")
        if self.steps == self.at + 1 and event in ("call", "c_return"):
            try:
                assert self.graph.count() in (0, 2)
            except jg.StoreError as error:
                assert "in the middle of another call" in str(error), error
                self.is_refused = True


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("taken", [0, 1])
def test_a_stream_that_was_interrupted_as_it_was_dropped_is_finished_by_the_next_call(
    engine: str, taken: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = made(engine, None)
    graph.load({"follower": [(1, 5), (1, 5)]})
    stream = graph.stream(BATCH)
    for _ in range(taken):
        next(stream)
    with monkeypatch.context() as patch:
        patch.setattr(Stream, "close", Mock(side_effect=KeyboardInterrupt))
        del stream
    assert (graph.seq, graph.count()) == (1, 2)
    graph.check()
    assert graph.insert("tweet", [(1, 9)]).seq == 2


@pytest.mark.parametrize("engine", ENGINES)
def test_after_an_interrupt_in_the_middle_of_a_stream_the_batch_is_whole(engine: str) -> None:
    graph = made(engine, None)
    graph.load({"follower": [(1, 5), (1, 5)]})
    with pytest.raises(KeyboardInterrupt):
        for _ in graph.stream(BATCH):
            raise KeyboardInterrupt
    at, came = 0, 1
    while came:
        stream = graph.stream([("insert", "tweet", [(2, 100 + at)])])
        before = graph.seq
        came, _ = stepped(partial(list, stream), [at])
        del stream
        assert graph.seq == before
        assert graph.count() == 3 + at // STRIDE
        graph.check()
        at += STRIDE


SAYINGS: dict[str, Callable[[jg.JoinGraph, Subscription], object]] = {
    "subscribe": lambda graph, _: graph.subscribe("new"),
    "unsubscribe": lambda graph, _: graph.unsubscribe("old"),
    "ack": lambda _, subscription: subscription.ack(1),
}


@pytest.mark.parametrize("first", SAYINGS)
@pytest.mark.parametrize("second", SAYINGS)
def test_what_a_subscriber_says_is_settled_before_it_says_more(
    first: str, second: str, tmp_path: Path
) -> None:
    seen, at, came = set[tuple[str, ...]](), 0, 1
    while came:
        graph = made("reference", tmp_path / str(at))
        subscription = graph.subscribe("old")
        graph.insert("tweet", [(1, 1)])
        assert subscription.next(0) is not None
        came, _ = stepped(partial(SAYINGS[first], graph, subscription), [at])
        names = graph.subscribers()
        with suppress(jg.StoreError):
            SAYINGS[second](graph, subscription)
            named = {"subscribe": "new" in graph.subscribers()}
            named["unsubscribe"] = "old" not in graph.subscribers()
            assert named.get(second, True), f"after {first} at step {at}"
        found = graph.subscribers()
        assert second != "ack" or found == names
        assert graph.insert("tweet", [(1, 2)]).seq == 2
        assert graph.subscribers() == found
        graph.close()
        with jg.open(tmp_path / str(at)) as graph:
            assert (graph.subscribers(), graph.seq) == (found, 2)
        seen.add(tuple(names))
        at += 5
    if first != "ack":
        assert len(seen) == 2


class Closed:
    """Interrupts what was called when one of its files has just been closed."""

    def __init__(self, at: int) -> None:
        self.at, self.closed = at, 0

    def __call__(self, frame: FrameType, event: str, given: object) -> None:
        if event == "c_return" and getattr(given, "__name__", "") == "close":
            self.closed += 1
            if self.closed == self.at:
                raise Interrupted


def test_a_close_that_was_interrupted_is_done_once_more_and_closes_nothing_else(
    tmp_path: Path,
) -> None:
    at, came = 1, True
    while came:
        graph, closed = made("reference", tmp_path / str(at)), Closed(at)
        graph.snapshot()
        sys.setprofile(closed)
        with suppress(Interrupted):
            graph.close()
        sys.setprofile(None)
        with open(tmp_path / "other", "w") as other:  # which takes a number that became free
            graph.close()
            other.write("open")
        jg.open(tmp_path / str(at)).close()
        at, came = at + 1, closed.closed == at
    assert at > 3


def test_a_stream_interrupted_as_it_is_made_ends_in_silence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ignored = list[object]()
    monkeypatch.setattr(sys, "unraisablehook", lambda args: ignored.append(args.exc_type))
    at, came = 0, 1
    while came:
        came, _ = stepped(partial(Stream, one_table(pa.table({})), do_nothing), [at])
        at += 1
    assert at > 3
    assert set(ignored) <= {Interrupted}


@pytest.mark.parametrize("error", [Interrupted, jg.StoreError])
def test_a_refresh_that_is_interrupted_carries_no_batch_out_twice(
    error: type[BaseException], tmp_path: Path
) -> None:
    at, came = 0, 1
    with made("reference", tmp_path / "graph") as graph:
        graph.load({"follower": [(1, 5)]})
        while came:
            before = graph.count()
            with jg.open(tmp_path / "graph", readonly=True) as reader:
                graph.insert("tweet", [(1, at)])
                came, _ = stepped(reader.refresh, [at], error)
                with suppress(jg.StoreError):
                    assert reader.count() in (before, before + 1), f"at step {at}"
                reader.refresh()
                assert (reader.count(), reader.seq) == (before + 1, graph.seq), f"at step {at}"
                reader.check()
            at += 5
            if at % 100 == 0:
                graph.snapshot()


def test_a_stream_that_was_never_handed_out_holds_nothing_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two interrupts: as it is made, and as that is settled."""

    def interrupted(*_: object) -> None:
        raise Interrupted

    batch = [("insert", "tweet", [(1, 1)])]
    _, steps = stepped(partial(made("reference", None).stream, batch), [])
    for at in range(int(steps) - 60, int(steps)):
        graph = made("reference", None)
        graph.load({"follower": [(1, 5)]})
        with monkeypatch.context() as patch:
            patch.setattr(LiveGraph, "_resolve", interrupted)
            stepped(partial(graph.stream, batch), [at])
        assert graph.count() == graph.seq, f"at step {at}"


@pytest.mark.parametrize("engine", ENGINES)
def test_a_stream_that_was_taken_back_is_not_done_because_it_is_dropped(
    engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two interrupts: as it is made, and between its undoing and its replay."""
    graph = made(engine, None)
    graph.load({"follower": [(1, 5), (1, 5)]})
    with monkeypatch.context() as patch:
        patch.setattr(writes, "ref", Mock(side_effect=Interrupted))
        patch.setattr(live_graph, "replay", Mock(side_effect=Interrupted))
        with suppress(Interrupted):
            graph.stream(BATCH)
    assert (graph.seq, graph.count()) == (1, 2)
    graph.check()


@pytest.mark.parametrize("engine", ENGINES)
def test_a_stream_whose_record_could_not_be_waited_for_is_not_the_callers(
    engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = made(engine, None)
    graph.load({"follower": [(1, 5), (1, 5)]})
    with monkeypatch.context() as patch:
        patch.setattr(Durability, "wait", Mock(side_effect=Interrupted))
        with pytest.raises(Interrupted) as caught:
            graph.stream(BATCH)
    assert (graph.seq, graph.count()) == (1, 2)
    assert caught.tb, "the caller still has the error, and so the frames of the call"


def test_a_call_beside_an_open_stream_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, collect = made("reference", None), Mock()
    with graph.stream(BATCH[:1]), monkeypatch.context() as patch:
        patch.setattr(gc, "collect", collect)  # which takes 50 ms
        with pytest.raises(jg.StoreError, match="a stream of view diffs is open"):
            graph.count()
    collect.assert_not_called()


class HandlerError(Exception):
    """Raised by a caller's signal handler."""


def handled(frame: object) -> None:
    """Be the signal handler of a caller."""
    raise HandlerError


@pytest.mark.parametrize("is_wrapped", [True, False])
def test_what_a_handler_raises_amid_parsing_is_no_error_of_the_text(
    monkeypatch: pytest.MonkeyPatch, is_wrapped: bool
) -> None:
    def tokenize(dialect: object, sql: str) -> None:
        try:
            handled(None)
        except HandlerError as error:
            if is_wrapped:
                raise TokenError("Error tokenizing") from error
            raise

    monkeypatch.setattr(Dialect, "tokenize", tokenize)
    with pytest.raises(HandlerError):
        jg.View("SELECT a FROM t", {"t": "CREATE TABLE t (a INT)"})
