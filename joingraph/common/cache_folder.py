"""Where things are kept that can be made again: one folder in the user's cache.

$XDG_CACHE_HOME/joingraph, or ~/.cache/joingraph
    key           what snapshots' arrays are sealed with (storage/disk/seal.py)
    kernels/      views' own kernels, compiled (engines/codegen/compile.py)
    java/, jars/  what Spark needs (spark/environment/java.py, spark/environment/jars.py)
"""

from __future__ import annotations

import os
import stat
from pathlib import Path


def cache_folder() -> Path:
    """Return the folder of our cache, which need not exist; RuntimeError if there is no home."""
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "joingraph"


def own_folder(name: str) -> Path | None:
    """Return a folder of the cache, made if need be; None if it is not this user's alone."""
    try:
        folder = cache_folder() / name
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.lstat()
    except (OSError, RuntimeError):
        return None
    is_folder = stat.S_ISDIR(found.st_mode) and stat.S_IMODE(found.st_mode) == 0o700
    return folder if is_folder and found.st_uid == os.getuid() else None
