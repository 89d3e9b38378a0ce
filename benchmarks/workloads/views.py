"""The joins of the workloads, as data: each system makes its own of them.

JoinView({"F": "follower", "T": "tweet"},        (alias -> table, in path order)
         ("F.userId = T.userId",),
         ("F.followerId", "T.tweetId"))          (the checksum weighs columns in this order)

A view that `counts` groups by its columns and has COUNT(*) behind them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Protocol

from joingraph import View

TABLES: Mapping[str, tuple[str, ...]] = {
    "user": ("userId",),
    "follower": ("userId", "followerId"),
    "tweet": ("userId", "tweetId", "tweetDate"),
    "retweet": ("userId", "tweetId", "tweetDate", "retweetTweetId"),
}
KEYS: Mapping[str, tuple[str, ...]] = {
    "user": ("userId",),
    "follower": ("userId", "followerId"),
    "tweet": ("tweetId",),
    "retweet": ("tweetId",),
}


class Attribute(NamedTuple):
    """A column of an alias."""

    alias: str
    column: str


def attribute(text: str) -> Attribute:
    """Read "F.userId"."""
    alias, column = text.strip().split(".")
    return Attribute(alias, column)


class Query(Protocol):
    """A view of a workload, however it is described."""

    @property
    def tables(self) -> tuple[str, ...]:
        """The base tables."""
        ...

    @property
    def keys(self) -> int | None:
        """The number of columns that the view groups by, which come first; None: it has rows."""
        ...

    def sql(self) -> str:
        """Write the view as a SELECT."""
        ...

    def declared(self) -> View:
        """Make the view, its tables with their keys."""
        ...


@dataclass(frozen=True)
class JoinView:
    """An equijoin: aliases in an order in which each is joined to an earlier one."""

    aliases: Mapping[str, str]
    equalities: tuple[str, ...]
    columns: tuple[str, ...]
    counts: bool = False

    @property
    def keys(self) -> int | None:
        """The number of columns that the view groups by, which come first; None: it has rows."""
        return len(self.columns) if self.counts else None

    @cached_property
    def joins(self) -> tuple[tuple[Attribute, Attribute], ...]:
        """The equalities, taken apart."""
        sides = [text.split("=") for text in self.equalities]
        return tuple((attribute(left), attribute(right)) for left, right in sides)

    @cached_property
    def output(self) -> tuple[Attribute, ...]:
        """The view's columns, taken apart."""
        return tuple(attribute(text) for text in self.columns)

    @property
    def tables(self) -> tuple[str, ...]:
        """The base tables, each once, in the order in which aliases name them."""
        return tuple(dict.fromkeys(self.aliases.values()))

    @property
    def joined(self) -> tuple[tuple[str, str], ...]:
        """The tables' columns that join, each once."""
        ends = [end for join in self.joins for end in join]
        return tuple(dict.fromkeys((self.aliases[alias], column) for alias, column in ends))

    def walk(self, start: str) -> Iterator[tuple[Attribute, Attribute]]:
        """Yield a join to each other alias, from one that was reached before."""
        ends = [*self.joins, *((right, left) for left, right in self.joins)]
        reached = {start}
        while len(reached) < len(self.aliases):
            near, far = next(
                (near, far)
                for near, far in ends
                if near.alias in reached and far.alias not in reached
            )
            reached.add(far.alias)
            yield near, far

    def delta_sql(self, start: str, mine: str, sources: Sequence[str], *more: str) -> str:
        """Write the SELECT of the view rows with one alias' row, whose columns `mine` writes."""

        def text(end: Attribute) -> str:
            alias, column = end
            return mine.format(column) if alias == start else f"{alias}.{column}"

        select = ", ".join(f"{text(end)} AS c{place}" for place, end in enumerate(self.output))
        where = [f"{text(left)} = {text(right)}" for left, right in self.joins]
        return f"SELECT {select} FROM {', '.join(sources)} WHERE {' AND '.join([*where, *more])}"

    def sql(self) -> str:
        """Write the view as a SELECT; a column's name tells its alias (T_tweetId)."""
        select = ", ".join(f"{alias}.{name} AS {alias}_{name}" for alias, name in self.output)
        sources = ", ".join(f"{table} {alias}" for alias, table in self.aliases.items())
        joined = f"FROM {sources} WHERE {' AND '.join(self.equalities)}"
        if self.counts:
            return f"SELECT {select}, COUNT(*) AS n {joined} GROUP BY {', '.join(self.columns)}"
        return f"SELECT {select} {joined}"

    def declared(self) -> View:
        """Make the view, its tables with their keys."""
        return View(self.sql(), tables={table: declaration(table) for table in self.tables})


