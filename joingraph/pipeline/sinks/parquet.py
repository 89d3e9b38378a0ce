"""The sink of Parquet files: view diffs, a file a batch, named by its sequence number.

    folder/part-00000000000000000007.parquet     columns of the view, _change_type, _count, _seq …

A file is there whole or not at all, and a batch that comes again replaces its own file.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq

from joingraph.common.atomic_file import flush, replacing
from joingraph.pipeline.sinks.contract import EXACTLY_ONCE
from joingraph.plan.view import View
from joingraph.view_diffs.view_diff import ViewDiff


class Parquet:
    """Writes each batch that changes the view to a file of its own."""

    guarantee = EXACTLY_ONCE

    def __init__(self, path: str | Path) -> None:
        self.folder = Path(path)

    def open(self, view: View) -> None:
        """Make the folder, and sweep away what a crash left half written."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for left in self.folder.glob(".part-*"):
            left.unlink()

    def last(self) -> int:
        """Return the number of the last file."""
        return max((int(path.stem[5:]) for path in self.folder.glob("part-*.parquet")), default=0)

    def write(self, diff: ViewDiff) -> None:
        """Write a batch."""
        if not len(diff):
            return
        with replacing(self.folder / f"part-{diff.seq:020d}.parquet") as new:
            pq.write_table(diff.to_arrow(positions=True), new)
            with new.open("rb") as written:
                flush(written.fileno())

    def close(self) -> None:
        """Nothing is open."""
