"""The suite: golden scripts, the oracle, sqllogictest replay, and tests of each part.

What every behaviour must hold for is said here, once: the forms of the graph and the look-ahead
modes. They never differ in what comes out.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

ENGINES = ("reference", "compiled")
LOOKAHEADS = ("none", "local", "global", "exact")


def first(count: int, cases: Sequence[object]) -> list[object]:
    """Return cases to parametrise with: `make test` runs the first, `make nightly` the others."""
    rest = (pytest.param(case, marks=pytest.mark.nightly) for case in cases[count:])
    return [*cases[:count], *rest]
