"""A pipeline that runs: Structured Streaming hands micro-batches to the driver, one by one."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from joingraph.api.join_graph import JoinGraph
from joingraph.common.errors import StoreError
from joingraph.pipeline.micro_batch import Driver, Turn
from joingraph.pipeline.model import WATCHED, Progress
from joingraph.pipeline.report.eta import Backlog
from joingraph.pipeline.report.status import Status
from joingraph.spark.check_files import check_files, new_files
from joingraph.spark.feed import apart
from joingraph.spark.file_names import Lanes
from joingraph.spark.filters import spark_name, wanted
from joingraph.tables.batch import find_table

AVAILABLE_NOW = "available_now"


@dataclass(frozen=True, slots=True)
class Plan:
    """What Spark runs for a pipeline, settled before it starts."""

    name: str
    stream: DataFrame
    checkpoint: Path
    trigger: str


class Pipeline:
    """Runs in the background from `start` on; `run` waits until there is nothing left to do.

    Used as a context manager, it starts and stops with the block.
    """

    def __init__(self, plan: Plan, driver: Driver, status: Status) -> None:
        self.plan, self.driver, self.status = plan, driver, status
        self.on_progress: Callable[[Progress], object] | None = None
        self._query: StreamingQuery | None = None
        self._failure: BaseException | None = None
        watched = (each.path for each in driver.sources.values() if each.format in WATCHED)
        self._lanes, self._logs = Lanes(watched), dict[Path, int]()
        self.backlog: Backlog | None = None

    @property
    def graphs(self) -> dict[str, JoinGraph]:
        """The graphs, by the names of their views."""
        graphs = [line.outbox.graph for line in self.driver.lines]
        return {graph.view.name: graph for graph in graphs}

    @property
    def graph(self) -> JoinGraph:
        """The graph of a pipeline with one view."""
        (graph,) = self.graphs.values()
        return graph

    def start(self) -> Self:
        """Start taking micro-batches; what an earlier run left in the outbox goes out first."""
        if self._query is not None and self._query.isActive:
            raise StoreError(f"the pipeline {self.plan.name} is running already")
        for graph in self.graphs.values():
            graph.await_snapshot()  # of what was just loaded: it has no stream to slow down yet
        self.driver.open()
        if self.plan.trigger == AVAILABLE_NOW:
            done = new_files(self.plan.checkpoint, {})
            self.backlog = Backlog(self.driver.sources.values(), (file.name for file in done))
        writer = self.plan.stream.writeStream.queryName(self.plan.name)
        writer = writer.foreachBatch(self._take)
        writer = writer.option("checkpointLocation", str(self.plan.checkpoint))
        if self.plan.trigger == AVAILABLE_NOW:
            writer = writer.trigger(availableNow=True)
        else:
            writer = writer.trigger(processingTime=self.plan.trigger)
        self.status.started(self.plan.name)
        self._query = writer.start()
        return self

    def load(self, tables: Mapping[str, DataFrame]) -> Self:
        """Load rows that are there already, without view diffs: of every table at most once.

        Spark drops the rows and columns that matter to no view, before they leave it. A pipeline
        with a path remembers what it has loaded, and does not load it again.
        """
        views = [graph.view for graph in self.graphs.values()]
        for name, rows in tables.items():
            table = find_table(name, self.driver.tables)
            matters = wanted(views, table)
            kept = rows if matters is None else rows.filter(matters)
            self.driver.load(table, kept.select(*map(spark_name, table.schema.names)).toArrow())
        return self

    def run(self, seconds: float | None = None) -> Self:
        """Run until everything that is there is done, until stopped, or for so many seconds."""
        self.start()
        try:
            self.wait(seconds)
        finally:
            self.stop()
        return self

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for the end, or for so many seconds; return whether it has ended."""
        assert self._query is not None, "a pipeline is started before it is waited for"
        try:
            if seconds is None:
                self._query.awaitTermination()
                return True
            timeout: Any = seconds  # Spark takes fractions and says it takes integers
            return bool(self._query.awaitTermination(timeout))
        except StreamingQueryException as error:
            self.status.failed(str(self._failure or error))
            if self._failure is not None:
                raise self._failure from None
            raise

    def stop(self) -> None:
        """Stop after the micro-batch that is being taken, and close the sinks."""
        if self._query is not None:
            self._query.stop()
            self._query = None
            self.driver.close()
            self.status.stopped()

    def close(self) -> None:
        """Stop, and let the graphs go: another process may open them then."""
        self.stop()
        for graph in self.graphs.values():
            graph.close()

    def _take(self, rows: DataFrame, batch: int) -> None:
        """Take one micro-batch; Spark calls this."""
        try:
            begin = time.perf_counter()
            files = list(new_files(self.plan.checkpoint, self._logs))
            places = [file.name for file in files]
            check_files(places, self.driver.sources, self.driver.tables)
            self._lanes.note(files)
            arrow, known = self._lanes.collect(rows)
            arrived = apart(arrow, self.driver.sources, self.driver.tables, known)
            turn = Turn(query_id(self.plan.checkpoint), batch)
            progress = self.driver.take(turn, arrived)
            if self.backlog:
                self.backlog.take(places)
            estimate = self.backlog.estimate() if self.backlog else None
            self.status.advanced(progress, time.perf_counter() - begin, estimate)
            if self.on_progress:
                self.on_progress(progress)
        except BaseException as error:
            self._failure = error
            raise

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *error: object) -> None:
        self.stop()


def query_id(checkpoint: Path) -> str:
    """Read the number that Spark gave the query when its checkpoint was made."""
    metadata: dict[str, Any] = json.loads((checkpoint / "metadata").read_text(encoding="utf-8"))
    return str(metadata["id"])
