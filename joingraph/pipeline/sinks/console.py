"""The sink of people: a live table of the latest view diffs, or a line a batch where none fits."""

from __future__ import annotations

import sys
import time
from collections import deque
from typing import Any, TextIO

from rich.console import Console as Terminal
from rich.live import Live
from rich.table import Table

from joingraph.expressions.python_values import python_rows, shown
from joingraph.pipeline.sinks.contract import AT_LEAST_ONCE
from joingraph.plan.view import View
from joingraph.view_diffs.view_diff import ViewDiff

ROWS = 15
SIGNS = {
    "insert": ("+", "green"),
    "delete": ("-", "red"),
    "update_preimage": ("<", "yellow"),
    "update_postimage": (">", "cyan"),
}


class Console:
    """Shows what happens to a view while it happens."""

    guarantee = AT_LEAST_ONCE

    def __init__(self, rows: int = ROWS, out: TextIO | None = None) -> None:
        self.rows, self.latest = rows, deque[dict[str, Any]](maxlen=rows)
        self.out = out or sys.stdout
        self.count, self.seq = 0, 0

    def open(self, view: View) -> None:
        """Begin to show."""
        self.view, self.began_s = view, time.perf_counter()
        self.live: Live | None = None
        if self.out.isatty():
            live = Live(console=Terminal(file=self.out), refresh_per_second=8)
            live.start()
            self.live = live

    def last(self) -> int:
        """Nothing is kept, so nothing is there already."""
        return 0

    def write(self, diff: ViewDiff) -> None:
        """Show a batch."""
        self.count, self.seq = self.count + len(diff), diff.seq
        table = diff.to_arrow()
        if self.live:
            self.latest.extend(python_rows(table.slice(max(0, len(table) - self.rows))))
            self.live.update(self.picture())
        elif len(diff):
            print(
                f"{self.view.name}: batch {diff.seq}, {len(diff):,} view diffs", file=self.out,
                flush=True,
            )  # fmt: skip

    def picture(self) -> Table:
        """Draw the latest view diffs."""
        rate = self.count / max(time.perf_counter() - self.began_s, 1e-6)
        title = f"{self.view.name}: {self.count:,} view diffs, {rate:,.0f}/s, batch {self.seq}"
        table = Table(title=title, title_justify="left")
        for name in ("", *self.view.schema.names, "n"):
            table.add_column(name, no_wrap=True)
        for row in reversed(self.latest):
            sign, colour = SIGNS[row["_change_type"]]
            values = [shown(row[name]) for name in self.view.schema.names]
            table.add_row(sign, *values, str(row["_count"]), style=colour)
        return table

    def close(self) -> None:
        """Leave the last picture where it is."""
        if self.live:
            self.live.stop()
