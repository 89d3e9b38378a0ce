"""A fork: the child reads its copy of a graph, changes nothing, and holds nothing up."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path
from threading import Event, RLock, Thread

import pytest

import joingraph as jg
from joingraph.api.partitions import Partition
from joingraph.api.subscription import Subscription
from joingraph.common import forks
from joingraph.engines.codegen import compile
from tests import ENGINES
from tests.crash.forks import run

SQL = "SELECT F.fan, T.id FROM follower F JOIN tweet T ON F.author = T.author"
TABLES = {
    "follower": "CREATE TABLE follower (author BIGINT, fan BIGINT)",
    "tweet": "CREATE TABLE tweet (author BIGINT, id BIGINT)",
}
TWEET = [("insert", "tweet", [(1, 2)])]
ROOT = Path(__file__).parent.parent
HANG_S = 30.0


def made(path: Path | None, engine: str = "reference", durability: str = "fsync") -> jg.JoinGraph:
    """Make a graph whose view has two rows, with a subscriber who waits for one of them."""
    graph = jg.JoinGraph(jg.View(SQL, TABLES), path, engine=engine, durability=durability)
    graph.load({"follower": [(1, 7), (1, 8)]})
    graph.subscribe("watch")
    graph.insert("tweet", [(1, 1)])
    return graph


def child(work: Callable[[], object]) -> str:
    """Fork, and give what the child tells; it may not take for ever."""
    return ended(*forked(work))


def forked(work: Callable[[], object]) -> tuple[int, int]:
    """Fork a child that does some work; gives its number, and the pipe that it tells through."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads, from Python 3.12 on
        process = os.fork()
    if not process:
        try:
            told = str(work())
        except BaseException as error:  # noqa: BLE001  # it is told, and must not go on here
            told = f"{type(error).__name__}: {error}"
        os.write(writing, told.encode())
        os._exit(0)
    os.close(writing)
    return process, reading


def ended(process: int, pipe: int) -> str:
    """Give what a child tells, once it has exited."""
    with open(pipe) as lines, ThreadPoolExecutor(1) as pool:
        text = pool.submit(lines.read)
        try:
            return text.result(HANG_S)
        except TimeoutError:
            os.kill(process, 9)
            raise
        finally:
            os.waitpid(process, 0)


def refused(change: Callable[[], object]) -> str:
    """Give the text by which something is refused."""
    with pytest.raises(jg.StoreError) as raised:
        change()
    return str(raised.value)


def begun(work: Callable[[Event], object]) -> tuple[Future[object], ThreadPoolExecutor]:
    """Let a thread do some work, up to where it says that it has begun."""
    has_begun, pool = Event(), ThreadPoolExecutor(1)
    future = pool.submit(work, has_begun)
    assert has_begun.wait(HANG_S)
    return future, pool


def changes(graph: jg.JoinGraph, subscription: Subscription) -> list[Callable[[], object]]:
    """List all calls that only the process of a graph can make."""
    return [
        lambda: graph.apply(TWEET),
        lambda: graph.insert("tweet", [(1, 2)], form="idiffs"),
        lambda: graph.apply(TWEET, source="s", position=1),
        lambda: graph.load({"tweet": [(1, 2)]}),
        lambda: graph.stream(TWEET),
        lambda: graph.expire("tweet", "id > 0"),
        lambda: graph.index("id"),
        lambda: graph.rebuild(graph.view),
        lambda: graph.snapshot(),
        lambda: graph.subscribe("watch"),
        lambda: graph.unsubscribe("watch"),
        lambda: subscription.next(0),
        lambda: subscription.ack(1),
    ]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("is_kept", [True, False])
def test_a_child_reads_its_copy_and_is_refused_every_change_by_name(
    tmp_path: Path, engine: str, is_kept: bool
) -> None:
    graph = made(tmp_path / "g" if is_kept else None, engine)
    subscription, parent = graph.subscribe("watch"), os.getpid()

    def look() -> object:
        texts = {refused(each) for each in changes(graph, subscription)}
        assert len(texts) == 1, texts
        told = f"belongs to process {parent}, and this is process {os.getpid()}"
        assert told in texts.pop()
        graph.compile(lambda *_: None)
        assert graph.what_if(TWEET).rows() == [("insert", (7, 2), 1), ("insert", (8, 2), 1)]
        assert graph.fanout(TWEET) == (2, True)
        assert len(graph.why((7, 1))) == 1 and graph.why_not((9, 9))
        assert (graph.subscribers(), graph.positions()) == (["watch"], {})
        graph.check()
        found = graph.count(), graph.to_arrow().num_rows, graph.seq
        graph.close()
        return found

    assert child(look) == "(2, 2, 1)"
    assert graph.insert("tweet", [(1, 3)]).seq == 2
    assert [each.seq for each in subscription] == [1, 2]
    graph.close()
    if is_kept:
        with jg.open(tmp_path / "g") as found:
            assert (found.seq, found.count()) == (2, 4)


