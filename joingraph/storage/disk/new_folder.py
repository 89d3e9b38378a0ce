"""Makes the first files of a graph's folder."""

from __future__ import annotations

import secrets
from collections.abc import Iterable

from joingraph.common.errors import StoreError
from joingraph.graph.blocks import Block
from joingraph.storage.description import digest
from joingraph.storage.disk import files
from joingraph.storage.disk.folder import Folder, Identity
from joingraph.storage.disk.log import new_segment
from joingraph.storage.disk.owner import Owner, footer_of
from joingraph.storage.disk.segment import HEADER
from joingraph.storage.disk.snapshot import write_snapshot
from joingraph.storage.state import State


def is_new(folder: Folder) -> bool:
    """True for a folder with nothing in it, or with a graph whose making was cut short."""
    if folder.snapshots():
        return False
    begun = folder.segments()
    if begun and (begun != [1] or folder.segment(1).stat().st_size > HEADER.size):
        raise StoreError(
            f"{folder.path} has a log but no snapshot; bring the snapshot back from a backup"
        )
    ours = {"lock", *(each.name for each in folder.unfinished()), "log-" + f"{1:020d}"}
    others = sorted(each.name for each in folder.path.iterdir() if each.name not in ours)
    if others:
        raise StoreError(
            f"{folder.path} holds other files ({', '.join(others[:3])}); name a new folder"
        )
    return True


def begin(
    folder: Folder, owner: Owner, state: State | None = None, blocks: Iterable[Block] = ()
) -> None:
    """Make a graph's first files; the state and the blocks of one that was elsewhere, if any."""
    for path in [*folder.unfinished(), folder.segment(1)]:
        files.unlink(path)
    identity = Identity(secrets.token_bytes(16), digest(owner.view, owner.key_index))
    new_segment(folder, 1, identity)
    write_snapshot(folder, 0, footer_of(owner, identity, state or State()), blocks)
