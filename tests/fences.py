"""Of checked kernels: a test fails itself if one of them leaves its memory."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from joingraph.graph.compiled.machine.kernel import check_fences
from joingraph.graph.compiled.memory.reserved import FENCES


@pytest.fixture(autouse=True)
def within_fences() -> Iterator[None]:
    """Look at the count of violations after each test: by themselves only batches and scans do."""
    yield
    try:
        check_fences()
    finally:
        FENCES[0] = 0
