"""What all tests share: how far Hypothesis goes, and that checked kernels stay in their memory."""

from __future__ import annotations

import os

from hypothesis import settings

# A deadline per example would fail on a busy machine without anything being wrong.
settings.register_profile("suite", deadline=None, max_examples=100, derandomize=True)
settings.load_profile("suite")

# A plugin of its own, as it imports the kernels, which takes a second.
pytest_plugins = ["tests.fences"] if os.environ.get("JOINGRAPH_KERNELS") == "checked" else []
