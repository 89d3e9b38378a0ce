"""What is kept of a graph besides the graph itself, changed by each record and by nothing else.

    seq            the last batch's number
    positions      how far each source has been applied
    subscribers    who wants the view diffs, and up to where they have been acknowledged
    indexes        the output columns that have an index

Live and replayed records go through the same `note`, so that both end in the same state.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import NoneType
from typing import Any

from joingraph.common.errors import StoreError
from joingraph.common.unreadable import UNREADABLE
from joingraph.storage.positions import Applied, Positions, as_position
from joingraph.storage.record import Record


@dataclass
class Subscriber:
    """A subscriber to view diffs: acknowledged up to `acked`; how much may wait, and then."""

    acked: int
    bytes: int
    full: str
    dropped: str | None = None  # why it gets nothing more


@dataclass
class State:
    """All of it."""

    seq: int = 0
    positions: Positions = field(default_factory=Positions)
    subscribers: dict[str, Subscriber] = field(default_factory=dict[str, Subscriber])
    indexes: list[str] = field(default_factory=list[str])

    def note(self, record: Record, number: int) -> None:
        """Take a record into account; the last one once more changes nothing."""
        said = record.said
        if record.kind in ("batch", "expire"):
            self.seq = record.seq
        name = str(said.get("name"))
        match record.kind:
            case "batch" | "load" if said.get("source") is not None:
                position, is_load = as_position(said["position"]), record.kind == "load"
                self.positions.note(
                    str(said["source"]), Applied(position, record.seq, number, is_load)
                )
            case "index" if said["column"] not in self.indexes:
                self.indexes.append(str(said["column"]))
            case "subscribe":
                self.subscribers[name] = Subscriber(record.seq, said["bytes"], said["full"])
            case "ack":
                self._subscriber(name).acked = int(said["seq"])
            case "drop" if said.get("why"):
                self._subscriber(name).dropped = str(said["why"])
            case "drop":
                self.subscribers.pop(name, None)
            case _:
                pass

    def _subscriber(self, name: str) -> Subscriber:
        """Find the subscriber that a record is about."""
        if name not in self.subscribers:
            raise StoreError(
                f"a record of the log is about subscriber {name!r:.100}: there is none"
            )
        return self.subscribers[name]

    def wanted_after(self) -> int | None:
        """Return the sequence number behind which a subscriber waits; None if none does."""
        waiting = [each.acked for each in self.subscribers.values() if each.dropped is None]
        return min(waiting, default=None)

    def to_json(self) -> dict[str, Any]:
        """Write it as JSON has it."""
        return {
            "seq": self.seq,
            "positions": self.positions.to_json(),
            "subscribers": {name: vars(each) for name, each in self.subscribers.items()},
            "indexes": self.indexes,
        }

    @classmethod
    def from_json(cls, written: Any) -> State:
        """Read what `to_json` wrote."""
        try:
            return cls(
                int(written["seq"]),
                Positions.from_json(written["positions"]),
                {name: read_subscriber(**each) for name, each in written["subscribers"].items()},
                [str(each) for each in written["indexes"]],
            )
        except UNREADABLE as error:
            raise StoreError(f"the stored state does not read: {error!r:.200}") from error


def read_subscriber(acked: int, bytes: int, full: str, dropped: str | None = None) -> Subscriber:
    """Check what is written of a subscriber."""
    if type(acked) is not int or type(bytes) is not int or type(dropped) not in (str, NoneType):
        raise TypeError("a subscriber's place is a number, and so are its bytes")
    return Subscriber(acked, bytes, str(full), dropped)
