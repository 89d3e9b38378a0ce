"""The readers of texts that people and other programs write, and how such texts go wrong.

A text goes wrong by the word: words are swapped, repeated, left out, or not of its encoding.
"""

from __future__ import annotations

import csv
import io
import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.csv as pc

import joingraph as jg
from joingraph.cli.transfer import read_dumped
from joingraph.pipeline import example
from joingraph.pipeline.debezium import read_events
from joingraph.pipeline.offsets import Position, Reached, read_position
from joingraph.pipeline.report.status import read_status
from joingraph.pipeline.settings import read_settings
from joingraph.sql.ddl.tables import declare_all
from joingraph.sql.text.files import declarations, read_sql
from joingraph.storage.description import describe
from joingraph.storage.state import State
from joingraph.tables.rows_in import to_table
from tests.crash.feed import SQL, TABLES, view

VIEW = view()
ROWS = 'author,id,text\n1,10,hello\n-2,11,\n3,12,"a, ""b""\nc"\n4,99999999999,NULL\n'
EVENTS = [
    {"before": None, "after": {"id": 1, "name": "a", "paid": "1.50", "at": 1700000000000000,
     "day": 20000, "raw": "YQ==", "share": 0.5, "is_new": True}, "op": "c"},
    {"before": {"id": 1}, "after": None, "op": "d"},
    {"schema": {"fields": [{"field": "after", "fields": [{"field": "paid", "name":
     "org.apache.kafka.connect.data.Decimal", "parameters": {"scale": "2"}}]}]},
     "payload": {"before": None, "after": {"id": 2, "name": None, "paid": "AJY=", "at":
     "2026-01-02T03:04:05", "day": "2026-01-02", "raw": None, "share": 1, "is_new": None},
     "op": "u"}},
]  # fmt: skip
PAYMENTS = declare_all(
    {
        "payment": "CREATE TABLE payment (id BIGINT PRIMARY KEY, name STRING, paid DECIMAL(10, 2),"
        " at TIMESTAMP_NTZ, day DATE, raw BINARY, share DOUBLE, is_new BOOLEAN)"
    }
)
DUMPED = {
    "joingraph": 1, "view": describe(VIEW), "key_index": [], "state": State().to_json(),
    "options": {"engine": "auto", "lookahead": "auto", "on_missing": "error"},
}  # fmt: skip
ODD = [
    *(b"\xff", b"\xc3", b"\xed\xa0\x80", "\U0001f600".encode(), "\u202e".encode(), b"\0", b"\r"),
    *(b"'", b'"', b"`", b"\\", b"(", b")", b"[", b"}", b"--", b"/*", b"<", b",", b"=", b"\n"),
    *(b"9" * 400, b"1e999", b"-0", b"NaN", b"null", b"[" * 2000, b"{'a':" * 300, b"x" * 5000),
]  # fmt: skip


def read_view(data: bytes) -> None:
    """Read a view's text as the command line does."""
    with TemporaryDirectory() as scratch:
        path = Path(scratch) / "view.sql"
        path.write_bytes(data)
        jg.View(read_sql(path), VIEW.tables)


def read_tables(data: bytes) -> None:
    """Read the declarations of base tables as the command line does."""
    with TemporaryDirectory() as scratch:
        path = Path(scratch) / "tables.sql"
        path.write_bytes(data)
        jg.View(SQL, declarations(read_sql(path), "spark"))


def read_toml(data: bytes) -> None:
    """Read a pipeline's file, whose folder holds what it should name."""
    with TemporaryDirectory() as scratch:
        home = Path(scratch)
        for name, text in example.FILES.items():
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            (home / name).write_text(text)
        (home / "pipeline.toml").write_bytes(data)
        read_settings(home / "pipeline.toml")


def read_csv(data: bytes) -> None:
    """Read rows of a CSV file: as Arrow reads them, and as texts."""
    table = VIEW.tables["tweet"]
    try:
        rows = list(csv.reader(io.StringIO(data.decode("utf-8", "replace"))))[1:]
        found = pc.read_csv(pa.BufferReader(data))
    except (csv.Error, pa.ArrowException):  # which say what is wrong with the file
        return
    jg.JoinGraph(VIEW, engine="reference").insert("tweet", found)
    to_table(rows, table, "insert into tweet")


def read_json(data: bytes) -> None:
    """Read change events as Debezium writes them, a line each."""
    lines = data.decode("utf-8", "replace").split("\n")
    for by_key in (False, True):
        found = read_events(lines, PAYMENTS["payment"], by_key=by_key)
        found.images.rows.validate(full=True)
    if found.bad:
        raise jg.DiffError(found.bad[0][1])


def read_dump(data: bytes) -> None:
    """Read what `joingraph dump` says of a view."""
    with TemporaryDirectory() as scratch:
        path = Path(scratch) / "view.json"
        path.write_bytes(data)
        read_dumped(path)


def read_told(data: bytes) -> None:
    """Read how far a pipeline has come, as its graph and its status file tell it."""
    with TemporaryDirectory() as scratch:
        path = Path(scratch) / "status.json"
        path.write_bytes(data)
        read_status(path)
    read_position(data.decode("utf-8", "replace"))


READERS: dict[str, tuple[Callable[[bytes], None], bytes]] = {
    "sql": (read_view, SQL.encode()),
    "tables": (read_tables, ";\n".join(TABLES.values()).encode()),
    "toml": (read_toml, example.SETTINGS.encode()),
    "csv": (read_csv, ROWS.encode()),
    "json": (read_json, "\n".join(map(json.dumps, EVENTS)).encode()),
    "dump": (read_dump, json.dumps(DUMPED).encode()),
    "told": (read_told, Position("q", 3, {"t": Reached({"f": (1, 2)}, 5)}).write().encode()),
}


def mutated_text(data: bytes, chance: random.Random) -> bytes:
    """Swap, repeat, leave out or replace words, cut the text, or put in what is odd."""
    words = re.findall(rb"\w+|\s+|.", data, re.DOTALL)
    for _ in range(chance.choice([1, 1, 2, 5, 20])):
        at, other = chance.randrange(len(words) + 1), chance.randrange(len(words) + 1)
        match chance.randrange(7):
            case 0 if at < len(words) and other < len(words):
                words[at], words[other] = words[other], words[at]
            case 1:
                del words[at : at + chance.randrange(1, 4)]
            case 2 if chance.random() < 0.3:
                del words[at:]
            case 3:
                piece = words[at : at + chance.randrange(1, 12)]
                words[at:at] = piece * chance.choice([1, 2, 50])
            case 4 if at < len(words):
                words[at] = chance.choice(words)
            case _:
                words[at:at] = [chance.choice(ODD)]
    return b"".join(words)
