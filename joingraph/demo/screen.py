"""What people see of the demo: a live screen on a terminal, a line a second anywhere else.

    Frame (what there is to see)  ->  Screen, ten times a second, or Lines, once a second

A frame is drawn over the last one, from the first line down, so nothing flickers.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from typing import NamedTuple, Self, TextIO

SCREEN_S = 0.1
LINES_S = 1.0
WIDTH_MIN, WIDTH_MAX = 78, 130
COLUMN_ROWS = 8
BARS = "▁▂▃▄▅▆▇█"
DIM, BOLD, PLAIN = "\x1b[2m", "\x1b[1m", "\x1b[0m"
CYAN, GREEN, RED = "\x1b[36m", "\x1b[32m", "\x1b[31m"


class Column(NamedTuple):
    """One subscriber's timeline in words."""

    title: str
    latest: tuple[str, ...]
    note: str


class Frame(NamedTuple):
    """All there is to see at one moment."""

    elapsed_s: float
    length_s: float
    diffs: int
    view_diffs: int
    view_rows: int
    base_rows: int
    rates: tuple[float, ...]
    columns: tuple[Column, ...]
    lag_s: float | None = None  # how long a row takes at the most from its source to a timeline
    graph_bytes: int | None = None
    view_bytes: int | None = None


class Lines:
    """Plain text: a line a second."""

    every_s = LINES_S
    drawn_s = 0.0

    def __init__(self, out: TextIO) -> None:
        self.out = out
        self.latest: Frame | None = None

    def __enter__(self) -> Self:
        return self

    def draw(self, frame: Frame) -> None:
        """Draw a frame, unless the last one was drawn just now."""
        self.latest = frame
        if frame.elapsed_s - self.drawn_s >= self.every_s:
            self.drawn_s = frame.elapsed_s
            self.paint(frame)

    def paint(self, frame: Frame) -> None:
        """Print a line."""
        print(line(frame), file=self.out, flush=True)

    def __exit__(self, *_: object) -> None:
        self.out.flush()


class Screen(Lines):
    """A terminal redrawn in place; the cursor is hidden while it is."""

    every_s = SCREEN_S
    drawn_s = -SCREEN_S

    @staticmethod
    def fits(out: TextIO) -> bool:
        """True if `out` is a terminal that can be drawn on."""
        size = shutil.get_terminal_size((0, 0))
        wide = size.columns >= WIDTH_MIN and size.lines >= COLUMN_ROWS + 14
        able = os.environ.get("TERM", "dumb") != "dumb" and "utf" in out.encoding.lower()
        return out.isatty() and able and wide

    def __enter__(self) -> Self:
        self.out.write("\x1b[?25l\x1b[2J")
        return self

    def paint(self, frame: Frame) -> None:
        """Write a frame over the last one."""
        width = min(WIDTH_MAX, shutil.get_terminal_size().columns) - 2
        lines = "".join(f" {line}\x1b[K\n" for line in picture(frame, width))
        self.out.write(f"{PLAIN}\x1b[H{lines}\x1b[J")
        self.out.flush()

    def __exit__(self, *_: object) -> None:
        # The last frame may not have been painted, or Ctrl-C may have cut it in two.
        if self.latest:
            self.paint(self.latest)
        self.out.write("\x1b[?25h")
        self.out.flush()


def line(frame: Frame) -> str:
    """Return a frame in one line."""
    return (
        f"{frame.elapsed_s:5.1f} s  {frame.diffs:>9,} diffs  {frame.view_diffs:>10,} view diffs"
        f"  view: {frame.view_rows:,} rows  graph: {frame.base_rows:,} base rows"
    )


def picture(frame: Frame, width: int) -> list[str]:
    """Draw a frame as lines of one width."""
    return [
        "",
        f"{BOLD}joingraph{PLAIN}  timelines of a social network, kept fresh, never stored",
        f"{DIM}followers ⋈ tweets ⋈ retweets   (a line is: author #tweet ↻ who repeated it){PLAIN}",
        "",
        progress(frame, width),
        "",
        *side_by_side(frame.columns, width),
        "",
        *figures(frame),
    ]


def progress(frame: Frame, width: int) -> str:
    """Draw how much of the time has passed."""
    room = width - 10
    done = min(room, int(room * frame.elapsed_s / frame.length_s))
    return f"{CYAN}{'━' * done}{PLAIN}{DIM}{'━' * (room - done)}{PLAIN} {frame.elapsed_s:5.1f} s"


def side_by_side(columns: tuple[Column, ...], width: int) -> list[str]:
    """Draw the timelines next to one another."""
    room = width // len(columns) - 2
    blocks = [timeline(column, room) for column in columns]
    return ["  ".join(parts) for parts in zip(*blocks, strict=True)]


def timeline(column: Column, room: int) -> list[str]:
    """Draw one timeline: whose it is, its latest rows, and what its subscriber last did."""
    latest = [*column.latest, *[""] * COLUMN_ROWS][:COLUMN_ROWS]
    colour = RED if "-" in column.note else GREEN
    return [
        BOLD + fitted(column.title, room) + PLAIN,
        DIM + "─" * room + PLAIN,
        *(coloured(fitted(each, room)) for each in latest),
        colour + fitted(column.note, room) + PLAIN,
    ]


def fitted(text: str, room: int) -> str:
    """Cut or fill a text to a width."""
    return text.ljust(room) if len(text) <= room else text[: room - 1] + "…"


def coloured(text: str) -> str:
    """Show the names of people in colour."""
    return re.sub(r"@\w+", rf"{CYAN}\g<0>{PLAIN}", text)


def figures(frame: Frame) -> list[str]:
    """Return how much came in, how much went out, and what is kept of it."""
    rate = f"{frame.rates[-1]:>9,.0f}/s   {GREEN}{bars(frame.rates)}{PLAIN}"
    lag = [] if frame.lag_s is None else [f"lag         {BOLD}{frame.lag_s:>12.2f}{PLAIN} s"]
    view, graph = size(frame.view_bytes), size(frame.graph_bytes)
    return [
        f"diffs in    {BOLD}{frame.diffs:>12,}{PLAIN}   {rate}",
        f"diffs out   {BOLD}{frame.view_diffs:>12,}{PLAIN}",
        f"view        {BOLD}{frame.view_rows:>12,}{PLAIN} rows{view}, not stored",
        f"graph       {BOLD}{frame.base_rows:>12,}{PLAIN} base rows{graph}, linked",
        *lag,
    ]


def size(count: int | None) -> str:
    """Return a number of bytes, if it is known.

    >>> size(3 * 2**20), size(None)
    (' (3.0 MiB)', '')
    """
    return "" if count is None else f" ({count / 2**20:,.1f} MiB)"


def bars(rates: tuple[float, ...]) -> str:
    """Draw rates as bars, the highest one full."""
    top = max(*rates, 1.0)
    return "".join(BARS[min(7, int(8 * rate / top))] for rate in rates)


def summary(frame: Frame, stats: Mapping[str, object]) -> str:
    """Return what the demo has shown."""
    size = stats.get("bytes")
    memory = f" in {size / 2**20:,.1f} MiB" if isinstance(size, int) else ""
    return (
        f"\nIn {frame.elapsed_s:.1f} s, {frame.diffs:,} diffs of base tables became "
        f"{frame.view_diffs:,} view diffs.\n"
        f"The view now has {frame.view_rows:,} rows; none is stored. "
        f"The join graph they are read from\nholds {frame.base_rows:,} base rows{memory}."
    )
