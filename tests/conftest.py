"""What all tests share: how far Hypothesis goes, and that checked kernels stay in their memory."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

# A deadline per example would fail on a busy machine without anything being wrong.
settings.register_profile("suite", deadline=None, max_examples=100, derandomize=True)
settings.load_profile("suite")


@pytest.fixture(autouse=os.environ.get("JOINGRAPH_KERNELS") == "checked")
def within_fences() -> Iterator[None]:
    """Fail the test itself whose kernels left their memory: only batches and scans look, later."""
    from joingraph.kernels.intrinsics import check_fences  # takes a second to import
    from joingraph.kernels.memory import FENCES

    yield
    try:
        check_fences()
    finally:
        FENCES[0] = 0
