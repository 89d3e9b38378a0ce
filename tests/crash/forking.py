"""What forks: a process whose threads use two graphs, and whose children look at their copies.

python -m tests.crash.forking FOLDER FORKS SEED ENGINE
"""

from __future__ import annotations

import faulthandler
import json
import logging
import os
import random
import select
import signal
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from threading import Event

import joingraph as jg
from joingraph.storage.disk import disk, log
from tests.bags import bag, fold
from tests.crash.feed import batches, view
from tests.crash.run import Model

BATCHES_A_FORK = 6
AHEAD = 30  # batches that may be applied before the forks that they are meant for
SEGMENT_BYTES = 9_000
PAUSE_S = 0.004  # at most, between two batches and before a fork
COMPILE_SHARE, BESIDE_SHARE, STREAM_SHARE = 0.03, 0.1, 0.2
ALIVE_MAX = 4  # children at once
HANG_S = 60.0
EXIT_KINDS = 3  # os._exit here, os._exit in a thread that forks, sys.exit


class Life:
    """Two graphs, the threads that use them, and the children that are not done yet."""

    def __init__(self, folder: Path, forks: int, seed: int, engine: str) -> None:
        self.seed, self.forks, self.engine = seed, forks, engine
        self.chance = random.Random(seed)
        self.model = Model(seed)
        self.model.grow(forks * BATCHES_A_FORK + AHEAD)
        self.kept = jg.JoinGraph(view(), folder, engine=engine)
        self.light = jg.JoinGraph(view(), engine=engine)
        self.kept_feed, self.light_feed = batches(seed), batches(seed)
        self.subscription = self.kept.subscribe("watch")
        self.forked = 0
        self.found = Counter[str]()
        self.ended, self.compiles = Event(), Event()
        self.alive: dict[int, int] = {}  # the pipes of children

    def begin(self) -> list[Future[None]]:
        """Start all threads."""
        work = [self.apply, self.stream, self.scan, self.snapshot, self.follow]
        work += [self.compile] if self.engine == "compiled" else []
        threads = ThreadPoolExecutor(len(work))
        return [threads.submit(self.repeat, each) for each in work]

    def repeat(self, work: Callable[[random.Random], None]) -> None:
        """Do one thing again and again till the end, or till it fails."""
        chance = random.Random(f"{self.seed} {work.__name__}")
        while not self.ended.is_set():
            work(chance)
            time.sleep(chance.random() * PAUSE_S)

    def due(self, graph: jg.JoinGraph) -> jg.JoinGraph | None:
        """Give a graph if its next batch is due; the forks should not come after the batches."""
        most = min(self.forked * BATCHES_A_FORK + AHEAD, len(self.model.views) - 1)
        return graph if graph.seq < most else None

    def apply(self, chance: random.Random) -> None:
        """Apply the next batch to the graph in the folder, with a flush of the disk."""
        if (graph := self.due(self.kept)) is not None:
            graph.apply(next(self.kept_feed), source="feed", position=graph.seq + 1)

    def stream(self, chance: random.Random) -> None:
        """Apply the next batch to the graph in memory, now and then as a stream."""
        if (graph := self.due(self.light)) is None:
            return
        batch = next(self.light_feed)
        if chance.random() < STREAM_SHARE:
            with graph.stream(batch) as blocks:
                time.sleep(chance.random() * PAUSE_S)
                list(blocks)
        else:
            graph.apply(batch)

    def scan(self, chance: random.Random) -> None:
        """Read."""
        for graph in (self.kept, self.light):
            try:
                graph.to_arrow()
                graph.count()
                graph.count("id > 10")
            except jg.StoreError as error:
                assert "stream of view diffs is open" in str(error), error

    def snapshot(self, chance: random.Random) -> None:
        """Take a snapshot, a few of them by another process."""
        disk.SMALL_BYTES = 0 if chance.random() < BESIDE_SHARE else 1 << 30
        try:
            self.kept.snapshot()
            self.found["snapshots"] += 1
        except jg.StoreError as error:  # the other process met a segment that was just removed
            assert "No such file" in str(error), error
            self.found["cut"] += 1
        time.sleep(chance.random() * 10 * PAUSE_S)

    def follow(self, chance: random.Random) -> None:
        """Take view diffs and acknowledge them."""
        diff = self.subscription.next(10 * PAUSE_S)
        if diff is not None:
            told = repr(sorted(fold(diff.rows()).items()))
            assert told == self.model.diffs[diff.seq], f"batch {diff.seq} was told otherwise"
            self.subscription.ack(diff.seq)

    def compile(self, chance: random.Random) -> None:
        """Have a kernel compiled in the background that nobody has compiled, when told to."""
        if self.compiles.wait(10 * PAUSE_S):
            self.compiles.clear()
            done = Event()

            def task() -> None:
                compile_new(self.kept, chance)
                done.set()

            import_module("joingraph.engines.codegen.compile").WORKER.submit(task)
            assert done.wait(HANG_S), "the worker hangs"
            self.found["compiled"] += 1

    def fork(self) -> None:
        """Fork at a random moment; the child looks at its copies, and exits."""
        compiles = self.engine == "compiled" and self.chance.random() < COMPILE_SHARE
        if compiles:
            self.compiles.set()
        time.sleep(self.chance.random() * PAUSE_S * (20 if compiles else 1))
        reading, writing = os.pipe()
        least = self.kept.seq, self.light.seq
        child = os.fork()
        if child:
            os.close(writing)
            self.alive[child] = reading
            return
        code = 1
        try:
            found = Copy(self, least).look(compiles=compiles)
            os.write(writing, json.dumps(found).encode())
            code = 0
        finally:
            os.close(writing)
            if code or self.forked % EXIT_KINDS < 2:
                if code:
                    sys.excepthook(*sys.exc_info())
                    sys.stderr.flush()
                os._exit(code)
        sys.exit(code)

    def wait(self, most: int) -> None:
        """Wait until no more than so many children are alive."""
        while len(self.alive) > most:
            child, pipe = next(iter(self.alive.items()))
            if not select.select([pipe], [], [], HANG_S)[0]:
                self.kill(child)
            with open(self.alive.pop(child), "rb") as lines:
                text = lines.read()
            end = time.monotonic() + HANG_S
            while (status := os.waitpid(child, os.WNOHANG))[0] == 0:
                time.sleep(0.0005)
                if time.monotonic() > end:
                    self.kill(child)
            assert status[1] == 0, f"a child ended with {status[1]}"
            self.found.update(json.loads(text))

    def kill(self, child: int) -> None:
        """End a child that hangs, once it has told where, and the others."""
        os.kill(child, signal.SIGUSR1)
        time.sleep(1)
        for each in {child, *self.alive}:
            os.kill(each, signal.SIGKILL)
        raise AssertionError("a child hangs")


