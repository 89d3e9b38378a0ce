"""Compiles a view's own kernels: kept on disk by content, made in the background, one at a time.

    text -> <cache>/jg_<sha256 of text and runtime>.py -> numba, its cache beside it -> address

The cache folder holds code that will be run, so it is used only if it is ours alone: owned by the
user, mode 0700. Else the text goes to a folder of this process, or is compiled in memory.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import queue
import shutil
import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from llvmlite.binding import ffi
from numba.core.compiler_lock import global_compiler_lock

from joingraph.common.atomic_file import write_shared
from joingraph.common.cache_folder import own_folder
from joingraph.common.errors import StoreError
from joingraph.common.forks import FORKS
from joingraph.engines.codegen.module_text import IMPORTS, IMPORTS_OF_GROUPS
from joingraph.graph.compiled.machine.kernel_cache import say_once
from joingraph.graph.compiled.machine.stamps import meant, stamp_of
from joingraph.graph.compiled.memory.reserved import INTERPRETED

Task = Callable[[], None]
_compiling = threading.RLock()  # a module is in sys.modules before it is complete


_private: dict[int, Path] = {}  # by process, as a forked one has a copy of this


def private_folder() -> Path:
    """Return a folder that ends with this process."""
    process = os.getpid()
    if process not in _private:
        _private[process] = Path(tempfile.mkdtemp(prefix="joingraph-"))
        atexit.register(remove_private, process)
    return _private[process]


def remove_private(process: int) -> None:
    """Remove a process' folder at its exit, but not at that of one forked from it."""
    if process == os.getpid():
        shutil.rmtree(_private.pop(process), ignore_errors=True)


def compile_text(text: str) -> int:
    """Compile a generated module, or find it compiled; gives the address of its kernel."""
    mode = "interpreted" if INTERPRETED else runtime_stamp()
    name = "jg_" + hashlib.sha256(f"{mode}\0{text}".encode()).hexdigest()[:32]
    with _compiling:
        if name not in sys.modules:
            load_module(name, text, place_for(f"{name}.py", text))
        return int(sys.modules[name].kernel)


@cache
def runtime_stamp() -> str:
    """Return the stamp of all that a generated kernel may call."""
    names: dict[str, Any] = {}
    exec(IMPORTS + IMPORTS_OF_GROUPS, {}, names)  # noqa: S102  # our own text
    return stamp_of(*meant(names.keys() - {"plug"}, names))


def place_for(file: str, text: str) -> Path:
    """Write a module where its machine code can lie beside it, or name a file that is not there."""
    folder = own_folder("kernels")
    if folder is not None:
        with suppress(OSError):
            return written(folder / file, text)
    say_once(
        "the kernels of a view are compiled anew in each process: the cache folder"
        " (XDG_CACHE_HOME, or ~/.cache) cannot be written to, or is not this user's alone"
    )
    with suppress(OSError):
        return written(private_folder() / file, text)
    return Path(f"<{file}>")


def load_module(name: str, text: str, path: Path) -> None:
    """Execute a generated module, which compiles its kernel; Python keeps no bytecode of it."""
    module = ModuleType(name)
    module.__file__ = str(path)
    sys.modules[name] = module  # numba looks the module up while it loads its cache
    try:
        exec(compile(text, str(path), "exec"), module.__dict__)  # noqa: S102  # our own text
    except BaseException:
        del sys.modules[name]
        raise


def written(path: Path, text: str) -> Path:
    """Write a module once: numba looks for its cache beside it."""
    if not path.exists() or path.read_bytes() != text.encode():
        write_shared(path, text.encode())
    return path


def compiler_locks() -> list[Any]:
    """Return the locks of numba and of LLVM, which both leave forks to others."""
    library: Any = ffi.lib
    owners: list[Any] = [global_compiler_lock, getattr(library, "_lock", None)]
    return [each._lock for each in owners if hasattr(each, "_lock")]


class LostLock:
    """Stands for numba's lock in a child that was forked while another thread compiled."""

    def acquire(self) -> NoReturn:
        """Refuse: the compiler may be half changed, or locked within for good."""
        raise StoreError(
            "no kernel can be compiled here: a kernel was being compiled, and for long, when this"
            " process was forked; let graph.compile() end before the fork, or start processes with"
            ' multiprocessing.get_context("spawn")'
        )


class Worker:
    """One background thread for all graphs: numba compiles one kernel at a time anyway."""

    def __init__(self) -> None:
        self._tasks: queue.SimpleQueue[Task | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._lock = threading.RLock()
        self._is_lost = False
        FORKS.watch(self._forked, self._lock, _compiling, *compiler_locks())

    def submit(self, task: Task) -> None:
        """Do a task later; tasks are done in order."""
        with self._lock:
            if self._is_lost:
                return
            if self._thread is None:
                thread = threading.Thread(target=self._work, name="joingraph", daemon=True)
                try:
                    thread.start()
                except RuntimeError as error:  # graphs go on without kernels of their own
                    say_once(f"kernels of views cannot be compiled in the background: {error}")
                    return
                self._thread = thread
                atexit.register(self._stop)
        self._tasks.put(task)

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None:
            task()

    def _forked(self, whole: bool) -> None:
        """Begin anew in a forked child, without the parent's thread and what it had ordered."""
        self._tasks, self._thread = queue.SimpleQueue(), None
        atexit.unregister(self._stop)
        if not whole:
            self._is_lost = True
            compiler: Any = global_compiler_lock
            compiler._lock = LostLock()

    def _stop(self) -> None:
        """End with the task at hand: a compiler must not be torn down under way."""
        while not self._tasks.empty():
            self._tasks.get()
        self._tasks.put(None)
        assert self._thread is not None, "it was started before this was registered"
        self._thread.join()


WORKER = Worker()
