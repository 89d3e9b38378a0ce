"""One run of a rival in Python: `python -m benchmarks.rivals divm q3 --data DIR`."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.rivals.divm import Divm
from benchmarks.rivals.duckdb_delta import duckdb_rival
from benchmarks.rivals.duckdb_keys import DuckdbKeys
from benchmarks.rivals.in_python import Rival, run
from benchmarks.rivals.ojt import OuterJoin
from benchmarks.rivals.sqlite_triggers import Sqlite
from benchmarks.workloads.outer import OuterView
from benchmarks.workloads.views import JoinView


def duckdb_or_keys(view: JoinView) -> Rival[Any]:
    """Choose what the view needs."""
    return DuckdbKeys(view) if isinstance(view, OuterView) else duckdb_rival(view)


RIVALS: Mapping[str, Callable[[JoinView], Rival[Any]]] = {
    "divm": Divm,
    "ojt": OuterJoin,
    "duckdb": duckdb_or_keys,
    "duckdb_indexed": partial(duckdb_rival, indexed=True),
    "sqlite": Sqlite,
}


def main() -> None:
    """Run what the command line names, and print its line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rivals", description=__doc__)
    parser.add_argument("rival", choices=RIVALS)
    parser.add_argument("workload")
    parser.add_argument("--data", type=Path, required=True, help="the folder of raw columns")
    parser.add_argument("--batch", type=int, default=1, help="diffs handed over at once")
    parser.add_argument("--max-diffs", type=int, help="apply the first ones only")
    parser.add_argument("--budget-s", type=float, default=60.0, help="stop after so long")
    parser.add_argument("--least-s", type=float, default=0.0, help="repeat short runs for so long")
    arguments = parser.parse_args()
    print(run(RIVALS[arguments.rival], arguments).line())


if __name__ == "__main__":
    main()
