"""Which file a row is of, without the file's name beside every row.

    stream       _file 4f1e…          xxhash64 of the name, which costs more than the row
    checkpoint   {"path": …}          the files of a micro-batch and when they were last changed,
                                      noted before it comes

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

from joingraph.common.errors import StoreError
from joingraph.pipeline.read_rows import File

NUMBER: Final = "_file"
SEED: Final = 42  # of Spark's xxhash64
FILES_MAX: Final = 100_000  # remembered; of others Spark is asked


def lane_number(name: Column) -> Column:
    """Number the file that a row is of."""
    return F.xxhash64(name)


class Lanes:
    """The files met so far, by their numbers; `folders` are where there are more."""

    def __init__(self, folders: Iterable[str]) -> None:
        self.folders = tuple(folders)
        self.files: dict[int, File] = {}

    def note(self, files: Iterable[File]) -> None:
        """Remember files as Spark may name them: it writes a local path in two ways.

        Positions that graphs have committed hold the shorter one, so that is what stays.
        """
        if len(self.files) > FILES_MAX:
            self.files.clear()
        for file in files:
            kept = file._replace(name=file.name.replace("file:///", "file:/", 1))
            for name in (file.name, kept.name):
                self.files[number_of(name)] = kept

    def collect(self, rows: DataFrame) -> tuple[pa.Table, Mapping[int, File]]:
        """Bring a micro-batch to the driver, and give its files."""
        found = rows.toArrow()
        if NUMBER not in found.column_names:
            return found, {}
        numbers = pc.unique(found[NUMBER]).drop_null().to_pylist()
        if any(number not in self.files for number in numbers):
            self.note(files_in_folders(rows.sparkSession, self.folders))
        if any(number not in self.files for number in numbers):
            raise StoreError(
                f"a file that this micro-batch was read from is not in {', '.join(self.folders)} "
                "any more; leave files there until they are applied. Nothing was applied"
            )
        return found, {number: self.files[number] for number in numbers}


def files_in_folders(spark: SparkSession, folders: Iterable[str]) -> Iterator[File]:
    """Yield the files of folders as Spark names them; it reads none of them."""
    reader = spark.read.format("binaryFile").option("recursiveFileLookup", "true")
    for folder in folders:
        changed_us = F.unix_micros("_metadata.file_modification_time")
        found = reader.load(folder).select(F.input_file_name(), changed_us).toArrow()
        yield from map(File, *(column.to_pylist() for column in found.columns))


def number_of(name: str) -> int:
    """Number a name as Spark does.

    >>> number_of("file:/data/1.parquet")
    -8225697614120674850
    """
    return (xxhash.xxh64_intdigest(name.encode(), seed=SEED) ^ (1 << 63)) - (1 << 63)
