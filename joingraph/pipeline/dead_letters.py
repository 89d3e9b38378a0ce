"""Records that could not be read, with where they came from and why: a file a micro-batch.

    {"table": "tweet", "reason": "...", "origin": "part-7.json", "record": "{\"userId\": x}"}

A micro-batch that is repeated writes the same file again, so a record is never there twice.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from joingraph.common.atomic_file import write_shared
from joingraph.common.errors import DiffError

SHOWN_CHARS = 200


class Dead(NamedTuple):
    """A record that could not be read."""

    table: str
    reason: str
    origin: str
    record: str


def put_away(folder: Path | None, name: str, dead: Sequence[Dead]) -> None:
    """Write a micro-batch's dead letters to its file; without a folder they stop the pipeline."""
    if not dead:
        return
    if folder is None:
        first = dead[0]
        raise DiffError(
            f"{first.table}: {first.reason}: {first.record:.{SHOWN_CHARS}} (from {first.origin}; "
            f'{len(dead)} such records in this micro-batch; on_error = "dead_letter" sets them '
            "aside and goes on)"
        )
    folder.mkdir(parents=True, exist_ok=True)
    lines = "".join(json.dumps(each._asdict()) + "\n" for each in dead)
    write_shared(folder / f"{name}.jsonl", lines.encode())
