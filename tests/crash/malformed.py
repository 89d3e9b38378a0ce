"""Malformed inputs for every reader of bytes: each is taken or refused by name, and quickly.

    python -m tests.crash.malformed --inputs 200000 --seed 1

Checksums keep accidents out; here they are made right, so that what lies behind them is met. The
readers of texts are in texts.py, folders forged field by field in forged.py.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import random
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryDirectory

import pyarrow as pa
import xxhash

import joingraph as jg
from joingraph.graph.row_blocks import images, read_rows, rows_schema
from joingraph.storage.description import describe, read_view
from joingraph.storage.disk.folder import FORMAT, Folder, Identity
from joingraph.storage.disk.segment import HEADER, check_header, read_found, write_header
from joingraph.storage.disk.snapshot import ALIGN, HEAD_MAGIC, TAIL, TAIL_MAGIC, Snapshot
from joingraph.storage.disk.snapshot import HEAD as SNAPSHOT_HEAD
from joingraph.storage.record import HEAD, Record, decode, encode, read_head, to_stream
from joingraph.storage.state import State
from joingraph.tables.batch import Entry
from joingraph.tables.rows_in import to_table
from tests.crash import forged, texts
from tests.crash.feed import view
from tests.crash.record import add_option, record

SECONDS_MAX = 1.0
VIEW = view()
TWEETS = pa.table({"author": [1, 2], "id": [3, 4], "text": ["x", None]})
RECORD = Record(
    "batch", 3, {"skip": True, "quarantine": False, "source": "s", "position": 4},
    [Entry("insert", "tweet", None, TWEETS), Entry("update", "tweet", TWEETS, TWEETS)], TWEETS,
)  # fmt: skip
BYTES = b"".join(bytes(memoryview(part)) for part in encode(RECORD, 1, 0))
IDENTITY = Identity(bytes(16), bytes(16))
ALIAS = VIEW.plan.aliases[1]
ROWS = pa.table([[1], [3], ["x"], [2]], schema=rows_schema(VIEW.plan, ALIAS))


def read_payload(data: bytes) -> None:
    """Read a record's payload."""
    decode(memoryview(data), changes=True)


def read_segment(data: bytes) -> None:
    """Read a segment's header, and a record behind it."""
    with NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        descriptor = os.open(file.name, os.O_RDONLY)
        try:
            read_head(data[HEADER.size :])
            read_found(descriptor, HEADER.size, Path(file.name))
            check_header(descriptor, Path(file.name), 1, IDENTITY)
        finally:
            os.close(descriptor)


def read_snapshot(data: bytes) -> None:
    """Read a snapshot's footer, and every block that it names."""
    with TemporaryDirectory() as scratch:
        folder = Folder(Path(scratch))
        tail = TAIL.pack(len(data), xxhash.xxh3_64_intdigest(data), TAIL_MAGIC)
        head = SNAPSHOT_HEAD.pack(HEAD_MAGIC, FORMAT)
        folder.snapshot(1).write_bytes(head.ljust(ALIGN, b"\0") + b"block" + data + tail)
        snapshot = Snapshot(folder, 1)
        try:
            for name in snapshot:
                assert len(snapshot[name]) <= snapshot.size
            snapshot.arrays("")
        finally:
            snapshot.close()


def footer_bytes() -> bytes:
    """Write the footer of a snapshot with a block, and with arrays that nobody sealed."""
    place = [ALIGN, 5, [xxhash.xxh3_64_hexdigest(b"block")]]
    arrays = {"key": "0", "nonce": "00" * 16, "mark": "00" * 32, "blocks": {"heap": [ALIGN, 5]}}
    return json.dumps(
        {"graph": "00" * 16, "number": 1, "blocks": {"rows-0": place}, "arrays": arrays}
    ).encode()


def read_kept(data: bytes) -> None:
    """Read an alias' rows from a snapshot's block."""
    for batch in read_rows(VIEW.plan, ALIAS, memoryview(data)):
        list(images(VIEW.plan, ALIAS, batch))


