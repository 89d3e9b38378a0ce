"""A pipeline that is run to be killed: `python -m tests.spark.killed FOLDER`.

It says a line after every micro-batch, so that who kills it knows where it is.
"""

from __future__ import annotations

import sys
from pathlib import Path

import joingraph as jg
from joingraph.pipeline.sink_parquet import Parquet
from tests.spark.conftest import FOLLOWER, SQL, TWEET


def main(folder: Path) -> None:
    """Run the pipeline to its end."""
    options = {"maxFilesPerTrigger": "1"}
    sources = {
        name: {"format": "parquet", "path": str(folder / name), "operation": "op",
               "options": options}
        for name in ("follower", "tweet")
    }  # fmt: skip
    pipeline = jg.spark.pipeline(
        jg.View(SQL, tables={"follower": FOLLOWER, "tweet": TWEET}),
        sources=sources,
        sink=Parquet(folder / "out"),
        path=folder / "state",
        engine="reference",
        spark=jg.spark.session(master="local[2]"),
    )
    pipeline.on_progress = lambda progress: print("batch", progress.batch, flush=True)
    pipeline.run()
    print("end", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
