"""Names and values in messages: quoted, shortened where absurd; the name probably meant."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from difflib import get_close_matches
from typing import Any, TypeGuard

import pyarrow as pa

NAME_CHARS_MAX = 60
OWN_CHARS_MAX = 200  # of a name that a caller gives to a source or a subscriber


def quoted(name: str) -> str:
    """Put a name into quotes for a message, shortened where it is absurdly long."""
    short = name if len(name) <= NAME_CHARS_MAX else name[:NAME_CHARS_MAX] + "..."
    return f'"{short.encode(errors="backslashreplace").decode()}"'


def short_repr(value: object, most: int = 100) -> str:
    """Write a value that a caller gave, shortened; by its type where it has no text.

    >>> short_repr("x" * 1_000, 10)
    "'xxxxxxxxx"
    >>> short_repr(10**5_000)
    'a value of type int'
    """
    # Python refuses thousands of digits and deep lists; a caller's class may raise anything.
    with suppress(Exception):
        return repr(value)[:most]
    return f"a value of type {type(value).__name__}"


def plain_items(mapping: object, usage: str) -> list[tuple[str, Any]]:
    """Return what a caller's mapping of names holds, read once; else TypeError with its usage."""
    # A map of pyarrow says that it is a mapping, and is one in part.
    if not isinstance(mapping, Mapping) or isinstance(mapping, pa.Scalar):
        raise TypeError(f"{usage}; found {type(mapping).__name__}")
    try:
        items = list(mapping.items())
    except RuntimeError as error:
        raise ValueError(f"{usage}; this one changed while it was read: {error}") from None
    for name, _ in items:
        if not isinstance(name, str) or not is_unicode(name):
            raise TypeError(f"{usage}; found {short_repr(name)} for a name")
    return items


def plain(value: Any) -> Any:
    """Return a text or a number of a caller's class as one of Python's own.

    A method of that class may do anything, such as ask the graph that is being changed.

    >>> class Loud(str):
    ...     def __str__(self):
    ...         return self.upper()
    >>> plain(Loud("a"))
    'a'
    """
    if isinstance(value, str):
        return str.__str__(value)
    return int.__index__(value) if isinstance(value, int) and type(value) is not bool else value


def is_unicode(text: str) -> bool:
    """True for a text that can be written as UTF-8: it has no half of a surrogate pair."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_name(value: object) -> TypeGuard[str]:
    """True if a source or a subscriber can be called so."""
    return isinstance(value, str) and 0 < len(value) <= OWN_CHARS_MAX and is_unicode(value)


def suggest(name: str, names: Iterable[str]) -> str | None:
    """Find the name that was probably meant.

    >>> suggest("tweet_id", ["userId", "tweetId"])
    'tweetId'
    """
    if len(name) > NAME_CHARS_MAX:
        return None
    spelled = {each.lower(): each for each in names}
    near = get_close_matches(name.lower(), spelled, n=1, cutoff=0.6)
    return spelled[near[0]] if near else None


def did_you_mean(name: str, names: Iterable[str], otherwise: str = "") -> str:
    """Return the end of a message about an unknown name: the one that was probably meant."""
    near = suggest(name, names)
    return otherwise if near is None else f"; did you mean {quoted(near)}?"
