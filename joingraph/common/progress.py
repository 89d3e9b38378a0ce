"""Progress of long work, told to a caller's function; by default drawn where a person can see it.

kernels compiled: 3 of 8, about 6 s left         on a terminal, once it takes over a second
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

Progress = Callable[[int, int], None]  # what is done, what there is in all


def shown_progress(what: str) -> Progress:
    """Make a progress that is drawn on the terminal, if there is one and the work is long."""
    began = time.monotonic()

    def show(done: int, total: int) -> None:
        elapsed = time.monotonic() - began
        if elapsed < 1 or not done or not sys.stderr.isatty():
            return
        left = elapsed / done * (total - done)
        text = f"{what}: {done:,} of {total:,}, about {left:.0f} s left"
        end = "\n" if done == total else ""
        print(f"\r{text:<70}", end=end, file=sys.stderr, flush=True)

    return show
