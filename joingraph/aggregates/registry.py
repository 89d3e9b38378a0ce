"""Every aggregate by its name; the files of linear/ and bags/ are found by themselves.

A file lists its aggregates in `AGGREGATES`: {name as SQL calls it: Entry}.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Final

from joingraph.aggregates import bags, linear
from joingraph.aggregates.contract import Aggregate, Asked, Entry, Refused, Unknown
from joingraph.aggregates.distinct import Distinct
from joingraph.aggregates.refused import REFUSED
from joingraph.common.names import suggest

PAGE: Final = "docs/functions.md lists what is"


def _entries(folder: ModuleType) -> Iterator[tuple[str, Entry]]:
    for each in sorted(iter_modules(folder.__path__), key=lambda module: module.name):
        module = import_module(f"{folder.__name__}.{each.name}")
        yield from getattr(module, "AGGREGATES", {}).items()


ENTRIES: dict[str, Entry] = {**dict(_entries(linear)), **dict(_entries(bags))}


def is_aggregate(name: str, dialect: str) -> bool:
    """True if a dialect's name, in upper case, is an aggregate, also one that is refused."""
    return name in REFUSED or (name in ENTRIES and dialect in ENTRIES[name].dialects)


def aggregate(asked: Asked) -> Aggregate:
    """Return the aggregate that is asked for; raise Unknown or Refused.

    >>> import pyarrow as pa
    >>> best = aggregate(Asked("MAX", (pa.int64(),), "spark"))
    >>> best.result(best.add(best.add(best.zero(), (5,), 2), (9,), 1))
    9
    """
    if asked.name in REFUSED:
        raise Refused(asked.name, *REFUSED[asked.name])
    entry = ENTRIES.get(asked.name)
    if entry is None or asked.dialect not in entry.dialects:
        raise _unknown(asked)
    _check(asked, entry)
    found = entry.make(asked)
    return Distinct(found, asked.types) if asked.is_distinct else found


def _unknown(asked: Asked) -> Unknown:
    names = [name for name, entry in ENTRIES.items() if asked.dialect in entry.dialects]
    meant = suggest(asked.name, names)
    instead = f"did you mean {meant}?" if meant else PAGE
    return Unknown(asked.name, f"{asked.dialect} has no such aggregate", instead)


def _check(asked: Asked, entry: Entry) -> None:
    """Refuse what the entry does not take: arguments, constants, ORDER BY."""
    if asked.order and not entry.is_ordered:
        why = "its result does not depend on the order of rows"
        raise Refused(f"ORDER BY in {asked.name}", why, "leave ORDER BY out")
    count, most = len(asked.types), entry.arguments
    if most is not None and (count < most or (count > most and not asked.order)):
        shown = f"{count} argument{'s' * (count != 1)}"
        raise Refused(f"{asked.name} of {shown}", f"it takes {most}", PAGE)
    least, most_constants = entry.constants
    if not least <= len(asked.constants) <= most_constants:
        why = f"it takes {least if least == most_constants else f'{least} to {most_constants}'}"
        raise Refused(f"{asked.name} with {len(asked.constants)} constants", why, PAGE)
    if asked.is_distinct and any(each.argument for each in asked.order):
        why = "a set has no order by what is not in it"
        raise Refused(f"ORDER BY in {asked.name}(DISTINCT)", why, "order by the argument itself")
