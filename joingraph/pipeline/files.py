"""Files that a crash leaves as they were, or whole."""

from __future__ import annotations

import os
from pathlib import Path


def write_safely(path: Path, text: str) -> None:
    """Write a file so that a crash leaves it as it was, or whole."""
    fresh = path.with_name(f".{path.name}")
    with fresh.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
