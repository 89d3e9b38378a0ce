"""Where things are kept that can be made again: one folder in the user's cache."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """Name the folder of our cache; it need not exist."""
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "joingraph"
