"""Interrupts calls of a graph at random moments: each leaves the graph before the call, or after.

    python -m tests.crash.interrupts --interrupts 10000 --seed 1

An interrupt is an exception of a signal handler (`signal`), or one that is raised where Python
could run such a handler, at the n-th call or return of a function (`step`); some are counted from
the beginning of a commit on, in which a record is written and then noted. Sometimes a second one
follows, in the middle of what the first one set off. Batches are Arrow tables, or tuples: these are
one compiled call where no column has an index. Beside the graph runs a mirror that is never
interrupted. After each interrupt the graph equals the mirror before the call or after it, in view,
number, positions and what its subscriber is told; or it refuses to answer by name, which a graph
in memory may do after a second interrupt only. Its folder always opens.
"""

from __future__ import annotations

import argparse
import logging
import os
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple
from weakref import WeakKeyDictionary

import joingraph as jg
from joingraph.api.subscription import Subscription
from joingraph.engines.compiled.warm import use_every_kernel
from joingraph.storage.disk import log
from joingraph.storage.journal import Journal
from tests import ENGINES, LOOKAHEADS
from tests.bags import bag, fold
from tests.crash.interrupting import RAISED, signalled, stepped
from tests.crash.record import add_option, record
from tests.few_rows import by_column

TABLES = {
    "follower": "CREATE TABLE follower (author BIGINT, fan BIGINT)",
    "tweet": "CREATE TABLE tweet (author BIGINT, id BIGINT PRIMARY KEY, text STRING, n BIGINT)",
    "retweet": "CREATE TABLE retweet (id BIGINT, by BIGINT)",
}
JOINS = "FROM follower F JOIN tweet T ON F.author = T.author"
VIEWS = {
    "logged ahead": f"SELECT F.fan, T.id, T.text {JOINS}",
    "may fail": f"SELECT F.fan, T.id, T.text, 100 DIV T.n AS share {JOINS}",
    "three tables": f"SELECT F.fan, T.id, T.text, R.by {JOINS} JOIN retweet R ON T.id = R.id",
    "groups": f"SELECT F.fan, COUNT(*) AS n, MAX(T.id) AS last {JOINS} GROUP BY F.fan",
    "sums of groups": f"SELECT F.fan, COUNT(*) AS n, SUM(T.n) AS s {JOINS} GROUP BY F.fan",
    "a set": f"SELECT DISTINCT F.fan, F.author {JOINS}",
    "self-join": "SELECT F.author, F.fan, G.fan AS far FROM follower F JOIN follower G"
    " ON F.fan = G.author",
}
SEGMENT_BYTES = 4_000  # so that the log goes on in a new file every few batches
CALLS_MAX = 60  # of one graph
AGAIN = 0.2  # of the interrupts, that more follow
MORE_MAX = 5
EARLY = 0.5  # of the interrupts by step, that come early: a call of few rows has few steps
COMMITS = 0.25  # of the interrupts by step, that come amid a commit or soon after it
COMMIT_STEPS = 80
FORMS = ("rows", "idiffs", "factorised")


Rows = dict[str, list[tuple[object, ...]]]


class Call(NamedTuple):
    """What is done to a graph, and which base rows there are after it."""

    name: str
    do: Callable[[jg.JoinGraph], object]
    rows: Rows


