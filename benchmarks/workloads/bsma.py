"""BSMA, a benchmark of social-media analytics: its tables made up, and eight of its queries.

    friendList(uid, friendId)   microblog(mid, uid, time)   event(mid, tag)   mention(mid, uid)
    retweet(mid, remid, path)                               DIR/bsma/friendList/uid.i64, ...

Follows, posts and reposts are those of joingraph/pipeline/sources/bsma.py; one follow in five is
returned. Posts are numbered by time, in milliseconds. A post has 0.8 events and 0.4 mentions, as in
idIVM's data; popular tags and people come more often. `path` is how far a repost is from a post.

The queries are standing views: the parameters of BSMA, a person or a tag, are columns by which
they group, the range of time is the second half of the data, and no LIMIT cuts them. What comes are
the last posts, and follows, in rounds; a fifth of them are withdrawn at the end of their round.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from benchmarks.workloads import model
from benchmarks.workloads.model import (
    Column,
    Columns,
    column_names,
    power_law,
    read_columns,
    write_columns,
)
from joingraph import View
from joingraph.common.errors import JoinGraphError
from joingraph.pipeline.sources.bsma import BSMA, PERIOD_MS

Change: TypeAlias = tuple[str, str, pa.Table]  # operation, table, rows

TABLES = {
    "friendList": "uid BIGINT, friendId BIGINT, PRIMARY KEY (uid, friendId)",
    "microblog": "mid BIGINT, uid BIGINT, time BIGINT, PRIMARY KEY (mid)",
    "event": "mid BIGINT, tag BIGINT, PRIMARY KEY (mid, tag)",
    "mention": "mid BIGINT, uid BIGINT, PRIMARY KEY (mid, uid)",
    "retweet": "mid BIGINT, remid BIGINT, path BIGINT, PRIMARY KEY (mid, remid)",
}
RETURNED, EVENTS, MENTIONS = 0.2, 0.8, 0.4  # of a follow, a post, a post
HELD_SHARE = 0.25  # of the rows that come as diffs
ROUNDS = 10
WITHDRAWN = 5  # one in so many


class Size(NamedTuple):
    """How many rows the tables have; a fifth of the posts are reposts."""

    users: int
    friends: int
    posts: int


# Smaller than the other workloads: joined rows of bsma_q2 grow with the square of friends.
SIZES = {
    model.SIZES["tiny"]: Size(60, 240, 300),
    model.SIZES["small"]: Size(1_000, 5_000, 20_000),
    model.SIZES["large"]: Size(10_000, 100_000, 200_000),
}


@dataclass(frozen=True)
class SqlView:
    """A view as SQL text; it groups by its first columns."""

    text: str
    keys: int

    @property
    def tables(self) -> tuple[str, ...]:
        """The base tables that the text names."""
        return tuple(table for table in TABLES if f" {table} " in self.text)

    def sql(self) -> str:
        """Return the text."""
        return self.text

    def declared(self) -> View:
        """Make the view, its tables with their keys."""
        tables = {table: f"CREATE TABLE {table} ({TABLES[table]})" for table in self.tables}
        return View(self.text, tables=tables)


IN_RANGE = f"time >= {PERIOD_MS // 2}"
REPOSTS = (
    "FROM microblog P JOIN retweet R ON R.mid = P.mid JOIN microblog O ON O.mid = R.remid "
    f"WHERE P.{IN_RANGE}"
)
QUERIES = {
    "bsma_q1": SqlView(
        "SELECT AB.uid AS a, BC.friendId AS person, COUNT(*) AS n FROM friendList AB "
        "JOIN friendList BA ON BA.uid = AB.friendId AND BA.friendId = AB.uid "
        "JOIN friendList BC ON BC.uid = AB.friendId "
        "JOIN friendList CB ON CB.uid = BC.friendId AND CB.friendId = BC.uid "
        "WHERE BC.friendId <> AB.uid GROUP BY AB.uid, BC.friendId",
        keys=2,
    ),
    "bsma_q2": SqlView(
        "SELECT A.uid AS a, B.uid AS person, COUNT(*) AS n FROM friendList A "
        "JOIN friendList B ON B.friendId = A.friendId WHERE B.uid <> A.uid GROUP BY A.uid, B.uid",
        keys=2,
    ),
    "bsma_q4": SqlView(
        "SELECT DISTINCT A.uid AS a, B.uid AS b, A.friendId AS friend FROM friendList A "
        "JOIN friendList B ON B.friendId = A.friendId WHERE A.uid < B.uid",
        keys=3,
    ),
    "bsma_q7": SqlView(
        "SELECT N.uid AS mentioned, COUNT(*) AS n FROM microblog M "
        f"JOIN mention N ON N.mid = M.mid WHERE M.{IN_RANGE} GROUP BY N.uid",
        keys=1,
    ),
    "bsma_q10": SqlView(f"SELECT O.uid AS author, COUNT(*) AS n {REPOSTS} GROUP BY O.uid", keys=1),
    "bsma_q11": SqlView(
        f"SELECT O.uid AS a, P.uid AS reposter, COUNT(*) AS n {REPOSTS} GROUP BY O.uid, P.uid",
        keys=2,
    ),
    "bsma_q14": SqlView(
        "SELECT E.tag AS tag, COUNT(*) AS n FROM microblog M "
        f"JOIN event E ON E.mid = M.mid WHERE M.{IN_RANGE} GROUP BY E.tag",
        keys=1,
    ),
    "bsma_q15": SqlView(
        "SELECT E.tag AS tag, M.uid AS author, COUNT(*) AS n FROM microblog M "
        f"JOIN event E ON E.mid = M.mid WHERE M.{IN_RANGE} GROUP BY E.tag, M.uid",
        keys=2,
    ),
}


def prepare(folder: Path, size: model.Size | None) -> None:
    """Write the tables where they are not; a size must agree with what is there."""
    if not (folder / "microblog" / "columns.txt").exists():
        write_bsma(folder, SIZES[size or model.SIZES["small"]])
    posts = column_names(folder / "microblog")[1]
    if size and SIZES[size].posts != posts:
        raise JoinGraphError(
            f"{folder} holds {posts} posts, {SIZES[size].posts} were asked for by --size; "
            f"leave --size out, or give --data another folder"
        )


def write_bsma(folder: Path, size: Size, *, seed: int = 7) -> None:
    """Write the tables, posts in order of time."""
    rng = np.random.default_rng([seed, size.users])
    reposts = size.posts // 5
    data = BSMA(
        users=size.users,
        followers=size.friends,
        tweets=size.posts - reposts,
        retweets=reposts,
        seed=seed,
    )
    write_columns(folder / "friendList", _friends(rng, pa.Table.from_batches(data.followers())))
    posts = pa.Table.from_batches(data.tweets())
    again = pa.Table.from_batches(data.retweets())
    time = np.concatenate([posts["tweetDate"], again["tweetDate"]])
    order = np.argsort(time, kind="stable")
    number = np.argsort(order)  # what was the n-th post is number[n] now
    uid = np.concatenate([posts["userId"], again["userId"]])[order]
    mids = np.arange(size.posts)
    write_columns(folder / "microblog", {"mid": mids, "uid": uid, "time": time[order]})
    remid = number[again["retweetTweetId"].to_numpy()]
    mid = number[again["tweetId"].to_numpy()]
    retweet = {"mid": mid, "remid": remid, "path": _lengths(mid, remid)}
    write_columns(folder / "retweet", retweet)
    tags = _marks(rng, size.posts, count=int(EVENTS * size.posts), of=max(10, size.users // 10))
    people = _marks(rng, size.posts, count=int(MENTIONS * size.posts), of=size.users)
    write_columns(folder / "event", {"mid": tags[0], "tag": tags[1]})
    write_columns(folder / "mention", {"mid": people[0], "uid": people[1]})


def _friends(rng: np.random.Generator, follower: pa.Table) -> Columns:
    """Return some of the follows; the pairs are distinct, in random order."""
    uid, friend = (follower[name].to_numpy() for name in ("followerId", "userId"))
    back = rng.random(len(uid)) < RETURNED
    pairs = np.column_stack([np.append(uid, friend[back]), np.append(friend, uid[back])])
    pairs = rng.permutation(np.unique(pairs, axis=0))
    return {"uid": pairs[:, 0], "friendId": pairs[:, 1]}


def _lengths(mid: Column, remid: Column) -> Column:
    """Return how many reposts lie between each repost and a post, itself counted."""
    lengths = dict[int, int]()
    for own, target in zip(mid.tolist(), remid.tolist(), strict=True):
        lengths[own] = lengths.get(target, 0) + 1
    return np.array(list(lengths.values()), np.int64)


def _marks(rng: np.random.Generator, posts: int, *, count: int, of: int) -> tuple[Column, Column]:
    """Draw distinct pairs of a post and one `of` so many, popular ones more often."""
    mark = power_law(rng, of, draws=count, exponent=0.8)
    pairs = np.unique(rng.integers(0, posts, count) * of + mark)
    return pairs // of, pairs % of


def read_bsma(tables: Sequence[str], folder: Path) -> tuple[dict[str, pa.Table], list[Change]]:
    """Read tables without the last posts and follows, and these as diffs, round by round."""
    whole = {table: pa.table(read_columns(folder / table)) for table in tables}
    numbers = {table: _numbers(table, rows) for table, rows in whole.items()}
    ends = {table: column_names(folder / _counted(table))[1] for table in tables}
    base = {
        table: rows.filter(numbers[table] < _bound(ends[table], 0)) for table, rows in whole.items()
    }
    diffs = list[Change]()
    for turn in range(ROUNDS):
        come = {
            table: (number >= _bound(ends[table], turn)) & (number < _bound(ends[table], turn + 1))
            for table, number in numbers.items()
        }
        diffs += [("insert", table, whole[table].filter(new)) for table, new in come.items()]
        gone = {table: new & (numbers[table] % WITHDRAWN == 0) for table, new in come.items()}
        diffs += [("delete", table, whole[table].filter(old)) for table, old in gone.items()]
    return base, [diff for diff in diffs if len(diff[2])]


def _counted(table: str) -> str:
    """Name the table of which the rows are held back: those of a post come with it."""
    return table if table == "friendList" else "microblog"


def _numbers(table: str, rows: pa.Table) -> Column:
    """Return when each row comes: by its place, or with its post."""
    return np.arange(len(rows)) if table == "friendList" else rows["mid"].to_numpy()


def _bound(end: int, turn: int) -> int:
    """Return where a round begins, of numbers up to `end`."""
    return int(end * (1 - HELD_SHARE * (ROUNDS - turn) / ROUNDS))
