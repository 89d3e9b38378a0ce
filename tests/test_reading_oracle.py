"""Random reads of random views agree with DuckDB over the view's rows."""

from __future__ import annotations

from random import Random

import pyarrow as pa
import pytest

import joingraph as jg
from tests import ENGINES, LOOKAHEADS, first
from tests.bags import bag
from tests.oracle.ask import asked, declared, loaded
from tests.oracle.forms_reading import Reader, check_partitions, rows_of
from tests.oracle.forms_why import absent_rows, check_why, check_why_not
from tests.oracle.generate import case

CASES = 150
CHUNK = 10
READS, WHYS = 4, 3


@pytest.mark.parametrize("start", first(5, range(0, CASES, CHUNK)))
def test_random_reads_agree_with_a_query_over_the_stored_view(start: int) -> None:
    """After the load and after every batch, on one look-ahead mode a case."""
    for seed in range(start, start + CHUNK):
        read_case(seed, ENGINES[seed % len(ENGINES)])


def read_case(seed: int, engine: str) -> None:
    """Feed a case, reading it on the way."""
    random, fed = Random(seed), case(seed, only="rows")
    view = jg.View(fed.view.sql, tables=declared(fed), dialect=fed.dialect)
    graph = jg.JoinGraph(view, engine=engine, lookahead=random.choice(LOOKAHEADS))
    tables = {table.name: table for table in fed.tables}
    graph.load(loaded(fed))
    reader = Reader(graph, random)
    check(reader, seed)
    for batch in fed.batches:
        graph.apply(asked(random, tables, batch.entries))
        check(reader, seed)


def check(reader: Reader, seed: int) -> None:
    """Read the graph as it is, and check what it keeps; a failure names its seed."""
    graph, random = reader.graph, reader.rng
    try:
        stored = graph.to_arrow()
        rows = rows_of(graph.scan())
        for _ in range(READS):
            reader.check(stored)
        check_partitions(graph, rows, random)
        for row in random.sample(rows, min(WHYS, len(rows))):
            check_why(graph, row, bag(rows)[repr(row)])
        for row in absent_rows(rows, random, WHYS):
            check_why_not(graph, row)
        graph.check()
    except Exception as error:
        error.add_note(f"seed {seed}\n{graph.view.sql}")
        raise


def test_the_oracle_notices_a_row_that_is_not_in_the_view() -> None:
    tables = {"t": "CREATE TABLE t (a INT)"}
    graph = jg.JoinGraph(jg.View("SELECT a FROM t", tables, dialect="duckdb"))
    graph.load({"t": [(1,), (1,), (2,)]})
    reader = Reader(graph, Random(1))
    reader.check(pa.table({"a": pa.array([1, 1, 2], pa.int32())}))
    with pytest.raises(AssertionError):
        for _ in range(READS):
            reader.check(pa.table({"a": pa.array([1, 2, 2], pa.int32())}))