@dataclass(frozen=True)
class LeftView:
    """A view that counts, whose last alias may be missing: it is joined by LEFT JOIN."""

    inner: JoinView

    @property
    def keys(self) -> int | None:
        """The number of columns that the view groups by, which come first."""
        return self.inner.keys

    @property
    def tables(self) -> tuple[str, ...]:
        """The base tables."""
        return self.inner.tables

    def sql(self) -> str:
        """Write the view as a SELECT; each alias is joined to one before it by one equality."""
        (first, *others), on = self.inner.aliases.items(), self.inner.equalities
        joins = [f"JOIN {table} {alias} ON" for alias, table in others]
        joins[-1] = f"LEFT {joins[-1]}"
        joined = " ".join(f"{join} {each}" for join, each in zip(joins, on, strict=True))
        select = ", ".join(f"{alias}.{name} AS {alias}_{name}" for alias, name in self.inner.output)
        groups = f"GROUP BY {', '.join(self.inner.columns)}"
        return f"SELECT {select}, COUNT(*) AS n FROM {first[1]} {first[0]} {joined} {groups}"

    def declared(self) -> View:
        """Make the view, its tables with their keys."""
        return View(self.sql(), tables={table: declaration(table) for table in self.tables})


def declaration(table: str) -> str:
    """Write a table's CREATE TABLE text."""
    columns = ", ".join(f"{name} BIGINT" for name in TABLES[table])
    return f"CREATE TABLE {table} ({columns}, PRIMARY KEY ({', '.join(KEYS[table])}))"


def fanout() -> JoinView:
    """Join a tweet to the followers of its user."""
    columns = ("F.followerId", "T.userId", "T.tweetId", "T.tweetDate")
    return JoinView({"F": "follower", "T": "tweet"}, ("F.userId = T.userId",), columns)


def follower_chain(joins: int) -> JoinView:
    """Join a tweet to the followers of its user, to theirs, and so on."""
    hops = range(1, joins)
    aliases = {"U": "user", "T": "tweet"} | {f"F{hop}": "follower" for hop in hops}
    equalities = ["U.userId = T.userId", "F1.userId = T.userId"]
    equalities += [f"F{hop}.userId = F{hop - 1}.followerId" for hop in hops[1:]]
    columns = ("T.tweetId", *(f"F{hop}.followerId" for hop in hops))
    return JoinView(aliases, tuple(equalities), columns)


def retweet_chain(joins: int) -> JoinView:
    """Join a follower to the tweets of the user, to their retweets, to theirs, and so on."""
    hops = range(1, joins)
    aliases = {"F": "follower", "T": "tweet"} | {f"R{hop}": "retweet" for hop in hops}
    equalities = ["F.userId = T.userId", "R1.retweetTweetId = T.tweetId"]
    equalities += [f"R{hop}.retweetTweetId = R{hop - 1}.tweetId" for hop in hops[1:]]
    columns = ("F.followerId", "T.tweetId", *(f"R{hop}.tweetId" for hop in hops))
    return JoinView(aliases, tuple(equalities), columns)


def q1() -> JoinView:
    """Join a tweet to the followers of its user: who reads what."""
    columns = ("F.followerId", "T.tweetId")
    return JoinView({"F": "follower", "T": "tweet"}, ("F.userId = T.userId",), columns)


def q2() -> JoinView:
    """Join a tweet to its retweets."""
    columns = ("T.userId", "T.tweetId", "R.userId", "R.tweetId")
    return JoinView({"T": "tweet", "R": "retweet"}, ("T.tweetId = R.retweetTweetId",), columns)


def q3() -> JoinView:
    """Join a tweet to the followers of its user and to its retweets."""
    aliases = {"F": "follower", "T": "tweet", "R": "retweet"}
    equalities = ("F.userId = T.userId", "T.tweetId = R.retweetTweetId")
    return JoinView(aliases, equalities, ("F.followerId", "T.tweetId", "R.userId", "R.tweetId"))


def counted(view: JoinView) -> JoinView:
    """Count the rows of a view by its first column."""
    return replace(view, columns=view.columns[:1], counts=True)
