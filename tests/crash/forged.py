"""Forged folders: one field of a record, of a footer or of an Arrow stream is another, and all
checksums are right. Such a folder opens, or is refused by name.

Arrays are left alone: they are sealed with a key of the machine's.
"""

from __future__ import annotations

import copy
import json
import random
import zlib
from collections.abc import Callable
from functools import cache
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import xxhash

import joingraph as jg
from joingraph.storage.disk.folder import FORMAT, Folder
from joingraph.storage.disk.segment import HEADER
from joingraph.storage.disk.snapshot import ALIGN, HEAD_MAGIC, TAIL, TAIL_MAGIC, Snapshot
from joingraph.storage.disk.snapshot import HEAD as SNAPSHOT_HEAD
from joingraph.storage.record import HEAD, MAGIC, WORD, read_head, taken_apart, to_stream
from tests.crash.feed import batches, view

VALUES: list[Any] = [
    *(
        None,
        True,
        False,
        0,
        1,
        -1,
        2,
        1 << 31,
        1 << 63,
        -(1 << 63),
        10**40,
        1.5,
        1e308,
        float("nan"),
    ),
    *(
        "",
        "x",
        "tweet",
        "follower",
        "batch",
        "load",
        "expire",
        "\0",
        "\ud800",
        "x" * 3_000,
        "1",
        "[]",
    ),
    *(
        [],
        [[]],
        [None],
        [1, 2, 3],
        ["insert", "tweet"],
        ["delete", "x"],
        {},
        {"x": 1},
        {"name": "n"},
    ),
]
DATE = pa.array([4_000_000] * 2, pa.int32()).cast(pa.date32())
TABLES = [
    pa.table({}),
    pa.table({"author": [1]}),
    pa.table({"author": [1, 2], "fan": [3, 4]}),
    pa.table({"author": ["a", "b"], "fan": [None, "c"]}),
    pa.table({"author": [1, 2], "id": [3, None], "text": ["x", None]}),
    pa.table({"author": [[1], []], "id": [{"a": 1}, None], "text": DATE}),
    pa.table({"author": DATE, "id": DATE, "text": pa.array([b"\xff", b""])}),
    pa.table({"author": pa.nulls(2), "fan": pa.array(["a", "a"]).dictionary_encode()}),
    pa.table([[1], [2]], names=["same", "same"]),
    pa.table([[7], [8], [0]], names=["key 0.0", "projected 0", "count"]),
    pa.table([[7], [8], [1 << 40]], names=["key 0.0", "projected 0", "count"]),
]


@cache
def honest() -> dict[str, bytes]:
    """Write a folder with records of all kinds behind a snapshot; return its files."""
    with TemporaryDirectory() as scratch:
        folder = Path(scratch) / "graph"
        with jg.JoinGraph(
            view(), folder, engine="reference", on_missing="quarantine", durability="none"
        ) as graph:
            feed = batches(1)
            for batch in islice(feed, 3):
                graph.apply(batch)
            graph.apply([("delete", "tweet", [(-1, -1, "gone")])], source="s", position=[1, "a"])
            graph.subscribe("n")
            graph.index("fan")
            graph.snapshot()
            graph.load({"follower": [(1, 2)]}, source="t", position="x")
            for number, batch in enumerate(islice(feed, 3)):
                graph.apply(batch, source="s", position=[2 + number, "a"])
            graph.expire("tweet", "author = 1")
            graph.index("text")
            told = graph.subscribe("n")
            diff = told.next(0)
            assert diff is not None, "batches wait for the subscriber"
            told.ack(diff.seq)
            graph.subscribe("m")
            graph.unsubscribe("m")
            graph.delete("tweet", [(-1, -1, "gone")])
        return {each.name: each.read_bytes() for each in folder.iterdir()}


def forge(chance: random.Random, folder: Path) -> None:
    """Write the folder once more, one part of it changed."""
    folder.mkdir()
    for name, data in honest().items():
        (folder / name).write_bytes(data)
    place = Folder(folder)
    if chance.random() < 0.6:
        path = place.segment(chance.choice(place.segments()))
        path.write_bytes(forged_log(chance, path.read_bytes()))
    else:
        forge_snapshot(chance, place, place.snapshots()[-1])


