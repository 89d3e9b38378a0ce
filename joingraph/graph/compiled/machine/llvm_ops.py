"""The machine operations as LLVM code: what `kernel.py` gives the kernels in raw mode.

Each is an intrinsic of Numba: a function that types the operation, and one that writes its code.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

FENCES_SYMBOL = "joingraph_fences"
MULTIPLIER = 0x9E3779B97F4A7C15
SECRET = 0x2D358DCCAA6C78A5
_WORD = ir.IntType(64)
_HALF = ir.IntType(32)
_EIGHT = ir.VectorType(_WORD, 8)
_WORDS: Any = types.UniTuple  # untyped


def operation(function: Callable[..., Any]) -> Any:
    """Make a function that types and writes code into an operation kernels can call."""
    return intrinsic(function)


def _place(builder: Any, base: Any, index: Any) -> Any:
    return builder.gep(builder.inttoptr(base, _WORD.as_pointer()), [index])


def _eight(builder: Any, base: Any, index: Any) -> Any:
    return builder.bitcast(_place(builder, base, index), _EIGHT.as_pointer())


@operation
def ld(typing: Any, base: Any, index: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load(_place(builder, *args), align=1)

    return types.int64(types.int64, types.int64), code


@operation
def ldb(typing: Any, base: Any, index: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        byte = ir.IntType(8)
        place = builder.gep(builder.inttoptr(args[0], byte.as_pointer()), [args[1]])
        return builder.zext(builder.load(place), _WORD)

    return types.int64(types.int64, types.int64), code


@operation
def sto(typing: Any, base: Any, index: Any, value: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store(args[2], _place(builder, args[0], args[1]), align=1)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), code


@operation
def copy8(typing: Any, to: Any, i: Any, of: Any, j: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        eight = builder.load(_eight(builder, args[2], args[3]), align=8)
        builder.store(eight, _eight(builder, args[0], args[1]), align=8)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64, types.int64), code


@operation
def fill8(typing: Any, to: Any, i: Any, value: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        nothing = ir.Constant(_EIGHT, ir.Undefined)
        one = builder.insert_element(nothing, args[2], _HALF(0))
        lanes = ir.Constant(ir.VectorType(_HALF, 8), [0] * 8)
        eight = builder.shuffle_vector(one, nothing, lanes)
        builder.store(eight, _eight(builder, args[0], args[1]), align=8)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), code


@operation
def sto8(typing: Any, to: Any, i: Any, eight: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        words = ir.Constant(_EIGHT, ir.Undefined)
        for lane in range(8):
            word = builder.extract_value(args[2], lane)
            words = builder.insert_element(words, word, _HALF(lane))
        builder.store(words, _eight(builder, args[0], args[1]), align=8)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, _WORDS(types.int64, 8)), code


@operation
def prefetch(typing: Any, base: Any, index: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = builder.bitcast(_place(builder, *args), ir.IntType(8).as_pointer())
        name = "llvm.prefetch.p0i8" if "i8*" in str(place.type) else "llvm.prefetch.p0"
        kind = ir.FunctionType(ir.VoidType(), [place.type, _HALF, _HALF, _HALF])
        insert: Any = cgutils.get_or_insert_function  # untyped
        builder.call(insert(builder.module, kind, name), [place, _HALF(0), _HALF(3), _HALF(1)])
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), code


@operation
def mix(typing: Any, key: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        wide = ir.IntType(128)
        key = builder.zext(builder.xor(args[0], _WORD(SECRET)), wide)
        product = builder.mul(key, wide(MULTIPLIER))
        high = builder.trunc(builder.lshr(product, wide(64)), _WORD)
        return builder.xor(high, builder.trunc(product, _WORD))

    return types.int64(types.int64), code


def _wide(builder: Any, place: Any, low: Any, high: Any) -> tuple[Any, Any, Any]:
    """Load the sum at an address, and put two words together to another one."""
    wide = ir.IntType(128)
    at = builder.inttoptr(place, wide.as_pointer())
    upper = builder.shl(builder.zext(high, wide), wide(64))
    return at, builder.load(at, align=8), builder.or_(upper, builder.zext(low, wide))


@operation
def add128(typing: Any, place: Any, low: Any, high: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        at, old, more = _wide(builder, *args)
        builder.store(builder.add(old, more), at, align=8)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), code


@operation
def mul128(typing: Any, place: Any, low: Any, high: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        at, old, more = _wide(builder, *args)
        builder.store(builder.mul(old, more), at, align=8)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), code


@operation
def multiply_high(typing: Any, a: Any, b: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        wide = ir.IntType(128)
        product = builder.mul(*(builder.zext(each, wide) for each in args))
        return builder.trunc(builder.lshr(product, wide(64)), _WORD)

    return types.int64(types.int64, types.int64), code


@operation
def multiply_add(typing: Any, place: Any, a: Any, b: Any, carry: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        wide = ir.IntType(128)
        at = builder.inttoptr(args[0], _WORD.as_pointer())
        word = builder.load(at, align=8)
        word, a, b, carry = (builder.zext(each, wide) for each in (word, *args[1:]))
        found = builder.add(builder.add(builder.mul(a, b), word), carry)
        builder.store(builder.trunc(found, _WORD), at, align=8)
        return builder.trunc(builder.lshr(found, wide(64)), _WORD)

    return types.int64(*[types.int64] * 4), code


@operation
def call3(typing: Any, function: Any, a: Any, b: Any, c: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = ir.FunctionType(_WORD, [_WORD] * 3)
        return builder.call(builder.inttoptr(args[0], kind.as_pointer()), args[1:])

    return types.int64(*[types.int64] * 4), code


@operation
def fences(typing: Any) -> Any:
    """Give the address of the fences: a symbol, so that cached code finds them in each process."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        add: Any = cgutils.add_global_variable  # untyped
        symbol = add(builder.module, ir.IntType(8), FENCES_SYMBOL)
        symbol.linkage = "external"
        return builder.ptrtoint(symbol, _WORD)

    return types.int64(), code
