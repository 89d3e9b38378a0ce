"""`joingraph demo`: a made-up social network streams through Spark into timelines, as you watch.

    generators (follower, tweet, retweet) -> Spark -> join graph -> three subscribers' timelines

Micro-batches are taken by Spark's own thread; this one draws what they left, ten times a second.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise
from threading import Lock
from typing import Any, TextIO

import pyarrow as pa

from joingraph.demo.demo import RATES, SIZES, SQL, Timelines, watch
from joingraph.demo.screen import Frame, summary
from joingraph.pipeline.model import Progress
from joingraph.pipeline.sinks.contract import AT_LEAST_ONCE
from joingraph.pipeline.sources.bsma import BSMA
from joingraph.plan.view import View
from joingraph.spark.build import pipeline
from joingraph.spark.run import Pipeline
from joingraph.view_diffs.view_diff import ViewDiff

FIRST = {"follower": 90_000, "tweet": 2_000, "retweet": 0}
RATE = {"follower": 200, "tweet": 400, "retweet": 1_200}  # rows a second
TRIGGER = "250 milliseconds"
DRAWN_S = 0.1
ENGINE = "auto"
WORD_BYTES = 8


class Watched:
    """The sink of the demo: three timelines, and how large the view would be."""

    guarantee = AT_LEAST_ONCE

    def __init__(self, timelines: Timelines) -> None:
        self.timelines, self.lock, self.columns = timelines, Lock(), 0

    def open(self, view: View) -> None:
        """Note how wide a row is."""
        self.columns = len(view.schema)

    def last(self) -> int:
        """Nothing is kept, so nothing is there already."""
        return 0

    def write(self, diff: ViewDiff) -> None:
        """Show the subscribers what has happened."""
        with self.lock:
            self.timelines.change(diff)

    def close(self) -> None:
        """Nothing was taken."""


class SparkDemo:
    """A pipeline, and what there is to see of it."""

    def __init__(self) -> None:
        data = BSMA(**SIZES)
        follower = pa.Table.from_batches(data.followers())
        self.sink = Watched(Timelines(follower))
        self.pipeline: Pipeline = pipeline(
            View(SQL, tables=data.tables),
            sources={name: generated(name) for name in FIRST},
            sink=self.sink,
            trigger=TRIGGER,
            name="demo",
            engine=ENGINE,
        )
        self.pipeline.on_progress = self.advance
        self.diffs = 0
        self.ended: deque[tuple[float, int]] = deque(maxlen=RATES + 1)

    def advance(self, progress: Progress) -> None:
        """Note the end of a micro-batch."""
        self.diffs += progress.diffs
        self.ended.append((time.perf_counter(), self.diffs))

    def frames(self, length_s: float) -> Iterator[Frame]:
        """Run for so long after the first micro-batch, and yield what there is to see."""
        with self.pipeline:
            while not self.ended and not self.pipeline.wait(DRAWN_S):
                pass
            start = time.perf_counter()
            while (elapsed := time.perf_counter() - start) < length_s:
                yield self.frame(elapsed, length_s)
                self.pipeline.wait(DRAWN_S)
            yield self.frame(length_s, length_s)

    def frame(self, elapsed_s: float, length_s: float) -> Frame:
        """Gather what is shown."""
        with self.sink.lock:
            columns = self.sink.timelines.columns()
            rows, view_diffs = self.sink.timelines.view_rows, self.sink.timelines.view_diffs
        ended = list(self.ended)
        rates = [(now[1] - was[1]) / (now[0] - was[0]) for was, now in pairwise(ended)]
        lag = ended[-1][0] - ended[-2][0] if len(ended) > 1 else 0.0
        stats = self.pipeline.graph.stats()
        return Frame(
            elapsed_s=elapsed_s,
            length_s=length_s,
            diffs=self.diffs,
            view_diffs=view_diffs,
            view_rows=rows,
            base_rows=self.diffs,
            rates=tuple(rates) or (0.0,),
            columns=columns,
            lag_s=lag,
            graph_bytes=stats.get("bytes"),
            view_bytes=rows * self.sink.columns * WORD_BYTES,
        )

    def why(self) -> str:
        """Ask the graph why a row is in a timeline."""
        for timeline in self.sink.timelines.of.values():
            for author, tweet, retweeter in timeline.latest:
                row = (timeline.subscriber, author, tweet, retweeter)
                found = str(self.pipeline.graph.why(row))
                return f"\nWhy is {row} in the timeline of {timeline.subscriber}?\n{found}"
        return ""


def generated(table: str) -> dict[str, Any]:
    """Describe the generator of a table."""
    options = {"rate": RATE[table], "first": FIRST[table], **SIZES}
    written = {name: str(value) for name, value in options.items()}
    return {"format": "generator", "path": table, "options": written}


def run_demo(length_s: float, out: TextIO) -> None:
    """Show the demo for so many seconds, its summary, and why a row is in a timeline."""
    with suppress(KeyboardInterrupt):
        print("Starting Spark on this machine ...", file=out, flush=True)
        demo = SparkDemo()
        if frame := watch(demo.frames(length_s), out):
            print(summary(frame, demo.pipeline.graph.stats()), file=out)
            print(demo.why(), file=out)
