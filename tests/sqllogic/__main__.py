"""python -m tests.sqllogic FILE...: replay sqllogictest files; 1 if an answer is wrong.

Every query that is in the language is kept as a view twice, maintained from the first row on and
loaded in bulk, and both are compared with the file's values. Others are counted by reason.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tests.sqllogic.replay import Outcome, replay


def main(arguments: Sequence[str] | None = None) -> int:
    """Replay the files named and print what became of their queries."""
    parser = argparse.ArgumentParser(prog="python -m tests.sqllogic", description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--dialect", choices=("sqlite", "duckdb"), default="sqlite")
    parser.add_argument("--seed", type=int, default=0, help="of the order and sizes of batches")
    asked = parser.parse_args(arguments)
    outcomes = []
    for path in asked.files:
        outcome = replay(path, asked.dialect, asked.seed)
        outcomes.append(outcome)
        print(line(outcome), flush=True)
        for wrong in outcome.wrong:
            print(f"\nWRONG {wrong}")
    print(table("refused", sum((each.refused for each in outcomes), Counter())))
    print(table("undecided", sum((each.undecided for each in outcomes), Counter())))
    return 1 if any(each.wrong for each in outcomes) else 0


def line(outcome: Outcome) -> str:
    """Sum up one file."""
    stopped = f"; stopped at: {outcome.stopped}" if outcome.stopped else ""
    return (
        f"{outcome.path}: {outcome.queries} queries, {outcome.right} results right,"
        f" {len(outcome.wrong)} wrong, {outcome.refused.total()} queries refused,"
        f" {outcome.undecided.total()} results undecided{stopped}"
    )


def table(title: str, reasons: Counter[str]) -> str:
    """List reasons, the most frequent first."""
    if not reasons:
        return f"{title}: none"
    return "\n".join([f"{title}:", *(f"{n:7}  {reason}" for reason, n in reasons.most_common())])


if __name__ == "__main__":
    sys.exit(main())
