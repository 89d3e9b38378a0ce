"""What compiled code depends on, as a stamp: what was kept under another stamp is not used.

    kernel -> the kernels and operations it calls, and those they call -> the files all these are in
           -> the constants that they read

Numba's cache sees changes in a function's own file only, but the code of the kernels it calls is in
its machine code too. What a file imports for its Python part is not. So a change in one file makes
anew the kernels in it and those that call them, and no others.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numba
from numba.core.dispatcher import Dispatcher

from joingraph.graph.compiled.machine import llvm_ops
from joingraph.graph.compiled.memory.reserved import CHECKED

Operation: Any = type(llvm_ops.ld)


def stamp_of(*roots: object) -> str:
    """Return the stamp of functions or constants, and of all that the functions call."""
    return digest([*FOUNDATION, *sorted(facts_of(*roots))])


def facts_of(*roots: object) -> set[str]:
    """Return the constants and the contents of the files that machine code is made of."""
    facts, waiting, seen = set[str](), list(roots), set[FunctionType]()
    while waiting:
        match waiting.pop():
            case Dispatcher() as kernel:
                waiting.append(kernel.py_func)
            case FunctionType() as function:
                if function not in seen:
                    seen.add(function)
                    facts.add(content(function.__code__.co_filename))
                    waiting += named_in(function)
            case Operation():  # its file is in the foundation
                pass
            case constant:
                facts.add(str(constant))
    return facts


def stamp_of_folders(functions: Iterable[FunctionType]) -> str:
    """Return the stamp of all code in the folders of functions, Python parts included."""
    folders = sorted({folder_of(each) for each in functions})
    return digest([*FOUNDATION, *(each for folder in folders for each in contents(folder))])


def folder_of(function: FunctionType) -> Path:
    """Return the folder of a function's file."""
    return Path(function.__code__.co_filename).parent


@cache
def contents(folder: Path) -> tuple[str, ...]:
    """Return the hashes of the code in a folder, as it is when this is asked first.

    That is when its first kernel is made: a file that is edited later is not the one that runs.
    """
    return tuple(content(str(path)) for path in sorted(folder.glob("*.py")))


@cache
def named_in(function: FunctionType) -> tuple[object, ...]:
    """Return what a function's code names: functions as they are, constants with their names."""
    names = set(names_in(function.__code__))
    found = list(meant(names, function.__globals__))
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    found += meant(names, {name: cell.cell_contents for name, cell in cells})
    return tuple(found)


def meant(names: set[str], known: Mapping[str, Any]) -> Iterator[object]:
    """Yield what names stand for; of a module, the attributes that are named too."""
    for name in names & known.keys():
        match known[name]:
            case ModuleType() as module:
                yield from meant(names, vars(module))
            case int() as constant:
                yield f"{name} = {constant}"
            case (Dispatcher() | FunctionType() | Operation()) as callee:
                yield callee
            case other:
                kind = type(other).__name__
                raise TypeError(f"a kernel reads {name}, a {kind}: its stamp would not change")


def names_in(code: CodeType) -> Iterator[str]:
    """Yield the names in a function's code, and in that of the functions within it."""
    yield from (*code.co_names, *code.co_freevars)
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from names_in(each)


@cache
def content(path: str) -> str:
    """Return the hash of a file as it first was; a text in no file has its hash in its name."""
    file = Path(path)
    return hashlib.sha256(file.read_bytes()).hexdigest() if file.exists() else path


def digest(parts: Iterable[str]) -> str:
    """Return one short hash of several texts."""
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


# The decorators' options and the operations are in all machine code.
FOUNDATION = (
    numba.__version__,
    str(CHECKED),
    content(str(Path(__file__).with_name("kernel.py"))),
    content(str(llvm_ops.__file__)),
)
