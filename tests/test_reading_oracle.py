"""Random reads of random views agree with DuckDB over the view's rows."""

from __future__ import annotations

from random import Random

import pytest

import joingraph as jg
from tests import ENGINES, LOOKAHEADS
from tests.oracle.ask import asked, declared, loaded
from tests.oracle.forms_reading import check_reading, rows_of
from tests.oracle.generate import case

CASES = 150
CHUNK = 10


@pytest.mark.parametrize("first", range(0, CASES, CHUNK))
def test_random_reads_agree_with_a_query_over_the_stored_view(first: int) -> None:
    """After the load and after every batch, on one look-ahead mode a case."""
    for seed in range(first, first + CHUNK):
        read_case(seed, ENGINES[seed % len(ENGINES)])


def read_case(seed: int, engine: str) -> None:
    """Feed a case, reading it on the way."""
    random, fed = Random(seed), case(seed)
    view = jg.View(fed.view.sql, tables=declared(fed), dialect=fed.dialect)
    graph = jg.JoinGraph(view, engine=engine, lookahead=random.choice(LOOKAHEADS))
    tables = {table.name: table for table in fed.tables}
    graph.load(loaded(fed))
    check(graph, random, seed)
    for batch in fed.batches:
        graph.apply(asked(random, tables, batch.entries))
        check(graph, random, seed)


def check(graph: jg.JoinGraph, random: Random, seed: int) -> None:
    """Read the graph as it is, and check what it keeps; a failure names its seed."""
    try:
        check_reading(graph, rows_of(graph.scan()), random)
        graph.check()
    except Exception as error:
        error.add_note(f"seed {seed}\n{graph.view.sql}")
        raise


def test_the_oracle_notices_a_row_that_is_not_in_the_view() -> None:
    tables = {"t": "CREATE TABLE t (a INT)"}
    graph = jg.JoinGraph(jg.View("SELECT a FROM t", tables, dialect="duckdb"))
    graph.load({"t": [(1,), (1,), (2,)]})
    check_reading(graph, [(1,), (1,), (2,)], Random(1))
    with pytest.raises(AssertionError):
        check_reading(graph, [(1,), (2,), (2,)], Random(1))
