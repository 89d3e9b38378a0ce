"""Where a source stands, as people read it, and how long its newest row waited to be applied.

files    tweet-0007.parquet      0.4 s      since the file was last changed
redis    1731939000000-3         0.1 s      since the entry was made
delta    version 17                         other positions are no times
"""

from __future__ import annotations

from typing import Final
from urllib.parse import unquote

from joingraph.pipeline.model import Source, SourceLag
from joingraph.pipeline.offsets import Reached

LANES_SHOWN: Final = 8
TICKS_PER_S: Final = {"parquet": 1e6, "csv": 1e6, "json": 1e6, "redis": 1e3}


def source_lag(source: Source, reached: Reached, now_s: float) -> SourceLag:
    """Return where a source stands, and its lag."""
    if source.format == "dataframe" or not reached.lanes:
        return SourceLag("has no positions", None)
    lane, (a, b) = max(reached.lanes.items(), key=lambda each: each[1])
    ticks_per_s = TICKS_PER_S.get(source.format)
    lag_s = None if ticks_per_s is None else round(max(0.0, now_s - a / ticks_per_s), 3)
    if source.format == "kafka":
        lanes = sorted(reached.lanes.items())[:LANES_SHOWN]
        place = ", ".join(f"{lane} at {a}" for lane, (a, _) in lanes)
    else:
        place = {
            "delta": f"version {a}",
            "generator": f"number {a}",
            "redis": f"{a}-{b}",
        }.get(source.format, unquote(lane.rpartition("/")[2]))
    return SourceLag(place, lag_s)
