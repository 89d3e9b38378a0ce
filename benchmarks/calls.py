"""Measures calls of few rows beside SQLite's trigger: `python -m benchmarks.calls [name]`.

    --profile   prints the functions that a call of one row runs instead, and what each takes

    call      insert(table, rows).rows() on a graph whose kernels are compiled
    trigger   the same rows into an in-memory SQLite table whose trigger writes the same view diff,
              which is read and deleted

Both in one process, turn by turn; printed are the least of three rounds' medians, in microseconds.
"""

from __future__ import annotations

import re
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from cProfile import Profile
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple

import joingraph as jg

Row = tuple[Any, ...]
Step = Callable[[list[Row]], object]
ROUNDS, CALLS, WARM = 3, 1500, 600
AUTHORS = 500
PROFILE_CALLS, SHOWN_US = 50, 0.5  # of a round; of a function, or else it is among the others
PYTHON = ".py: "  # in the name of a function that is not built in
INTEGERS = {
    "follower": "CREATE TABLE follower (author BIGINT, fan BIGINT)",
    "tweet": "CREATE TABLE tweet (author BIGINT, id BIGINT)",
}
KEYED = INTEGERS | {"tweet": "CREATE TABLE tweet (author BIGINT, id BIGINT PRIMARY KEY)"}
TEXTS = {
    "follower": "CREATE TABLE follower (author STRING, fan BIGINT)",
    "tweet": "CREATE TABLE tweet (author STRING, id BIGINT, text STRING)",
}
JOIN = "FROM follower F JOIN tweet T ON F.author = T.author"


class Case(NamedTuple):
    """What is inserted into which view, how many rows a call, and whether the log has it."""

    name: str
    shown: str  # of the tweet
    condition: str = ""  # on the tweet
    residual: str = ""  # on both
    fans: int = 10  # of each author
    rows: int = 1
    is_durable: bool = False
    is_keyed: bool = False  # the graph finds tweets by their ids
    indexed: str = ""  # of the graph, on an output column

    @property
    def tables(self) -> dict[str, str]:
        """The base tables."""
        return TEXTS if self.shown == "text" else KEYED if self.is_keyed else INTEGERS

    @property
    def view(self) -> jg.View:
        """The view."""
        where = (self.condition or self.residual).format(*"TT")
        fan = "F.fan + T.id AS sum" if self.residual else "F.fan"
        text = f"SELECT {fan}, T.{self.shown} {JOIN}"
        return jg.View(f"{text} WHERE {where}" if where else text, self.tables)

    def author(self, number: int) -> object:
        """Name an author."""
        return f"author {number % AUTHORS}" if self.shown == "text" else number % AUTHORS

    def tweet(self, number: int) -> Row:
        """Make a tweet."""
        text = (f"a text of some thirty letters {number}",) if self.shown == "text" else ()
        return self.author(number), number, *text

    def followers(self) -> list[Row]:
        """Make each author's fans."""
        return [(self.author(each), each) for each in range(AUTHORS * self.fans)]


PASSES = "{}.id > -1000000 AND {}.text LIKE '%thirty%'"
CASES = (
    Case("integers, 10 view rows", "id"),
    Case("integers, 1 view row", "id", fans=1),
    Case("integers, 100 view rows", "id", fans=100),
    Case("texts, 10 view rows", "text"),
    Case("texts, a comparison and a LIKE, 10 view rows", "text", PASSES),
    Case("texts, no row passes", "text", PASSES.replace("thirty", "forty")),
    Case("a residual predicate and a computed column", "id", residual="F.fan <> T.id"),
    Case("in a folder (os), integers, 10 view rows", "id", is_durable=True),
    Case("in a folder (os), texts and conditions", "text", PASSES, is_durable=True),
    Case("integers, a key index, 10 view rows", "id", is_keyed=True),
    Case("integers, an index on a column, 10 view rows", "id", indexed="id"),
    Case("10 rows a call, integers, 10 view rows each", "id", rows=10),
    Case("100 rows a call, integers, 10 view rows each", "id", rows=100),
    Case("1,000 rows a call, integers, 10 view rows each", "id", rows=1000),
    Case("100 rows a call, texts and conditions", "text", PASSES, rows=100),
)
PROFILED = CASES[0], CASES[4]


@contextmanager
def call(case: Case) -> Generator[Step]:
    """Yield what inserts rows into a graph and lists the view diff."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "graph") if case.is_durable else None
        keyed = ["tweet"] if case.is_keyed else []
        with jg.JoinGraph(case.view, path, durability="os", key_index=keyed) as graph:
            graph.load({"follower": case.followers()})
            if case.indexed:
                graph.index(case.indexed)
            graph.compile(lambda done, count: None)
            yield lambda rows: graph.insert("tweet", rows).rows()
            graph.check()


@contextmanager
def trigger(case: Case) -> Generator[Step]:
    """Yield what inserts rows into SQLite and reads what its trigger has written."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "db")) if case.is_durable else ":memory:"
        found = sqlite3.connect(path, isolation_level=None)
        columns = "author, id, text" if case.shown == "text" else "author, id"
        shown = "fan + NEW.id" if case.residual else "fan"
        tested = case.residual and f"AND {case.residual.replace('T.', 'NEW.')}"
        when = case.condition and f"WHEN {case.condition.format('NEW', 'NEW')}"
        found.executescript(
            ("PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF;" if case.is_durable else "")
            + f"CREATE TABLE follower (author, fan); CREATE TABLE tweet ({columns});"
            " CREATE INDEX f ON follower (author, fan); CREATE INDEX t ON tweet (author, id);"
            " CREATE TEMP TABLE diff (fan, shown);"
            f" CREATE TEMP TRIGGER kept AFTER INSERT ON main.tweet {when} BEGIN"
            f" INSERT INTO diff SELECT {shown}, NEW.{case.shown} FROM follower F"
            f" WHERE author = NEW.author {tested}; END;"
        )
        found.execute("BEGIN")
        found.executemany("INSERT INTO follower VALUES (?, ?)", case.followers())
        found.execute("COMMIT")
        yield inserting(found, len(case.tweet(0)))
        found.close()


