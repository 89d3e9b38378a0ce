"""What stands where an engine was refuses every call by the text it was given."""

from __future__ import annotations

import pytest

import joingraph as jg
from joingraph.engines.stand_in import has_failed, stand_in


def test_every_call_is_refused_but_undo() -> None:
    engine = stand_in("{} is refused".format)
    engine.undo()
    for work in ("count", "check", "stats"):
        with pytest.raises(jg.StoreError, match=rf"^{work}\(\) is refused$"):
            getattr(engine, work)()
    with pytest.raises(jg.StoreError, match=r"^a change is refused$"):
        engine.keep()


def test_a_graph_that_was_closed_has_not_failed() -> None:
    assert not has_failed(stand_in("{}".format))
    assert has_failed(stand_in("{}".format, has_failed=True))
