"""What readers in other processes are done with, for the process that writes the graph.

    reader   write_note(graph, "search", 7)     graph.acks/search     "7", replaced as a whole
    writer   Acks(graph, path).take()           graph.subscribe("search").ack(7)

Only the writer may change a graph, so a reader leaves a note beside its folder. A note that is lost
or late costs space and nothing else: view diffs are kept a while longer.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote, unquote

from joingraph.api.join_graph import JoinGraph
from joingraph.common import atomic_file
from joingraph.common.errors import StoreError


def notes_folder(graph: Path) -> Path:
    """Return the folder of notes beside a graph's."""
    return graph.with_name(f"{graph.name}.acks")


def write_note(graph: Path, name: str, seq: int) -> None:
    """Note that a subscriber is done with all batches up to one."""
    folder = notes_folder(graph)
    folder.mkdir(mode=0o700, exist_ok=True)
    atomic_file.write(folder / quote(name, safe="").replace(".", "%2E"), str(seq).encode())


class Acks:
    """The subscribers of one graph who leave notes."""

    def __init__(self, graph: JoinGraph, path: Path) -> None:
        self.graph, self.folder = graph, notes_folder(path)
        self._acknowledged: dict[str, int] = {}

    def take(self) -> None:
        """Acknowledge in the graph what has been noted since the last time."""
        for path in self.folder.glob("[!.]*") if self.folder.is_dir() else ():
            name, seq = unquote(path.name), read_note(path)
            if seq > self._acknowledged.get(name, 0) and name in self.graph.subscribers():
                self._acknowledge(name, seq)
                self._acknowledged[name] = seq

    def _acknowledge(self, name: str, seq: int) -> None:
        """Acknowledge up to a batch, which a subscription has to yield first."""
        subscription, last = self.graph.subscribe(name), 0
        for diff in subscription:
            if diff.seq <= seq:
                last = diff.seq
            if diff.seq >= seq:
                break
        if last:
            subscription.ack(last)


def read_note(path: Path) -> int:
    """Read a note."""
    text = path.read_text(encoding="utf-8")
    if not text.isdecimal():
        raise StoreError(f"{path} is no sequence number, found {text!r:.100}; remove it")
    return int(text)