class Copy:
    """What a child has of its parent's graphs."""

    def __init__(self, life: Life, least: tuple[int, int]) -> None:
        self.life, self.least, self.parent = life, least, os.getppid()

    def look(self, *, compiles: bool) -> dict[str, int]:
        """Read both graphs, ask for changes, and read them again."""
        life, found = self.life, Counter(children=1)
        for graph, least in zip((life.kept, life.light), self.least, strict=True):
            assert graph.seq >= least, f"{least} batches were applied, {graph.seq} are here"
            self.read(graph, found)
            for change in self.changes(graph):
                self.refuse(change)
                found["refused"] += 1
            self.read(graph, Counter())
        if compiles:
            compile_new(life.kept, random.Random(os.getpid()))
        life.kept.close()
        life.light.close()
        return found

    def read(self, graph: jg.JoinGraph, found: Counter[str]) -> None:
        """Compare a copy with the model; one amid a stream tells so."""
        try:
            rows = [tuple(row.values()) for row in graph.to_arrow().to_pylist()]
        except jg.StoreError as error:
            assert graph is self.life.light and "stream of view diffs is open" in str(error), error
            found["streaming"] += 1
            return
        assert bag(rows) == self.life.model.views[graph.seq], f"after batch {graph.seq}"
        assert graph.count() == len(rows)
        graph.check()
        if rows:
            assert graph.why(rows[0]), "a row of the view has a path"
        before = graph.count()
        graph.what_if([("insert", "tweet", [(1, 1, "x")])])
        assert graph.count() == before

    def changes(self, graph: jg.JoinGraph) -> list[Callable[[], object]]:
        """List the calls that change a graph, or who is told of it."""
        batch = [("insert", "tweet", [(1, 1, "x")])]
        asked: list[Callable[[], object]] = [
            lambda: graph.apply(batch),
            lambda: graph.apply(batch, source="feed", position=1),
            lambda: graph.load({"tweet": [(1, 1, "x")]}),
            lambda: graph.stream(batch),
            lambda: graph.expire("tweet", "id > 0"),
            lambda: graph.index("id"),
            lambda: graph.subscribe("new"),
            lambda: graph.subscribe("watch"),
            lambda: graph.unsubscribe("watch"),
            lambda: graph.snapshot(),
            lambda: graph.rebuild(graph.view),
        ]
        if graph is self.life.kept:
            asked.append(lambda: self.life.subscription.ack(graph.seq))
            asked.append(lambda: self.life.subscription.next(0))
        return asked

    def refuse(self, change: Callable[[], object]) -> None:
        """Insist that a change is refused, and why."""
        try:
            change()
        except jg.StoreError as error:
            told = f"belongs to process {self.parent}, and this is process {os.getpid()}"
            assert told in str(error), error
        else:
            raise AssertionError("a child changed its parent's graph")


def compile_new(graph: jg.JoinGraph, chance: random.Random) -> None:
    """Compile a kernel of a graph as if it were another one's, and leave no trace of it."""
    plugs = graph.engine.plugs  # type: ignore[attr-defined]  # of the compiled form
    text = f"{plugs.text(plugs.all[0])}\nTRACE = {chance.random()}\n"
    import_module("joingraph.engines.codegen.compile").compile_text(text)
    for name in [each for each in sys.modules if each.startswith("jg_")]:
        path = Path(str(sys.modules[name].__file__))
        if path.exists() and path.read_text() == text:
            for each in path.parent.rglob(f"{path.stem}*"):
                each.unlink()


def main(folder: str, forks: str, seed: str, engine: str) -> None:
    """Live: fork so often beside all threads, and tell what was found."""
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    logging.disable()
    warnings.simplefilter("ignore", DeprecationWarning)  # of threads: the graphs are ready for it
    log.SEGMENT_BYTES = SEGMENT_BYTES
    life = Life(Path(folder), int(forks), int(seed), engine)
    threads = life.begin()
    try:
        while life.forked < life.forks and not any(each.done() for each in threads):
            if life.forked % EXIT_KINDS == 1:
                with ThreadPoolExecutor(1) as forker:
                    forker.submit(life.fork).result()
            else:
                life.fork()
            life.wait(life.chance.randrange(ALIVE_MAX))
            life.forked += 1
    finally:
        life.ended.set()
    for each in threads:
        each.result()
    life.wait(0)
    life.found["applied"] = life.kept.seq
    life.kept.close()
    print(json.dumps(life.found))


if __name__ == "__main__":
    main(*sys.argv[1:])
