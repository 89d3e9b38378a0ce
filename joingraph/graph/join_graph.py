"""The join graph in its plain form: the executable specification of the compiled one.

View F join T on userId join R on tweetId, after follower (7, 'ann'), tweet (7, 1),
retweet (1, 'bob') and again retweet (1, 'bob'):

    vertex 0 <userId>            vertex 1 <tweetId>
    F <7> ------- {7} ------- T <7><1> ------- {1} ------- R <1>          join tuples, vertex values
     ('ann',) x1               () x1                        ('bob',) x2   projected tuples, counts

    Graph.tuples[alias][key] -> JoinTuple         key = one vertex value's words per vertex
    Graph.values[vertex][words] -> VertexValue    .tuples[seat] -> join tuples of one alias there
    JoinTuple.rows[projected words] -> count

Kept true throughout: a vertex value has a join tuple of some alias, a join tuple has a projected
tuple, a projected tuple has a count of at least one. Equal words (expressions/words.py) are the
same value. Follows sections 5 and 6 of the GraphIVM thesis; a vertex may have more
than two aliases here, and what look-ahead knows is kept per direction (maintainers/lookahead.py).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Protocol

from joingraph.expressions.words import Word
from joingraph.plan.model import BLIND, Plan, Slot

Row = tuple[Word, ...]
Key = tuple[Row, ...]  # of an alias: the words of each of its vertex values


class Image(NamedTuple):
    """What one alias keeps of a base row that its filter lets pass."""

    key: Key
    row: Row


class Diff(NamedTuple):
    """What a diff of a base table is to one alias; no image: the filter drops that side."""

    alias: int
    pre: Image | None
    post: Image | None


class Flip(NamedTuple):
    """The first live join tuple came to a seat of a value (`is_up`), or the last one went."""

    value: VertexValue
    seat: int
    is_up: bool


def lone_keys(alias: int, key: Key) -> Key:
    """Return a key in which words with a NULL are an alias' own: they meet no others."""
    return tuple((*words, alias) if None in words else words for words in key)


class VertexValue:
    """One value of a join vertex, and all join tuples that have it.

    tuples[seat]   the join tuples of the alias with that seat at the vertex, in order of arrival
    live[seat]     exact look-ahead: how many of them can be completed away from here
    waiting[seat]  global look-ahead: (join tuple, entry) flagged dead, as no live tuple sits there
    is_null        where an outer join finds no partner: at its seats sit tuples that stand in
    """

    __slots__ = ("is_null", "live", "tuples", "vertex", "waiting", "words")

    def __init__(self, vertex: int, words: Row, seats: int, *, is_null: bool = False) -> None:
        self.vertex, self.words, self.is_null = vertex, words, is_null
        self.tuples: list[dict[JoinTuple, None]] = [{} for _ in range(seats)]
        self.live = [0] * seats
        self.waiting: list[dict[tuple[JoinTuple, int], None]] = [{} for _ in range(seats)]

    def __repr__(self) -> str:
        return f"value {self.words} of vertex {self.vertex}"


NOWHERE = VertexValue(-1, (), 0, is_null=True)  # where what stands in for a tuple is missing


class JoinTuple:
    """The vertex values of base rows of one alias, shared by all rows that have them.

    key      the words of its vertex values, by which the graph finds it
    rows     projected tuple -> how many base rows
    lacking  exact look-ahead, per entry: how many seats elsewhere have no live tuple
    witness  global look-ahead: entry flagged dead -> the (vertex value, seat) that says so
    """

    __slots__ = ("alias", "key", "lacking", "rows", "values", "witness")

    def __init__(self, alias: int, key: Key, values: tuple[VertexValue, ...]) -> None:
        self.alias, self.key, self.values = alias, key, values
        self.rows: dict[Row, int] = {}
        self.lacking = [0] * len(values)
        self.witness: dict[int, tuple[VertexValue, int]] = {}

    def __repr__(self) -> str:
        return f"join tuple {self.key} of alias {self.alias}"

    @property
    def is_null(self) -> bool:
        """True if it stands in for one that is missing."""
        return NOWHERE in self.values


class Change(NamedTuple):
    """Base rows with a projected tuple of a join tuple came (times > 0) or went (times < 0)."""

    tuple: JoinTuple
    row: Row
    times: int


class Move(NamedTuple):
    """One base row went from one projected tuple to another of the same join tuple."""

    tuple: JoinTuple
    pre: Row
    post: Row


