"""What deltas of groups cost, and factorised ones, where groups are kept and where they are not.

python -m benchmarks.totals [--data DIR] [--save benchmarks/results/totals.json]

The last tweets and retweets of q1, q1agg and q2agg (docs/benchmarks.md) come, 1,000 a batch, and
every value of the Arrow columns of the view diffs is read. The graphs take turns, batch by batch;
the time is the median of all batches but the first ones. Rows are those of the view, or groups that
change:

    deltas       rows a second, over those of q1, which may say the base diff, as deltas do
    factorised   time a diff, over that of q2agg
    each         the same, as compiled code reads them (docs/benchmarks.md), 5,000 diffs a batch
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import pyarrow as pa

from benchmarks.harness.checksum import Tally, tally
from benchmarks.harness.compiled_consumer import consume_each
from benchmarks.harness.one_run import operations
from benchmarks.harness.origin import save_figures
from benchmarks.workloads.catalogue import batches, find, prepare, read
from benchmarks.workloads.model import SIZES, Size
from joingraph import JoinGraph

BATCH, WARM_UP = 1_000, 8
EACH_BATCH = 5_000  # where compiled code reads each diff
Rows = Callable[[JoinGraph, list[tuple[Any, ...]]], int]


def rows(graph: JoinGraph, batch: list[tuple[Any, ...]]) -> int:
    """Read rows; groups that change have two, but are one."""
    return tally(graph.apply(batch).to_arrow()).tuples


def rows_by_diff(graph: JoinGraph, batch: list[tuple[Any, ...]]) -> int:
    """Read rows that say which base diff each is of."""
    return tally(graph.apply(batch).to_arrow(positions=True)).tuples


def deltas(graph: JoinGraph, batch: list[tuple[Any, ...]]) -> int:
    """Read deltas."""
    return tally(graph.apply(batch, form="deltas").deltas().table).tuples


def factorised(graph: JoinGraph, batch: list[tuple[Any, ...]]) -> int:
    """Read factorised deltas; each group of a change counts."""
    table = graph.apply(batch, form="factorised").factorised().tables["groups"]
    tally(table)
    groups = [pa.RecordBatch.from_struct_array(each.flatten()) for each in table["_groups"].chunks]
    return sum(map(tally, groups), Tally()).tuples


def each(graph: JoinGraph, batch: list[tuple[Any, ...]]) -> int:
    """Let compiled code read what each diff tells, before the next one is applied."""
    return consume_each(graph, batch).tuples


FORMS: dict[str, Rows] = {
    "rows": rows,
    "rows, _diff": rows_by_diff,
    "deltas": deltas,
    "factorised": factorised,
    "each": each,
}
CASES = (
    ("q1", "rows", True),
    ("q1", "rows, _diff", True),
    ("q1agg", "deltas", False),
    ("q1agg", "factorised", False),
    ("q1agg", "deltas", True),
    ("q1agg", "factorised", True),
    ("q2agg", "rows", True),
    ("q1", "each", True),
    ("q1agg", "each", False),
    ("q1agg", "each", True),
    ("q2agg", "each", True),
)


@dataclass
class Case:
    """A graph that is told of batches in one form, and what each of them took."""

    workload: str
    form: str
    keeps: bool
    batch: int
    graph: JoinGraph
    batches: list[list[tuple[Any, ...]]]
    seconds: list[float] = field(default_factory=list)
    rows: int = 0

    def turn(self, number: int) -> None:
        """Apply a batch and read what it tells."""
        if number < len(self.batches):
            start = perf_counter()
            count = FORMS[self.form](self.graph, self.batches[number])
            took = perf_counter() - start
            if number >= min(WARM_UP, len(self.batches) // 5):
                self.seconds.append(took)
                self.rows += count

    def line(self) -> dict[str, Any]:
        """Return what is saved."""
        s = median(self.seconds)
        return {
            "workload": self.workload,
            "form": self.form,
            "keep_groups": self.keeps,
            "ns_a_diff": round(s / self.batch * 1e9),
            "rows": self.rows,
            "rows_per_s": round(self.rows / len(self.seconds) / s),
        }


def cases(folder: Path, size: Size | None, batch: int) -> Iterator[Case]:
    """Make the graphs, with their tables loaded."""
    for name, form, keeps in CASES:
        prepare(name, folder, size)
        inputs, view = read(name, folder), find(name).view.declared()
        graph = JoinGraph(view) if keeps else JoinGraph(view, keep_groups=False)
        graph.compile()
        graph.load(dict(inputs.tables))
        size_of = EACH_BATCH if form == "each" else batch
        parts = [operations(part) for part in batches(inputs.diffs, size_of)]
        yield Case(name, form, keeps, size_of, graph, parts)


def main(argv: Sequence[str] | None = None) -> None:
    """Measure every case; print what a diff took, the rows a second, and both ratios."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.totals")
    parser.add_argument("--data", type=Path, help="raw columns; missing ones are made")
    parser.add_argument("--batch", type=int, default=BATCH, help="diffs a batch (1,000)")
    parser.add_argument("--size", choices=SIZES, help="of data made by this run (small)")
    parser.add_argument("--save", type=Path, help="write the result to this file")
    arguments = parser.parse_args(argv)
    size = SIZES[arguments.size] if arguments.size else None
    with TemporaryDirectory() as folder:
        found = list(cases(arguments.data or Path(folder), size, arguments.batch))
        for number in range(max(len(case.batches) for case in found)):
            for case in found:
                case.turn(number)
    lines = [case.line() for case in found]
    print("view   form         groups kept  ns a diff   rows a second")
    for line in lines:
        print(
            f"{line['workload']:<7}{line['form']:<13}{line['keep_groups']!s:<12}"
            f"{line['ns_a_diff']:>10}{line['rows_per_s']:>16,}{ratios(line, lines)}"
        )
    save_figures({"batch": arguments.batch, "runs": lines}, arguments.save)


def ratios(line: dict[str, Any], lines: Sequence[dict[str, Any]]) -> str:
    """Write what deltas are of the cases that they are compared with."""
    form = line["form"]
    if line["workload"] != "q1agg":
        return ""
    speeds = {
        other["form"]: line["rows_per_s"] / other["rows_per_s"]
        for other in lines
        if other["workload"] == "q1" and (form == "each") == (other["form"] == "each")
    }
    costs = [
        line["ns_a_diff"] / other["ns_a_diff"]
        for other in lines
        if other["workload"] == "q2agg" and (form == "each") == (other["form"] == "each")
    ]
    of_q1 = "; ".join(f"{speed:.2f}x q1's {name}" for name, speed in speeds.items())
    return f"   {of_q1}; {costs[0]:.2f}x q2agg's cost"


if __name__ == "__main__":
    main()
