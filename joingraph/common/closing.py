"""What is closed at the end: by a `with` statement, or where something is raised."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Self


class Closing(ABC):
    """Opened by `with`, and closed by its end."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    @abstractmethod
    def close(self) -> None:
        """Give back what this holds."""


@contextmanager
def on_error(close: Callable[[], object]) -> Generator[None]:
    """Call a function if what is done within raises, an interrupt too."""
    try:
        yield
    except BaseException:
        close()
        raise