def test_a_child_that_exits_leaves_the_log_and_the_folders_to_its_parent(tmp_path: Path) -> None:
    # What is held back with durability "none" is the parent's to write, and the parent's log ends.
    script = tmp_path / "script.py"
    script.write_text(
        "import os, sys\nimport joingraph as jg\nfrom pathlib import Path\n"
        "from joingraph.engines.codegen.compile import private_folder\n"
        "from tests.test_forks import made\n"
        f"path = Path({str(tmp_path / 'g')!r})\n"
        "private, graph = private_folder(), made(path, durability='none')\n"
        "if not os.fork():\n"
        "    assert private_folder() != private\n"
        "    with graph:\n"
        "        assert graph.count() == 2\n"
        "    sys.exit()\n"
        "assert os.wait()[1] == 0 and private.is_dir()\n"
        "graph.insert('tweet', [(1, 3)])\n"
        "graph.close()\n"
        "with jg.open(path) as graph:\n"
        "    print(graph.seq, graph.count(), private)\n"
    )
    done = subprocess.run(
        [sys.executable, script], cwd=ROOT, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    seq, count, private = done.stdout.split()
    assert (seq, count) == ("2", "4")
    assert not Path(private).exists()
    assert not list(Path(tempfile.gettempdir()).glob(f"{Path(private).name}*"))


def test_a_folder_can_be_opened_again_while_a_child_lives(tmp_path: Path) -> None:
    graph = made(tmp_path / "g")
    reading, writing = os.pipe()
    process, pipe = forked(lambda: (os.close(writing), os.read(reading, 1), graph.count())[2])
    graph.close()
    with jg.open(tmp_path / "g") as again:
        again.insert("tweet", [(1, 3)])
        with pytest.raises(jg.StoreError, match=f"written by process {os.getpid()}"):
            jg.open(tmp_path / "g")
        os.close(writing)
        assert ended(process, pipe) == "2"
    os.close(reading)


def test_a_fork_waits_for_a_batch_and_the_child_has_it_whole(tmp_path: Path) -> None:
    graph = made(tmp_path / "g")

    def batch(has_begun: Event) -> Iterator[tuple[object, ...]]:
        has_begun.set()
        time.sleep(0.2)
        yield from TWEET

    future, pool = begun(lambda has_begun: graph.apply(batch(has_begun)))
    assert child(lambda: (graph.seq, graph.count())) == "(2, 4)"
    assert future.done()
    pool.shutdown()


def test_a_copy_amid_a_long_call_answers_nothing_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forks, "WAIT_S", 0.05)
    graph, other = made(None), made(None)
    goes_on = Event()

    def batch(has_begun: Event) -> Iterator[tuple[object, ...]]:
        has_begun.set()
        goes_on.wait(HANG_S)
        yield from TWEET

    future, pool = begun(lambda has_begun: graph.apply(batch(has_begun)))
    assert "was in the middle of a call on this graph" in child(graph.count)
    assert "was in the middle of a call on this graph" in child(graph.to_arrow)
    assert child(lambda: (other.count(), graph.close())) == "(2, None)"
    goes_on.set()
    future.result()
    pool.shutdown()
    assert child(graph.count) == "4"


@pytest.mark.parametrize("engine", ENGINES)
def test_a_thread_may_fork_amid_its_own_call(engine: str) -> None:
    graph, told = made(None, engine), []

    def batch() -> Iterator[tuple[object, ...]]:
        told.append(child(graph.count))
        yield from TWEET

    graph.apply(batch())
    assert "was in the middle of a call on this graph" in told[0]
    assert child(graph.count) == "4"


@pytest.mark.parametrize("engine", ENGINES)
def test_readers_and_streams_are_of_the_process_that_began_them(engine: str) -> None:
    graph = made(None, engine)
    graph.unsubscribe("watch")
    half_read, unread, parts = graph.scan(), graph.scan(), graph.partitions(2)
    half_read.read_next_batch()
    assert "this reader was begun by process" in child(half_read.read_all)
    assert child(lambda: unread.read_all().num_rows) == "2"
    assert child(lambda: sum(each.read().read_all().num_rows for each in parts)) == "2"
    with graph.stream(TWEET) as blocks:
        assert "a stream of view diffs is open" in child(graph.count)
        assert child(lambda: (sum(map(len, blocks)), graph.count())) == "(2, 4)"
        assert sum(map(len, blocks)) == 2
    assert graph.count() == 4


