"""Streams that Spark does not have: entries of a Redis stream, and made-up data at a rate.

Their offsets are positions of the source itself, so a micro-batch can be read again.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from typing import Any, cast

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow
from redis import Redis

from joingraph.pipeline.sources.bsma import BSMA, COLUMNS

ENTRIES_MAX = 100_000  # a micro-batch takes at most so many
RedisEntry = tuple[bytes, dict[bytes, bytes]]


class RedisEntries(DataSource):
    """Entries of a Redis stream: the field `json` (or `value`) as it is, or all fields as JSON."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return "joingraph_redis"

    def schema(self) -> str:
        """Return the columns."""
        return "ms BIGINT, seq BIGINT, value STRING"

    def streamReader(self, schema: object) -> DataSourceStreamReader:
        """Make the reader."""
        return EntriesReader(dict(self.options))


class EntriesReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads a Redis stream by entry."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self.url, self.stream = options["url"], options["stream"]
        self.most = int(options.get("maxentriespertrigger", ENTRIES_MAX))
        self.target = "+"

    def initialOffset(self) -> dict[str, str]:
        """Begin before the first entry."""
        return {"id": "0-0"}

    def prepareForTriggerAvailableNow(self) -> None:
        """Note the last entry there is, which is as far as this run goes."""
        with Redis.from_url(self.url) as redis:
            found: list[RedisEntry] = cast(Any, redis).xrevrange(self.stream, count=1)
        self.target = found[0][0].decode() if found else "0-0"

    def latestOffset(self, start: dict[str, str], limit: object) -> dict[str, str]:
        """Return the last entry of the next micro-batch."""
        with Redis.from_url(self.url) as redis:
            found = page(redis, self.stream, start["id"], (self.target, self.most))
        return {"id": found[-1][0].decode()} if found else start

    def partitions(self, start: dict[str, str], end: dict[str, str]) -> list[InputPartition]:
        """Read all in one place: a stream has one order."""
        return [InputPartition((start["id"], end["id"]))] if start != end else []

    def read(self, partition: Any) -> Iterator[tuple[int, int, str]]:
        """Read the entries of a micro-batch."""
        last, end = partition.value
        stop = parse_id(end)
        with Redis.from_url(self.url) as redis:
            while found := page(redis, self.stream, last, ("+", 1000)):
                for name, fields in found:
                    last = name.decode()
                    ms, seq = parse_id(last)
                    if (ms, seq) > stop:
                        return
                    yield ms, seq, text_of(fields)


def page(redis: Any, stream: str, after: str, until: tuple[str, int]) -> list[RedisEntry]:
    """Read the entries after one, up to and with another, and no more than so many."""
    last, most = until
    found: list[RedisEntry] = redis.xrange(stream, f"({after}", last, most)
    return found


def parse_id(name: str) -> tuple[int, int]:
    """Read an entry's name."""
    ms, _, seq = name.partition("-")
    return int(ms), int(seq)


def text_of(fields: Mapping[bytes, bytes]) -> str:
    """Return an entry's record."""
    for name in (b"json", b"value"):
        if name in fields and len(fields) == 1:
            return fields[name].decode(errors="replace")
    return json.dumps(
        {name.decode(errors="replace"): fields[name].decode(errors="replace") for name in fields}
    )


class Generated(DataSource):
    """Rows of joingraph/pipeline/sources/bsma.py at `rate` a second, numbered from 0."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return "joingraph_generator"

    def schema(self) -> str:
        """Return the columns."""
        return ", ".join(f"{name} BIGINT" for name in ("_number", *COLUMNS[self.options["table"]]))

    def streamReader(self, schema: object) -> DataSourceStreamReader:
        """Make the reader."""
        return GeneratedReader(dict(self.options))


class GeneratedReader(DataSourceStreamReader):
    """Reads made-up rows by number; they are the same whenever they are read."""

    def __init__(self, options: Mapping[str, str]) -> None:
        sizes = ("users", "followers", "tweets", "retweets")
        self.table = options["table"]
        self.data = BSMA(**{name: int(options[name]) for name in sizes if name in options})
        self.rate = float(options.get("rate", 1000))
        self.most = int(options.get("maxrowspertrigger", ENTRIES_MAX))
        self.first = int(options.get("first", 0))
        self.asked_s = time.time()

    def initialOffset(self) -> dict[str, int]:
        """Begin with the first rows, which are there at once."""
        return {"number": 0}

    def latestOffset(self, start: dict[str, int], limit: object) -> dict[str, int]:
        """Return how many rows there are by now."""
        now = time.time()
        due = int((now - self.asked_s) * self.rate)
        if start["number"] < self.first:
            due = max(due, self.first - start["number"])
        if not due:
            return start
        self.asked_s = now
        total = self.data.rows[self.table]
        return {"number": min(total, start["number"] + min(due, self.most))}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        """Make the rows of a micro-batch in one place."""
        return [InputPartition((start["number"], end["number"]))] if start != end else []

    def read(self, partition: Any) -> Iterator[pa.RecordBatch]:
        """Make the rows of a micro-batch."""
        start, stop = partition.value
        for rows in self.data.between(self.table, start, stop):
            numbered = pa.array(range(start, start + rows.num_rows), pa.int64())
            yield pa.RecordBatch.from_arrays(
                [numbered, *rows.columns], names=["_number", *rows.schema.names]
            )
            start += rows.num_rows