class Case:
    """A graph that is interrupted, and its mirror."""

    def __init__(self, chance: random.Random, engine: str, path: Path | None) -> None:
        self.chance, self.path = chance, path
        self.graph_kind = f"{engine} {path is None}"
        self.sql = chance.choice(list(VIEWS.values()))
        tables = {name: text for name, text in TABLES.items() if f" {name} " in self.sql}
        self.view = jg.View(self.sql, tables)
        self.has_indexes = chance.random() < 0.5
        keyed = ["tweet"] if self.has_indexes and "tweet" in tables else []
        options = {"key_index": keyed, "on_missing": chance.choice(["error", "quarantine"])}
        self.durability = chance.choice(["fsync", "os", "none"])
        lookahead = chance.choice(["auto", *LOOKAHEADS])
        self.make = lambda: jg.JoinGraph(
            self.view, path, engine=engine, lookahead=lookahead, durability=self.durability,
            **options,
        )  # fmt: skip
        self.graph = self.make()
        self.mirror = jg.JoinGraph(self.view, engine="reference", **options)
        self.rows: Rows = {name: [] for name in tables}
        self.number = 0
        self.held = WeakKeyDictionary[jg.JoinGraph, Subscription]()
        if chance.random() < 0.4:
            self.graph.subscribe("s")
            self.mirror.subscribe("s")

    def row(self, table: str) -> tuple[object, ...]:
        """Make a row; equal ones occur where there is no key."""
        self.number += 1
        small = self.chance.randrange
        if table == "tweet":
            return small(6), self.number, "x" * small(30) + str(small(9)), small(1, 5)
        return small(6), small(6)

    def batch(self, rows: Rows) -> list[tuple[object, ...]]:
        """Make a batch of inserts, deletes and updates, which it carries out on the rows."""
        chance, found = self.chance, list[tuple[object, ...]]()
        for table, held in rows.items():
            new = [self.row(table) for _ in range(chance.randrange(5))]
            held += new
            gone = [held.pop(chance.randrange(len(held))) for _ in range(min(2, len(held)))]
            found.append(("insert", table, new))
            if chance.random() < 0.5:
                post = [(chance.randrange(6), *row[1:]) for row in gone]
                found.append(("update", table, gone, post))
                held += post
            else:
                found.append(("delete", table, gone))
        if chance.random() < 0.1 and "DIV" in self.sql:
            found.append(("insert", "tweet", [(0, -self.number, "bad", 0)]))
        if chance.random() < 0.1:
            found.append(("delete", "follower", [(99, 99)]))
        return by_column(found, self.view) if chance.random() < 0.3 else found

    def call(self) -> Call:
        """Choose what is done next."""
        chance, rows = self.chance, {name: list(held) for name, held in self.rows.items()}
        kinds = ["trial", "expire", "read", "load", "other", *["index"] * self.has_indexes]
        kind = chance.choice(["change"] * 6 + kinds)
        if kind == "expire":
            fan = chance.randrange(6)
            rows["follower"] = [row for row in rows["follower"] if row[1] != fan]
            diffs = chance.random() < 0.5
            return Call(kind, lambda g: g.expire("follower", f"fan = {fan}", diffs=diffs), rows)
        if kind == "index":
            column = chance.choice(self.view.schema.names[:3])
            return Call(kind, lambda g: g.index(column), rows)
        if kind == "read":
            return Call(kind, lambda g: (g.count(), g.to_arrow(), g.count("fan = 3")), rows)
        if kind == "load":
            new = [self.row("follower") for _ in range(chance.randrange(20))]
            rows["follower"] += new
            return Call(kind, lambda g: g.load({"follower": new}), rows)
        if kind == "other":
            return Call(*chance.choice(self.others()), rows)
        if kind == "trial":
            batch, form = self.batch({**rows}), chance.choice(FORMS)
            kept = {name: list(held) for name, held in self.rows.items()}
            return Call(kind, lambda g: (g.what_if(batch, form=form), g.fanout(batch)), kept)
        return Call(*self.change(self.batch(rows)), rows)

    def change(
        self, batch: list[tuple[object, ...]]
    ) -> tuple[str, Callable[[jg.JoinGraph], object]]:
        """Choose how a batch is applied."""
        form, position = self.chance.choice(FORMS), self.number + 1
        taken = self.chance.randrange(3)
        self.number += 1

        def stream(graph: jg.JoinGraph) -> None:
            with graph.stream(batch) as blocks:
                for _ in range(taken):
                    next(blocks, None)

        return self.chance.choice(
            [
                ("apply", lambda g: g.apply(batch, form=form)),
                ("apply", lambda g: g.apply(batch, form="rows")),
                ("position", lambda g: g.apply(batch, source="feed", position=position)),
                ("stream", stream),
            ]
        )

    def others(self) -> list[tuple[str, Callable[[jg.JoinGraph], object]]]:
        """List what changes nothing of the view."""

        def acknowledge(graph: jg.JoinGraph) -> None:
            if graph.subscribers():
                subscription = graph.subscribe("s")
                for diff in subscription:
                    subscription.ack(diff.seq)

        def ack_next(graph: jg.JoinGraph) -> None:
            subscription = self.subscription(graph)
            diff = subscription.next(0)
            if diff is not None:
                subscription.ack(diff.seq)

        def snapshot(graph: jg.JoinGraph) -> None:
            if graph is not self.mirror and self.path is not None:
                graph.snapshot()

        def reopen(graph: jg.JoinGraph) -> None:
            if graph is not self.mirror and self.path is not None:
                graph.close()
                graph.close()
                self.graph = self.make()

        return [
            ("reopen", reopen),
            ("acknowledge", acknowledge),
            ("ack", ack_next),
            ("subscribe", lambda g: g.subscribe("s")),
            ("unsubscribe", lambda g: g.unsubscribe("s")),
            ("snapshot", snapshot),
            ("rebuild", lambda g: g.rebuild(self.view)),
        ]

    def subscription(self, graph: jg.JoinGraph) -> Subscription:
        """Return a subscription that goes on from call to call, even if it was unsubscribed."""
        if graph not in self.held:
            if "s" not in graph.subscribers():
                raise jg.StoreError("there is no subscriber")
            self.held[graph] = graph.subscribe("s")
        return self.held[graph]

    def close(self) -> None:
        """Close the graph beside files of others, which stay open."""
        with open(os.devnull) as one, open(os.devnull) as other:
            self.graph.close()
            self.graph.close()
            assert os.fstat(one.fileno()).st_ino == os.fstat(other.fileno()).st_ino

    def state(self, graph: jg.JoinGraph) -> tuple[object, ...]:
        """Read all that a graph tells."""
        rows = bag(tuple(row.values()) for row in graph.to_arrow().to_pylist())
        assert graph.count() == sum(rows.values())
        aside = bag((str(each),) for each in graph.quarantined())
        held = {name: each["rows"] for name, each in graph.stats()["aliases"].items()}
        return rows, held, graph.seq, graph.positions(), aside, graph.subscribers()

    def do(self, call: Call) -> None:
        """Do a call undisturbed."""
        refused = list[str]()
        for graph in (self.graph, self.mirror):
            try:
                call.do(graph)
            except jg.JoinGraphError as error:
                refused.append(type(error).__name__)
        assert len(refused) != 1, f"{call.name}: one refuses, the other does not: {refused}"
        if not refused:
            self.rows = call.rows

    def interrupt(self, call: Call) -> str:
        """Interrupt a call; gives how the graph is after it, compared with the mirror."""
        before, times = self.state(self.mirror), self.interrupted(call)
        if call.name == "reopen" and self.path is not None:
            self.close()
            self.graph = self.make()
        found, result = self.answer(), ""
        if found is None and self.path is None:
            assert times > 1, "a graph in memory refuses to answer after one interrupt"
            return "lost"
        if self.path is not None and (found is None or self.chance.random() < 0.2):
            self.graph.close()
            self.graph, result = self.make(), "refused" if found is None else ""
            again = self.answer()
            assert again is not None and found in (None, again), f"{found} became {again}"
            found = again
        if found == before:
            return result or ("before" if times else "missed")
        with suppress(jg.JoinGraphError):
            call.do(self.mirror)
        after = self.state(self.mirror)
        assert found == after, f"{call.name}: {before} became {found}, not {after}"
        self.rows = call.rows
        if "s" in self.graph.subscribers():
            self.compare_told()
        return result or ("after" if times else "missed")

    def answer(self) -> tuple[object, ...] | None:
        """Read what the graph is after an interrupt; None if it refuses to answer, by name."""
        try:
            found = self.state(self.graph)
            self.graph.check()
        except jg.StoreError as error:
            assert "open it again" in str(error), error
            return None
        return found

    def compare_told(self) -> None:
        """Make sure that the subscriber is told what the mirror's is, from some batch on."""
        expected = [(diff.seq, fold(diff.rows())) for diff in self.mirror.subscribe("s")]
        found = [(diff.seq, fold(diff.rows())) for diff in self.graph.subscribe("s")]
        assert found == expected[len(expected) - len(found) :]

    def interrupted(self, call: Call) -> int:
        """Do a call with interrupts on the way; gives how many came."""
        key, error = (self.graph_kind, call.name), self.chance.choice(RAISED)
        more = self.chance.randint(1, MORE_MAX) if self.chance.random() < AGAIN else 0
        by_signal = self.chance.random() < 0.4
        if not by_signal and self.chance.random() < COMMITS:
            wanted = [self.chance.randrange(COMMIT_STEPS) for _ in range(1 + more)]
            return stepped(lambda: call.do(self.graph), wanted, error, Journal.commit.__code__)[0]
        known = TIMES if by_signal else STEPS
        most = 1.1 * known.get(key, 0)
        is_early = not by_signal and self.chance.random() < EARLY
        at = max(1.0, most) ** self.chance.random() if is_early else self.chance.uniform(0, most)
        if by_signal:
            came, took = signalled(lambda: call.do(self.graph), at, more, error)
        else:
            wanted = [int(at) + self.chance.randrange(200) * n for n in range(1 + more)]
            came, took = stepped(lambda: call.do(self.graph), wanted if at else [], error)
        if not came:  # short calls are missed more often than long ones
            known[key] = max(0.9 * known.get(key, 0), took)
        return came


