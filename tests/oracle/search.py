"""Searches seeds for disagreements, and says how to see one again."""

from __future__ import annotations

import datetime as dt
import platform
import subprocess
import traceback
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from tests import ENGINES, LOOKAHEADS
from tests.oracle.case import Case, View
from tests.oracle.generate import case
from tests.oracle.joins import OuterView
from tests.oracle.judges import NotThere
from tests.oracle.report import script
from tests.oracle.run import Runner
from tests.oracle.run_groups import GroupsRunner
from tests.oracle.run_outer import OuterGroupsRunner, OuterRunner, Unjudged
from tests.oracle.shrink import shrink

BATCHES_MAX = 6


class Found(NamedTuple):
    """What a search did: how many steps, the disagreements in words, batches by form of input."""

    steps: int
    failures: list[str]
    inputs: Counter[str]


def search(
    seeds: Iterable[int],
    batches_max: int = BATCHES_MAX,
    *,
    graphs: str = "all",
    only: str | None = None,
) -> Found:
    """Run the cases of some seeds, on those of `run.GRAPHS` that are asked for.

    `only` views of rows, or of groups; else of both.
    """
    found = Found(0, [], Counter())
    for seed in seeds:
        asked = case(seed, batches_max, only=only)
        found = found._replace(steps=found.steps + asked.steps)
        wrong = failure(asked, graphs=graphs, inputs=found.inputs)
        if wrong is not None:
            options = "" if batches_max == BATCHES_MAX else f" --batches {batches_max}"
            options += f" --only {only}" if only else ""
            found.failures.append(told(asked, failure(asked) or wrong, options))
    return found


def failure(
    asked: Case, *, graphs: str = "all", inputs: Counter[str] | None = None
) -> BaseException | None:
    """Run a case; give what went wrong. Any error at all is wrong: the case is in the language."""
    try:
        runner_of(asked.view)(asked, graphs=graphs, inputs=inputs).run()
    except Unjudged:
        return None
    except NotThere:
        raise
    except Exception as error:  # noqa: BLE001 (whatever it is, it is what we search for)
        return error
    return None


def runner_of(view: View) -> type[Runner]:
    """Choose what is promised of a view."""
    if isinstance(view, OuterView):
        return OuterRunner if view.grouping is None else OuterGroupsRunner
    return Runner if view.grouping is None else GroupsRunner


def told(asked: Case, wrong: BaseException, options: str) -> str:
    """Tell a failure: what went wrong, how to replay it, the shrunk case as a script."""
    small = shrink(asked, lambda each: fails_like(each, wrong))
    again = failure(small) or wrong
    trace = "".join(traceback.format_exception(again)[-3:])
    return (
        f"seed {asked.seed}: {trace}\n"
        f"replay: python -m tests.oracle --replay {asked.seed}{options}\n\n{script(small)}"
    )


def fails_like(asked: Case, wrong: BaseException) -> bool:
    """Tell whether a smaller case fails with the same kind of error."""
    try:
        return type(failure(asked)) is type(wrong)
    except NotThere:
        return False


def machine() -> dict[str, str]:
    """Say on what the search ran: machine, commit, date, and what it compared."""
    root = Path(__file__).parents[2]
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=root, capture_output=True, text=True, check=False
    )
    return {
        "engines": ", ".join(ENGINES),
        "lookaheads": ", ".join(LOOKAHEADS),
        "python": platform.python_version(),
        "machine": f"{platform.machine()}, {platform.system()} {platform.release()}",
        "commit": commit.stdout.strip() or "none",
        "date": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
    }
