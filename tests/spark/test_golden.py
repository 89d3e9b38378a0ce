"""Golden scripts through files and Spark: the view ends as it does when the script is played.

Scripts that show errors, or what is done about them, have no such end. `JOINGRAPH_SPARK_SCRIPTS=60`
plays all others.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import joingraph as jg
from joingraph.pipeline.sinks.contract import Memory
from tests.bags import Row, bag
from tests.golden.literals import Reader, tokens
from tests.golden.play import Player, read_entry
from tests.golden.script import SCRIPTS, Script, Step, read, unquoted

pytestmark = pytest.mark.spark
FIRST_MTIME = 1_700_000_000
BATCHES = ("insert", "delete", "update", "batch")
Said = tuple[str, list[tuple[str, Row]]]  # a table, and its rows with their operations


def is_told_by_its_end(script: Script) -> bool:
    """Hold if every batch of a script is applied as it is."""
    said = [line for step in script.steps for line in step.expected]
    return script.settings["on_missing"] == "error" and not any(line[0] == "!" for line in said)


ENDING = [path for path in sorted(SCRIPTS.glob("*.txt")) if is_told_by_its_end(read(path))]
COUNT = int(os.environ.get("JOINGRAPH_SPARK_SCRIPTS", "5"))
CHOSEN = ENDING[:: max(1, len(ENDING) // COUNT)]


def said(step: Step) -> Iterator[Said]:
    """Read a step as rows that say what happened to them."""
    if step.verb == "load":
        for entry in step.entries:
            table, *rest = tokens(entry.removeprefix("load "))
            yield unquoted(table), [("insert", row) for row in Reader(list(rest)).rows()]
    elif step.verb in BATCHES and step.command != ["> batch"]:
        for kind, table, *sides in map(read_entry, step.entries):
            if kind == "update":
                kinds = ("update_preimage", "update_postimage")
                pairs = zip(*sides, strict=True)
                yield table, [each for pair in pairs for each in zip(kinds, pair, strict=True)]
            else:
                yield table, [(kind, row) for row in sides[0]]


def write(script: Script, player: Player, folder: Path) -> dict[str, Any]:
    """Write a script's diffs as files, one a step and table; give the sources."""
    places = {name: folder / str(number) for number, name in enumerate(player.schemas)}
    for place in places.values():
        place.mkdir()
    for turn, step in enumerate(script.steps):
        rows: dict[str, list[tuple[str, Row]]] = {}
        for table, some in said(step):
            rows.setdefault(table, []).extend(some)
        for table, some in rows.items():
            written = player.arrow(table, [row for _, row in some])
            path = places[table] / f"{turn}.parquet"
            pq.write_table(written.append_column("_op", pa.array([op for op, _ in some])), path)
            os.utime(path, (FIRST_MTIME + turn, FIRST_MTIME + turn))
    return {name: {"format": "parquet", "path": str(place), "operation": "_op"}
            for name, place in places.items()}  # fmt: skip


@pytest.mark.parametrize("path", CHOSEN, ids=lambda path: path.stem)
def test_a_golden_script_ends_alike_through_spark(spark: Any, tmp_path: Path, path: Path) -> None:
    script = read(path)
    player = Player(script, "reference", "none")
    for step in script.steps:
        player.step(step)
    sources = write(script, player, tmp_path)
    view = jg.View(script.view, tables=script.tables, dialect=script.settings["dialect"])
    used = {alias.table for alias in view.definition.aliases}
    pipeline = jg.spark.pipeline(
        view, sources={name: each for name, each in sources.items() if name in used},
        sink=Memory(), engine="reference", spark=spark,
    ).run()  # fmt: skip
    found = [column.to_pylist() for column in pipeline.graph.to_arrow().columns]
    assert bag(zip(*found, strict=True)) == bag(player.scan())
