"""joingraph keeps SQL join views up to date without storing them.

    View(sql, tables=...)  ->  JoinGraph(view)  ->  insert, delete, update, apply  ->  ViewDiff

Importing this package costs next to nothing: a name below brings in its module, and with it the
libraries that module needs, when it is first used.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if sys.platform == "win32":
    raise ImportError(
        "joingraph runs on Linux and macOS and does not support Windows; "
        "use it inside the Windows Subsystem for Linux"
    )

# In a checkout, filters/, maintainers/ and generators/ sit beside this folder.
_root = Path(__file__).parent.parent
if (_root / "pyproject.toml").exists():
    __path__.append(str(_root))

from joingraph.common.errors import (
    CorruptGraph,
    DiffError,
    JoinGraphError,
    LimitError,
    StoreError,
    ViewError,
)
from joingraph.common.version import __version__

if TYPE_CHECKING:
    from joingraph import spark
    from joingraph.api.join_graph import JoinGraph, open
    from joingraph.plan.view import View
    from joingraph.view_diffs.idiffs import apply_idiffs
    from joingraph.view_diffs.view_diff import ViewDiff

__all__ = [
    "CorruptGraph",
    "DiffError",
    "JoinGraph",
    "JoinGraphError",
    "LimitError",
    "StoreError",
    "View",
    "ViewDiff",
    "ViewError",
    "__version__",
    "apply_idiffs",
    "open",
    "spark",
]

_home_of = {
    "JoinGraph": "joingraph.api.join_graph",
    "View": "joingraph.plan.view",
    "ViewDiff": "joingraph.view_diffs.view_diff",
    "apply_idiffs": "joingraph.view_diffs.idiffs",
    "open": "joingraph.api.join_graph",
    "spark": "joingraph.spark",
}


def __getattr__(name: str) -> object:
    """Import the module that defines a public name, at its first use."""
    if name not in _home_of:
        raise AttributeError(f"module 'joingraph' has no attribute {name!r}")
    home = import_module(_home_of[name])
    value: object = home if name == "spark" else getattr(home, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, the ones not yet imported too."""
    return sorted(set(globals()) | set(__all__))
