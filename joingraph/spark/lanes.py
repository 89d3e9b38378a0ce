"""Which file a row is of, without the file's name beside every row.

    stream       _file 4f1e…          xxhash64 of the name, which costs more than the row
    checkpoint   {"path": …}          the files of a micro-batch, noted before it comes

So names are known by their hashes. If one is not, as Spark writes it in some other way there, it is
asked how it names the files of the sources.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import xxhash
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from joingraph.errors import StoreError

NUMBER: Final = "_file"
SEED: Final = 42  # of Spark's xxhash64
NAMES_MAX: Final = 100_000  # remembered; of others Spark is asked


def lane_number(name: Column) -> Column:
    """Number the file that a row is of."""
    return F.xxhash64(name)


class Lanes:
    """The names of files met so far, by their numbers; `folders` are where there are more."""

    def __init__(self, folders: Iterable[str]) -> None:
        self.folders = tuple(folders)
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
        found = rows.toArrow()
        if NUMBER not in found.column_names:
            return found, {}
        numbers = pc.unique(found[NUMBER]).drop_null().to_pylist()
        if any(number not in self.names for number in numbers):
            self.note(listed(rows.sparkSession, self.folders))
        if any(number not in self.names for number in numbers):
            raise StoreError(
                f"a file that this micro-batch was read from is not in {', '.join(self.folders)} "
                "any more; leave files there until they are applied. Nothing was applied"
            )
        return found, {number: self.names[number] for number in numbers}


def listed(spark: SparkSession, folders: Iterable[str]) -> Iterator[str]:
    """Yield the names that Spark has for the files of folders; it reads none of them."""
    reader = spark.read.format("binaryFile").option("recursiveFileLookup", "true")
    for folder in folders:
        yield from reader.load(folder).select("_metadata.file_path").toArrow()[0].to_pylist()


def number_of(name: str) -> int:
    """Number a name as Spark does.

    >>> number_of("file:/data/1.parquet")
    -8225697614120674850
    """
    return (xxhash.xxh64_intdigest(name.encode(), seed=SEED) ^ (1 << 63)) - (1 << 63)
