"""Estimates the bytes of groups by some of them: Python's own for keys, states and what they hold.

{('ann',): Group(3, [12, Heap])}  ->  the dictionary, and what each of 1,000 groups takes
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from sys import getsizeof
from typing import Any

MEASURED = 1_000


def group_bytes(groups: Mapping[Any, Any]) -> int:
    """Return about how many bytes groups take."""
    if not groups:
        return 0
    measured = list(islice(groups.items(), MEASURED))
    some = sum(bytes_of(each) for pair in measured for each in pair)
    return getsizeof(groups) + some * len(groups) // len(measured)


def bytes_of(value: Any) -> int:
    """Return the bytes of a value and of all that it holds; a part of two values counts twice."""
    return getsizeof(value) + sum(map(bytes_of, parts_of(value)))


def parts_of(value: Any) -> Iterator[Any]:
    """Yield what a value holds."""
    if isinstance(value, Mapping):
        yield from (part for pair in value.items() for part in pair)
    elif isinstance(value, (tuple, list)):
        yield from value
    else:
        yield from (getattr(value, name) for name in getattr(value, "__slots__", ()))
