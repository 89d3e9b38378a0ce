"""A pipeline that is run to be killed: `python -m tests.spark.killed FOLDER REDIS_URL ENGINE SQL`.

It says a line after every micro-batch, so that who kills it knows where it is. Followers come from
files, which the JVM reads; tweets from a Redis stream, which Python workers read.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

import joingraph as jg
from joingraph.pipeline.sinks.parquet import Parquet
from joingraph.spark.run import Pipeline
from tests.spark.conftest import FOLLOWER, QUICK, TWEET

ENTRIES = 60  # of the stream, in one micro-batch
TRIES_MAX = 20


def main(folder: Path, url: str, engine: str, sql: str) -> None:
    """Run the pipeline to its end, again if it has lost a worker."""
    spark = jg.spark.session(QUICK, master="local[2]")
    for _ in range(TRIES_MAX):
        view = jg.View(sql, tables={"follower": FOLLOWER, "tweet": TWEET})
        made = made_of(view, folder, url, engine=engine, spark=spark)
        made.on_progress = lambda progress: print("batch", progress.batch, flush=True)
        print("ready", flush=True)
        try:
            made.run()
            print("end", flush=True)
            return
        except (PySparkException, Py4JError) as error:
            print("failed", f"{error}".partition("\n")[0], flush=True)
        finally:
            made.close()
    raise SystemExit(f"the pipeline has failed {TRIES_MAX} times")


def made_of(view: jg.View, folder: Path, url: str, *, engine: str, spark: Any) -> Pipeline:
    """Make the pipeline."""
    follower, tweet = str(folder / "follower"), {"url": url, "maxEntriesPerTrigger": str(ENTRIES)}
    files = {"maxFilesPerTrigger": "1"}
    return jg.spark.pipeline(
        view,
        sources={
            "follower": {
                "format": "parquet", "path": follower, "operation": "op", "options": files,
            },
            "tweet": {"format": "redis", "path": "tweet", "operation": "op", "options": tweet},
        },
        sink=Parquet(folder / "out"),
        path=folder / "state",
        engine=engine,
        spark=spark,
    )  # fmt: skip


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
