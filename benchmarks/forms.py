"""What i-diffs and factorised diffs cost as the fanout grows, beside the rows they stand for.

python -m benchmarks.forms [--data DIR] [--save benchmarks/results/forms.json]

On fanout_1 and fanout_100 (docs/benchmarks.md) 50,000 tweets come, are changed, and go again, 1,000
a batch; a tweet has 1 or 100 rows of the view. The two graphs take turns, batch by batch, and the
time is one that three batches of four are above: what else the machine does falls on single ones.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from statistics import quantiles
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import pyarrow.compute as pc

from benchmarks.harness.origin import save_figures
from benchmarks.workloads.catalogue import find, prepare, read
from benchmarks.workloads.model import SIZES, Size
from joingraph import JoinGraph
from joingraph.view_diffs.view_diff import ViewDiff

FANOUTS = (1, 100)
BATCH = 1_000
TAKE = {"rows": ViewDiff.to_arrow, "idiffs": ViewDiff.idiffs, "factorised": ViewDiff.factorised}
OPERATIONS = ("insert", "update", "delete")


class Feed:
    """One graph, and the tweets that come, are changed and go."""

    def __init__(self, fanout: int, folder: Path, size: Size | None) -> None:
        name = f"fanout_{fanout}"
        prepare(name, folder, size)
        inputs = read(name, folder)
        self.graph = JoinGraph(find(name).view.declared())
        self.graph.compile()
        self.graph.load(dict(inputs.tables))
        self.tweets = inputs.diffs[0].rows
        self.length = min(BATCH, len(self.tweets) // 10)

    def batch(self, operation: str, number: int) -> list[tuple[Any, ...]]:
        """Write the operation on one part of the tweets; an update sets their dates."""
        old = self.tweets.slice(number * self.length, self.length)
        new = old.set_column(2, "tweetDate", pc.add(old["tweetDate"], 1))
        rows = {"insert": (old,), "update": (old, new), "delete": (new,)}[operation]
        return [(operation, "tweet", *rows)]


def main(argv: Sequence[str] | None = None) -> None:
    """Measure every operation in every form; print what a batch took, and the ratio."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.forms")
    parser.add_argument("--data", type=Path, help="raw columns; missing ones are made")
    parser.add_argument("--size", choices=SIZES, help="of data made by this run (small)")
    parser.add_argument("--save", type=Path, help="write the result to this file")
    arguments = parser.parse_args(argv)
    size = SIZES[arguments.size] if arguments.size else None
    with TemporaryDirectory() as folder:
        feeds = {each: Feed(each, arguments.data or Path(folder), size) for each in FANOUTS}
        found = [line for form in TAKE for line in measured(feeds, form)]
    print("operation  form        " + "".join(f"{f'fanout {each}':>14}" for each in FANOUTS))
    for line in found:
        times = "".join(f"{ms:>11} ms" for ms in line["ms_a_batch"])
        print(f"{line['operation']:<10} {line['form']:<12}{times}{line['ratio']:>8}")
    save_figures({"batch": BATCH, "runs": found}, arguments.save)


def measured(feeds: dict[int, Feed], form: str) -> list[dict[str, Any]]:
    """Let tweets come, change and go in one form; both graphs are then as they were."""
    found = []
    for operation in OPERATIONS:
        seconds: dict[int, list[float]] = {fanout: [] for fanout in feeds}
        for number in range(len(feeds[1].tweets) // feeds[1].length):
            for fanout, feed in feeds.items():
                batch = feed.batch(operation, number)
                start = perf_counter()
                out = feed.graph.apply(batch, form=form)
                TAKE[form](out)
                seconds[fanout].append(perf_counter() - start)
        times = [round(quantiles(each)[0] * 1e3, 3) for each in seconds.values()]
        ratio = round(times[-1] / times[0], 2)
        found.append({"operation": operation, "form": form, "ms_a_batch": times, "ratio": ratio})
    return found


if __name__ == "__main__":
    main()
