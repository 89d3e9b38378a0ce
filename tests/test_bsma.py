"""The generator of social-network data: its statistics, its determinism, its memory."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest

from joingraph.pipeline.sources.bsma import (
    BSMA,
    COLUMNS,
    PERIOD_MS,
    SIZES,
    Ints,
    follower_counts,
    shuffled,
)

TABLES = {"user": "users", "follower": "followers", "tweet": "tweets", "retweet": "retweets"}
SMALL = BSMA(**SIZES["small"])


def stream(data: BSMA, table: str, batch_rows: int = 65_536) -> Iterator[pa.RecordBatch]:
    yield from getattr(data, TABLES[table])(batch_rows=batch_rows)


def columns(data: BSMA, table: str) -> dict[str, Ints]:
    whole = pa.Table.from_batches(stream(data, table))
    return {name: whole[name].to_numpy() for name in whole.column_names}


@pytest.mark.parametrize("size", ["tiny", "small"])
@pytest.mark.parametrize("table", TABLES)
def test_every_table_has_its_rows_and_columns(size: str, table: str) -> None:
    whole = pa.Table.from_batches(stream(BSMA(**SIZES[size]), table))
    assert whole.num_rows == SIZES[size][TABLES[table]]
    assert whole.schema == pa.schema([(name, pa.int64()) for name in COLUMNS[table]])


@pytest.mark.parametrize("table", TABLES)
def test_the_size_of_batches_does_not_change_the_data(table: str) -> None:
    data = BSMA(users=500, followers=3_000, tweets=70_000, retweets=70_000)
    batches = list(stream(data, table, 499))
    assert all(batch.num_rows == 499 for batch in batches[:-1])
    assert pa.Table.from_batches(batches).equals(pa.Table.from_batches(stream(data, table)))


@pytest.mark.parametrize("table", ["follower", "tweet", "retweet"])
def test_the_seed_alone_decides_the_data(table: str) -> None:
    def made(seed: int) -> list[dict[str, int]]:
        data = BSMA(users=100, followers=500, tweets=500, retweets=500, seed=seed)
        return pa.Table.from_batches(stream(data, table)).to_pylist()

    assert made(1) == made(1)
    assert made(1) != made(2)


def test_followers_are_distinct_pairs_of_different_users() -> None:
    pairs = columns(SMALL, "follower")
    assert len(np.unique(pairs["userId"] * 10_000 + pairs["followerId"])) == 1_000_000
    assert not np.any(pairs["userId"] == pairs["followerId"])
    assert set(np.unique(pairs["followerId"])) <= set(range(10_000))


def test_follower_counts_fall_by_the_power_law() -> None:
    counts = np.bincount(columns(SMALL, "follower")["userId"])
    ranks = np.arange(10, 5_000)  # the first few are followed by everybody
    slope = np.polyfit(np.log(ranks + 1), np.log(counts[ranks]), 1)[0]
    assert slope == pytest.approx(-0.8, abs=0.03)


def test_everybody_can_follow_everybody() -> None:
    assert follower_counts(30, 30 * 29, seed=1).tolist() == [29] * 30
    pairs = columns(BSMA(users=30, followers=30 * 29, tweets=0, retweets=0), "follower")
    assert len(set(zip(pairs["userId"], pairs["followerId"], strict=True))) == 30 * 29


@pytest.mark.parametrize("table", ["tweet", "retweet"])
def test_posts_are_poisson_in_time(table: str) -> None:
    dates = columns(SMALL, table)["tweetDate"]
    assert np.all(np.diff(dates) >= 0)
    per_bin = np.histogram(dates, bins=2_000, range=(0, PERIOD_MS))[0]
    assert per_bin.var() / per_bin.mean() == pytest.approx(1, abs=0.12)
    gaps = np.diff(dates)
    assert gaps.std() / gaps.mean() == pytest.approx(1, abs=0.03)


def test_posts_are_numbered_by_date() -> None:
    assert columns(SMALL, "tweet")["tweetId"].tolist() == list(range(60_000))
    assert columns(SMALL, "retweet")["tweetId"].tolist() == list(range(60_000, 130_000))


def retweet_ages() -> tuple[Ints, Ints]:
    """The post that each retweet repeats, and how old it was."""
    retweets = columns(SMALL, "retweet")
    dates = np.concatenate([columns(SMALL, "tweet")["tweetDate"], retweets["tweetDate"]])
    target = retweets["retweetTweetId"]
    return target, retweets["tweetDate"] - dates[target]


def test_what_is_repeated_was_there_before() -> None:
    target, age = retweet_ages()
    own = np.arange(60_000, 130_000)
    assert np.all((target >= 0) & (target < own))
    assert age.min() >= 0


def test_a_fifth_of_retweets_repeat_a_retweet() -> None:
    target, _ = retweet_ages()
    assert np.mean(target >= 60_000) == pytest.approx(0.2, abs=0.01)


def test_interest_decays_exponentially_with_age() -> None:
    retweeted = columns(SMALL, "retweet")["tweetDate"]
    _, age = retweet_ages()
    late = age[retweeted > PERIOD_MS // 2]  # with enough history for every age
    ages = np.linspace(1, 10, 10) * PERIOD_MS / 30
    older = [np.mean(late > days) for days in ages]
    slope = np.polyfit(ages, np.log(older), 1)[0]
    assert -1 / slope == pytest.approx(PERIOD_MS / 10, rel=0.1)


def test_popularity_falls_by_a_power_law() -> None:
    target, _ = retweet_ages()
    window = 60_000 // 80
    per_place = np.sort(np.bincount(target[target < 60_000] % window))[::-1]
    slope = np.polyfit(np.log(np.arange(5, 300) + 1), np.log(per_place[5:300]), 1)[0]
    assert slope == pytest.approx(-0.8, abs=0.1)


def test_events_are_all_posts_in_the_order_of_dates() -> None:
    data = BSMA(users=50, followers=0, tweets=40_000, retweets=50_000)
    events = list(data.events())
    assert {operation for operation, _, _ in events} == {"insert"}
    dates = np.concatenate([batch.column("tweetDate").to_numpy() for _, _, batch in events])
    assert np.all(np.diff(dates) >= 0)
    for table in ("tweet", "retweet"):
        seen = pa.Table.from_batches(batch for _, name, batch in events if name == table)
        assert seen.equals(pa.Table.from_batches(stream(data, table)))


def test_no_event_repeats_the_unseen() -> None:
    seen: set[int] = set()
    for _, table, batch in BSMA(users=9, followers=0, tweets=300, retweets=3_000).events():
        for row in batch.to_pylist():
            assert table == "tweet" or row["retweetTweetId"] in seen
            seen.add(row["tweetId"])


def test_memory_does_not_grow_with_the_posts() -> None:
    def peak_bytes(posts: int) -> int:
        data = BSMA(users=1_000, followers=0, tweets=posts, retweets=posts)
        tracemalloc.start()
        for batch in data.retweets():
            assert batch.num_rows
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    peak_bytes(1_000)
    assert peak_bytes(3_000_000) < 1.3 * peak_bytes(300_000)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64, 1_000, 4_097])
def test_a_shuffle_is_a_permutation_for_every_key(size: int) -> None:
    for key in (0, 1, 2**63):
        found = shuffled(np.arange(size), size, np.full(size, key, dtype=np.uint64))
        assert sorted(found.tolist()) == list(range(size))


@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        ((3, 7, 0, 0), "3 users can have at most 6 followers, not 7"),
        ((0, 0, 0, 0), "at least one user"),
        ((3, 0, -1, 0), "no negative number"),
        ((3, 0, 0, 5), "5 retweets need at least one tweet"),
    ],
)
def test_sizes_that_cannot_be_are_refused(sizes: tuple[int, int, int, int], said: str) -> None:
    users, followers, tweets, retweets = sizes
    with pytest.raises(ValueError, match=said):
        BSMA(users=users, followers=followers, tweets=tweets, retweets=retweets)
