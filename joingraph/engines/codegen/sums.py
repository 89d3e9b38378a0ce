"""Sums as the kernels of groups write them: a variable, or a pair of them for 128 bits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple


class Sum(NamedTuple):
    """What holds a sum: one variable, or two."""

    low: str
    high: str | None = None

    @property
    def upper(self) -> str:
        """What holds the high word."""
        return self.high or f"({self.low} >> 63)"


ONE = Sum("1")


def write_product(say: Callable[..., None], name: str, factors: Sequence[Sum]) -> Sum:
    """Write a product of sums, whose name it gets."""
    some = [each for each in factors if each != ONE] or [ONE]
    if all(each.high is None for each in some):
        say(f"{name} = {' * '.join(each.low for each in some)}")
        return Sum(name)
    found = some[0]
    low, high = f"{name}_l", f"{name}_h"
    say(f"{low}, {high} = {found.low}, {found.upper}")
    for each in some[1:]:
        upper = f"multiply_high({low}, {each.low}) + {low} * {each.upper} + {high} * {each.low}"
        say(f"{high} = {upper}", f"{low} = {low} * {each.low}")
    return Sum(low, high)
