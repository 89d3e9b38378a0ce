"""What a `with` statement closes at its end, whatever was raised within."""

from __future__ import annotations

from abc import ABC, abstractmethod
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
