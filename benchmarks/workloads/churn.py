"""The diffs of the churn workload: tables that change without growing much.

    DIR/churn/op     0 insert, 1 delete, 2 update's row before, 3 update's row after
    DIR/churn/table  0 follower, 1 tweet, 2 retweet
    DIR/churn/c0..3  the row, in the table's order of columns, 0 where it has fewer

An update is two rows, before and after, one below the other. The diffs come in transactions of
10,000: 40% inserts, 30% deletes, 30% updates, half of these of join attributes.
Keys stay keys: new followers and new tweets have ids never used before.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.workloads.model import Column, column_names, power_law, read_columns, write_columns

CHURN_TABLES = ("follower", "tweet", "retweet")
INSERT, DELETE, UPDATE_PRE, UPDATE_POST = range(4)
FIRST_NEW_ID = 10**9


class Step(NamedTuple):
    """A part of every transaction; an update names the column it changes."""

    op: int
    table: str
    column: int
    share: float


STEPS = (
    Step(INSERT, "follower", 0, 0.134),
    Step(INSERT, "tweet", 0, 0.133),
    Step(INSERT, "retweet", 0, 0.133),
    Step(DELETE, "follower", 0, 0.1),
    Step(DELETE, "tweet", 0, 0.1),
    Step(DELETE, "retweet", 0, 0.1),
    Step(UPDATE_PRE, "follower", 0, 0.05),  # userId joins
    Step(UPDATE_PRE, "follower", 1, 0.075),
    Step(UPDATE_PRE, "tweet", 0, 0.05),  # userId joins
    Step(UPDATE_PRE, "retweet", 3, 0.05),  # retweetTweetId joins
    Step(UPDATE_PRE, "retweet", 0, 0.075),
)


class LiveRows:
    """The rows of a table now: `live[:count]` are the places of those that exist."""

    def __init__(self, base: Column, spare: int) -> None:
        self.rows = np.concatenate([base, np.zeros((spare, base.shape[1]), np.int64)])
        self.live = np.arange(len(self.rows))
        self.count = self.used = len(base)

    def add(self, rows: Column) -> None:
        """Let rows exist."""
        end = self.used + len(rows)
        self.rows[self.used : end] = rows
        self.live[self.count : self.count + len(rows)] = np.arange(self.used, end)
        self.count += len(rows)
        self.used = end

    def remove(self, rng: np.random.Generator, count: int) -> Column:
        """Let random rows, no two the same, cease to exist."""
        picked = np.empty(count, np.int64)
        for number in range(count):
            place = rng.integers(self.count)
            picked[number] = self.live[place]
            self.count -= 1
            self.live[place] = self.live[self.count]
        return self.rows[picked]

    def draw(self, rng: np.random.Generator, count: int) -> Column:
        """Draw random rows, which stay."""
        return self.rows[self.live[rng.integers(self.count, size=count)]]


class Churn:
    """Draws the diffs, keeping what exists in step."""

    def __init__(self, folder: Path, diffs: int, *, seed: int = 11) -> None:
        self.rng = np.random.default_rng(seed)
        self.users = column_names(folder / "user")[1]
        self.next_id = FIRST_NEW_ID
        self.tables: dict[str, LiveRows] = {}
        for table in CHURN_TABLES:
            base = np.column_stack(list(read_columns(folder / table).values()))
            self.tables[table] = LiveRows(base, 2 * diffs)

    def step(self, step: Step, count: int) -> Column:
        """Draw one step of a transaction: rows of (op, table, c0, c1, c2, c3)."""
        live = self.tables[step.table]
        number = CHURN_TABLES.index(step.table)
        if step.op == INSERT:
            new = self._new_rows(step.table, count)
            live.add(new)
            return _tagged(new, INSERT, number)
        old = live.remove(self.rng, count)
        if step.op == DELETE:
            return _tagged(old, DELETE, number)
        new = self._changed_rows(step, old)
        live.add(new)
        pairs = np.stack([_tagged(old, UPDATE_PRE, number), _tagged(new, UPDATE_POST, number)], 1)
        return pairs.reshape(2 * count, -1)

    def _new_rows(self, table: str, count: int) -> Column:
        ids = self._new_ids(count)
        if table == "follower":
            user = power_law(self.rng, self.users, draws=count, exponent=0.8)
            return np.column_stack([user, ids])
        user = self.rng.integers(0, self.users, count)
        if table == "tweet":
            return np.column_stack([user, ids, ids])
        return np.column_stack([user, ids, ids, self._tweet_ids(count)])

    def _changed_rows(self, step: Step, old: Column) -> Column:
        new = old.copy()
        count = len(old)
        if step.table == "follower":
            # A moved follower also gets a new id: (userId, followerId) has to stay a key.
            new[:, 1] = self._new_ids(count)
            if step.column == 0:
                new[:, 0] = power_law(self.rng, self.users, draws=count, exponent=0.8)
        elif step.column == 3:
            new[:, 3] = self._tweet_ids(count)
        else:
            new[:, step.column] = self.rng.integers(0, self.users, count)
        return new

    def _new_ids(self, count: int) -> Column:
        self.next_id += count
        return np.arange(self.next_id - count, self.next_id)

    def _tweet_ids(self, count: int) -> Column:
        return self.tables["tweet"].draw(self.rng, count)[:, 1]


def write_churn(folder: Path, diffs: int) -> None:
    """Write four times as many diffs as the other workloads have, over the base tables."""
    churn = Churn(folder, 4 * diffs)
    transaction = max(100, diffs // 5)
    rows = [
        churn.step(step, round(step.share * transaction))
        for _ in range(4 * diffs // transaction)
        for step in STEPS
    ]
    names = ("op", "table", "c0", "c1", "c2", "c3")
    columns = np.concatenate(rows).T
    write_columns(folder / "churn", dict(zip(names, columns, strict=True)))


def _tagged(rows: Column, op: int, table: int) -> Column:
    """Put op and table before each row and zeros behind it, to a width of six."""
    tagged = np.zeros((len(rows), 6), np.int64)
    tagged[:, 0] = op
    tagged[:, 1] = table
    tagged[:, 2 : 2 + rows.shape[1]] = rows
    return tagged