def read_arrow(data: bytes) -> None:
    """Read rows that a caller hands over as Arrow."""
    try:
        table = pa.ipc.open_stream(pa.py_buffer(data)).read_all()
        table.validate(full=True)
    except (pa.ArrowException, OSError, ValueError):
        return
    to_table(table, VIEW.tables["tweet"], "insert into tweet")


def read_description(data: bytes) -> None:
    """Read a stored view."""
    read_view(read_json(data))


def read_state(data: bytes) -> None:
    """Read a stored state."""
    State.from_json(read_json(data))


def read_json(data: bytes) -> object:
    """Read JSON as a snapshot's footer does, whose errors are met there."""
    try:
        return json.loads(data.decode())
    except (ValueError, RecursionError):
        return None


def state_bytes() -> bytes:
    """Write a state down that has something of everything."""
    state = State()
    for number, noted in enumerate(
        (RECORD, Record("subscribe", 3, {"name": "n", "bytes": 5, "full": "drop"})), 1
    ):
        state.note(noted, number)
    return json.dumps(state.to_json()).encode()


READERS: dict[str, tuple[Callable[[bytes], None], bytes]] = {
    "record": (read_payload, BYTES[HEAD.size :]),
    "segment": (read_segment, write_header(1, IDENTITY) + BYTES),
    "snapshot": (read_snapshot, footer_bytes()),
    "rows": (read_kept, to_stream(ROWS).to_pybytes()),
    "arrow": (read_arrow, to_stream(TWEETS).to_pybytes()),
    "description": (read_description, json.dumps(describe(VIEW)).encode()),
    "state": (read_state, state_bytes()),
    **texts.READERS,
    **forged.READERS,
}


def mutated(data: bytes, chance: random.Random) -> bytes:
    """Change bytes, cut, repeat, or write numbers that are too large."""
    found = bytearray(data)
    for _ in range(chance.choice([1, 1, 2, 5, 20])):
        at = chance.randrange(len(found) + 1)
        match chance.randrange(6):
            case 0 | 1 | 2 if at < len(found):
                found[at] = chance.choice([0, 1, 32, 127, 128, 255, chance.randrange(256)])
            case 3:
                found[at : at + 8] = chance.choice([b"\xff" * 8, bytes(8), b"\xff" * 7 + b"\x7f"])
            case 4:
                del found[at:]
            case _:
                piece = found[at : at + chance.randrange(1, 40)]
                found[at:at] = piece * chance.choice([1, 2, 50])
    return bytes(found)


def inputs_survived(
    reader: str, *, inputs: int, seed: int, seconds_max: float = SECONDS_MAX
) -> int:
    """Hand malformed bytes to a reader; gives how many were refused by name."""
    read, data = READERS[reader]
    change = texts.mutated_text if reader in texts.READERS else mutated
    if reader in forged.READERS:
        change = forged.seed_of
    chance, refused = random.Random(seed), 0
    for number in range(inputs):
        given = change(data, chance)
        try:
            is_refused, seconds = survived(read, given)
            if seconds > seconds_max:  # once more: a halted machine is slow once, a text is always
                _, seconds = survived(read, given)
            assert seconds < seconds_max, f"it took {seconds:.1f} s"
        except Exception as error:
            shown = base64.b64encode(given).decode()
            raise AssertionError(f"{reader}, input {number} of seed {seed}: {shown}") from error
        refused += is_refused
    return refused


def survived(read: Callable[[bytes], None], given: bytes) -> tuple[bool, float]:
    """Say whether an input is refused by name, and how many seconds of work that takes."""
    began = time.process_time()  # of which a machine that is busy takes nothing
    try:
        read(given)
    except jg.JoinGraphError:
        return True, time.process_time() - began
    return False, time.process_time() - began


def main() -> None:
    """Hand every reader its share; print what they refused, and record it if asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--reader", choices=READERS, action="append", help="this one alone")
    add_option(parser)
    asked = parser.parse_args()
    each, found = -(-asked.inputs // len(READERS)), list[str]()
    for name in asked.reader or READERS:
        refused = inputs_survived(name, inputs=each, seed=asked.seed)
        found.append(f"{name}: {each} malformed inputs, {refused} refused by name")
        print(found[-1], flush=True)
    record(asked.save, found)


if __name__ == "__main__":
    main()
