"""Sums as the kernels of groups write them: a variable, or a pair of them for 128 bits.

What modes make of them is maintainers/compiled/groups/told.py with constants put in:

    what v1 is told by R (opt)    e1_0 = (m + (m == 0))              a row of NULLs is one path
    a row of R comes              now = ld(r1, 2) & LENGTH
                                  flip = (now == 0) - (now == d)     the first partner adds no path
                                  t = d + flip
                                  if t | ...:                        else those above hear nothing
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import pyarrow as pa

from joingraph.graph.compiled.fields import NULL_WORD
from joingraph.graph.compiled.groups.group_layout import EQUALS, GroupLayout, equal_word
from joingraph.plan.groups.messages import Messages
from joingraph.plan.groups.rooted import Term
from joingraph.plan.model import Mode


class Sum(NamedTuple):
    """What holds a sum: one variable, or two."""

    low: str
    high: str | None = None

    @property
    def upper(self) -> str:
        """What holds the high word."""
        return self.high or f"({self.low} >> 63)"


ONE = Sum("1")


def any_of(sums: Sequence[Sum]) -> str:
    """Write the test that one of some sums is not 0."""
    return " | ".join(word for each in sums for word in (each.low, each.high) if word)


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


def write_added(
    say: Callable[..., None], base: str, sizes: Sequence[int], sums: Sequence[Sum]
) -> None:
    """Write how sums are added to those at an address."""
    place = 0
    for size, each in zip(sizes, sums, strict=True):
        if size == 1:
            say(f"sto({base}, {place}, ld({base}, {place}) + {each.low})")
        else:
            say(f"add128({base} + {place * 8}, {each.low}, {each.upper})")
        place += size


def unit_of(term: Term) -> str:
    """Name what holds the unit of a term of floats."""
    slot = term.slot
    return f"unit_{slot.alias}_{'p' if slot.vertex is None else slot.vertex}_{slot.position}"


def write_term(
    say: Callable[..., None], name: str, term: Term, words: Sequence[str], *, nullable: bool
) -> Sum:
    """Write what a term takes of a value's words; NULL gives 0."""
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


def told_part(messages: Messages, side: int, pick: int, found: Sum) -> Sum:
    """Write a part of what a side tells, by what it has told: its mode decides how many paths."""
    mode, is_none = messages.tells[side].mode, f"({found.low} == 0)"
    if pick or mode == "req":
        return found
    return Sum({"opt": f"({found.low} + {is_none})", "semi": f"(1 - {is_none})"}.get(mode, is_none))


def write_turned(
    say: Callable[..., None], mode: Mode, now: str, change: Sequence[Sum]
) -> list[Sum]:
    """Write what changes of what a seat tells; if that is nothing, what follows is left out.

    There are so many paths now; `change` is by how much they, and sums over them, have changed.
    """
    paths, *others = change
    say(f"now = {now}", f"flip = (now == 0) - (now == {paths.low})")
    name = f"t{paths.low}"
    say(f"{name} = {({'opt': f'{paths.low} + flip', 'anti': 'flip'}).get(mode, '-flip')}")
    found = [Sum(name), *others]
    say(f"if {any_of(found)}:")
    return found


def path_test(groups: GroupLayout, vertex: int, teller: int | None, paths: Sequence[Sum]) -> str:
    """Write the test that a value has a path, by their product and what each side tells.

    Among modes, a change of paths may be 0: then who tells is not asked.
    """
    if groups.plan.is_inner:
        return any_of(paths[:1])
    tells, sides = groups.messages.tells, groups.messages.meets[vertex].sides
    pairs = zip(sides, paths[1:], strict=True)
    others = [factor for side, factor in pairs if side != teller and tells[side].mode != "opt"]
    return " and ".join(any_of([factor]) for factor in others) or "True"