TIMES: dict[tuple[str, str], float] = {}  # how long such calls take, in seconds
STEPS: dict[tuple[str, str], float] = {}  # and in steps


def run(interrupts: int, seed: int, engine: str, *, durable: bool) -> Counter[str]:
    """Interrupt so many calls of one graph after the other; count how they were left."""
    chance, seen = random.Random(f"{seed} {engine} {durable}"), Counter[str]()
    while seen.total() - seen["missed"] < interrupts:
        case_seed = chance.randrange(1 << 40)
        with tempfile.TemporaryDirectory() as scratch:
            path = Path(scratch) / "graph" if durable else None
            case = Case(random.Random(case_seed), engine, path)
            for number in range(CALLS_MAX):
                case.do(case.call())
                call = case.call()
                try:
                    result = case.interrupt(call)
                except Exception as error:
                    raise AssertionError(f"{case_seed}, call {number}: {call.name}") from error
                seen[result] += 1
                if result == "lost":
                    break
            case.graph.close()
    return seen


def main() -> None:
    """Interrupt both forms of the graph, in a folder and in memory; tell what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--interrupts", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    add_option(parser)
    arguments = parser.parse_args()
    get_ready()
    found = []
    for engine in ENGINES:
        for durable in (True, False):
            began = time.monotonic()
            seen = run(arguments.interrupts // 4, arguments.seed, engine, durable=durable)
            where = "in a folder" if durable else "in memory"
            found.append(
                f"{arguments.interrupts // 4} interrupts ({engine}, {where}, seed"
                f" {arguments.seed}) in {time.monotonic() - began:.0f} s: {dict(seen)};"
                " nothing by halves"
            )
            print(found[-1], flush=True)
    record(arguments.save, found)


def get_ready() -> None:
    """Load the kernels, shorten segments, silence what is raised where it cannot be caught."""
    logging.disable()
    log.SEGMENT_BYTES = SEGMENT_BYTES
    use_every_kernel()
    sys.unraisablehook = lambda _: None


if __name__ == "__main__":
    main()
