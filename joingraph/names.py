"""Names in messages: quoted, shortened where absurd, and the one that was probably meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

NAME_CHARS_MAX = 60


def quoted(name: str) -> str:
    """Put a name into quotes for a message, shortened where it is absurdly long."""
    short = name if len(name) <= NAME_CHARS_MAX else name[:NAME_CHARS_MAX] + "..."
    return f'"{short}"'


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
