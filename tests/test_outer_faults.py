"""Faults planted in outer joins, EXISTS and IN: the oracle's cases must find each of them.

They are those that the rules of section 7.3 of the design would be without, and what the oracle
has found. One that only wastes work is not among them: asked seats that look back.
"""

from __future__ import annotations

from collections import Counter

import pytest

from joingraph.engines import plain
from joingraph.engines.compiled.outer import pairs as paired
from joingraph.generators import diffs
from joingraph.generators.reads import reading
from joingraph.graph import join_graph
from joingraph.maintainers import lookahead, pairs
from joingraph.maintainers.compiled import pairs as word_pairs
from joingraph.plan import arrange
from joingraph.plan.outer import pairs as ties
from joingraph.plan.outer import pieces, shape, simplify
from joingraph.reads import access_paths
from joingraph.sql.joined import missing, questions
from tests.oracle import run_outer
from tests.oracle.generate import case
from tests.oracle.search import runner_of
from tests.test_groups_faults import Fault, plant

CASES = 400

# Each with the seed of a case that has found it; the search goes on from there.
FAULTS = (
    (50000, Fault("flips make no rows of NULLs", diffs,
            'if mode == "mark" else (None,):',
            'if mode == "mark" else (None,) if mode != "opt" else ():')),
    (50094, Fault("who sits there lives", lookahead,
            "return value.live[seat] > 0", "return bool(value.tuples[seat])")),
    (50276, Fault("a residual below an edge is asked on the path", pieces,
            "self.check_residuals()", "self.left.residuals += self.right.residuals")),
    (50070, Fault("NOT EXISTS on a nullable alias is asked inside the join", pieces,
            'if self.mode == "anti" and near not in self.left.always:', "if False:")),
    (50000, Fault("NULL equals NULL", join_graph,
            "tuple((*words, alias) if None in words else words", "tuple(words")),
    (50008, Fault("ON filters the side that is kept", pieces,
            "left_gates.append(condition)", "place(self.left, condition)")),
    (50024, Fault("ON of several aliases is keyed on one", pieces,
            "if len(aliases) > 1:", "if False:")),
    (50000, Fault("reads start from one alias only", reading,
            "if not walker.look.lives(value, seat) and", "if False and")),
    (50020, Fault("NOT IN is one question", questions,
            "return [Test(equal._holds, False), *equal.unknown(compared)]",
            "return [Test(equal._holds, False)]")),
    (50000, Fault("a path of NULLs only is a row", arrange,
            'if set(at.modes) == {"opt"}:', "if False:")),
    (50052, Fault("a mark of after stands on both rows", diffs,
            "for path in around(graph, look, flip, told):",
            "for path in around(graph, look, flip, None if told is None else flip.is_up):")),
    (50087, Fault("what hangs on a side of FULL meets the other", shape,
            'self.modes.get(alias) == "req"', "alias in self.modes")),
    (51145, Fault("a constant spreads by a missing alias", access_paths,
            "if missing.isdisjoint(aliases_of(member))]", "if True]")),
    (50016, Fault("a constant stands where its row is missing", missing,
            "if all(_is_null_alone(field.value, own) for field in fields.values()):", "if True:")),
    (50074, Fault("FULL filters a side", pieces, "and not self.is_full:", "and True:")),
    (50013, Fault("a mode does not turn the sign", lookahead,
            'sign if mode == "anti" else -sign', "-sign")),
    (50001, Fault("NOT EXISTS rejects NULL", simplify,
            'rejected | below if kind == "semi" else rejected', "rejected | below")),
    (50008, Fault("ON rejects NULL of the side that is kept", simplify,
            "return Outer(simplified(left, rejected),",
            "return Outer(simplified(left, rejected | rejected_by(conditions) & visible(left)),")),
    (50000, Fault("a duplicate is a first partner", lookahead,
            "if value.live[seat] == (sign > 0):", "if value.live[seat] <= 2:")),
    (700015, Fault("a pair goes with the first of several rows", pairs,
             "if known[value]:", "if known[value] < 0:")),
    (700005, Fault("pairs need not meet by the equalities", pairs,
             "list(self.by_key.get(value[: self.keys], ()))", "list(self.values())")),
    (700028, Fault("NULL is some other value in pairs", ties,
             "if not may_hold_of_null(condition, column):", "if True:")),
    (700009, Fault("pairs of a FULL JOIN keep one side only", pieces,
             '"opt" if self.is_full or tie.is_counted', '"opt" if tie.is_counted')),
    (700006, Fault("all that meet by the equalities are pairs", pairs,
             "pair for pair, keep in pairs_true if keep]", "pair for pair, keep in pairs_true]")),
    (700017, Fault("a condition of pairs may hold of a missing row", pieces,
             "if alias not in piece.always and alias", "if False and alias")),
    (700038, Fault("pairs go before their row is told", plain,
             "        use(changed)\n        for each in going:\n"
             "            use(maintain(self.graph, self.look, each))\n",
             "        for each in going:\n            use(maintain(self.graph, self.look, each))\n"
             "        use(changed)\n")),
    (700015, Fault("a value is listed after its last partner", pairs,
             "if now == change.is_new:", "if now and change.is_new:")),
    (700015, Fault("counts of partners are not taken back", word_pairs,
             "            pairing.take_back()\n", "            pairing.log.clear()\n")),
    (700002, Fault("pairs are not taken back", paired,
             "if not self.pairs.take_back():", "if False:")),
)  # fmt: skip


def found_at(first_seed: int) -> int | None:
    """Return the seed of the first of the oracle's cases that is wrong, by exact look-ahead."""
    for seed in range(first_seed, first_seed + CASES):
        asked = case(seed, only="outer")
        try:
            runner_of(asked.view)(asked, inputs=Counter()).run()
        except run_outer.Unjudged:
            continue
        except Exception:  # noqa: BLE001 (whatever it is, it is found)
            return seed
    return None


@pytest.mark.parametrize("planted", FAULTS, ids=lambda planted: planted[1].name)
def test_the_oracle_finds_a_fault_that_is_planted(
    planted: tuple[int, Fault], monkeypatch: pytest.MonkeyPatch
) -> None:
    seed, fault = planted
    monkeypatch.setattr(run_outer, "MODES", ("exact",))
    plant(monkeypatch, fault)
    assert found_at(seed) is not None


@pytest.mark.parametrize("seed", sorted({seed for seed, _ in FAULTS}))
def test_no_case_is_wrong_without_a_fault(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else what is found would not be the fault that is planted."""
    monkeypatch.setattr(run_outer, "MODES", ("exact",))
    monkeypatch.setattr("tests.test_outer_faults.CASES", 1)
    assert found_at(seed) is None
