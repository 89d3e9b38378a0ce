"""A graph as portable files, and back: for another version, another engine, another place.

    out/view.json      the view, how its graph is made, how far its sources have been applied
    out/rows-0.arrow   what the first alias keeps, as an Arrow stream (graph/row_blocks.py)
    out/rows-1.arrow   ...

Subscribers and the log stay behind: who loads the files begins anew with the next batch.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from joingraph.common.errors import StoreError
from joingraph.common.progress import shown_progress
from joingraph.common.unreadable import UNREADABLE
from joingraph.graph.blocks import Block
from joingraph.graph.row_blocks import block_name
from joingraph.plan.keys.base_keys import with_key_index
from joingraph.storage.description import describe, read_view
from joingraph.storage.disk import files
from joingraph.storage.disk.files import doing
from joingraph.storage.disk.folder import Folder
from joingraph.storage.disk.lock import take_lock
from joingraph.storage.disk.new_folder import begin, is_new
from joingraph.storage.disk.owner import Owner
from joingraph.storage.journal import EVERY_NUMBER
from joingraph.storage.open_graph import as_folder, open_upto, read_options
from joingraph.storage.state import State

VERSION = 1
PIECE_BYTES = 16 << 20


def dump(path: Path, out: Path) -> str:
    """Write a graph's rows, and what it needs besides, into a new folder."""
    out = as_folder(out)
    stored, opened = open_upto(as_folder(path), EVERY_NUMBER, by_rows=False)
    view = stored.keyed_view
    try:
        with doing("create", out):
            out.mkdir(mode=0o700)
        show, count = shown_progress("aliases written"), len(view.plan.of_tables)
        for done, block in enumerate(opened.engine.dump(), 1):
            write_new(out / f"{block.name}.arrow", block.pieces)
            show(done, count)
        state = State(opened.journal.state.seq, opened.journal.state.positions)
        state.indexes = opened.journal.state.indexes
        header = {
            "joingraph": VERSION,
            "view": describe(view),
            "key_index": list(stored.key_index),
            "options": stored.options,
            "state": state.to_json(),
        }
        write_new(out / "view.json", [json.dumps(header, indent=1).encode()])
    finally:
        opened.journal.close()
    return f"{out}: {count} aliases, {state.seq:,} batches"


def write_new(path: Path, pieces: Any) -> None:
    """Write a file that is not there yet."""
    with closing(files.create(path)) as file:
        for piece in pieces:
            files.write(file, [piece], path)


def load(dumped: Path, path: Path) -> None:
    """Make a graph's folder of the files that `dump` wrote."""
    dumped = as_folder(dumped)
    owner, state = read_dumped(dumped / "view.json")
    target = as_folder(path)
    with doing("create", target):
        target.mkdir(mode=0o700, exist_ok=True)
    with closing(take_lock(target)):
        if not is_new(Folder(target)):
            raise StoreError(f"{target} holds a graph already; name a new folder")
        names = [block_name(alias) for alias in owner.view.plan.of_tables]
        blocks = (Block(name, pieces_of(dumped / f"{name}.arrow")) for name in names)
        begin(Folder(target), owner, state, blocks)


def read_dumped(path: Path) -> tuple[Owner, State]:
    """Read the view of a dump, and its state."""
    with doing("read", path):
        text = path.read_bytes()
    try:
        header: Mapping[str, Any] = json.loads(text)
        if header["joingraph"] != VERSION:
            raise StoreError(f"{path} is of version {header['joingraph']!r:.20}, not {VERSION}")
        key_index = tuple(map(str, header["key_index"]))
        view, _ = with_key_index(read_view(header["view"]), key_index)
        options = read_options(header["options"])
        return Owner(view, key_index, options), State.from_json(header["state"])
    except UNREADABLE as error:
        raise StoreError(f"{path} is not what dump writes: {error!r:.200}") from error


def pieces_of(path: Path) -> Iterator[bytes]:
    """Read a file in pieces."""
    show, copied = shown_progress(f"{path.name}: KiB copied"), 0
    with closing(files.read_from(path)) as file, doing("read", path):
        total = os.fstat(file.fileno()).st_size // 1024
        while piece := os.pread(file.fileno(), PIECE_BYTES, copied):
            yield piece
            copied += len(piece)
            show(copied // 1024, total)
