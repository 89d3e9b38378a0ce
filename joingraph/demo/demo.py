"""`joingraph demo`: timelines of a small social network, kept fresh while you watch.

A generated feed (joingraph/pipeline/sources/bsma.py) runs through an embedded graph for some
seconds: tweets, retweets, and now and then one of three subscribers unfollows a user and follows
again. joingraph/demo/screen.py draws what people see; this file uses public names only.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import cycle, islice
from typing import TextIO

import numpy as np
import pyarrow as pa

from joingraph.api.join_graph import JoinGraph
from joingraph.demo.screen import Column, Frame, Lines, Screen, summary
from joingraph.pipeline.sources.bsma import BSMA
from joingraph.plan.view import View
from joingraph.view_diffs.view_diff import SIGNS, ViewDiff

SQL = """\
SELECT F.followerId, T.userId AS author, T.tweetId, R.userId AS retweeter
FROM follower F
JOIN tweet T ON T.userId = F.userId
JOIN retweet R ON R.retweetTweetId = T.tweetId"""

USERS, FOLLOWERS, POSTS = 2_500, 100_000, 2_000_000
SIZES = {"users": USERS, "followers": FOLLOWERS, "tweets": POSTS, "retweets": POSTS}
SUBSCRIBERS = 3
LATEST_ROWS = 8
MOMENT_ROWS = 100
NAMES = (
    *("ann", "bob", "cleo", "dan", "eve", "finn", "gus", "hana", "ivy", "jon", "kai", "lea", "max"),
    *("nora", "otto", "pia", "quin", "rosa", "sam", "tom", "uma", "vera", "walt", "xena", "yara"),
    "zoe",
)
WHIM_S = 1.5  # how often a subscriber unfollows, or follows again
RATE_S = 0.5  # over how long each rate is measured
RATES = 24

Moment = dict[str, pa.Table]


class Timeline:
    """What one subscriber sees of the view: how many rows, and the latest of them."""

    def __init__(self, subscriber: int) -> None:
        self.subscriber = subscriber
        self.authors: Counter[int] = Counter()  # rows by author
        self.latest: deque[tuple[int, int, int]] = deque(maxlen=LATEST_ROWS)
        self.note = ""

    def change(self, row: tuple[int, int, int], count: int) -> None:
        """Show a row that comes; remove one that goes, whose count is negative."""
        self.authors[row[0]] += count
        if count > 0:
            self.latest.appendleft(row)
        elif row in self.latest:
            self.latest.remove(row)

    @property
    def rows(self) -> int:
        """How many rows of the view are the subscriber's."""
        return self.authors.total()

    def column(self) -> Column:
        """Put it into words."""
        return Column(
            title=f"{handle(self.subscriber)}: {self.rows:,} rows",
            latest=tuple(
                f"{handle(author)} #{tweet} ↻ {handle(retweeter)}"
                for author, tweet, retweeter in self.latest
            ),
            note=self.note,
        )


class Timelines:
    """What view diffs do to the timelines of the subscribers, and how many they are.

    The subscribers are the users that follow fewest, whose timelines can be read.
    """

    def __init__(self, follower: pa.Table) -> None:
        follows = np.bincount(follower["followerId"].to_numpy(), minlength=USERS)
        chosen = np.argsort(follows, kind="stable")[:SUBSCRIBERS]
        self.of = {user: Timeline(user) for user in chosen.tolist()}
        self.view_diffs, self.view_rows = 0, 0

    def change(self, diff: ViewDiff) -> None:
        """Show the subscribers what has happened."""
        changed = diff.to_arrow()
        kinds = changed["_change_type"].combine_chunks()
        of_kind = np.array([SIGNS[kind] for kind in kinds.dictionary.to_pylist()], np.int64)
        counts = of_kind[kinds.indices.to_numpy()] * changed["_count"].to_numpy()
        self.view_diffs += len(diff)
        self.view_rows += int(np.sum(counts))
        ours = np.isin(changed["followerId"].to_numpy(), list(self.of))
        shown = zip(changed.filter(pa.array(ours)).to_pylist(), counts[ours].tolist(), strict=True)
        for row, count in shown:
            latest = (row["author"], row["tweetId"], row["retweeter"])
            self.of[row["followerId"]].change(latest, count)

    def columns(self) -> tuple[Column, ...]:
        """Put them into words."""
        return tuple(timeline.column() for timeline in self.of.values())


