"""Searches seeds for disagreements between the forms, and says how to see one again."""

from __future__ import annotations

import time
import traceback
from collections import Counter
from collections.abc import Iterable, Mapping

from tests.oracle.case import Case, Entry
from tests.oracle.forms import FormsRunner
from tests.oracle.judges import NotThere
from tests.oracle.keyed import KeyedCase, keyed_case
from tests.oracle.report import script
from tests.oracle.search import BATCHES_MAX, Found
from tests.oracle.shrink import shrink

SHRINK_S = 120.0  # a case of 60 batches takes seconds, and there are hundreds of smaller ones


def search_forms(
    seeds: Iterable[int],
    batches_max: int = BATCHES_MAX,
    *,
    engine: str = "compiled",
    only: str | None = None,
) -> Found:
    """Run the cases of some seeds on one form of the graph: of views of rows, or of groups."""
    steps, failures = 0, []
    for seed in seeds:
        keyed = keyed_case(seed, batches_max, only=only)
        steps += keyed.case.steps
        wrong = failure(keyed, engine)
        if wrong is not None:
            options = f"--forms --engine {engine} --batches {batches_max}"
            options += f" --only {only}" if only else ""
            failures.append(told(keyed, wrong, engine, options))
    return Found(steps, failures, Counter())


def failure(keyed: KeyedCase, engine: str) -> Exception | None:
    """Run a case; give what went wrong. Any error at all is wrong: the case is in the language."""
    try:
        FormsRunner(keyed, engine).run()
    except NotThere:
        raise
    except Exception as error:  # noqa: BLE001 (whatever it is, it is what we search for)
        return error
    return None


def told(keyed: KeyedCase, wrong: Exception, engine: str, options: str) -> str:
    """Tell a failure: what went wrong, how to replay it, the shrunk case as a script."""

    print(f"\nseed {keyed.case.seed}: {wrong!r:.300}", flush=True)
    end = time.monotonic() + SHRINK_S

    def fails(case: Case) -> bool:
        if time.monotonic() > end:
            return False
        try:
            check_keys(case, keyed.keys)
            return type(failure(KeyedCase(case, keyed.keys), engine)) is type(wrong)
        except NotThere:
            return False

    small = shrink(keyed.case, fails)
    again = failure(KeyedCase(small, keyed.keys), engine) or wrong
    trace = "".join(traceback.format_exception(again)[-3:])
    return (
        f"seed {keyed.case.seed}: {trace}\n"
        f"replay: python -m tests.oracle {options} --replay {keyed.case.seed}\n\n"
        f"# keys: {keyed.keys}\n{script(small)}"
    )


def check_keys(case: Case, keys: Mapping[str, tuple[str, ...]]) -> None:
    """Raise NotThere if two rows ever have one key: no case at all, met only while shrinking."""
    present: Counter[tuple[str, object]] = Counter()
    entries: Iterable[Entry] = [*case.load, *(e for batch in case.batches for e in batch.entries)]
    for entry in entries:
        for diff in entry.diffs() if entry.table in keys else ():
            present.subtract((entry.table, row[0]) for row in diff.gone)
            present.update((entry.table, row[0]) for row in diff.come)
            if any(count > 1 for count in present.values()):
                raise NotThere(diff)
