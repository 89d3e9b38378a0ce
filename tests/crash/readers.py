"""Reads a folder beside its writer: every answer is the view after some batch, and none fails.

python -m tests.crash.readers --refreshes 1000000 --seed 1

In each round a writer (beside.py) and readers, each in a process of its own, share a folder: some
refresh read-only graphs, two in a process; one opens the folder, reads parts of the view, and reads
view diffs as Spark does. The model is the view after each batch, by a graph in memory.
"""

from __future__ import annotations

import argparse
import hashlib
import logging
import os
import pickle
import random
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Generator, Iterable
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import joingraph as jg
from joingraph.api.partitions import parts_in
from joingraph.cli.inspect_folder import inspect, verify
from joingraph.storage.disk.folder import Folder
from tests import ENGINES
from tests.bags import fold
from tests.crash.beside import SUBSCRIBER, Acknowledged, Round, write
from tests.crash.feed import batches, view
from tests.crash.record import add_option, record
from tests.crash.run import get_ready

COLUMNS = ("fan", "id", "text")
REFRESHERS = 2
GRAPHS = 2  # read-only graphs in each of them
BATCHES = 4_000  # of one round
NAPS, NAP_S = 0.1, 0.001  # of the refreshes that bring no news
GONE = re.compile("cannot be read as it was when its view was divided")
ANOTHER_VIEW = re.compile("holds the graph of another view")
NO_DIFFS = re.compile(
    "there is no subscriber|was restored or is another|the graph is older than the stream|"
    "its subscribers have them, or are gone"
)


class Model:
    """What the view is after each batch, and what each batch did to it, as digests."""

    def __init__(self, seed: int, count: int) -> None:
        graph = jg.JoinGraph(view(), engine="reference")
        self.views, self.diffs = [digest([])], [""]
        for batch in islice(batches(seed), count):
            diff = graph.apply(batch)
            self.diffs.append(digest(fold(diff.rows()).items()))
            self.views.append(rows_digest(graph.to_arrow().to_pylist()))


def digest(rows: Iterable[object]) -> str:
    """Return a short name of a bag of rows."""
    return hashlib.blake2b(repr(sorted(map(repr, rows))).encode(), digest_size=12).hexdigest()


def rows_digest(rows: Iterable[dict[str, Any]]) -> str:
    """Return a short name of a bag of rows of the view, whatever the order of its columns."""
    return digest(tuple(row[name] for name in COLUMNS) for row in rows)


class Reader:
    """What all readers have: the model, the last acknowledged batch, chance, and counts."""

    def __init__(self, round: Round, views: list[str], diffs: list[str], chance: int) -> None:
        self.round, self.views, self.diffs = round, views, diffs
        self.acknowledged, self.chance = Acknowledged(round), random.Random(chance)
        self.found = Counter[str]()

    def check(self, graph: jg.JoinGraph) -> None:
        """Compare a graph with the model."""
        rows = graph.to_arrow().to_pylist()
        assert graph.count() == len(rows)
        assert rows_digest(rows) == self.views[graph.seq], f"not the view after {graph.seq}"
        self.found["answers compared"] += 1

    def opened(self) -> jg.JoinGraph:
        """Open the folder to read it."""
        least = self.acknowledged.number
        graph = jg.open(self.round.folder, readonly=True)
        assert graph.seq >= least, f"batch {least} was acknowledged, {graph.seq} was opened"
        self.check(graph)
        self.found["opened"] += 1
        return graph

    def follow(self) -> Counter[str]:
        """Refresh graphs until the writer is done."""
        graphs = [self.opened() for _ in range(GRAPHS)]
        self.tell_ready()
        while not self.is_over():
            for _ in range(100):
                place = self.chance.randrange(GRAPHS)
                graphs[place] = self.refreshed(graphs[place])
        for graph in graphs:
            self.refreshed(graph).close()
        return self.found

    def refreshed(self, graph: jg.JoinGraph) -> jg.JoinGraph:
        """Refresh a graph; one of another view than the folder's by now is opened anew."""
        least, before, version = self.acknowledged.number, graph.seq, graph._live.version
        self.found["refreshes"] += 1
        try:
            graph.refresh()
        except jg.StoreError as error:
            assert ANOTHER_VIEW.search(str(error)), error
            self.found["views replaced"] += 1
            self.check(graph)
            if self.chance.random() < 0.5:
                return graph  # as it was, to be told the same by the next refresh
            graph.close()
            return self.opened()
        assert graph.seq >= least, f"batch {least} was acknowledged, {graph.seq} was refreshed to"
        if graph._live.version != version:
            self.found["refreshes with news"] += 1
            self.found["backwards"] += graph.seq < before
            self.check(graph)
        elif self.chance.random() < NAPS:
            time.sleep(self.chance.random() * NAP_S)
        return graph

    def visit(self) -> Counter[str]:
        """Open, divide and inspect the folder until the writer is done."""
        kinds = [self.open, self.part_graph, self.part_folder, self.part_writers, self.tools]
        if find_spec("pyspark") is not None:
            kinds += [DiffsOf(self).take] * 2
        self.tell_ready()
        while not self.is_over():
            self.chance.choice(kinds)()
        return self.found

    def tell_ready(self) -> None:
        """Let the writer know that this reader reads."""
        (self.round.readers / str(os.getpid())).touch()

    def is_over(self) -> bool:
        """True once the writer is done."""
        return self.round.stop.exists()

    def open(self) -> None:
        """Open and close."""
        self.opened().close()

    def part_graph(self) -> None:
        """Read a graph's parts from its folder."""
        with self.opened() as graph:
            parts, number = graph.partitions(self.chance.randint(1, 3)), graph.seq
            self.read_parts(pickle.loads(pickle.dumps(parts)), [self.views[number]])

    def part_folder(self) -> None:
        """Read a folder's parts, as Spark's tasks do."""
        least = self.acknowledged.number
        self.read_parts(parts_in(self.round.folder, 2, None), self.views[least:])

    def part_writers(self) -> None:
        """Read parts that the writer made."""
        if self.round.parts.exists():
            parts, number = pickle.loads(self.round.parts.read_bytes())
            self.read_parts(parts, [self.views[number]])

    def read_parts(self, parts: list[Any], right: list[str]) -> None:
        """Read parts one after the other: the moment's rows, or an error that says why not."""
        rows: list[dict[str, Any]] = []
        try:
            for part in parts:
                rows += part.read().read_all().to_pylist()
        except jg.StoreError as error:
            assert GONE.search(str(error)), error
            self.found["parts gone"] += 1
        else:
            assert rows_digest(rows) in right
            self.found["parts read"] += 1

    def tools(self) -> None:
        """Inspect and verify the folder."""
        assert "batches" in inspect(self.round.folder)
        assert " is right: " in verify(self.round.folder)
        self.found["inspected"] += 1


