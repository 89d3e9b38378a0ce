"""The data of the workloads: social tables by a seeded model, as raw columns in a folder.

    DIR/follower/userId.i64   DIR/follower/followerId.i64   DIR/follower/columns.txt
    DIR/tweet/...             DIR/fanout_10/tweet/...       DIR/q2_long/tweet/...   DIR/churn/...

A column is a file of little-endian int64; columns.txt names the columns in order and ends with
the number of rows. The same size and seed give the same bytes, on every machine: that is why
the checksums of two systems that read one folder, or made it twice, can be compared.
Beside the random rows there are plants, whose fan-outs are known:
    a user with 182 followers and 381, 445, 545 chains of 2, 3, 4 followers       (for chainF)
    an author whose tweets have 110, 56, 24, 11 retweets at depth 1, 2, 3, 4      (for chainR)
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from joingraph.common.errors import StoreError

Column = npt.NDArray[np.int64]
Columns = dict[str, Column]

FOLLOWER_CHAINS = (182, 381, 445, 545)
RETWEET_DEPTHS = (110, 56, 24, 11)
PLANTED_TWEETS = 20
MONTH_SECONDS = 86_400 * 30


class Size(NamedTuple):
    """How many rows the random part has, and how many diffs a workload has."""

    users: int
    followers: int
    tweets: int
    retweets: int
    diffs: int


SIZES = {
    "tiny": Size(100, 1_000, 300, 400, 60),
    "small": Size(10_000, 1_000_000, 60_000, 70_000, 50_000),
    "large": Size(1_000_000, 11_000_000, 6_000_000, 7_000_000, 50_000),
}


def write_columns(folder: Path, columns: Columns) -> None:
    """Write a table as one raw file a column; columns.txt comes last and says it is whole."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, values in columns.items():
        np.ascontiguousarray(values, dtype="<i8").tofile(folder / f"{name}.i64")
    rows = len(next(iter(columns.values())))
    (folder / "columns.txt").write_text(f"{' '.join(columns)} {rows}\n")


def column_names(folder: Path) -> tuple[list[str], int]:
    """Return a stored table's columns, in order, and its number of rows."""
    try:
        *names, rows = (folder / "columns.txt").read_text().split()
    except FileNotFoundError:
        raise StoreError(
            f"{folder} was asked for its columns and has no columns.txt; "
            f"give --data a folder that `python -m benchmarks` wrote, or an empty one to fill"
        ) from None
    return names, int(rows)


def read_columns(folder: Path) -> Columns:
    """Read a table that `write_columns` wrote."""
    names, rows = column_names(folder)
    columns = {name: np.fromfile(folder / f"{name}.i64", dtype="<i8") for name in names}
    for name, values in columns.items():
        if len(values) != rows:
            raise StoreError(f"{folder}/{name}.i64 has {len(values)} rows, columns.txt says {rows}")
    return columns


def write_base(folder: Path, size: Size, *, seed: int = 7) -> None:
    """Write the base tables, the plants and the diffs of the chains."""
    rng = np.random.default_rng(seed)
    planted_user = size.users + 1_000_000
    planted_author = size.users + 2_000_000
    chains = _planted_chains(planted_user)
    # Every random number comes from one stream: the order of these calls is part of the data.
    follower = _followers(rng, size, chains)
    tweet = _tweets(rng, size, planted_author)
    retweet = _retweets(rng, size, len(tweet["tweetId"]))
    planted = np.concatenate([[planted_user, planted_author], chains[:, 1]])
    write_columns(folder / "follower", follower)
    write_columns(folder / "tweet", tweet)
    write_columns(folder / "retweet", retweet)
    write_columns(folder / "user_plants", {"userId": planted})
    _write_chain_diffs(folder, size.diffs, planted_user, planted_author)
    write_columns(folder / "user", {"userId": np.arange(size.users)})


def write_fanout(folder: Path, fanout: int, diffs: int) -> None:
    """Write new users with `fanout` followers each, and one tweet of each in random order."""
    rng = np.random.default_rng(fanout)
    first_user = 5 * 10**7
    user = first_user + np.repeat(np.arange(diffs), fanout)
    order = rng.permutation(len(user))
    follower = (6 * 10**7 + np.arange(len(user)))[order]
    tweet = {
        "userId": first_user + rng.permutation(diffs),
        "tweetId": 2 * 10**8 + np.arange(diffs),
        "tweetDate": np.arange(diffs),
    }
    write_columns(folder / "follower", {"userId": user[order], "followerId": follower})
    write_columns(folder / "user", {"userId": first_user + np.arange(diffs)})
    write_columns(folder / "tweet", tweet)


