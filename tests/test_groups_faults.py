"""Faults planted in the plain form of groups: the oracle's cases must find each of them.

They are those of plain states; what messages between tables may get wrong is not among them.
A fault is a piece of a module's text with another in its place. Its functions run the changed code
while a test lasts, whoever has imported them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

import pytest

from joingraph.aggregates import bag, distinct, exact, heap, sums
from joingraph.aggregates.bags import extremes
from joingraph.aggregates.linear import average
from joingraph.aggregates.linear import sum as sum_module
from joingraph.generators import groups
from tests import first
from tests.oracle.generate import case
from tests.oracle.run_groups import GroupsRunner

FIRST_SEED, CASES = 30_000, 300
KEYS = [("reference", lookahead) for lookahead in ("none", "exact")]


class Fault(NamedTuple):
    """What is wrong, and where: a text that stands once in a module, and another."""

    name: str
    module: ModuleType
    right: str
    wrong: str


FAULTS = (
    Fault("what goes comes", groups, "keys, values, times, strict=True)",
          "keys, values, map(abs, times), strict=True)"),
    Fault("NULL counts", sums, "if value is None:", 'if value is None and kind != "known":'),
    Fault("a bag forgets how often", bag, "after = before + times",
          "after = before + (times > 0) - (times < 0)"),
    Fault("a group is noted at every touch", groups, "if key not in before:", "if True:"),
    Fault("HAVING lets NULL through", groups, "holds, self.grouping.having, columns, at), bool)",
          "evaluate, self.grouping.having, columns, at).fill_null(True), bool)"),
    Fault("SUM of nothing is 0", sum_module, "if not known:", "if False:"),
    Fault("NaN is not NaN", groups, "zip(*map(words_of, rows.columns), strict=True)",
          "zip(*map(python_values, rows.columns), strict=True)"),
    Fault("a path counts once", groups, "given, times)", "given, 1 if times > 0 else -1)"),
    Fault("a group without paths stays", groups, "if not group.paths and", "if False and"),
    Fault("undo leaves groups as they are", groups, "self.add(key, values, -times)", "pass"),
    Fault("the best goes with one of several", heap, "self.counts.get(key, 0) + times",
          "1 if times > 0 else 0"),
    Fault("MIN takes NULL", extremes, "                return None",
          "                return rank(0, type)"),
    Fault("DISTINCT hears of every row", distinct, "flip = (after > 0) - (before > 0)",
          "flip = times"),
    Fault("no row without GROUP BY", groups, "if self.grouping.is_whole:", "if False:"),
    Fault("what has not changed is told", groups, "if words[old] != words[new] else []",
          "if True else []"),
    Fault("a batch is one base diff", groups, "if diff != number:", "if False:"),
    Fault("a sum that does not fit is shown", exact, "if not least <= number <= most:",
          "if False:"),
    Fault("AVG divides by rows of NULL", average, "(Factor(0, \"known\"),), *specials(0, given))",
          "(), *specials(0, given))"),
    Fault("keys are not normalised", groups, "to_words(normal(chunk))", "to_words(chunk)"),
    Fault("doubles are added without their last bits", exact,
          "return top * ((1 << DOUBLE_BITS) // bottom)",
          "return (top * ((1 << DOUBLE_BITS) // bottom)) >> 1020 << 1020"),
    Fault("FILTER lets NULL through", groups, "values[use.condition] is True",
          "values[use.condition] is not False"),
)  # fmt: skip


def functions(module: ModuleType, names: dict[str, Any]) -> Iterator[FunctionType]:
    """Yield the functions that a module defines, in the order of its text."""
    for value in names.values():
        if getattr(value, "__module__", None) != module.__name__:
            continue
        members = vars(value).values() if isinstance(value, type) else [value]
        yield from (each for each in members if isinstance(each, FunctionType))


def plant(patch: pytest.MonkeyPatch, fault: Fault) -> None:
    """Let the functions of a module run the code that they would have with the fault."""
    text = Path(str(fault.module.__file__)).read_text(encoding="utf-8")
    assert text.count(fault.right) == 1, f"{fault.right!r} stands {text.count(fault.right)} times"
    names: dict[str, Any] = {"__name__": fault.module.__name__}
    exec(compile(text.replace(fault.right, fault.wrong), fault.name, "exec"), names)  # noqa: S102
    pairs = zip(
        functions(fault.module, vars(fault.module)), functions(fault.module, names), strict=True
    )
    for real, other in pairs:
        if "<string>" not in real.__code__.co_filename:  # what dataclasses write
            patch.setattr(real, "__code__", other.__code__)


def found_by() -> int | None:
    """Return after how many of the oracle's cases one is wrong, on the plain form; None if none."""
    for number in range(CASES):
        runner = GroupsRunner(case(FIRST_SEED + number, only="groups"))
        runner.graphs = {key: runner.graphs[key] for key in KEYS}
        try:
            runner.run()
        except Exception:  # noqa: BLE001 (whatever it is, it is found)
            return number + 1
    return None


@pytest.mark.parametrize("fault", first(18, FAULTS), ids=lambda fault: fault.name)
def test_the_oracle_finds_a_fault_that_is_planted(
    fault: Fault, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch, fault)
    assert found_by()