class DiffsOf:
    """The view diffs that wait for a subscriber, read as Spark's streams are."""

    def __init__(self, reader: Reader) -> None:
        kind = import_module(
            "joingraph.spark.format.read_diffs"
        ).DiffsReader  # where there is Spark
        self.reader = reader
        columns = [*COLUMNS, "_change_type", "_count", "_seq", "_diff"]
        self.stream = kind(reader.round.folder, {"subscriber": SUBSCRIBER}, columns)

    def take(self) -> None:
        """Read what waits, compare it, and note that it was read."""
        try:
            start = self.stream.initialOffset()
            end = self.stream.latestOffset(start, None)
            for part in self.stream.partitions(start, end):
                self.compare([row for batch in self.stream.read(part) for row in batch.to_pylist()])
            self.stream.commit(end)
        except jg.StoreError as error:
            assert NO_DIFFS.search(str(error)), error
            self.reader.found["view diffs gone"] += 1

    def compare(self, rows: list[dict[str, Any]]) -> None:
        """Compare view diffs with the model's, batch by batch."""
        told: dict[int, list[tuple[str, tuple[Any, ...], int]]] = {}
        for row in rows:
            found = told.setdefault(row["_seq"], [])
            found.append((row["_change_type"], tuple(row[name] for name in COLUMNS), row["_count"]))
        for seq, diffs in told.items():
            assert digest(fold(diffs).items()) == self.reader.diffs[seq], f"diffs of batch {seq}"
            self.reader.found["view diffs compared"] += 1


def follow(round: Round, model: tuple[list[str], list[str]], chance: int) -> Counter[str]:
    """Be a reader that refreshes, in a process of its own."""
    with stopping(round):
        return ready(round, model, chance).follow()


def visit(round: Round, model: tuple[list[str], list[str]], chance: int) -> Counter[str]:
    """Be a reader that opens the folder again and again."""
    with stopping(round):
        return ready(round, model, chance).visit()


@contextmanager
def stopping(round: Round) -> Generator[None]:
    """End the round when a reader fails."""
    try:
        yield
    except BaseException:
        round.stop.touch()
        raise


def ready(round: Round, model: tuple[list[str], list[str]], chance: int) -> Reader:
    """Wait for the folder's graph, and read it."""
    logging.disable()
    get_ready(round.engine)
    while not round.folder.exists() or not Folder(round.folder).snapshots():
        time.sleep(0.001)
    return Reader(round, *model, chance)


def run_round(round: Round, model: Model) -> Counter[str]:
    """Let a writer and its readers run; give what they found."""
    round.readers.mkdir(parents=True)
    Acknowledged(round)
    told = model.views, model.diffs
    with ProcessPoolExecutor(REFRESHERS + 2, mp_context=get_context("spawn")) as pool:
        jobs = [pool.submit(write, round, REFRESHERS + 1)]
        for place in range(REFRESHERS):
            jobs.append(pool.submit(follow, round, told, round.chance + place + 1))
        jobs.append(pool.submit(visit, round, told, round.chance + REFRESHERS + 1))
        found = Counter[str]()
        for job in reversed(jobs):
            try:
                found += job.result()
            except BaseException as error:
                round.stop.touch()
                raise AssertionError(f"{round}: {error!r}") from error
    return found


def run(scratch: Path, refreshes: int, seed: int, count: int) -> Counter[str]:
    """Run rounds until graphs were refreshed so often."""
    model, found, number = Model(seed, count), Counter[str](), 0
    while found["refreshes"] < refreshes:
        engine = ENGINES[number % len(ENGINES)]
        round = Round(scratch / str(number), seed, 1_000 * seed + 10 * number, count, engine)
        found += run_round(round, model)
        number += 1
        print(f"{number} rounds: {found['refreshes']:,} refreshes", file=sys.stderr, flush=True)
    found["rounds"] = number
    return found


def main() -> None:
    """Run the campaign; tell what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--refreshes", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--batches", type=int, default=BATCHES, help="of one round")
    add_option(parser)
    arguments = parser.parse_args()
    logging.disable()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        found = run(Path(scratch), arguments.refreshes, arguments.seed, arguments.batches)
    counts = ", ".join(f"{number:,} {what}" for what, number in sorted(found.items()))
    seconds = time.monotonic() - began
    told = f"readers beside a writer, seed {arguments.seed}, {seconds:.0f} s: {counts}; none failed"
    if find_spec("pyspark") is None:
        told += "; view diffs were not read as Spark does, as pyspark is not installed"
    print(told, flush=True)
    record(arguments.save, [told])


if __name__ == "__main__":
    main()