def test_a_stream_amid_a_block_is_cut_off_in_the_child() -> None:
    graph = made(None)
    graph.unsubscribe("watch")
    with graph.stream(TWEET) as blocks, blocks._making:
        assert "was being made when this process was forked" in child(lambda: next(blocks))
        assert "a stream of view diffs is open" in child(graph.count)
    assert child(graph.count) == "4"


def test_a_child_has_a_worker_of_its_own_and_locks_that_are_free() -> None:
    done, goes_on = Event(), Event()
    compile.WORKER.submit(lambda: goes_on.wait(HANG_S))

    def work() -> bool:
        compile.WORKER.submit(done.set)
        return done.wait(HANG_S)

    assert child(work) == "True"
    goes_on.set()
    assert compile.compile_text("kernel = 41") == 41
    assert child(lambda: compile.compile_text("kernel = 42")) == "42"


def test_a_child_forked_amid_a_compilation_compiles_nothing_and_reads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(forks, "WAIT_S", 0.05)
    graph, goes_on = made(None, "compiled"), Event()
    assert graph.count() == 2

    def compile_long(has_begun: Event) -> None:
        with compile.global_compiler_lock:
            has_begun.set()
            goes_on.wait(HANG_S)

    def compile_text() -> object:
        text = "import numba\n@numba.njit('i8(i8)')\ndef f(x):\n    return x\nkernel = 1\n"
        return compile.compile_text(text)

    future, pool = begun(compile_long)
    assert child(graph.count) == "2"
    assert "no kernel can be compiled here" in child(compile_text)
    goes_on.set()
    future.result()
    pool.shutdown()


def test_programs_start_without_waiting_for_graphs() -> None:
    graph = made(None)
    with graph._live.lock:

        def start(has_begun: Event) -> None:
            has_begun.set()
            subprocess.run(["true"], check=True)

        future, pool = begun(start)
        future.result(HANG_S)
    pool.shutdown()


def test_locks_are_taken_whatever_the_order_in_which_others_take_them() -> None:
    locks, is_over = [RLock() for _ in range(4)], Event()

    def hold(order: list[RLock]) -> None:
        while not is_over.is_set():
            taken = forks.take(order, time.monotonic() + HANG_S)
            forks.release_all(taken)

    threads = [Thread(target=hold, args=(order,)) for order in (locks, locks[::-1])]
    for thread in threads:
        thread.start()
    for _ in range(100):
        taken = forks.take(locks[1:] + locks[:1], time.monotonic() + HANG_S)
        assert len(taken) == 4
        forks.release_all(taken)
    is_over.set()
    for thread in threads:
        thread.join()
    with suppress(RuntimeError):
        locks[0].release()
        raise AssertionError("a lock is still held")


def counted(path: Path) -> int:
    """Count the view of a folder's graph, in whatever process."""
    with jg.open(path, readonly=True) as graph:
        return graph.count()


def read_rows(part: Partition) -> int:
    """Count the rows of a part of a view."""
    return part.read().read_all().num_rows


@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_processes_of_multiprocessing_read_the_folder(tmp_path: Path, method: str) -> None:
    context = get_context(method)
    with warnings.catch_warnings(), made(tmp_path / "g") as graph:
        warnings.simplefilter("ignore", DeprecationWarning)
        parts = graph.partitions(2)
        with context.Pool(2) as pool:
            assert pool.map(counted, [tmp_path / "g"] * 3) == [2, 2, 2]
            assert sum(pool.map(read_rows, parts)) == 2
        if method == "fork":  # the others take a second more each
            with ProcessPoolExecutor(2, mp_context=context) as executor:
                assert list(executor.map(counted, [tmp_path / "g"] * 3)) == [2, 2, 2]
        graph.insert("tweet", [(1, 3)])
    assert counted(tmp_path / "g") == 4


def test_a_reader_follows_the_writer_in_a_child_too(tmp_path: Path) -> None:
    with made(tmp_path / "g") as graph, jg.open(tmp_path / "g", readonly=True) as reader:
        graph.insert("tweet", [(1, 3)])
        assert child(lambda: (reader.count(), reader.refresh(), reader.count())) == "(2, None, 4)"
        assert reader.count() == 2


@pytest.mark.parametrize("engine", ENGINES)
def test_12_forks_at_random_moments_harm_nobody(tmp_path: Path, engine: str) -> None:
    found = run(tmp_path, 12, 7, engine)
    assert found["children"] == 12 and found["refused"] == 12 * 24
