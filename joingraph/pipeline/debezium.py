"""Debezium's change events -> images of rows.

    {"before": null, "after": {"id": 1, "text": "a"}, "op": "c", ...}      insert
    {"before": {...}, "after": {...}, "op": "u"}                           update
    {"before": {...}, "after": null, "op": "d"}                            delete
    null                                                                   a tombstone: nothing

With or without the envelope {"schema": ..., "payload": ...}. A missing `before` is found by the
table's key where one is declared. What cannot be read is a dead letter, except for a truncation:
passing over it would leave the whole table behind, so it stops the pipeline.
"""

from __future__ import annotations

import base64
import datetime as dt
import json
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from joingraph.common.errors import DiffError
from joingraph.pipeline.changes import DELETE, INSERT, POST, PRE, UPDATE, Images
from joingraph.tables.table import Table

EPOCH = dt.datetime(1970, 1, 1)
MICROS = {
    "io.debezium.time.Timestamp": 1000,
    "org.apache.kafka.connect.data.Timestamp": 1000,
    "io.debezium.time.MicroTimestamp": 1,
}
NO_BEFORE = (
    "has no `before`, and {table} declares no key to find the old row by; set REPLICA IDENTITY "
    'FULL on the table, or declare PRIMARY KEY (...) and set before = "key"'
)


class Read(NamedTuple):
    """What was read of some records: images, and per bad record its number and the reason."""

    images: Images
    record_of: list[int]  # the record that each image comes from
    bad: list[tuple[int, str]]


class Unreadable(ValueError):
    """A record that is not what it should be."""


Image = tuple[int, tuple[object, ...]]


def read_events(records: Sequence[str | None], table: Table, *, by_key: bool) -> Read:
    """Read the records of one table in order."""
    images: list[Image] = []
    record_of: list[int] = []
    follows: list[bool] = []
    bad: list[tuple[int, str]] = []
    for number, record in enumerate(records):
        try:
            found = event_images(record, table, by_key=by_key)
        except Unreadable as error:
            bad.append((number, str(error)))
            continue
        images += found
        record_of += [number] * len(found)
        follows += [False, True][: len(found)]
    columns = list(zip(*(row for _, row in images), strict=True)) or [()] * len(table.schema)
    rows = pa.Table.from_arrays(
        [pa.array(each, field.type) for each, field in zip(columns, table.schema, strict=True)],
        # What the old image of an update lacks is not looked at, so NOT NULL is not promised here.
        names=table.schema.names,
    )
    codes = np.array([code for code, _ in images], np.int8)
    return Read(Images(rows, codes, np.array(follows, bool)), record_of, bad)


def event_images(record: str | None, table: Table, *, by_key: bool) -> list[Image]:
    """Read one record."""
    event, kinds = event_in(record)
    if event is None:
        return []
    op, before, after = event.get("op"), event.get("before"), event.get("after")
    if op == "t":
        raise DiffError(
            f"{table.name} was truncated at its source, and no row says which rows went; rebuild "
            "the graph from the table as it is now"
        )
    if op in ("c", "r"):
        return [(INSERT, row_in(after, table, kinds))]
    if op not in ("u", "d"):
        raise Unreadable(f'has the operation {op!r}, which is none of "c", "r", "u", "d"')
    if not by_key and not isinstance(before, dict):
        raise Unreadable(NO_BEFORE.format(table=table.name))
    if op == "d":
        return [(DELETE, key_row(before, table, kinds) if by_key else row_in(before, table, kinds))]
    if by_key:
        return by_key_update(before, after, table, kinds)
    return [(PRE, row_in(before, table, kinds)), (POST, row_in(after, table, kinds))]


def by_key_update(before: object, after: object, table: Table, kinds: Mapping[str, str]
) -> list[Image]:  # fmt: skip
    """Read an update whose old row is found by its key; `before` tells it if the key changed."""
    new = row_in(after, table, kinds)
    if not isinstance(before, dict):
        return [(UPDATE, new)]
    return [(DELETE, key_row(before, table, kinds)), (INSERT, new)]


def event_in(record: str | None) -> tuple[Mapping[str, Any] | None, Mapping[str, str]]:
    """Take an event out of its envelope, with the names of its columns' types if it has any."""
    if record is None or not record.strip():
        return None, {}
    try:
        event = json.loads(record)
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"is not JSON ({error})") from error
    kinds: dict[str, str] = {}
    if isinstance(event, dict) and "payload" in event and "op" not in event:
        kinds = kinds_in(event.get("schema"))
        event = event["payload"]
    if event is None:
        return None, {}
    if not isinstance(event, dict):
        raise Unreadable(f"is {type(event).__name__}, not an event of Debezium")
    return event, kinds


