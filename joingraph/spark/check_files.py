"""Confirms that the files of a micro-batch are read as they are meant, before it is applied.

A file whose name has one of * ? [ ] { } Spark takes for a pattern, and reads the files that it fits
as well, once more each.

A column that a Parquet file lacks Spark reads as NULL, and the filter would drop the row without a
word. So the footers of new files are looked at before anything is applied. Which files are new,
Spark has written into its checkpoint by then:

    checkpoint/sources/0/7      v1
                                {"path": "file:///data/tweet/2.parquet", "batchId": 7,
                                 "timestamp": 1763517600000, …}
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from urllib.parse import unquote

import pyarrow.parquet as pq

from joingraph.common.errors import StoreError
from joingraph.pipeline.model import Source
from joingraph.pipeline.read_rows import File
from joingraph.pipeline.report.eta import local_path
from joingraph.tables.table import Table

PATTERN = frozenset("*?[]{}")


def check_files(
    places: Iterable[str], sources: Mapping[str, Source], tables: Mapping[str, Table]
) -> None:
    """Refuse a micro-batch if one of its files would not be read as it is meant."""
    folders = {
        name: Path(source.path).resolve()
        for name, source in sources.items()
        if source.format == "parquet"
    }
    for place in places:
        check_pattern(place)
        path = local_path(place)
        for name, folder in folders.items():
            if path is not None and path.is_relative_to(folder):
                check_columns(path, name, sources[name].columns(tables[name]))


def new_files(checkpoint: Path, last_logs: dict[Path, int]) -> Iterator[File]:
    """Yield the files that Spark has noted since the last time, and note how far that is."""
    for folder in sorted((checkpoint / "sources").glob("*")):
        last = last_logs.get(folder, -1)
        for log in folder.glob("[0-9]*"):
            number = int(log.name.removesuffix(".compact"))
            if number > last:
                last_logs[folder] = max(number, last_logs.get(folder, -1))
                yield from files_in(log, number)


def files_in(log: Path, number: int) -> Iterator[File]:
    """Yield the files of one log; a compact one repeats the files of earlier ones."""
    for line in log.read_text(encoding="utf-8").splitlines():
        if line.startswith("{"):
            entry = json.loads(line)
            if entry.get("batchId") == number and "path" in entry:
                yield File(str(entry["path"]), 1000 * int(entry["timestamp"]))


def check_pattern(place: str) -> None:
    """Refuse a name that Spark reads as a pattern."""
    name = unquote(place)
    found = sorted(PATTERN.intersection(name))
    if found:
        raise StoreError(
            f"{name} has {' '.join(found)} in its name: Spark takes that for a pattern, and may"
            " read other files twice. Nothing of this micro-batch was applied: rename the file, and"
            " remove the checkpoint; what was applied before is recognised"
        )


def check_columns(path: Path, name: str, columns: list[str]) -> None:
    """Refuse a file of a table that lacks columns, by its footer; one that is gone has none."""
    try:
        there = pq.read_schema(path).names
    except FileNotFoundError:
        return
    known = {each.lower() for each in there}
    missing = [column for column in columns if column.lower() not in known]
    if missing:
        raise StoreError(
            f"{name}: the file {path} has no column {', '.join(missing)}; it has "
            f"{', '.join(there)}. Nothing of this micro-batch was applied: mend the file, "
            "or change the view and its tables"
        )
