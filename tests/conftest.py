"""What all tests share: how far Hypothesis goes, so that the suite's length is known."""

from __future__ import annotations

from hypothesis import settings

# A deadline per example would fail on a busy machine without anything being wrong.
settings.register_profile("suite", deadline=None, max_examples=100, derandomize=True)
settings.load_profile("suite")