class LookAhead(Protocol):
    """What the graph knows of whether a path can be completed; every mode gives the same rows."""

    def entered(self, new: JoinTuple) -> None:
        """Take note of a join tuple that has just been linked."""
        ...

    def left(self, old: JoinTuple) -> None:
        """Take note of a join tuple that has just been unlinked."""
        ...

    def is_open(self, at: JoinTuple, entry: int | None) -> bool:
        """True if a path that came by vertex `entry` (a place) may be completed beyond."""
        ...

    def lives(self, value: VertexValue, seat: int) -> bool:
        """True if a join tuple sits there that can be completed; asked of outer joins, EXISTS."""
        ...

    def flipped(self) -> list[Flip]:
        """Return the flips since the last call."""
        ...


class Graph:
    """All vertex values and join tuples of a view; `seats[alias][place]` is the alias' seat.

    `indexes` are the declared ones: of each output column, where its alias keeps it. `nulls` are
    the join tuples that stand in for missing ones, by alias and the vertex they hang at.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.values: list[dict[Row, VertexValue]] = [{} for _ in plan.vertices]
        self.tuples: list[dict[Key, JoinTuple]] = [{} for _ in plan.aliases]
        self.seats = [
            [plan.vertices[vertex].seat(alias.index) for vertex in alias.vertices]
            for alias in plan.aliases
        ]
        self.indexes: dict[str, Slot] = {}
        self.modes = [vertex.modes for vertex in plan.vertices]
        self.nulls: dict[tuple[int, int], JoinTuple] = {}

    def null(self, alias: int, vertex: int) -> JoinTuple:
        """Return the join tuple that stands in for a missing one of an alias at a vertex.

        At its other vertices it has values of NULLs, where those beyond it are missing, too.
        """
        found = self.nulls.get((alias, vertex))
        if found is None:
            values = [
                NOWHERE if other == vertex else self.null_value(other, alias)
                for other in self.plan.aliases[alias].vertices
            ]
            found = self.nulls[alias, vertex] = JoinTuple(alias, (), tuple(values))
            found.rows[(None,) * len(self.plan.aliases[alias].projected)] = 1
        return found

    def null_value(self, vertex: int, alias: int) -> VertexValue:
        """Make the value of NULLs at which an alias is that is missing."""
        at = self.plan.vertices[vertex]
        value = VertexValue(vertex, (None,) * len(at.types), len(at.aliases), is_null=True)
        for seat, other in enumerate(at.aliases):
            if other != alias and at.modes[seat] not in BLIND:
                value.tuples[seat][self.null(other, vertex)] = None
                value.live[seat] = 1
        return value

    def count(self, alias: int, image: Image) -> int:
        """Return how many base rows an alias holds with this image."""
        found = self.tuples[alias].get(image.key)
        return found.rows.get(image.row, 0) if found else 0

    def find(self, vertex: int, words: Row) -> VertexValue | None:
        """Find a vertex value."""
        return self.values[vertex].get(words)

    def of_alias(self, alias: int) -> Iterable[JoinTuple]:
        """Return all join tuples of an alias."""
        return self.tuples[alias].values()

    def size(self, alias: int) -> int:
        """Return how many join tuples an alias has."""
        return len(self.tuples[alias])

    def link(self, alias: int, key: Key) -> JoinTuple:
        """Make a join tuple and seat it at its vertex values, made where they are new."""
        values = tuple(
            self.value(vertex, words)
            for vertex, words in zip(self.plan.aliases[alias].vertices, key, strict=True)
        )
        new = self.tuples[alias][key] = JoinTuple(alias, key, values)
        for value, seat in zip(values, self.seats[alias], strict=True):
            value.tuples[seat][new] = None
        return new

    def unlink(self, old: JoinTuple) -> None:
        """Take a join tuple off its vertex values, and remove the values that no tuple has."""
        del self.tuples[old.alias][old.key]
        for value, seat in zip(old.values, self.seats[old.alias], strict=True):
            del value.tuples[seat][old]
            if not any(value.tuples):
                del self.values[value.vertex][value.words]

    def value(self, vertex: int, words: Row) -> VertexValue:
        """Find a vertex value, or make it."""
        found = self.values[vertex].get(words)
        if found is None:
            seats = len(self.plan.vertices[vertex].aliases)
            found = self.values[vertex][words] = VertexValue(vertex, words, seats)
        return found
