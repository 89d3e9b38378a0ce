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
    is_double = ld(term, f.T_KIND) == f.DOUBLE
    mantissa, exponent = of_double(word) if is_double else of_real(word)
    mantissa, shift = of_unit(mantissa, exponent, ld(term, f.T_OPERAND))
    if words == 2:
        low, high = shifted(mantissa, shift)
        mul128(to, low, high)
    else:
        multiply_wide(to, words, mantissa, mantissa >> 63)
        shift_up(to, words, shift)


@small
def of_double(word: int) -> tuple[int, int]:
    """Return the mantissa of a DOUBLE, and its power of two; NaN and infinities have none."""
    return split(word, 52, 2047, -1075)


@small
def of_real(word: int) -> tuple[int, int]:
    """Return the mantissa of a REAL, and its power of two; NaN and infinities have none."""
    return split(word, 23, 255, -150)


@small
def split(word: int, digits: int, odd: int, least: int) -> tuple[int, int]:
    """Return mantissa and power of a float of so many digits; its exponent is odd if not finite."""
    exponent, mantissa = (word >> digits) & odd, word & ((1 << digits) - 1)
    if exponent == odd:
        mantissa = 0
    elif exponent:
        mantissa |= 1 << digits
    return -mantissa if word < 0 else mantissa, max(exponent, 1) + least


@small
def of_unit(mantissa: int, exponent: int, unit: int) -> tuple[int, int]:
    """Return an integer and by how many bits it is shifted up, to be a float of a unit."""
    if mantissa == 0:
        return 0, 0
    down = max(unit - exponent, 0)  # the bits below the unit are 0
    return mantissa >> down, exponent + down - unit


@small
def shifted(number: int, shift: int) -> tuple[int, int]:
    """Return a word shifted up, as two words."""
    if shift >= 64:
        return 0, number << (shift - 64)
    return number << shift, number >> 63 if shift == 0 else number >> (64 - shift)


@small
def wide_double(word: int, unit: int) -> tuple[int, int]:
    """Return a DOUBLE as an integer of a unit, of two words."""
    mantissa, exponent = of_double(word)
    mantissa, shift = of_unit(mantissa, exponent, unit)
    return shifted(mantissa, shift)


@small
def wide_real(word: int, unit: int) -> tuple[int, int]:
    """Return a REAL as an integer of a unit, of two words."""
    mantissa, exponent = of_real(word)
    mantissa, shift = of_unit(mantissa, exponent, unit)
    return shifted(mantissa, shift)


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
