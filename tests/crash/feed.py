"""A seeded feed: batch k is the same whoever asks, so that a killed process can be followed."""

from __future__ import annotations

import random
from collections.abc import Iterator

from joingraph.plan.view import View

TABLES = {
    "follower": "CREATE TABLE follower (author BIGINT, fan BIGINT)",
    "tweet": "CREATE TABLE tweet (author BIGINT, id BIGINT, text STRING)",
}
SQL = "SELECT F.fan, T.id, T.text FROM follower F JOIN tweet T ON F.author = T.author"
GROUPED = (
    "SELECT F.fan, COUNT(*) AS n, SUM(T.id) AS s, MAX(T.id) AS m"
    " FROM follower F JOIN tweet T ON F.author = T.author GROUP BY F.fan"
)
AUTHORS = 12
ROWS = 30  # of each table, about
Batch = list[tuple[str, str, list[tuple[object, ...]]]]


def view() -> View:
    """Make the view of all crash tests."""
    return View(SQL, TABLES)


def batches(seed: int) -> Iterator[Batch]:
    """Yield batches without end, each with inserts and, once there are rows, deletes."""
    chance = random.Random(seed)
    held: dict[str, list[tuple[object, ...]]] = {"follower": [], "tweet": []}
    number = 0
    while True:
        number += 1
        batch: Batch = []
        for table, rows in held.items():
            new = [row(chance, table, number) for _ in range(chance.randint(0, 4))]
            batch.append(("insert", table, new))
            rows += new
            most = max(len(rows) - ROWS, chance.randint(0, 3))
            gone = [rows.pop(chance.randrange(len(rows))) for _ in range(min(most, len(rows)))]
            batch.append(("delete", table, gone))
        yield batch


def row(chance: random.Random, table: str, number: int) -> tuple[object, ...]:
    """Make a base row; equal ones occur."""
    author = chance.randrange(AUTHORS)
    if table == "follower":
        return author, chance.randrange(30)
    return author, chance.randrange(50), f"{'x' * chance.randrange(60)} {number}"
