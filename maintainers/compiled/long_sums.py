"""Sums of any number of words: integers in two's complement that wrap, the low word first.

    float    mantissa * 2^exponent, of a term whose unit is 2^low, is mantissa << (exponent - low)

All values of a term are such integers, and a sum has words enough for them
(graph/compiled/groups/windows.py), so sums of floats are exact. A factor of fewer words is
continued by its sign. A product is made in place from the top word down, so that each word is read
before it is changed.
"""

from __future__ import annotations

from joingraph.graph.compiled import fields as f
from joingraph.graph.compiled.machine.kernel import kernel, ld, mul128, multiply_add, small, sto


@kernel
def add_long(to: int, of: int, words: int) -> None:
    """Add a sum to a sum."""
    carry = 0
    for word in range(words):
        carry = multiply_add(to + word * 8, ld(of, word), 1, carry)


@kernel
def multiply_long(to: int, words: int, of: int, of_words: int) -> None:
    """Multiply a sum by another one, which is not wider."""
    sign = ld(of, of_words - 1) >> 63
    for at in range(words):
        top = words - 1 - at
        word, carry = ld(to, top), 0
        sto(to, top, 0)
        for place in range(words - top):
            factor = ld(of, place) if place < of_words else sign
            carry = multiply_add(to + (top + place) * 8, word, factor, carry)


@kernel
def multiply_wide(to: int, words: int, low: int, high: int) -> None:
    """Multiply a sum by an integer of two words."""
    for at in range(words):
        top = words - 1 - at
        word, carry = ld(to, top), 0
        sto(to, top, 0)
        for place in range(words - top):
            factor = low if place == 0 else high if place == 1 else high >> 63
            carry = multiply_add(to + (top + place) * 8, word, factor, carry)


@kernel
def multiply_float(to: int, words: int, word: int, term: int) -> None:
    """Multiply a sum by a float, of which its word is known; NaN and infinities give 0."""
    digits, odd, least = 52, 2047, -1075
    if ld(term, f.T_KIND) == f.REAL:
        digits, odd, least = 23, 255, -150
    exponent, mantissa = (word >> digits) & odd, word & ((1 << digits) - 1)
    if exponent == odd or exponent + mantissa == 0:
        for at in range(words):
            sto(to, at, 0)
        return
    if exponent:
        mantissa |= 1 << digits
    shift = max(exponent, 1) + least - ld(term, f.T_OPERAND)
    if shift < 0:  # the bits below the unit are 0
        mantissa >>= -shift
        shift = 0
    if word < 0:
        mantissa = -mantissa
    if words == 2:
        mul128(to, mantissa, mantissa >> 63)
        if shift < 64:
            mul128(to, 1 << shift, 0)
        else:
            mul128(to, 0, 1 << (shift - 64))
    else:
        multiply_wide(to, words, mantissa, mantissa >> 63)
        shift_up(to, words, shift)


@small
def shift_up(to: int, words: int, shift: int) -> None:
    """Multiply a sum by a power of two."""
    whole, carry = shift >> 6, 0
    for at in range(words):
        top = words - 1 - at
        sto(to, top, ld(to, top - whole) if top >= whole else 0)
    for at in range(words):
        word = ld(to, at)
        sto(to, at, 0)
        carry = multiply_add(to + at * 8, word, 1 << (shift & 63), carry)