class Demo:
    """The graph, the feed that runs through it, and three timelines of its view."""

    def __init__(self) -> None:
        data = BSMA(**SIZES)
        self.graph = JoinGraph(View(SQL, tables=data.tables))
        follower = pa.Table.from_batches(data.followers())
        self.graph.load({"follower": follower})
        self.feed = moments(data)
        self.timelines = Timelines(follower)
        self.whims = cycle(self.timelines.of.values())
        self.unfollowed: tuple[Timeline, int] | None = None
        self.base_rows, self.diffs = FOLLOWERS, 0

    def frames(self, length_s: float) -> Iterator[Frame]:
        """Run the feed for so long, and yield what there is to see after each batch."""
        rates: deque[float] = deque([0.0], maxlen=RATES)
        start = whim = rated = time.perf_counter()
        diffs_rated = 0
        for moment in self.feed:
            self.apply("insert", moment)
            now = time.perf_counter()
            if now - whim > WHIM_S:
                whim = now
                self.follow_a_whim()
            if now - rated > RATE_S:
                rates.append((self.diffs - diffs_rated) / (now - rated))
                rated, diffs_rated = now, self.diffs
            yield self.frame(now - start, length_s, tuple(rates))
            if now - start > length_s:
                return

    def frame(self, elapsed_s: float, length_s: float, rates: tuple[float, ...]) -> Frame:
        """Gather what is shown."""
        return Frame(
            elapsed_s=elapsed_s,
            length_s=length_s,
            diffs=self.diffs,
            view_diffs=self.timelines.view_diffs,
            view_rows=self.timelines.view_rows,
            base_rows=self.base_rows,
            rates=rates,
            columns=self.timelines.columns(),
        )

    def apply(self, operation: str, moment: Moment) -> None:
        """Insert or delete rows of base tables, and show the subscribers what that did."""
        count = sum(map(len, moment.values()))
        self.diffs += count
        self.base_rows += count if operation == "insert" else -count
        batch = [(operation, table, rows) for table, rows in moment.items()]
        self.timelines.change(self.graph.apply(batch))

    def follow_a_whim(self) -> None:
        """Let a subscriber unfollow the author of the most rows, or follow again."""
        if self.unfollowed is None:
            timeline = next(self.whims)
            for author, _ in timeline.authors.most_common(1):
                self.unfollowed = (timeline, author)
                self.turn(timeline, author, "delete", "unfollowed")
        else:
            timeline, author = self.unfollowed
            self.unfollowed = None
            self.turn(timeline, author, "insert", "follows")

    def turn(self, timeline: Timeline, author: int, operation: str, words: str) -> None:
        """Change one follower row and note how many view rows came or went with it."""
        row = pa.table({"userId": [author], "followerId": [timeline.subscriber]})
        before = timeline.rows
        self.apply(operation, {"follower": row})
        timeline.note = f"{words} {handle(author)}: {timeline.rows - before:+,}"


def moments(data: BSMA) -> Iterator[Moment]:
    """Cut the feed into batches; within one, tweets come before retweets."""
    events = data.events()
    while runs := list(islice(events, MOMENT_ROWS)):
        yield {
            name: pa.Table.from_batches(parts)
            for name in ("tweet", "retweet")
            if (parts := [rows for _, table, rows in runs if table == name])
        }


def handle(user: int) -> str:
    """Name a user, each differently.

    >>> handle(0), handle(27)
    ('@ann0', '@bob1')
    """
    return f"@{NAMES[user % len(NAMES)]}{user // len(NAMES)}"


def watch(frames: Iterable[Frame], out: TextIO) -> Frame | None:
    """Draw frames until they end or Ctrl-C ends them; return the last one."""
    frame = None
    with suppress(KeyboardInterrupt), Screen(out) if Screen.fits(out) else Lines(out) as screen:
        for frame in frames:
            screen.draw(frame)
    return frame


def run(length_s: float, out: TextIO) -> None:
    """Show the demo for so many seconds, and its summary; Ctrl-C ends it early."""
    with suppress(KeyboardInterrupt):
        print(f"Loading {FOLLOWERS:,} followers of {USERS:,} users ...", file=out, flush=True)
        demo = Demo()
        if frame := watch(demo.frames(length_s), out):
            print(summary(frame, demo.graph.stats()), file=out)
