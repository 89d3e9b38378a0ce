"""What all tests share: how far Hypothesis goes, kernels compiled once, checked ones in bounds."""

from __future__ import annotations

import os
from importlib import import_module

import pytest
from hypothesis import settings

# A deadline per example would fail on a busy machine without anything being wrong.
settings.register_profile("suite", deadline=None, max_examples=100, derandomize=True)
settings.load_profile("suite")

# A plugin of its own, as it imports the kernels, which takes a second.
pytest_plugins = ["tests.fences"] if os.environ.get("JOINGRAPH_KERNELS") == "checked" else []


def pytest_sessionstart(session: pytest.Session) -> None:
    """Compile the shared kernels before there are processes that would each compile them."""
    if session.config.getoption("numprocesses", None):
        import_module("joingraph.engines.compiled.warm").ensure_compiled()