def kinds_in(schema: Any) -> dict[str, str]:
    """Return each column's type as the envelope's schema names it."""
    found: dict[str, str] = {}
    parts = schema.get("fields", []) if isinstance(schema, dict) else []
    for part in parts:
        if isinstance(part, dict) and part.get("field") in ("before", "after"):
            for each in part.get("fields", []):
                found[each.get("field")] = column_kind(each)
    return found


def column_kind(field: Mapping[str, Any]) -> str:
    """Return the name of a column's type; of a decimal with its scale."""
    scale = field.get("parameters", {}).get("scale", "")
    return f"{field.get('name', '')}{':' + scale if scale else ''}"


def key_row(image: object, table: Table, kinds: Mapping[str, str]) -> tuple[object, ...]:
    """Read an image's key; the other columns are NULL."""
    if not isinstance(image, dict):
        raise Unreadable(
            f"has no `before`, so the key of the row that {table.name} lost is unknown"
        )
    return tuple(
        value_of(image, field, kinds) if field.name in table.key else None for field in table.schema
    )


def row_in(image: object, table: Table, kinds: Mapping[str, str]) -> tuple[object, ...]:
    """Read an image as a row of a table."""
    if not isinstance(image, dict):
        raise Unreadable("has no image of the row")
    values = tuple(value_of(image, field, kinds) for field in table.schema)
    for value, field in zip(values, table.schema, strict=True):
        if value is None and not field.nullable:
            raise Unreadable(f'column "{field.name}" is NOT NULL, found NULL')
    return values


def value_of(image: Mapping[str, object], field: pa.Field, kinds: Mapping[str, str]) -> object:
    """Read one value as the declared type."""
    if field.name not in image:
        raise Unreadable(f'has no column "{field.name}"; it has {", ".join(image)}')
    value = image[field.name]
    if value is None:
        return None
    try:
        return reader_of(field.type)(value, kinds.get(field.name, ""))
    except (ValueError, TypeError, OverflowError, InvalidOperation, pa.ArrowException):
        raise Unreadable(f'column "{field.name}" is {field.type}, found {value!r:.80}') from None


def reader_of(type: pa.DataType) -> Callable[[Any, str], object]:
    """Choose how values of a type are read."""
    if pa.types.is_boolean(type):
        return lambda value, _: exactly(value, bool)
    if pa.types.is_integer(type):
        return lambda value, _: pa.scalar(exactly(value, int), type).as_py()
    if pa.types.is_floating(type):
        return lambda value, _: float(value)
    if pa.types.is_decimal(type):
        return lambda value, kind: pa.scalar(decimal(value, kind), type).as_py()
    if pa.types.is_string(type):
        return lambda value, _: exactly(value, str)
    if pa.types.is_binary(type):
        return lambda value, _: base64.b64decode(exactly(value, str), validate=True)
    if pa.types.is_date(type):
        return lambda value, _: date(value)
    return lambda value, kind: timestamp(value, kind, aware=type.tz is not None)


def exactly(value: Any, kind: type) -> Any:
    """Return a value that is of one JSON type."""
    if type(value) is not kind:
        raise TypeError(kind.__name__)
    return value


def decimal(value: Any, kind: str) -> Decimal:
    """Read a decimal: digits, or an unscaled number in base64 whose scale the schema tells."""
    name, _, scale = kind.partition(":")
    if isinstance(value, str) and name.endswith("Decimal"):
        unscaled = int.from_bytes(base64.b64decode(value, validate=True), "big", signed=True)
        return Decimal(unscaled).scaleb(-int(scale or 0))
    if isinstance(value, float):
        return Decimal(repr(value))
    return Decimal(value)


def date(value: Any) -> dt.date:
    """Read a date: days since 1970, or ISO."""
    if isinstance(value, int):
        return EPOCH.date() + dt.timedelta(days=value)
    return dt.date.fromisoformat(value)


def timestamp(value: Any, kind: str, *, aware: bool) -> dt.datetime:
    """Read a time: a number whose unit the schema tells (micros where it does not), or ISO."""
    if isinstance(value, int):
        found = EPOCH + dt.timedelta(microseconds=value * MICROS.get(kind, 1))
        return found.replace(tzinfo=dt.UTC) if aware else found
    found = dt.datetime.fromisoformat(value)
    if aware == (found.tzinfo is not None):
        return found
    raise ValueError("a time with and one without a zone")
