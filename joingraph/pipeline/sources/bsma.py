"""A generator of social-network data after BSMA: who follows whom, who tweets, who repeats it.

    user(userId)   follower(userId, followerId)   tweet(userId, tweetId, tweetDate)
    retweet(userId, tweetId, tweetDate, retweetTweetId)        all columns are 64-bit integers

The model, for U users, and T tweets and R retweets in 30 days (dates are milliseconds):
- follower: user u is followed by a share of all in proportion to (u + 1) ** -0.8, so user 0 is the
  most popular; no user is followed by more than the U - 1 others; the pairs are distinct.
- tweet: a Poisson process, given that T fall into the 30 days; authors are uniform. The first
  tweet opens the period, so that every retweet has something to repeat.
- retweet: a Poisson process too; users are uniform. One in five repeats a retweet, the others a
  tweet. What is repeated is chosen by age, exponential with a mean of 3 days, and then by
  popularity: of the W posts up to that age, the r-th popular in proportion to r ** -0.8. A post's
  popularity is its place in a fixed shuffle of 0..W-1 at (its number modulo W).
- Posts are numbered by date: tweets 0..T-1, retweets T..T+R-1.

Everything comes as a stream of record batches. The period is cut into slices of about 65,536
posts, each made from the seed and its own number alone, so memory does not grow with T or R and
the size of the batches does not change the data. Followers need memory for U counts, not for the
pairs: the n-th follower of u is the n-th of a shuffle of all others that is computed, not stored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Ints: TypeAlias = npt.NDArray[np.int64]
Words: TypeAlias = npt.NDArray[np.uint64]
Event: TypeAlias = tuple[str, str, pa.RecordBatch]

PERIOD_MS = 30 * 24 * 3600 * 1000
SLICE_ROWS = 65_536
POPULARITY = 0.8
REPEAT_SHARE = 0.2
AGE_SHARE = 0.1  # the mean age of what is repeated, as a share of the period
WINDOW_SHARE = 1 / 8  # the window of popularity, as a share of the mean age
WINDOW_ROWS_MAX = 4096

COLUMNS = {
    "user": ("userId",),
    "follower": ("userId", "followerId"),
    "tweet": ("userId", "tweetId", "tweetDate"),
    "retweet": ("userId", "tweetId", "tweetDate", "retweetTweetId"),
}
KEYS = {
    "user": ("userId",),
    "follower": ("userId", "followerId"),
    "tweet": ("tweetId",),
    "retweet": ("tweetId",),
}
POSTS = ("tweet", "retweet")
SIZES = {
    "tiny": {"users": 100, "followers": 1_000, "tweets": 500, "retweets": 600},
    "small": {"users": 10_000, "followers": 1_000_000, "tweets": 60_000, "retweets": 70_000},
    "large": {
        "users": 1_000_000,
        "followers": 11_000_000,
        "tweets": 6_000_000,
        "retweets": 7_000_000,
    },
}


class Slice(NamedTuple):
    """A part of the period: its dates, and by table the number of its first post, and how many."""

    number: int
    start_ms: int
    stop_ms: int
    first: Mapping[str, int]
    rows: Mapping[str, int]


class BSMA:
    """Data of one size and seed; each method starts its stream anew and yields the same rows.

    >>> data = BSMA(users=10, followers=20, tweets=5, retweets=5, seed=1)
    >>> sum(batch.num_rows for batch in data.followers())
    20
    """

    def __init__(
        self, *, users: int, followers: int, tweets: int, retweets: int, seed: int = 7
    ) -> None:
        if users < 1 or min(followers, tweets, retweets) < 0:
            raise ValueError("BSMA takes at least one user and no negative number of rows")
        if followers > users * (users - 1):
            raise ValueError(
                f"{users} users can have at most {users * (users - 1)} followers, not {followers}"
            )
        if retweets and not tweets:
            raise ValueError(f"{retweets} retweets need at least one tweet to repeat")
        self.rows = {"user": users, "follower": followers, "tweet": tweets, "retweet": retweets}
        self.seed = seed

    @property
    def tables(self) -> Mapping[str, str]:
        """The CREATE TABLE text of every table."""
        return {table: create_table(table) for table in COLUMNS}

    def users(self, *, batch_rows: int = SLICE_ROWS) -> Iterator[pa.RecordBatch]:
        """Yield every user, in order."""
        return self._all("user", batch_rows)

    def followers(self, *, batch_rows: int = SLICE_ROWS) -> Iterator[pa.RecordBatch]:
        """Yield who follows whom, in an order that mixes all users."""
        return self._all("follower", batch_rows)

    def _followers(self, begin: int, end: int) -> Iterator[pa.RecordBatch]:
        users, pairs = self.rows["user"], self.rows["follower"]
        first = np.concatenate(([0], np.cumsum(follower_counts(users, pairs, self.seed))))
        order, circles = np.uint64(seed_hash(self.seed, 1)), seed_hash(self.seed, 2)
        for start in range(begin, end, SLICE_ROWS):
            places = np.arange(start, min(start + SLICE_ROWS, end))
            pair = shuffled(places, pairs, np.full(len(places), order))
            user = np.searchsorted(first, pair, side="right") - 1
            circle = mix(user.astype(np.uint64) + np.uint64(circles))
            follower = shuffled(pair - first[user], users - 1, circle)
            yield record_batch("follower", user, follower + (follower >= user))

    def between(self, table: str, start: int, stop: int) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a table numbered `start` up to `stop`, without making those before."""
        if table == "user":
            yield record_batch("user", np.arange(start, stop))
        elif table == "follower":
            yield from self._followers(start, stop)
        else:
            yield from self._posts(table, start, stop)

    def _posts(self, table: str, start: int, stop: int) -> Iterator[pa.RecordBatch]:
        """Yield the rows numbered `start` up to `stop`, cut out of the slices that hold some."""
        make = self._tweets_in if table == "tweet" else self._retweets_in
        for each in self._slices():
            first = each.first[table]
            low, high = max(start, first), min(stop, first + each.rows[table])
            if low < high:
                yield make(each).slice(low - first, high - low)

    def tweets(self, *, batch_rows: int = SLICE_ROWS) -> Iterator[pa.RecordBatch]:
        """Yield every tweet, in the order of dates."""
        return self._all("tweet", batch_rows)

    def retweets(self, *, batch_rows: int = SLICE_ROWS) -> Iterator[pa.RecordBatch]:
        """Yield every retweet, in the order of dates."""
        return self._all("retweet", batch_rows)

    def _all(self, table: str, batch_rows: int) -> Iterator[pa.RecordBatch]:
        return recut(self.between(table, 0, self.rows[table]), batch_rows)

    def events(self) -> Iterator[Event]:
        """Yield the inserts of all posts in the order of dates, as long runs as the order allows.

        A tweet comes before a retweet of the same millisecond, so nothing repeats the unseen.
        """
        for each in self._slices():
            yield from merged(self._tweets_in(each), self._retweets_in(each))

    def _slices(self) -> Iterator[Slice]:
        count = max(1, -(-(self.rows["tweet"] + self.rows["retweet"]) // SLICE_ROWS))
        rng = np.random.default_rng([self.seed, 3])
        shares = np.full(count, 1 / count)
        rows_in = {table: rng.multinomial(self.rows[table], shares) for table in POSTS}
        ends = {table: np.cumsum(rows).tolist() for table, rows in rows_in.items()}
        for number in range(count):
            rows = {table: int(rows_in[table][number]) for table in POSTS}
            first = {table: ends[table][number] - rows[table] for table in POSTS}
            start_ms, stop_ms = (PERIOD_MS * edge // count for edge in (number, number + 1))
            yield Slice(number, start_ms, stop_ms, first, rows)

    def _tweets_in(self, part: Slice) -> pa.RecordBatch:
        rng = np.random.default_rng([self.seed, 4, part.number])
        rows, first = part.rows["tweet"], part.first["tweet"]
        dates = np.sort(rng.integers(part.start_ms, part.stop_ms, rows))
        if rows and first == 0:
            dates[0] = 0
        authors = rng.integers(0, self.rows["user"], rows)
        return record_batch("tweet", authors, np.arange(rows) + first, dates)

    def _retweets_in(self, part: Slice) -> pa.RecordBatch:
        rng = np.random.default_rng([self.seed, 5, part.number])
        rows = part.rows["retweet"]
        dates = np.sort(rng.integers(part.start_ms, part.stop_ms, rows))
        users = rng.integers(0, self.rows["user"], rows)
        tweet_dates = self._tweets_in(part).column("tweetDate").to_numpy()
        numbers = np.arange(rows) + part.first["retweet"]
        tweeted = part.first["tweet"] + np.searchsorted(tweet_dates, dates, side="right")
        tweets, retweets = self.rows["tweet"], self.rows["retweet"]
        of_tweet = chosen(tweeted, tweets, rng, self.seed)
        of_retweet = tweets + chosen(np.maximum(numbers, 1), retweets, rng, self.seed)
        repeats = (rng.random(rows) < REPEAT_SHARE) & (numbers > 0)
        targets = np.where(repeats, of_retweet, of_tweet)
        return record_batch("retweet", users, numbers + tweets, dates, targets)


def create_table(table: str) -> str:
    """Write a table's declaration."""
    columns = ", ".join(f"{name} BIGINT" for name in COLUMNS[table])
    return f"CREATE TABLE {table} ({columns}, PRIMARY KEY ({', '.join(KEYS[table])}))"


def record_batch(table: str, *columns: Ints) -> pa.RecordBatch:
    """Return a table's columns under their names."""
    return pa.record_batch(list(columns), names=list(COLUMNS[table]))


def recut(batches: Iterator[pa.RecordBatch], batch_rows: int) -> Iterator[pa.RecordBatch]:
    """Cut a stream into batches of `batch_rows` rows, the last one shorter."""
    waiting: list[pa.RecordBatch] = []
    missing = batch_rows
    for batch in batches:
        while batch.num_rows >= missing:
            yield pa.concat_batches([*waiting, batch.slice(0, missing)])
            batch = batch.slice(missing)
            waiting, missing = [], batch_rows
        if batch.num_rows:
            waiting.append(batch)
            missing -= batch.num_rows
    if waiting:
        yield pa.concat_batches(waiting)


def merged(tweets: pa.RecordBatch, retweets: pa.RecordBatch) -> Iterator[Event]:
    """Interleave two batches by date, in runs of rows of one table."""
    dates = retweets.column("tweetDate").to_numpy()
    before = np.searchsorted(tweets.column("tweetDate").to_numpy(), dates, side="right")
    starts = np.flatnonzero(np.diff(before, prepend=-1))
    tweet = 0
    for start, stop in zip(starts, [*starts[1:], len(dates)], strict=True):
        if before[start] > tweet:
            yield "insert", "tweet", tweets.slice(tweet, before[start] - tweet)
        yield "insert", "retweet", retweets.slice(start, stop - start)
        tweet = before[start]
    if tweet < tweets.num_rows:
        yield "insert", "tweet", tweets.slice(tweet)


def follower_counts(users: int, pairs: int, seed: int) -> Ints:
    """Deal `pairs` followers to users by the power law, at most users - 1 to each."""
    rng = np.random.default_rng([seed, 0])
    shares = np.arange(1.0, users + 1) ** -POPULARITY
    counts = np.zeros(users, dtype=np.int64)
    while missing := pairs - int(counts.sum()):
        open_shares = np.where(counts < users - 1, shares, 0.0)
        dealt = rng.multinomial(missing, open_shares / open_shares.sum())
        counts = np.minimum(counts + dealt, users - 1)
    return counts


def chosen(posted: Ints, total: int, rng: np.random.Generator, seed: int) -> Ints:
    """Choose for each count of posts so far one of them, by age and then by popularity.

    `total` is how many posts there will be: it tells how many of them make up the mean age.
    """
    mean_age = max(1.0, AGE_SHARE * total)
    window = max(1, min(WINDOW_ROWS_MAX, int(mean_age * WINDOW_SHARE)))
    age = -mean_age * np.log1p(-rng.random(len(posted)) * -np.expm1(-posted / mean_age))
    latest = np.maximum(posted - 1 - age.astype(np.int64), 0)
    place_of_rank = np.random.default_rng([seed, 6]).permutation(window)
    place = place_of_rank[power_law_ranks(rng.random(len(posted)), window)]
    popular = latest - (latest - place) % window
    # The first posts have no full window behind them.
    return np.where(popular < 0, latest, popular)


def power_law_ranks(uniform: npt.NDArray[np.float64], ranks: int) -> Ints:
    """Turn uniform numbers into ranks 0..ranks-1, rank r in proportion to (r + 1) ** -0.8."""
    flat = 1 - POPULARITY
    top: float = (ranks + 1) ** flat
    smooth = (uniform * (top - 1) + 1) ** (1 / flat)
    return np.minimum(smooth.astype(np.int64), ranks) - 1


def seed_hash(seed: int, purpose: int) -> int:
    """Draw one word for a purpose of its own."""
    return int(np.random.default_rng([seed, purpose]).integers(2**63))


def mix(words: Words) -> Words:
    """Hash 64-bit words (the finaliser of splitmix64)."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def shuffled(places: Ints, size: int, keys: Words) -> Ints:
    """Return what stands at each place of a shuffle of 0..size-1, one shuffle for each key.

    A Feistel network permutes the next larger power of four; what falls outside walks on along
    its cycle until it is inside, which keeps it a permutation (Black and Rogaway 2002).
    """
    half = np.uint64(max(1, -(-(size - 1).bit_length() // 2)))
    found = permuted(places.astype(np.uint64), half, keys)
    while len(outside := np.flatnonzero(found >= size)):
        found[outside] = permuted(found[outside], half, keys[outside])
    return found.astype(np.int64)


def permuted(words: Words, half: np.uint64, keys: Words) -> Words:
    """Permute words of 2 * half bits by four rounds of a Feistel network."""
    mask = (np.uint64(1) << half) - np.uint64(1)
    left, right = words >> half, words & mask
    for turn in range(1, 5):
        left, right = right, left ^ (mix(right ^ (keys + np.uint64(turn))) & mask)
    return (left << half) | right
