"""Compiles a view's own kernels: kept on disk by content, made in the background, one at a time.

    text -> <cache>/jg_<sha256 of text and runtime>.py -> numba, its cache beside it -> address

The cache folder holds code that will be run, so it is used only if it is ours alone: owned by the
user, mode 0700. Else the text goes to a folder of this process.
"""

from __future__ import annotations

import atexit
import hashlib
import importlib.util
import os
import queue
import stat
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

from joingraph.kernels.intrinsics import STAMP
from joingraph.kernels.memory import CHECKED, INTERPRETED

Task = Callable[[], None]
_compiling = threading.Lock()  # a module is in sys.modules before it is complete


def cache_folder() -> Path:
    """Give the folder for generated kernels, made if need be; a private one if it is not ours."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = home / "joingraph" / "kernels"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return private_folder()
    return folder if is_ours(folder) else private_folder()


def is_ours(folder: Path) -> bool:
    """Say whether only this user can write or read a folder."""
    found = folder.lstat()
    return (
        stat.S_ISDIR(found.st_mode)
        and found.st_uid == os.getuid()
        and stat.S_IMODE(found.st_mode) == 0o700
    )


_private: list[tempfile.TemporaryDirectory[str]] = []


def private_folder() -> Path:
    """Give a folder that ends with this process."""
    if not _private:
        _private.append(tempfile.TemporaryDirectory(prefix="joingraph-"))
    return Path(_private[0].name)


def compile_text(text: str) -> int:
    """Compile a generated module, or find it compiled; gives the address of its kernel."""
    mode = f"{STAMP} {INTERPRETED} {CHECKED}"
    name = "jg_" + hashlib.sha256(f"{mode}\0{text}".encode()).hexdigest()[:32]
    with _compiling:
        if name not in sys.modules:
            load_module(name, written(cache_folder() / f"{name}.py", text))
        return int(sys.modules[name].kernel)


def load_module(name: str, path: Path) -> None:
    """Execute a generated module, which compiles its kernel."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None, "a .py file has a loader"
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # numba looks the module up while it loads its cache
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise


def written(path: Path, text: str) -> Path:
    """Write a module once: numba's cache knows a file by its size and time."""
    if not path.exists() or path.read_text() != text:
        fresh = path.with_suffix(f".{os.getpid()}.{threading.get_ident()}")
        fresh.write_text(text)
        fresh.replace(path)
    return path


class Worker:
    """One background thread for all graphs: numba compiles one kernel at a time anyway."""

    def __init__(self) -> None:
        self._tasks: queue.SimpleQueue[Task | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def submit(self, task: Task) -> None:
        """Do a task later; tasks are done in order."""
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="joingraph", daemon=True)
                self._thread.start()
                atexit.register(self._stop)
        self._tasks.put(task)

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None:
            task()

    def _stop(self) -> None:
        """End with the task at hand: a compiler must not be torn down under way."""
        while not self._tasks.empty():
            self._tasks.get()
        self._tasks.put(None)
        assert self._thread is not None, "it was started before this was registered"
        self._thread.join()


WORKER = Worker()
