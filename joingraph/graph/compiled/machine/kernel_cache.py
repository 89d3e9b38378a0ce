"""The cache of compiled kernels on disk: whatever it is like, kernels work.

    file   | checksum of the rest | what numba writes there |

Numba reads pickles and machine code from its cache and believes them. So a file is used only if
its checksum holds; one that is cut short, zeroed or of another program counts as missing and is
written anew. Where nothing can be kept (no home, a folder that cannot be written to, a full disk),
kernels are compiled in memory, and that is said once.
"""

# mypy: disallow-untyped-calls=False, warn-unused-ignores=False

from __future__ import annotations

import logging
import os
import pickle
from collections.abc import Generator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from types import FunctionType
from typing import Any

from numba.core.caching import FunctionCache, IndexDataCacheFile, NullCache
from numba.core.serialize import dumps

from joingraph.graph.compiled.machine.stamps import stamp_of

CHECKSUM_BYTES = 16
log = logging.getLogger("joingraph")
MEMORY_ONLY = (
    "compiled kernels are kept for this process only: {}; set XDG_CACHE_HOME or NUMBA_CACHE_DIR to"
    " a folder of your own"
)
_said: set[str] = set()


def checksum_of(data: bytes) -> bytes:
    """Return the checksum of a file's content."""
    return blake2b(data, digest_size=CHECKSUM_BYTES).digest()


def say_once(text: str) -> None:
    """Warn of what is the same for all kernels of this process."""
    if text not in _said:
        _said.add(text)
        log.warning(text)


class CheckedFile(IndexDataCacheFile):
    """Numba's files of one function, each with its checksum.

    The stamp is asked for when a file is: by then all that the function calls is there to be seen.
    """

    def __init__(self, path: str, base: str, function: FunctionType) -> None:
        super().__init__(path, base, None)
        self._function = function

    def _load_index(self) -> dict[Any, Any]:
        version, stamp, found = self._read(self._index_path) or (None, None, {})
        is_ours = version == self._version and stamp == stamp_of(self._function)
        return dict(found) if is_ours else {}

    def _save_index(self, overloads: dict[Any, Any]) -> None:
        self._write(self._index_path, (self._version, stamp_of(self._function), overloads))

    def _load_data(self, name: str) -> Any:
        return self._read(self._data_path(name))

    def _save_data(self, name: str, data: Any) -> None:
        self._write(self._data_path(name), data)

    def _read(self, path: str) -> Any:
        try:
            written = Path(path).read_bytes()
        except FileNotFoundError:
            return None
        checksum, data = written[:CHECKSUM_BYTES], written[CHECKSUM_BYTES:]
        if checksum != checksum_of(data):
            say_once("a file of the cache of compiled kernels is damaged; it is made anew")
            return None
        return pickle.loads(data)  # as numba does, but of whole files

    def _write(self, path: str, value: Any) -> None:
        data = dumps(value)
        with self._open_for_write(path) as file:
            file.write(checksum_of(data) + data)


class KernelCache(FunctionCache):
    """Numba's cache of one function, without which the function is compiled in memory."""

    def __init__(self, function: FunctionType) -> None:
        super().__init__(function)
        base = f"{self._impl.filename_base}.checked"  # numba's own have no checksum
        self._cache_file = CheckedFile(self._cache_path, base, function)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Find a compiled function, or nothing if its files cannot be read."""
        with without_cache("read"):
            return super().load_overload(sig, target_context)

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a compiled function, if that is possible."""
        with without_cache("written"):
            super().save_overload(sig, data)


def cache_of(function: Any) -> Any:
    """Return a function's cache, or one that keeps nothing where there is no place for it."""
    if not has_home() and not os.access(Path(__file__).parent, os.W_OK):
        say_once(MEMORY_ONLY.format("there is no home directory"))
        return NullCache()
    try:
        return KernelCache(function)
    except (RuntimeError, OSError) as error:
        reason = str(error).partition(" for file")[0]
        say_once(MEMORY_ONLY.format(reason.partition(" '")[0]))
        return NullCache()


def has_home() -> bool:
    """True if a user's cache can be somewhere: numba would make a folder named ~."""
    named = os.environ.get("XDG_CACHE_HOME") or os.environ.get("NUMBA_CACHE_DIR")
    return bool(named) or os.path.isabs(os.path.expanduser("~"))


@contextmanager
def without_cache(what: str) -> Generator[None]:
    """Go on without a cache that cannot be used."""
    try:
        yield
    except Exception as error:  # noqa: BLE001  # pickles may raise anything
        kind = error.strerror if isinstance(error, OSError) else type(error).__name__
        say_once(MEMORY_ONLY.format(f"the cache cannot be {what}: {kind}"))