def write_long(folder: Path, users: int, diffs: int) -> None:
    """Write so many tweets, then as many retweets: of these tweets, every fifth of a retweet."""
    rng = np.random.default_rng(1)
    numbers = np.arange(diffs)
    tweet = {
        "userId": rng.integers(0, users, diffs),
        "tweetId": 4 * 10**8 + rng.permutation(diffs),
        "tweetDate": MONTH_SECONDS + numbers,
    }
    ids = 5 * 10**8 + rng.permutation(diffs)
    tweets = 4 * 10**8 + (diffs * rng.random(diffs) ** 1.5).astype(np.int64)
    earlier = ids[(numbers * rng.random(diffs)).astype(np.int64)]
    retweet = {
        "userId": rng.integers(0, users, diffs),
        "tweetId": ids,
        "tweetDate": MONTH_SECONDS + diffs + numbers,
        "retweetTweetId": np.where(rng.random(diffs) < 0.2, earlier, tweets),
    }
    write_columns(folder / "tweet", tweet)
    write_columns(folder / "retweet", retweet)


def power_law(rng: np.random.Generator, count: int, *, draws: int, exponent: float) -> Column:
    """Draw from 0 .. count-1, where i is as likely as (i + 1) ** -exponent."""
    weights = np.arange(1, count + 1) ** -exponent
    weights /= weights.sum()
    return rng.choice(count, size=draws, p=weights)


def _planted_chains(user: int) -> Column:
    """Draw the planted user's tree of followers: an array of (userId, followerId)."""
    levels = [np.array([user])]
    edges: list[Column] = []
    for depth, count in enumerate(FOLLOWER_CHAINS):
        start = user + 1 if depth == 0 else user + 1000 * depth
        level = start + np.arange(count)
        above = levels[-1][np.arange(count) % len(levels[-1])]
        edges.append(np.column_stack([above, level]))
        levels.append(level)
    return np.concatenate(edges)


def _followers(rng: np.random.Generator, size: Size, chains: Column) -> Columns:
    """Draw distinct pairs; popular users have more followers."""
    pairs = np.empty(0, np.int64)
    while len(pairs) < size.followers:
        draws = int((size.followers - len(pairs)) * 1.3) + 10
        user = power_law(rng, size.users, draws=draws, exponent=0.8)
        follower = rng.integers(0, size.users, len(user))
        drawn = (user * size.users + follower)[user != follower]
        pairs = np.unique(np.concatenate([pairs, drawn]))
        if len(pairs) > size.followers:
            pairs = rng.permutation(pairs)[: size.followers]
    pairs = rng.permutation(pairs)
    return {
        "userId": np.concatenate([pairs // size.users, chains[:, 0]]),
        "followerId": np.concatenate([pairs % size.users, chains[:, 1]]),
    }


def _tweets(rng: np.random.Generator, size: Size, author: int) -> Columns:
    """Draw tweets of random users in order of date, and those of the planted author."""
    users = rng.integers(0, size.users, size.tweets)
    user = np.concatenate([users, np.full(PLANTED_TWEETS, author)])
    date = np.sort(rng.integers(0, MONTH_SECONDS, len(user)))
    return {"userId": user, "tweetId": np.arange(len(user)), "tweetDate": date}


def _retweets(rng: np.random.Generator, size: Size, first_id: int) -> Columns:
    """Draw retweets: four of five of a tweet, popular ones more often, the rest of a retweet."""
    count = size.retweets
    ids = first_id + np.arange(count + sum(RETWEET_DEPTHS))
    target = np.empty(len(ids), np.int64)
    original = power_law(rng, size.tweets, draws=count, exponent=0.6)
    earlier = (rng.random(count) * np.maximum(np.arange(count), 1)).astype(np.int64)
    repeats = (rng.random(count) < 0.2) & (np.arange(count) > 0)
    target[:count] = np.where(repeats, first_id + earlier, original)
    above = np.arange(size.tweets, size.tweets + PLANTED_TWEETS)
    start = count
    for depth in RETWEET_DEPTHS:
        target[start : start + depth] = above[np.arange(depth) % len(above)]
        above = ids[start : start + depth]
        start += depth
    return {
        "userId": rng.integers(0, size.users, len(ids)),
        "tweetId": ids,
        "tweetDate": MONTH_SECONDS + np.arange(len(ids)),
        "retweetTweetId": target,
    }


def _write_chain_diffs(folder: Path, diffs: int, user: int, author: int) -> None:
    """Write the tweets of the planted user and the new followers of the planted author."""
    numbers = np.arange(diffs)
    tweet = {"userId": np.full(diffs, user), "tweetId": 10**8 + numbers, "tweetDate": numbers}
    write_columns(folder / "chainF", tweet)
    follower = {"userId": np.full(diffs, author), "followerId": 10**8 + numbers}
    write_columns(folder / "chainR", follower)
