"""Sums as the kernels of groups write them: a variable, or a pair of them for 128 bits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import pyarrow as pa

from joingraph.graph.compiled.fields import NULL_WORD
from joingraph.graph.compiled.groups.group_memory import EQUALS, equal_word
from joingraph.plan.groups.messages import Term


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


def unit_of(term: Term) -> str:
    """Name what holds the unit of a term of floats."""
    slot = term.slot
    return f"unit_{slot.alias}_{'p' if slot.vertex is None else slot.vertex}_{slot.position}"


def write_term(say: Callable[..., None], name: str, term: Term, words: Sequence[str]) -> Sum:
    """Write what a term takes of a value's words; NULL gives 0."""
    nullable = term.slot.vertex is None
    say(*(f"{name}_{at} = {word}" for at, word in enumerate(words)))
    test = f"{name}_{len(words) - 1} != {NULL_WORD}" if nullable else "True"
    if term.kind == "known":
        say(f"{name} = 1 if {test} else 0")
        return Sum(name)
    if term.kind in EQUALS:
        say(f"{name} = 1 if {name}_0 == {equal_word(term)} else 0")
        return Sum(name)
    value = f"{name}_0, {f'{name}_1' if len(words) > 1 else f'{name}_0 >> 63'}"
    if term.is_float:
        wide = "wide_real" if term.type == pa.float32() else "wide_double"
        value = f"{wide}({name}_0, {unit_of(term)})"
    say(f"{name}, {name}_h = {value}")
    if nullable:
        say(f"if not ({test}):", f"    {name}, {name}_h = 0, 0")
    return Sum(name, f"{name}_h")
