"""Faults planted in what seats' modes make of messages: each must be found.

    NUMBA_DISABLE_JIT=1 python -m tests.mode_faults FIRST END      some of them, by number

A row of NULLs that is no path, or stays beside a partner; a partner that is counted where it is
only asked for; a change that stops where sums alone have changed. As in message_faults.py.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial

import joingraph as jg
from joingraph.engines.codegen.groups import sums
from joingraph.generators.compiled.groups import group_table
from joingraph.graph.compiled import live_flags
from joingraph.graph.compiled.groups import group_memory
from joingraph.maintainers.compiled.groups import messages, told
from joingraph.plan.groups import rooted
from tests.message_faults import main
from tests.message_modes import MISSING, SOURCES, agrees
from tests.test_groups import TABLES
from tests.test_groups_faults import Fault

SEEDS = 30

FAULTS = (
    Fault("a row of NULLs is no path", told, "is_empty != (mode == f.SEMI))", "not is_empty)"),
    Fault("a row of NULLs stays", told, "if mode == f.OPT and not is_empty:", "if False:"),
    Fault("EXISTS counts", told, "if mode == f.REQ:", "if mode == f.REQ or mode == f.SEMI:"),
    Fault("what is not there now was there", told, "flip if mode == f.ANTI else -flip", "-flip"),
    Fault("the first partner adds a path", told, "sto(vector, 0, change + flip)", "pass"),
    Fault("the last partner leaves no row", told, "is_empty = ld(of, 0) == -change",
          "is_empty = False"),
    Fault("every partner is the first", told, "was_empty = ld(of, 0) == change and",
          "was_empty = change > 0 and"),
    Fault("numbers that are equal travel", told, "return flip == 0 or is_any(told)", "return True"),
    Fault("a partner that is not the first travels", told, "return flip != 0", "return True"),
    Fault("sums do not travel alone", messages,
          " and not (teller and is_met(meet, record, teller))", ""),
    Fault("a row of NULLs is in the way", told, "mode != f.OPT and is_empty", "is_empty"),
    Fault("NOT EXISTS is met by rows", told, "is_empty != (mode == f.ANTI):", "is_empty:"),
    Fault("partners are counted as they are", messages,
          "if ld(told, f.N_MODE) != f.REQ and not turn(told, ln, record):", "if False:"),
    Fault("the NULL of a key is a value", group_memory, "self.at.plan.is_nullable(term.slot)",
          "term.slot.vertex is None"),
    Fault("the NULL of a key is no group", group_table,
          "nulls = self.memory.at.plan.is_nullable(slot)", "nulls = slot.vertex is None"),
    Fault("who is told may be missing", rooted, "return is_told and not self.optional",
          "return True"),
    Fault("a first row leaves that of NULLs", messages,
          "tell_all_missing(st, gd, bound(st, ln), -weight)", "pass"),
    Fault("every row is the first", messages, "if length_at(ln, bound(st, ln)) == 1:", "if True:"),
    Fault("rows of NULLs hear nothing", messages,
          "is_missing = meet == ld(gd, f.G_MISSING) and", "is_missing = False and"),
    Fault("rows of NULLs hear of all", messages,
          "meet == ld(gd, f.G_MISSING) and is_without(top, meet, record)",
          "meet == ld(gd, f.G_MISSING)"),
    Fault("rows of NULLs are of a side that is none", messages,
          "if is_missing and ld(gd, f.G_WHOLE_SIDE) == 0:", "if is_missing:"),
    Fault("no row of NULLs is there at first", messages,
          "        if is_without(top, meet, record):", "        if False:"),
    Fault("sums of what is missing are not 0", told, "sign if pick >= 0 else 0", "sign"),
    Fault("rows around a flip are told, too", live_flags, "ld(st, f.GROUPS) == 0 and", "True and"),
    Fault("a kernel knows no row of NULLs", sums, 'f"({found.low} + {is_none})"', "found.low"),
    Fault("a kernel turns no sign", sums, "'anti': 'flip'", "'anti': '-flip'"),
)  # fmt: skip


def what_is_told_again_touches_nothing() -> None:
    """The first partner of COUNT(*), and the second one of EXISTS, change no group."""
    for join, touched in (
        ("f LEFT JOIN t ON f.a = t.a", [2, 2, 4]),
        ("f SEMI JOIN t ON f.a = t.a", [0, 2, 2]),
        ("f ANTI JOIN t ON f.a = t.a", [2, 4, 4]),
    ):
        graph = jg.JoinGraph(jg.View(f"SELECT f.fan, COUNT(*) AS n FROM {join} GROUP BY f.fan",
                                     TABLES, dialect="duckdb"))  # fmt: skip
        graph.insert("f", [(1, "ann", 0.5), (1, "bob", 0.5)])
        found = [graph.stats()["touched"]]
        for number in range(2):
            graph.insert("t", [(1, number, 1, None, None, None)])
            found.append(graph.stats()["touched"])
        assert found == touched, join


SCRIPTS: tuple[Callable[[], None], ...] = (what_is_told_again_touches_nothing,)
TESTS: tuple[Callable[[], None], ...] = (
    *SCRIPTS,
    *(partial(agrees, seed) for seed in range(SEEDS)),
    *(partial(agrees, seed, source=each) for each in MISSING for seed in range(3)),
    *(partial(agrees, 9, source=each, own_kernels=True) for each in SOURCES),
    *(partial(agrees, seed, own_kernels=True) for seed in range(SEEDS)),
)


if __name__ == "__main__":
    main(FAULTS[slice(*map(int, sys.argv[1:]))], TESTS)
