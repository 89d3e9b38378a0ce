"""Whole numbers by column that never wrap: 64-bit ones as long as no result can be larger.

multiplied([2 ** 40], [2 ** 40])   ->   [2 ** 80], of Python's own integers
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from joingraph.graph.compiled.memory.reserved import Words

Numbers = npt.NDArray[Any]  # of int64, or of Python's integers; none is negative

LARGEST = 1 << 62


def most(numbers: Numbers) -> int:
    """Return the largest of some numbers."""
    return int(numbers.max()) if len(numbers) else 0


def wide_if(is_large: bool, numbers: Numbers) -> Numbers:
    """Return numbers as Python's own if what comes of them may be large."""
    return numbers.astype(object) if is_large else numbers


def added(one: Numbers, other: Numbers) -> Numbers:
    """Add numbers pairwise."""
    found: Numbers = wide_if(most(one) + most(other) >= LARGEST, one) + other
    return found


def multiplied(one: Numbers, other: Numbers) -> Numbers:
    """Multiply numbers pairwise."""
    found: Numbers = wide_if(most(one) * most(other) >= LARGEST, one) * other
    return found


def run_totals(numbers: Numbers, first: Words) -> Numbers:
    """Add up runs of numbers, each from its first one to the next run's."""
    wide = wide_if(most(numbers) * len(numbers) >= LARGEST, numbers)
    found: Numbers = np.add.reduceat(wide, first)
    return found


def total(numbers: Numbers) -> int:
    """Add up numbers."""
    return int(wide_if(most(numbers) * len(numbers) >= LARGEST, numbers).sum())
