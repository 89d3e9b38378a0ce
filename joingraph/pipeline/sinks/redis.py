"""Sinks of Redis: view diffs as a stream, and the newest rows of each subscriber as a sorted set.

    stream      feed            7-1  {seq: 7, arrow: <table>}      one entry a batch, or
                                7-1  {_change_type: insert, …}, 7-2  …    one a row
    timeline    timeline:5      {"{…row…}": score, …}   the `cap` highest of userId = 5

An entry is named by its batch, and Redis takes no name twice or out of order: a batch that comes
again adds nothing. Timelines note the last batch in the same step. What a timeline has let go at
its lower end does not come back when a higher row is deleted. How safe a written batch is, the
server's `appendfsync` says.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from redis import Redis
from redis.exceptions import ResponseError

from joingraph.common.errors import StoreError
from joingraph.common.names import did_you_mean, quoted
from joingraph.expressions.python_values import python_rows, shown
from joingraph.pipeline.sinks.contract import EXACTLY_ONCE
from joingraph.pipeline.sinks.embedded import Server
from joingraph.plan.view import View
from joingraph.view_diffs.view_diff import ViewDiff

FORMS = ("arrow", "fields")
# The server runs this as one step: a batch is there whole, with its number, or not at all. Rows
# that a view has several times are counted beside the set.
STEP = """
if tonumber(redis.call('GET', KEYS[1]) or '0') >= tonumber(ARGV[1]) then return 0 end
local touched = {}
for _, change in ipairs(cjson.decode(ARGV[3])) do
  local key, member, score, delta = change[1], change[2], change[3], change[4]
  local counts = key .. ':counts'
  if redis.call('HINCRBY', counts, member, delta) > 0 then
    redis.call('ZADD', key, score, member)
  else
    redis.call('HDEL', counts, member)
    redis.call('ZREM', key, member)
  end
  touched[key] = counts
end
for key, counts in pairs(touched) do
  for _, member in ipairs(redis.call('ZRANGE', key, 0, -tonumber(ARGV[2]) - 1)) do
    redis.call('HDEL', counts, member)
    redis.call('ZREM', key, member)
  end
end
redis.call('SET', KEYS[1], ARGV[1])
return 1
"""


class RedisStream:
    """Appends each batch that changes the view to a Redis stream."""

    guarantee = EXACTLY_ONCE

    def __init__(
        self, stream: str, url: str | None = None, *, form: str = "arrow", most: int | None = None
    ) -> None:
        if form not in FORMS:
            raise StoreError(f"a Redis stream has the form {form!r}; choose {' or '.join(FORMS)}")
        self.stream, self.form, self.most = stream, form, most
        self.by_row = form == "fields"  # a batch that was cut off goes on behind its last row
        self.server = Server(url)

    def open(self, view: View) -> None:
        """Connect; without a URL, start a server."""
        self.redis: Any = Redis.from_url(self.server.start())

    def write(self, diff: ViewDiff) -> None:
        """Append a batch."""
        if not len(diff):
            return
        table = diff.to_arrow(positions=True)
        found = [one_entry(table, diff.seq)] if self.form == "arrow" else list(row_entries(table))
        written = self.entry()
        for number, fields in enumerate(found, 1):
            if (diff.seq, number) > written:
                name = f"{diff.seq}-{number}"
                self.redis.xadd(self.stream, fields, id=name, maxlen=self.most, approximate=True)

    def last(self) -> int:
        """Return the number of the last batch there ever was."""
        return self.entry()[0]

    def entry(self) -> tuple[int, int]:
        """Return the name of the last entry there ever was."""
        try:
            last = self.redis.xinfo_stream(self.stream)["last-generated-id"]
        except ResponseError:
            return 0, 0
        seq, _, number = (last.decode() if isinstance(last, bytes) else last).partition("-")
        return int(seq), int(number)

    def close(self) -> None:
        """Let the connection go, and the server if it was ours."""
        self.redis.close()
        self.server.stop()


def one_entry(table: pa.Table, seq: int) -> dict[str, Any]:
    """Write a batch as one entry, in Arrow's stream format."""
    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)
    return {"seq": seq, "arrow": out.getvalue().to_pybytes()}


def row_entries(table: pa.Table) -> Iterator[dict[str, str]]:
    """Write each row as an entry; a NULL has no field."""
    for row in python_rows(table):
        yield {name: shown(value) for name, value in row.items() if value is not None}


class Timeline:
    """Keeps for each value of one column the rows with the highest value of another."""

    guarantee = EXACTLY_ONCE

    def __init__(
        self, prefix: str, url: str | None = None, *, subscriber: str, score: str, cap: int = 100
    ) -> None:
        self.prefix, self.subscriber, self.score, self.cap = prefix, subscriber, score, cap
        self.server = Server(url)

    def open(self, view: View) -> None:
        """Connect, and check the columns."""
        for column in (self.subscriber, self.score):
            if column not in view.schema.names:
                hint = did_you_mean(column, view.schema.names)
                raise StoreError(f"timeline: {view.name} has no column {quoted(column)}{hint}")
        kind = view.schema.field(self.score).type
        numbers = pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal
        if not any(is_one(kind) for is_one in numbers):
            raise StoreError(f"timeline: {self.score} is {kind}; a score is a number")
        self.redis: Any = Redis.from_url(self.server.start())

    def last(self) -> int:
        """Return the number of the last batch."""
        return int(self.redis.get(f"{self.prefix}:seq") or 0)

    def write(self, diff: ViewDiff) -> None:
        """Add and remove rows; all of a batch at once."""
        changes = json.dumps(list(self.changes(diff.to_arrow(net=True))))
        self.redis.eval(STEP, 1, f"{self.prefix}:seq", diff.seq, self.cap, changes)

    def changes(self, table: pa.Table) -> Iterator[tuple[str, str, float, int]]:
        """Yield rows as members of their subscribers' sets: what goes first."""
        rows = sorted(python_rows(table), key=lambda row: str(row["_change_type"]))
        for row in rows:
            sign = 1 if row.pop("_change_type") == "insert" else -1
            count, subscriber = row.pop("_count"), row.pop(self.subscriber)
            if subscriber is not None:
                member = json.dumps(row, default=shown, sort_keys=True)
                score = float(row[self.score] or 0)
                # Redis takes no NaN, which an order has above all numbers.
                score = math.inf if math.isnan(score) else score
                yield f"{self.prefix}:{subscriber}", member, score, sign * count

    def close(self) -> None:
        """Let the connection go, and the server if it was ours."""
        self.redis.close()
        self.server.stop()
