"""The errors joingraph raises on purpose: one parent, so that a caller can catch them all."""

from __future__ import annotations


class JoinGraphError(Exception):
    """Anything joingraph refuses: the text says what was asked, what was found, what to do."""


class ViewError(JoinGraphError):
    """SQL that is not a view we maintain, with the construct, its place and a remedy."""


class DiffError(JoinGraphError):
    """A diff that does not fit its table or the graph; nothing of its batch was applied."""


class LimitError(JoinGraphError):
    """A named limit would be passed; nothing was changed."""


class StoreError(JoinGraphError):
    """A graph that cannot be opened, read or written as asked."""


class CorruptGraph(JoinGraphError):
    """An invariant of the graph does not hold: `check()` found what should be impossible."""
