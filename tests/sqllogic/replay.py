"""Replays one file: executes it, then keeps each of its queries as a view, twice.

First all records are executed, in order, by the database of the file's dialect; what happens to
the base tables becomes batches of diffs. Then every query that is in the language is judged

    maintained   a graph made when its tables were made, fed every batch up to the query
    loaded       a graph made at the query, its tables loaded in bulk

One query at a time, so that one graph is held, not a thousand.
"""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import duckdb

import joingraph as jg
from tests import ENGINES, LOOKAHEADS
from tests.sqllogic.database import Row, connect
from tests.sqllogic.history import Entry, History, Moment, Version, loaded
from tests.sqllogic.records import Query, Statement, Stop, read_records
from tests.sqllogic.texts import OutOfPlace, as_view, note_view, redefined
from tests.sqllogic.values import Cells, expected_rows, hashed, same, written

DATABASE_ERRORS = (sqlite3.Error, duckdb.Error)


@dataclass(slots=True)
class Asked:
    """A query where it stands in the file's history."""

    number: int
    query: Query
    dialect: str
    moment: Moment
    views: dict[str, str]
    theirs: list[Row] | None  # what the database gives; None if it refuses


@dataclass(slots=True)
class Outcome:
    """What became of a file's records."""

    path: Path
    queries: int = 0
    right: int = 0  # results, two for each query that is judged
    refused: Counter[str] = field(default_factory=Counter)
    undecided: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    stopped: str = ""


def replay(path: Path, dialect: str, seed: int = 0) -> Outcome:
    """Replay a file and judge every query of it."""
    outcome = Outcome(path)
    history = History(connect(dialect), Random(seed))
    try:
        for record in read_records(path.read_text(encoding="utf-8"), dialect):
            if isinstance(record, Statement):
                execute(record, history)
                continue
            views = dict(history.views)
            moment = history.moment()
            asked = Asked(outcome.queries, record, dialect, moment, views, answer(record, history))
            outcome.queries += 1
            judge(asked, history, outcome)
    except Stop as reason:
        outcome.stopped = str(reason)
    return outcome


def execute(record: Statement, history: History) -> None:
    """Execute a statement; one that the database refuses changes nothing."""
    before_change(record, history)
    try:
        history.database.execute(record.sql)
    except DATABASE_ERRORS:
        return
    note_view(record.sql, history.views)
    history.forget(redefined(record.sql))


def before_change(record: Statement, history: History) -> None:
    """Cut what came so far into batches, so that rows can change that came one statement ago."""
    if not re.match(r"\s*INSERT\b", record.sql, re.IGNORECASE):
        history.look()


def answer(query: Query, history: History) -> list[Row] | None:
    """Ask the database itself; it also executes what is no SELECT."""
    try:
        return history.database.execute(query.sql)
    except DATABASE_ERRORS:
        return None


def schemas(moment: Moment) -> dict[str, object]:
    """Declare the tables there are at a moment."""
    return {name: version.schema for name, version in moment.versions.items()}


def reason_of(error: jg.ViewError, asked: Asked) -> str:
    """Say why a query is not a view, in words that many queries share."""
    words = set(re.findall(r"\w+", asked.query.sql))
    for name, reason in asked.moment.refused.items():
        if name in words:
            return (
                f"table refused: {re.sub(r'.* in a column', 'a value that does not fit', reason)}"
            )
    first = re.sub(r"^.*?line \d+, column \d+: *", "", str(error).splitlines()[0])
    short = re.split(r" is not taken|[;:]", first)[0]
    return re.sub(r"\"[^\"]*\"|'[^']*'|`[^`]*`|\d+", "…", short)


def judge(asked: Asked, history: History, outcome: Outcome) -> None:
    """Make a query's view both ways and compare each with the file's values."""
    query = asked.query
    try:
        text = as_view(query.sql, len(query.types), asked.views, asked.dialect)
        view = jg.View(text, tables=schemas(asked.moment), dialect=asked.dialect)
    except OutOfPlace as reason:
        outcome.refused[str(reason)] += 1
    except jg.ViewError as error:
        outcome.refused[reason_of(error, asked)] += 1
    else:
        for how, graph in both_ways(view, asked, history):
            compare(asked, graph, how, outcome)


def both_ways(view: jg.View, asked: Asked, history: History) -> Iterator[tuple[str, jg.JoinGraph]]:
    """Make the graph of a view by maintenance and by loading, on every form of the graph."""
    names = {alias.table for alias in view.definition.aliases}
    versions = {asked.moment.versions[name] for name in names}
    lookahead = LOOKAHEADS[asked.number % len(LOOKAHEADS)]
    for engine in ENGINES:
        graph = jg.JoinGraph(view, engine=engine, lookahead=lookahead)
        maintain(graph, versions, history.batches[: asked.moment.batches])
        yield f"maintained, {engine}, look-ahead {lookahead}", graph
        graph = jg.JoinGraph(view, engine=engine, lookahead=lookahead)
        graph.load(loaded(asked.moment, names))
        yield f"loaded, {engine}", graph


def maintain(
    graph: jg.JoinGraph, versions: set[Version], batches: list[list[tuple[Version, Entry]]]
) -> None:
    """Feed a graph the batches of its tables."""
    for batch in batches:
        if mine := [entry for version, entry in batch if version in versions]:
            graph.apply(mine)


def compare(asked: Asked, graph: jg.JoinGraph, how: str, outcome: Outcome) -> None:
    """Compare a view's rows with the file's values; count what becomes of it."""
    table = graph.to_arrow()
    rows = list(zip(*(column.to_pylist() for column in table.columns), strict=True))
    found = written(rows, asked.query.types, asked.dialect)
    verdict = decide(found, asked)
    if verdict is None:
        outcome.undecided["the file's result cannot be compared"] += 1
    elif verdict:
        outcome.right += 1
    else:
        outcome.wrong.append(told(asked, found, how, outcome.path))


def decide(found: list[Cells], asked: Asked) -> bool | None:
    """Tell whether rows are those of the file; None where that cannot be told.

    A hash is compared with ours first. An order that the query leaves open is the database's own:
    if its rows have the file's hash, they stand for the file's values.
    """
    query = asked.query
    if any("<REGEX>" in value or "<!REGEX>" in value for value in query.values):
        return None
    if not query.hash:
        return same(found, expected_rows(query), query)
    if hashed(found, query.sort) == query.hash:
        return True
    if asked.theirs is None:
        return None
    theirs = written(asked.theirs, query.types, asked.dialect)
    return same(found, theirs, query) if hashed(theirs, query.sort) == query.hash else None


def told(asked: Asked, found: list[Cells], how: str, path: Path) -> str:
    """Tell a wrong answer: where, what was asked, what was expected, what was found."""
    query = asked.query
    expected = query.hash or "\n".join(query.values[:20])
    ours = "\n".join("\t".join(row) for row in sorted(found)[:20])
    return f"{path}:{query.line} ({how})\n{query.sql}\nexpected\n{expected}\nfound\n{ours}\n"
