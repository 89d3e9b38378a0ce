"""The machine operations of the kernels, and the decorator that compiles them.

    ld(base, i), sto(base, i, value)     the int64 at base + 8 * i, aligned or not
    ldb(base, i)                         the byte at base + i, 0 … 255
    copy8(to, i, of, j), fill8(to, i, v) eight words at once, wherever they lie
    sto8(to, i, words)                   eight words of a tuple
    prefetch(base, i)                    ask for the line at base + 8 * i
    mix(key)                             a well-mixed 64-bit hash of a word
    add128(place, low, high)             add to the 128 bits at an address; what is over is lost
    mul128(place, low, high)             multiply them, likewise
    multiply_high(a, b)                  the high word of a product, both without a sign
    multiply_add(place, a, b, carry)     add a product and a carry, all without a sign, to the word
                                         at an address; gives the high word of it
    call3(function, a, b, c)             call compiled code by its address

Addresses are int64. There are three modes, settled when this module is imported:
raw (the default), checked (JOINGRAPH_KERNELS=checked: every access is compared with the fences of
graph/compiled/memory/reserved.py and counted as a violation instead of being made) and interpreted
(NUMBA_DISABLE_JIT=1).
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from functools import cache, partial
from threading import Thread, current_thread, main_thread
from types import FunctionType
from typing import Any, TypeVar, cast

from llvmlite import binding
from numba import njit, types
from numba.core.ccallback import CFunc

from joingraph.graph.compiled.machine import llvm_ops
from joingraph.graph.compiled.machine.kernel_cache import cache_of
from joingraph.graph.compiled.machine.llvm_ops import FENCES_SYMBOL, MULTIPLIER, SECRET
from joingraph.graph.compiled.machine.stamps import contents, folder_of
from joingraph.graph.compiled.memory.reserved import CHECKED, FENCES, INTERPRETED, byte_at, word_at

F = TypeVar("F", bound=Callable[..., Any])
Made = TypeVar("Made")

PLUG_SIGNATURE = ((types.int64,) * 3, types.int64)
_ALL = (1 << 64) - 1


SHARED: list[FunctionType] = []  # the kernels of this package, which all views share


def kernel(function: F) -> F:
    """Compile a function of int64s, cached on disk; it releases the GIL when Python calls it."""
    return compiled(function, inline=False)


def brief(function: F) -> F:
    """Compile a kernel of microseconds, which keeps the GIL: to have it back may take 5 ms."""
    return compiled(function, inline=False, nogil=False)


def small(function: F) -> F:
    """Compile a kernel of a few lines, which is always inlined where it is called."""
    return compiled(function, inline=True)


def compiled(function: F, *, inline: bool, nogil: bool = True) -> F:
    """Compile a function, unless kernels are interpreted."""
    if function.__module__.startswith("joingraph."):
        SHARED.append(cast(FunctionType, function))
        contents(folder_of(SHARED[-1]))
    if INTERPRETED:
        return function
    made: Any = njit(nogil=nogil, error_model="numpy", forceinline=inline)(function)
    made._cache = cache_of(function)
    made._compile_for_args = partial(uninterrupted, made._compile_for_args)
    return cast(F, made)


def uninterrupted(work: Callable[..., Made], *args: object) -> Made:
    """Do work in a thread of its own: signal handlers run in the main thread alone.

    An exception of a handler in the middle of numba would leave it unfit for the rest of the
    process. Here only the wait ends: the work goes on, and its next caller finds it done.
    """
    if current_thread() is not main_thread():
        return work(*args)
    done: Future[Made] = Future()

    def do() -> None:
        try:
            done.set_result(work(*args))
        except BaseException as error:  # noqa: BLE001 - it is raised where the work is waited for
            done.set_exception(error)

    Thread(target=do, name="joingraph-compile", daemon=True).start()
    return done.result()


PLUGS: dict[int, Callable[[int, int, int], int]] = {}  # interpreted: kernels by their address


def plug(function: Callable[[int, int, int], int]) -> int:
    """Compile a kernel that other kernels call by its address; gives the address."""
    if INTERPRETED:
        PLUGS[id(function)] = function
        return id(function)
    made: Any = CFunc(function, PLUG_SIGNATURE, {}, {"error_model": "numpy"})
    made._cache = cache_of(function)
    made.compile()
    _plugs.append(made)
    return int(made.address)


_plugs: list[Any] = []  # machine code lives as long as its CFunc


@cache
def address_of_kernel(function: Callable[[int], int]) -> int:
    """Return the address by which others call a kernel of one argument; they pass three.

    Called so it is compiled for itself alone, and not once more into each of its callers.
    """
    if INTERPRETED:
        PLUGS[id(function)] = lambda a, b, c: function(a)
        return id(function)
    return uninterrupted(_address_of, function)


def _address_of(dispatcher: Any) -> int:
    dispatcher.compile((types.int64,))
    made = dispatcher.overloads[(types.int64,)]
    return int(made.library.get_pointer_to_function(made.fndesc.llvm_cfunc_wrapper_name))


def mix_twin(key: int) -> int:
    """Mix as the machine does: the two halves of a 128-bit product, folded."""
    product = ((key & _ALL) ^ SECRET) * MULTIPLIER
    folded = (product >> 64) ^ (product & _ALL)
    return folded - (1 << 64) if folded >> 63 else folded


if INTERPRETED:

    def ld(base: int, index: int) -> int:
        """Load the word at base + 8 * index."""
        return int(word_at(base + 8 * index).value)

    def ldb(base: int, index: int) -> int:
        """Load the byte at base + index."""
        return byte_at(base + index)

    def sto(base: int, index: int, value: int) -> None:
        """Store a word at base + 8 * index."""
        assert -(1 << 63) <= value < 1 << 63, "a word has 64 bits"
        word_at(base + 8 * index).value = int(value)

    def copy8(to: int, i: int, of: int, j: int) -> None:
        """Copy eight words."""
        for lane in range(8):
            sto(to, i + lane, ld(of, j + lane))

    def fill8(to: int, i: int, value: int) -> None:
        """Store one word eight times."""
        for lane in range(8):
            sto(to, i + lane, value)

    def sto8(to: int, i: int, words: tuple[int, ...]) -> None:
        """Store eight words."""
        for lane in range(8):
            sto(to, i + lane, words[lane])

    def prefetch(base: int, index: int) -> None:
        """Do nothing: a hint changes no result."""

    def add128(place: int, low: int, high: int) -> None:
        """Add to a sum, modulo 2^128."""
        _set128(place, _at128(place) + (high << 64) + (low & _ALL))

    def mul128(place: int, low: int, high: int) -> None:
        """Multiply a sum, modulo 2^128."""
        _set128(place, _at128(place) * ((high << 64) + (low & _ALL)))

    def multiply_high(a: int, b: int) -> int:
        """Return the high word of the product of two words without a sign."""
        high = (a & _ALL) * (b & _ALL) >> 64
        return high - (high >> 63 << 64)

    def multiply_add(place: int, a: int, b: int, carry: int) -> int:
        """Add a product and a carry to a word, all without a sign; give the high word of it."""
        found = (a & _ALL) * (b & _ALL) + (ld(place, 0) & _ALL) + (carry & _ALL)
        low, high = found & _ALL, found >> 64
        sto(place, 0, low - (low >> 63 << 64))
        return high - (high >> 63 << 64)

    def _at128(place: int) -> int:
        return (ld(place, 1) << 64) + (ld(place, 0) & _ALL)

    def _set128(place: int, value: int) -> None:
        for word, half in enumerate((value & _ALL, value >> 64 & _ALL)):
            sto(place, word, half - (half >> 63 << 64))

    def call3(function: int, a: int, b: int, c: int) -> int:
        """Call a kernel by its address."""
        return PLUGS[function](a, b, c)

    mix = mix_twin

elif CHECKED:
    binding.add_symbol(FENCES_SYMBOL, FENCES.ctypes.data)

    @kernel
    def _inside(low: int, high: int) -> bool:
        known = llvm_ops.fences()
        for place in range(llvm_ops.ld(known, 1)):
            above = llvm_ops.ld(known, 2 + 2 * place) <= low
            if above and high <= llvm_ops.ld(known, 3 + 2 * place):
                return True
        llvm_ops.sto(known, 0, llvm_ops.ld(known, 0) + 1)
        return False

    @kernel
    def ld(base: int, index: int) -> int:
        """Load the word at base + 8 * index."""
        if _inside(base + 8 * index, base + 8 * index + 8):
            word: int = llvm_ops.ld(base, index)
            return word
        return 0

    @kernel
    def ldb(base: int, index: int) -> int:
        """Load the byte at base + index."""
        if _inside(base + index, base + index + 1):
            byte: int = llvm_ops.ldb(base, index)
            return byte
        return 0

    @kernel
    def sto(base: int, index: int, value: int) -> None:
        """Store a word at base + 8 * index."""
        if _inside(base + 8 * index, base + 8 * index + 8):
            llvm_ops.sto(base, index, value)

    @kernel
    def copy8(to: int, i: int, of: int, j: int) -> None:
        """Copy eight words."""
        if _inside(to + 8 * i, to + 8 * i + 64) and _inside(of + 8 * j, of + 8 * j + 64):
            llvm_ops.copy8(to, i, of, j)

    @kernel
    def fill8(to: int, i: int, value: int) -> None:
        """Store one word eight times."""
        if _inside(to + 8 * i, to + 8 * i + 64):
            llvm_ops.fill8(to, i, value)

    @kernel
    def sto8(to: int, i: int, words: tuple[int, ...]) -> None:
        """Store eight words."""
        if _inside(to + 8 * i, to + 8 * i + 64):
            llvm_ops.sto8(to, i, words)

    @kernel
    def add128(place: int, low: int, high: int) -> None:
        """Add to a sum, modulo 2^128."""
        if _inside(place, place + 16):
            llvm_ops.add128(place, low, high)

    @kernel
    def mul128(place: int, low: int, high: int) -> None:
        """Multiply a sum, modulo 2^128."""
        if _inside(place, place + 16):
            llvm_ops.mul128(place, low, high)

    @kernel
    def multiply_add(place: int, a: int, b: int, carry: int) -> int:
        """Add a product and a carry to a word, all without a sign; give the high word of it."""
        if _inside(place, place + 8):
            high: int = llvm_ops.multiply_add(place, a, b, carry)
            return high
        return 0

    prefetch, mix, call3 = llvm_ops.prefetch, llvm_ops.mix, llvm_ops.call3
    multiply_high = llvm_ops.multiply_high
else:
    ld, ldb, sto = llvm_ops.ld, llvm_ops.ldb, llvm_ops.sto
    copy8, fill8, sto8 = llvm_ops.copy8, llvm_ops.fill8, llvm_ops.sto8
    add128, mul128 = llvm_ops.add128, llvm_ops.mul128
    multiply_high, multiply_add = llvm_ops.multiply_high, llvm_ops.multiply_add
    prefetch, mix, call3 = llvm_ops.prefetch, llvm_ops.mix, llvm_ops.call3


def check_fences() -> None:
    """Raise if a checked kernel has tried to leave its regions."""
    assert FENCES[0] == 0, f"{FENCES[0]} accesses outside of all regions"
