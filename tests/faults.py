"""A disk that fails at the n-th step, by an error or by taking only part of a write."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from typing import Any

import pytest

STEPS = ("writev", "fdatasync", "fsync", "rename", "ftruncate", "unlink", "open")


Step = Callable[..., Any]


def of_the_system(step: Step) -> Step:
    """Let a step pass for one of the system's: what it raises is not a signal handler's."""
    step.__code__ = step.__code__.replace(co_filename=os.__file__)
    return step


class Faults:
    """Counts the steps that are taken on the disk, and makes one of them fail."""

    def __init__(self, patch: pytest.MonkeyPatch, fails_at: int, kind: str, lasts: bool) -> None:
        self.fails_at, self.kind, self.lasts, self.taken = fails_at, kind, lasts, 0
        for name in STEPS:
            patch.setattr(os, name, self.failing(name, getattr(os, name)))

    @property
    def failed(self) -> bool:
        """Say whether the step has come."""
        return self.taken >= self.fails_at

    def failing(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def step(*given: Any, dir_fd: int | None = None) -> Any:
            self.taken += 1
            if self.taken < self.fails_at or (self.taken > self.fails_at and not self.lasts):
                return real(*given)
            if self.kind == "short" and name == "writev":
                # Part of the bytes is written, then the disk is full.
                descriptor, parts = given
                data = b"".join(parts)
                os.write(descriptor, data[: len(data) // 2])
            code = errno.EIO if self.kind == "EIO" else errno.ENOSPC
            raise OSError(code, os.strerror(code))

        return of_the_system(step)
