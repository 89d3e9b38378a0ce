"""What stands where a graph's engine was, once the graph can answer nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from joingraph.common.errors import StoreError
from joingraph.engines.contract import Engine


class StandIn:
    """Answers every call with an error; `refusal` is its text, given what was asked.

    `undo` alone does nothing: of a change that began here nothing was carried out.
    """

    def __init__(self, refusal: Callable[[str], str], *, has_failed: bool) -> None:
        self._refusal, self.has_failed = refusal, has_failed

    def undo(self) -> None:
        """Do nothing."""

    def __getattr__(self, call: str) -> Any:
        # Every change begins with keep(), which is no call that a user knows.
        raise StoreError(self._refusal("a change" if call == "keep" else f"{call}()"))


def stand_in(refusal: Callable[[str], str], *, has_failed: bool = False) -> Engine:
    """Return a stand-in for an engine; `has_failed` if opening the graph again may help."""
    return cast(Engine, StandIn(refusal, has_failed=has_failed))


def has_failed(engine: Engine) -> bool:
    """True if an engine is the stand-in of one that failed."""
    return isinstance(engine, StandIn) and engine.has_failed
