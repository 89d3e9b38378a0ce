"""Which file a row is of, without the file's name beside every row.

    stream       _file 4f1e…   _name file:/data/tweet/1.parquet     xxhash64 of the name, the name
    collected    _file 4f1e…                                        the name costs more than the row

Spark has noted in its checkpoint which files it reads, so names are known by their hashes. If one
is not, Spark is asked for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import xxhash
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

NUMBER: Final = "_file"
NAME: Final = "_name"
SEED: Final = 42  # of Spark's xxhash64
NAMES_MAX: Final = 100_000  # remembered; of others Spark is asked


def lane_columns() -> list[Column]:
    """Make the columns of a row's file from its lane."""
    return [F.xxhash64("_lane").alias(NUMBER), F.col("_lane").alias(NAME)]


class Lanes:
    """The names of files met so far, by their numbers."""

    def __init__(self) -> None:
        self.names: dict[int, str] = {}

    def note(self, places: Iterable[str]) -> None:
        """Remember files as Spark may name them: it writes a local path in two ways."""
        if len(self.names) > NAMES_MAX:
            self.names.clear()
        for place in places:
            for name in (place, place.replace("file:///", "file:/", 1)):
                self.names[number_of(name)] = name

    def collect(self, rows: DataFrame) -> tuple[pa.Table, Mapping[int, str]]:
        """Bring a micro-batch to the driver, and give the names of its files."""
        if NAME not in rows.columns:
            return rows.toArrow(), {}
        found = rows.drop(NAME).toArrow()
        numbers = pc.unique(found[NUMBER]).drop_null().to_pylist()
        if any(number not in self.names for number in numbers):
            told = rows.select(NUMBER, NAME).where(F.col(NAME).isNotNull()).distinct().toArrow()
            names = zip(told[NUMBER].to_pylist(), told[NAME].to_pylist(), strict=True)
            self.names.update(names)
        return found, {number: self.names[number] for number in numbers}


def number_of(name: str) -> int:
    """Number a name as Spark does.

    >>> number_of("file:/data/1.parquet")
    -8225697614120674850
    """
    return (xxhash.xxh64_intdigest(name.encode(), seed=SEED) ^ (1 << 63)) - (1 << 63)