def forged_log(chance: random.Random, data: bytes) -> bytes:
    """Change one record of a segment."""
    records, at = list[tuple[Any, bytes]](), HEADER.size
    while (head := read_head(data[at : at + HEAD.size])) is not None:
        records.append((head, data[at + HEAD.size : at + HEAD.size + head.length]))
        at += HEAD.size + head.length
    chosen = chance.randrange(len(records))
    parts = [data[: HEADER.size]]
    for number, (head, payload) in enumerate(records):
        body = forged_payload(chance, payload) if number == chosen else payload
        parts += [head_of(head, body), body]
    return b"".join(parts)


def head_of(head: Any, payload: bytes) -> bytes:
    """Write a record's head with the right checksums."""
    fields = (head.number, head.durable, len(payload), xxhash.xxh3_64_intdigest(payload))
    rest = HEAD.pack(MAGIC, 0, *fields)[8:]
    return MAGIC + zlib.crc32(rest).to_bytes(4, "little") + rest


def forged_payload(chance: random.Random, payload: bytes) -> bytes:
    """Change a field of a record's meta, or one of its streams."""
    meta, streams = taken_apart(memoryview(payload))
    found = [bytes(each) for each in streams]
    if found and chance.random() < 0.5:
        found[chance.randrange(len(found))] = to_stream(chance.choice(TABLES)).to_pybytes()
        meta["streams"] = [len(each) for each in found]
    else:
        meta = forged_json(chance, meta)
    text = json.dumps(meta).encode()
    text += b" " * (-len(text) % 8)
    return b"".join([WORD.pack(len(text)), text, *found])


def forge_snapshot(chance: random.Random, folder: Folder, number: int) -> None:
    """Change a field of a snapshot's footer, or one of its blocks of rows."""
    found = Snapshot(folder, number)
    footer, blocks = copy.deepcopy(found.footer), {name: bytes(found[name]) for name in found}
    found.close()
    if chance.random() < 0.4:
        blocks[chance.choice(list(blocks))] = to_stream(chance.choice(TABLES)).to_pybytes()
    data, places = SNAPSHOT_HEAD.pack(HEAD_MAGIC, FORMAT), dict[str, Any]()
    for name, block in blocks.items():
        data += bytes(-len(data) % ALIGN)
        places[name] = [len(data), len(block), [xxhash.xxh3_64_hexdigest(block)]]
        data += block
    footer["blocks"] = places
    text = json.dumps(forged_json(chance, footer)).encode()
    tail = TAIL.pack(len(text), xxhash.xxh3_64_intdigest(text), TAIL_MAGIC)
    folder.snapshot(number).write_bytes(data + text + tail)


def forged_json(chance: random.Random, value: Any) -> Any:
    """Change, leave out or add one field somewhere within a value."""
    if not isinstance(value, (dict, list)) or not value or chance.random() < 0.05:
        return chance.choice(VALUES)
    found = copy.copy(value)
    key = chance.choice(list(value)) if isinstance(value, dict) else chance.randrange(len(value))
    match chance.randrange(12):
        case 0:
            del found[key]
        case 1 if isinstance(found, dict):
            found["x"] = chance.choice(VALUES)
        case 1:
            found.append(chance.choice(VALUES))
        case _:
            found[key] = forged_json(chance, found[key])
    return found


def read_forged(data: bytes) -> None:
    """Open a folder that is forged as the bytes say, and ask for all that is in it."""
    with TemporaryDirectory() as scratch:
        folder = Path(scratch) / "graph"
        forge(random.Random(data), folder)
        with jg.open(folder) as graph:
            graph.count()
            graph.to_arrow()
            graph.check()
            graph.quarantined()
            for source, position in graph.positions().items():
                graph.apply([], source=source, position=position).rows()
            for name in graph.subscribers():
                for diff in graph.subscribe(name):
                    diff.rows()
            for name, table in graph.view.tables.items():
                graph.delete(name, table.schema.empty_table())
            graph.snapshot()


def seed_of(_: bytes, chance: random.Random) -> bytes:
    """Choose what is forged."""
    return chance.randbytes(8)


READERS: dict[str, tuple[Callable[[bytes], None], bytes]] = {"forged": (read_forged, b"")}
