"""Whose graph a folder is, as its snapshots say in their footers."""

from __future__ import annotations

from typing import Any, NamedTuple

from joingraph.common.unreadable import UNREADABLE
from joingraph.plan.keys.base_keys import with_key_index
from joingraph.plan.view import View
from joingraph.storage.description import describe, digest
from joingraph.storage.disk.files import Stale
from joingraph.storage.disk.folder import Identity
from joingraph.storage.disk.snapshot import Snapshot
from joingraph.storage.state import State


class Owner(NamedTuple):
    """The view that a folder is opened for, and how its graph is made unless told otherwise."""

    view: View
    key_index: tuple[str, ...]
    options: dict[str, Any]

    @property
    def keyed_view(self) -> View:
        """The view as its graph has it: with the keys of the indexed tables kept."""
        return with_key_index(self.view, self.key_index)[0]


def footer_of(owner: Owner, identity: Identity, state: State) -> dict[str, Any]:
    """Say whose graph a snapshot is, and what is kept besides the graph."""
    return {
        "graph": identity.graph.hex(),
        "digest": identity.view.hex(),
        "view": describe(owner.view),
        "key_index": list(owner.key_index),
        "options": owner.options,
        "state": state.to_json(),
    }


def identity_of(found: Snapshot, owner: Owner) -> Identity:
    """Read whose graph a snapshot is; refuse that of another view."""
    try:
        graph = bytes.fromhex(found.footer["graph"])
        stored = bytes.fromhex(found.footer["digest"])
        sql = str(found.footer["view"]["sql"])
    except UNREADABLE:
        raise found.damaged("its footer") from None
    if stored != digest(owner.view, owner.key_index):
        raise Stale(
            f"{found.path.parent} holds the graph of another view ({' '.join(sql.split()):.100}),"
            " or of other tables or key_index; open it with joingraph.open(path), or name a new"
            " folder"
        )
    return Identity(graph, stored)
