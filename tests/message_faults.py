"""Faults planted in the kernels of messages, which run as plain Python: each must be found.

    NUMBA_DISABLE_JIT=1 python -m tests.message_faults FIRST END      some of them, by number

They are what may go wrong between tables: a message that does not travel, or is told too often; a
note that comes too late; a group that is freed too early, or never; a row that is forgotten in a
bag. A fault is found by random views and feeds (test_messages.py), by a count of what was touched,
or by what is left in memory once all rows are gone.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import partial

import pytest

import joingraph as jg
from joingraph.engines.compiled.groups.grouped import CompiledGroups
from joingraph.graph.compiled import fields as f
from joingraph.graph.compiled.groups import bag_tree, group_memory
from joingraph.maintainers.compiled.groups import (
    bag_rows,
    best_values,
    group_table,
    messages,
    told,
)
from joingraph.plan.groups import messages as plan
from joingraph.plan.groups import rooted
from tests.test_groups import TABLES
from tests.test_groups_faults import Fault, plant
from tests.test_messages import test_messages_give_the_groups_that_the_joined_rows_give as agrees

SEEDS, LONGEST_S = 30, 60

FAULTS = (
    Fault("what goes comes", messages, "weight, 0):\n        return\n    if not ld(gd",
          "1, 0):\n        return\n    if not ld(gd"),
    Fault("a message does not travel", messages, "rows_at(ad, link_of(ad, link), record)", "0"),
    Fault("a message is not kept", messages,
          "add_vector(message_at(told, ln, record), told)\n    gd, top",
          "pass\n    gd, top"),
    Fault("a message with best values is not kept", messages,
          "add_vector(message_at(told, ln, value), told)", "pass"),
    Fault("a message from afar is not kept", messages,
          "add_vector(message_at(top, up, other), top)", "pass"),
    Fault("one side is left out", messages, "for side in range(count):",
          "for side in range(max(1, count - 1)):"),
    Fault("what was told stands for the change", messages, "if told != teller:\n", "if True:\n"),
    Fault("dead rows are not told", messages, "    length = length_at(ln, record)\n    return min",
          "    length = ld(record, ld(ln, f.L_LIVE)) & f.LENGTH\n    return min"),
    Fault("rows that are alike are one", messages, "return length_at(ln, record)\n    entries",
          "return 1\n    entries"),
    Fault("the length of a list is 1", told, "f.N_SIZES), 1), length_at(ln, record))",
          "f.N_SIZES), 1), 1)"),
    Fault("any sum of 0 is no path", messages, "part == 0 and is_zero", "is_zero"),
    Fault("NULL is a factor of 1", messages, "== f.NULL_WORD:\n        low = high = 0",
          "== f.NULL_WORD:\n        return"),
    Fault("a negative message is positive", told, "mul128(to, low, low >> 63)",
          "mul128(to, low, 0)"),
    Fault("a negative value is positive", messages, "high, operand = low >> 63,",
          "high, operand = 0,"),
    Fault("the high word of a value is lost", messages, "        high = last = ld",
          "        last = ld"),
    Fault("FILTER lets all through", messages, "(kind == f.EQUAL and low == operand)",
          "kind == f.EQUAL"),
    Fault("a batch is one base diff", messages, "if diff != ld(gd, f.G_DIFF):", "if False:"),
    Fault("each alias is a base diff", messages, "if diff != ld(gd, f.G_DIFF):", "if True:"),
    Fault("what does not change travels", messages, "(is_set and flip == 0 and not changed)",
          "False"),
    Fault("a value that goes comes", messages, "sto(ld(meet, f.M_VECTOR), 0, flip)",
          "sto(ld(meet, f.M_VECTOR), 0, 1)"),
    Fault("no value comes or goes", messages, "is_met(meet, value, 0) - before", "0"),
    Fault("no value comes or goes afar", messages, "is_met(beyond, other, 0) - before", "0"),
    Fault("the side that tells is asked", told, "if told != teller and mode", "if mode"),
    Fault("rows are not numbered anew", messages,
          "count_row(st, ad) if ld(told, f.N_NUMBERED) else 0", "0"),
    Fault("no group without GROUP BY", messages, "f.V_KEY) == 0:", "f.V_KEY) < 0:"),
    Fault("sums are added before they are noted", group_table,
          "    note = 0 if quiet else noted(st, gd, record, states)\n"
          "    add_sums(states, vector, ld(gd, f.G_SIZES), ld(gd, f.G_PARTS))\n",
          "    add_sums(states, vector, ld(gd, f.G_SIZES), ld(gd, f.G_PARTS))\n"
          "    note = 0 if quiet else noted(st, gd, record, states)\n"),
    Fault(
        "notes have one serial number", group_table, "sto(gd, f.G_SERIAL, following + 1)", "pass"
    ),
    Fault("the first note is written anew", group_table, "serial >= ld(gd, f.G_FIRST)",
          "serial > ld(gd, f.G_FIRST)"),
    Fault("a group with rows is freed", group_table, "is_empty = ld(rows, 0) == 0 and is_zero",
          "is_empty = is_zero"),
    Fault("a group with paths is freed", group_table,
          "is_empty = ld(rows, 0) == 0 and is_zero(states, ld(ld(gd, f.G_SIZES), 1))",
          "is_empty = ld(rows, 0) == 0"),
    Fault("no group is freed", group_table, "if is_empty and", "if False and"),
    Fault("a group is listed for good", group_table, "ld(rows, 0) & ~f.LISTED", "ld(rows, 0)"),
    Fault("groups stay listed", group_table, "sto(gd, f.G_EMPTY_COUNT, 0)", "pass"),
    Fault("rows of a group only come", group_table, "ld(rows, 0) + weight", "ld(rows, 0) + 1"),
    Fault("a moved row is numbered at the end", group_table,
          "at = ld(op, f.O_PLACE) if is_move else", "at ="),
    Fault("a base diff goes on in the next batch", group_table, "sto(gd, f.G_DIFF, -1)", "pass"),
    Fault("both zeros are two groups", group_table, "value == f.NEGATIVE_ZERO_64", "False"),
    Fault("high words are not added", group_table, "ld(vector + place, 1))", "0)"),
    Fault(
        "best values of groups are not kept up", group_table, "if ld(gd, f.G_BESTS):", "if False:"
    ),
    Fault("MIN takes NULL", best_values, "        if ld(value, 0):", "        if True:"),
    Fault("a value that moves stays", best_values, "and ld(best, f.C_TELL) == via", "and False"),
    Fault("a row that comes was there", best_values, "was, now = flip <= 0 and", "was, now ="),
    Fault("a row that goes is there", best_values, "flip >= 0 and ld(new, 0)", "ld(new, 0)"),
    Fault("one of several equal rows moves", best_values, "ld(old, 1), -weight)",
          "ld(old, 1), -1)"),
    Fault("what was told is not saved", best_values, "sto(old, 1, ld(at, 1))", "pass"),
    Fault("another best value does not travel", best_values, " or ld(at, 1) != ld(old, 1)", ""),
    Fault("the greatest is the least", bag_rows, "word ^= ld(part, f.X_XOR)", "pass"),
    Fault("a bag forgets how often", bag_tree, "before = ld(entry, 1 + words)",
          "before = times < 0"),
    Fault("a bag is of all owners", bag_tree, "return entry if ld(entry, 0) == owner else 0",
          "return entry"),
    Fault("an alias tells nothing of its own", rooted, "cut(part, {alias}) for part in parts",
          "() for part in parts"),
    Fault("a square is a value", plan, "* (1 + is_square)", "* 1"),
    Fault("FILTER is left out", plan, "if use.condition is not None:\n            wanted",
          "if False:\n            wanted"),
    Fault("sides tell too late", group_memory, "in self.messages.order if",
          "in self.messages.order[::-1] if"),
    Fault("a value of several rows is one", plan, "(is_one_value or not bests)", "True"),
    Fault("an alias below a vertex is left out", rooted,
          "known[cut(part, some)] for known, some in below", "0 for known, some in below"),
)  # fmt: skip


def wide_values_are_added() -> None:
    """Sums of decimals beyond 64 bits, and of negative ones, are those of the plain form."""
    tables = {"t": "CREATE TABLE t (k INT, g INT, d DECIMAL(28,2))"}
    uses = "SUM(b.d) AS s, SUM(a.d) AS r, SUM(b.g) AS n"
    sql = f"SELECT a.g, {uses} FROM t a JOIN t b ON a.k = b.k GROUP BY a.g"
    graphs = [jg.JoinGraph(jg.View(sql, tables), engine=each) for each in ("auto", "reference")]
    for value in ("9" * 25, "-7", "-" + "8" * 25, "0.25", None):
        rows = [(1, -2, None if value is None else Decimal(value))]
        assert graphs[0].insert("t", rows).rows() == graphs[1].insert("t", rows).rows()


def what_changes_nothing_touches_nothing() -> None:
    """A second path, and a value that is not the best, touch no group."""
    for what in ("DISTINCT f.fan", "f.fan, MAX(t.s) AS m"):
        by = " GROUP BY f.fan" if "MAX" in what else ""
        graph = jg.JoinGraph(jg.View(f"SELECT {what} FROM f JOIN t ON f.a = t.a{by}", TABLES))
        graph.load({"f": [(1, "ann", 0.5), (1, "bob", 0.5)]})
        for value in (9, 3, 4):
            graph.insert("t", [(1, 1, value, None, None, None)])
        assert graph.stats()["touched"] == 2


def nothing_is_left_of_rows_that_are_gone() -> None:
    """Groups are freed with their last row."""
    graph = jg.JoinGraph(
        jg.View("SELECT f.fan, COUNT(*) AS n FROM f JOIN t ON f.a = t.a GROUP BY f.fan", TABLES)
    )
    fans = [(1, name, 0.5) for name in ("ann", "bob", None)]
    tweets = [(1, at, 1, None, None, None) for at in range(3)]
    for _ in range(2):
        graph.apply([("insert", "f", fans), ("insert", "t", tweets)])
        graph.apply([("delete", "t", tweets), ("delete", "f", fans)])
    engine = graph.engine
    assert isinstance(engine, CompiledGroups) and engine.telling.groups is not None
    assert engine.telling.groups.state[f.V_LIVE] == 0
    assert engine.telling.groups.state[f.V_NEXT] == 3


def equal_rows_move_together() -> None:
    """A best value leaves the bag of its group with all of the rows that brought it."""
    tables = {"f": "CREATE TABLE f (a INT)", "r": "CREATE TABLE r (a INT, n INT)"}
    graph = jg.JoinGraph(
        jg.View("SELECT MIN(f.a) AS a, MAX(r.n) AS n FROM f JOIN r ON f.a = r.a", tables)
    )
    graph.load({"f": [(1,), (1,)]})
    for change, row, shown in (
        (graph.insert, (1, 5), (1, 5)),
        (graph.insert, (1, 9), (1, 9)),
        (graph.delete, (1, 9), (1, 5)),
        (graph.delete, (1, 5), (None, None)),
    ):
        assert change("r", [row]).rows()[-1][1] == shown


def values_of_a_vertex_are_one_group() -> None:
    """A group of several values of a vertex has the best of all of them."""
    tables = {"t": "CREATE TABLE t (g INT, k INT, n INT)"}
    sql = "SELECT a.g, MAX(b.n) AS m FROM t a JOIN t b ON a.g = b.g AND a.k = b.k GROUP BY a.g"
    graphs = [jg.JoinGraph(jg.View(sql, tables), engine=each) for each in ("auto", "reference")]
    for change, row in (("insert", (1, 1, 9)), ("insert", (1, 2, 5)), ("delete", (1, 1, 9))):
        one, other = (graph.apply([(change, "t", [row])]).rows() for graph in graphs)
        assert one == other
        graphs[0].check()


SCRIPTS: tuple[Callable[[], None], ...] = (
    wide_values_are_added,
    what_changes_nothing_touches_nothing,
    nothing_is_left_of_rows_that_are_gone,
    equal_rows_move_together,
    values_of_a_vertex_are_one_group,
)


TESTS: tuple[Callable[[], None], ...] = (
    *SCRIPTS,
    *(partial(agrees, seed) for seed in range(SEEDS)),
)


def found_by(tests: Sequence[Callable[[], None]]) -> str | None:
    """Name what finds a fault that is planted; None if nothing does."""
    for test in tests:
        signal.alarm(LONGEST_S)
        try:
            test()
        except Exception as error:  # noqa: BLE001 (whatever it is, it is found)
            return f"{type(error).__name__}: {error!s:.60}"
        finally:
            signal.alarm(0)
    return None


def stop(*_: object) -> None:
    """End a test in which a kernel does not end."""
    raise TimeoutError


def main(faults: Sequence[Fault], tests: Sequence[Callable[[], None]]) -> None:
    """Plant faults, one after the other; print what finds each."""
    signal.signal(signal.SIGALRM, stop)
    for fault in faults:
        with pytest.MonkeyPatch.context() as patch:
            plant(patch, fault)
            print(f"{fault.name}: {found_by(tests) or 'NOT FOUND'}", flush=True)


if __name__ == "__main__":
    main(FAULTS[slice(*map(int, sys.argv[1:]))], TESTS)