def inserting(found: sqlite3.Connection, width: int) -> Step:
    """Return what inserts rows in one transaction."""
    text = f"INSERT INTO tweet VALUES ({', '.join('?' * width)})"

    def insert(rows: list[Row]) -> object:
        if len(rows) == 1:
            found.execute(text, rows[0])
        else:
            found.execute("BEGIN")
            found.executemany(text, rows)
            found.execute("COMMIT")
        diff = found.execute("SELECT fan, shown FROM diff").fetchall()
        found.execute("DELETE FROM diff")
        return diff

    return insert


def median_us(case: Case, step: Step) -> float:
    """Return the median of a step's time, once it is warm."""
    calls, warm = max(60, CALLS // case.rows), WARM // case.rows + 30
    times = list[int]()
    for number in range(warm + calls):
        rows = [case.tweet(number * case.rows + each) for each in range(case.rows)]
        start = time.perf_counter_ns()
        step(rows)
        times.append(time.perf_counter_ns() - start)
    return statistics.median(times[warm:]) / 1e3


def measured(case: Case) -> tuple[float, float]:
    """Return what a call and what the trigger takes."""
    rounds = list[tuple[float, ...]]()
    for _ in range(ROUNDS):
        found = list[float]()
        for make in (call, trigger):
            with make(case) as step:
                found.append(median_us(case, step))
        rounds.append(tuple(found))
    ours, theirs = (min(each) for each in zip(*rounds, strict=True))
    return ours, theirs


class Own(NamedTuple):
    """How often a call runs a function, and microseconds in it but in no other one."""

    calls: float = 0
    us: float = 0


def profiled(case: Case) -> tuple[dict[str, Own], float]:
    """Return the functions of a call, each by its median under the profiler; and it without."""
    with call(case) as step:
        real = median_us(case, step)
        rounds = [profile(case, step, 2 * CALLS + each) for each in range(0, CALLS, PROFILE_CALLS)]
    names = {name for each in rounds for name, own in each.items() if own.calls >= 1}
    found = {name: zip(*(each.get(name, Own()) for each in rounds), strict=True) for name in names}
    return {name: Own(*map(statistics.median, of)) for name, of in found.items()}, real


def profile(case: Case, step: Step, first: int) -> dict[str, Own]:
    """Return the functions of some calls, whose rows begin with a number."""
    profiler, found = Profile(), dict[str, Own]()
    rows = [[case.tweet(first + each)] for each in range(PROFILE_CALLS)]
    profiler.enable()
    for each in rows:
        step(each)
    profiler.disable()
    for entry in profiler.getstats():
        calls, us = found.get(name_of(entry.code), Own())
        own = Own(calls + entry.callcount, us + 1e6 * entry.inlinetime)
        found[name_of(entry.code)] = own
    return {name: Own(*(each / PROFILE_CALLS for each in own)) for name, own in found.items()}


def name_of(code: CodeType | str) -> str:
    """Name a function of Python by its file, and a built-in one by what it is."""
    if isinstance(code, str):
        return re.sub(r"built-in method |method |<|>|'| objects| at 0x\w+", "", code)
    return f"{Path(code.co_filename).stem}{PYTHON}{code.co_qualname}"


def print_profile() -> None:
    """Print the functions of a call, of integers and of texts and conditions."""
    found, real = zip(*map(profiled, PROFILED), strict=True)
    rows = {name: [each.get(name, Own()) for each in found] for each in found for name in each}
    shown = {name for name, row in rows.items() if max(own.us for own in row) >= SHOWN_US}
    others = [row for name, row in rows.items() if name not in shown]
    print(f"{'functions of a call, and us of their own':52s}      integers texts, conditions")
    for name in sorted(shown, key=lambda name: -rows[name][-1].us):
        print_line(name, rows[name])
    print_line(f"{len(others)} others", summed(others))
    for title, is_python in (("all of Python", True), ("all built-in ones", False)):
        wanted = [row for name, row in rows.items() if (PYTHON in name) is is_python]
        print_line(f"{title}, under the profiler", summed(wanted))
    print(f"{'a call without it':52s}" + "".join(f"{us:16.2f}" for us in real))


def summed(rows: Iterable[Sequence[Own]]) -> list[Own]:
    """Sum each case's column."""
    return [Own(*map(sum, zip(*column, strict=True))) for column in zip(*rows, strict=True)]


def print_line(title: str, row: Sequence[Own]) -> None:
    """Print how often something is called in each case, and what it takes."""
    print(f"{title:52s}" + "".join(f"{own.calls:8.0f}{own.us:8.2f}" for own in row))


def main(name: str = "") -> None:
    """Print the cases whose names hold a text, or a profile."""
    if name == "--profile":
        print_profile()
        return
    print(f"{'us a call, to rows()':52s}{'joingraph':>11s}{'SQLite':>9s}{'ratio':>8s}")
    for case in CASES:
        if name in case.name:
            ours, theirs = measured(case)
            print(f"{case.name:52s}{ours:11.2f}{theirs:9.2f}{ours / theirs:8.2f}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:2])
