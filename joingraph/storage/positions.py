"""How far each source has been applied, so that what comes twice is recognised.

    orders   loaded up to 100 | 101 -> seq 1 | 104 -> seq 2 | 110 -> seq 3

A position is the source's own: a number, a text, or a list of them, and each batch of a source has
a greater one than the batch before (texts compare as texts). A batch that comes again has the
position that it had. One in between was cut otherwise than before: which of its rows are new
cannot be told, so it is refused.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from joingraph.common.errors import DiffError
from joingraph.common.names import OWN_CHARS_MAX, is_name, is_unicode, plain, short_repr

POSITIONS_KEPT = 1_024  # of each source, the latest; an older batch is not answered again
SOURCES_MAX = 10_000
TEXT_CHARS_MAX = 10_000

Position = int | str | tuple[int | str, ...]


class Origin(NamedTuple):
    """Where a batch, or a load, comes from: its source, and where it ends there."""

    source: str
    position: Position


class Applied(NamedTuple):
    """A batch, or a load, that was applied: its position, its sequence number, its record."""

    position: Position
    seq: int
    number: int
    is_load: bool


@dataclass
class Source:
    """What was applied of one source, in order; `loaded` is the position of its last load."""

    applied: list[Applied] = field(default_factory=list[Applied])
    loaded: Applied | None = None

    @property
    def ends(self) -> list[Applied]:
        """The last batch and the last load, of those there are."""
        return [*self.applied[-1:], *([self.loaded] if self.loaded else [])]

    @property
    def last(self) -> Applied | None:
        """The latest of all."""
        return max(self.ends, key=lambda each: each.position, default=None)


def read_origin(source: object, position: object) -> Origin | None:
    """Check what a caller gave: both or neither."""
    if source is None and position is None:
        return None
    if source is None or position is None:
        raise DiffError("source=… and position=… go together: a batch is known by both")
    if not is_name(source):
        raise DiffError(
            f"source is a name of 1 to {OWN_CHARS_MAX} characters, found {short_repr(source)}"
        )
    return Origin(plain(source), as_position(position))


def as_position(value: object) -> Position:
    """Read a position; lists and tuples are the same."""
    parts = tuple(value) if isinstance(value, (list, tuple)) else ()
    if parts and all(map(is_part, parts)):
        return tuple(map(plain, parts))
    if is_part(value):
        found: Position = plain(value)
        return found
    raise DiffError(
        "position is an integer, a text, or a list of them, greater with every batch of the source;"
        f" found {short_repr(value)}"
    )


def is_part(value: object) -> bool:
    """True if this can be a position, or a part of one."""
    if isinstance(value, str):
        return len(value) <= TEXT_CHARS_MAX and is_unicode(value)
    return type(value) is int and -(1 << 127) <= value < 1 << 127


class Positions:
    """The sources of one graph."""

    def __init__(self, sources: dict[str, Source] | None = None) -> None:
        self.sources: dict[str, Source] = sources or {}

    def last(self) -> dict[str, Position]:
        """Return each source's latest position."""
        return {name: each.last.position for name, each in self.sources.items() if each.last}

    def find(self, source: str, position: Position) -> Applied | None:
        """Find what was applied with this position; None if it is new."""
        known = self.sources.get(source)
        if known is None or known.last is None:
            if len(self.sources) >= SOURCES_MAX:
                raise DiffError(f"there are {SOURCES_MAX:,} sources already, the most there can be")
            return None
        check_kind(source, known.last.position, position)
        place = bisect_left(known.applied, position, key=lambda each: each.position)
        if place < len(known.applied) and known.applied[place].position == position:
            return known.applied[place]
        loaded = known.loaded
        if loaded is not None and not is_after(position, loaded.position):
            return loaded
        if is_after(position, known.last.position):
            return None
        raise DiffError(between_text(source, position, known))

    def note(self, source: str, applied: Applied) -> None:
        """Remember what was applied; the last batch once more changes nothing."""
        known = self.sources.setdefault(source, Source())
        for before in known.ends:
            check_kind(source, before.position, applied.position)
        if applied.is_load:
            known.loaded = applied
        elif known.applied[-1:] != [applied]:
            known.applied.append(applied)
            del known.applied[:-POSITIONS_KEPT]

    def to_json(self) -> dict[str, Any]:
        """Write all that is known as JSON has it."""
        return {name: [each.applied, each.loaded] for name, each in self.sources.items()}

    @classmethod
    def from_json(cls, written: dict[str, Any]) -> Positions:
        """Read what `to_json` wrote."""
        found = cls()
        for name, (applied, loaded) in written.items():
            found.sources[name] = Source()
            for each in [*applied, *([] if loaded is None else [loaded])]:
                found.note(name, read_applied(each))
        return found


def read_applied(written: Sequence[Any]) -> Applied:
    """Read one position as JSON has it."""
    position, seq, number, is_load = written
    return Applied(as_position(position), int(seq), int(number), bool(is_load))


def check_kind(source: str, known: Position, value: Position) -> None:
    """Refuse a position that cannot be compared with those before."""
    if kinds(known) != kinds(value):
        raise DiffError(
            f"source {source!r} has positions like {known!r:.100}, found {value!r:.100}: all"
            " positions of a source are of one kind"
        )


def is_after(position: Any, other: Any) -> bool:
    """Compare two positions of one kind."""
    return bool(position > other)


def kinds(position: Position) -> list[type]:
    """Return the types that a position is made of."""
    return [tuple, *map(type, position)] if isinstance(position, tuple) else [type(position)]


def between_text(source: str, position: Position, known: Source) -> str:
    """Return why a position that is not new is not known either."""
    assert known.last is not None, "a source is known by what was applied of it"
    is_cut = len(known.applied) == POSITIONS_KEPT
    if is_cut and is_after(known.applied[0].position, position):
        why = f"the last {POSITIONS_KEPT:,} positions are remembered"
    else:
        why = "no batch ended there, so it was cut otherwise than before"
    return (
        f"source {source!r} was applied up to {known.last.position!r:.100}, and this batch says"
        f" {position!r:.100}: {why}; go on behind graph.positions()"
    )
