"""Quotients of many integers at once, each rounded once to a double, as exact.py does one by one.

top       | 64 bits from its first 1 on | 32 more | is any other bit 1? |
top / n   a long division in two steps, by an n of at most 32 bits: 64 bits or more, and a rest
double    the first 53 bits; the others, and whether there is a rest, say how they are rounded
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.int64]
Bits = npt.NDArray[np.uint64]
Marks = npt.NDArray[np.bool_]

HALF, LOW = np.uint64(32), np.uint64(0xFFFFFFFF)
WORD_BITS, ROUNDED_BITS = 64, 11  # of a word's 64 bits, a double has 53
LEAST, MOST = -1022, 1023  # exponents of doubles of 53 bits


class Quotients(NamedTuple):
    """Doubles, and which of them are right: the others are too small, too great, or by too much."""

    found: npt.NDArray[np.float64]
    are_right: Marks


def quotients(tops: Words, bottoms: Words, exponent: int) -> Quotients:
    """Divide integers of some words, low ones first, by counts, and multiply by 2^exponent."""
    is_negative, limbs = tops[:, -1] < 0, magnitudes(tops)
    high, low, power, rest = leading(limbs)
    is_zero = high == 0
    by = np.where((bottoms > 0) & (bottoms >> 32 == 0), bottoms, 1)
    one, left = np.divmod(high, by.view(np.uint64))
    two, left = np.divmod((left << HALF) | (low >> HALF), by.view(np.uint64))
    up = leading_zeros(one)  # at most 32
    mantissa = (one << up) | (two >> (HALF - up))
    rest |= (left != 0) | ((low & LOW) != 0) | ((two << up) & LOW != 0)
    power += WORD_BITS - up.astype(np.int64) + exponent
    is_normal = (power + WORD_BITS - 1 >= LEAST) & (power + WORD_BITS <= MOST)
    found = np.ldexp(rounded(mantissa, rest), np.where(is_normal, power + ROUNDED_BITS, 0))
    found = np.where(is_zero, 0.0, np.where(is_negative, -found, found))
    return Quotients(found, (is_normal | is_zero) & (by == bottoms))


def magnitudes(tops: Words) -> list[Bits]:
    """Return integers without their signs, word by word."""
    flip = (tops[:, -1] >> 63).view(np.uint64)  # all ones where it is negative
    carry, found = flip & np.uint64(1), list[Bits]()
    for word in tops.T:
        limb = (np.ascontiguousarray(word).view(np.uint64) ^ flip) + carry
        carry = carry * (limb == 0)
        found.append(limb)
    return found


def leading(limbs: list[Bits]) -> tuple[Bits, Bits, Words, Marks]:
    """Return the first 128 bits of integers from a 1 on, the power of two of these, and the rest.

    The rest is whether any other bit is 1; of 0 all is 0.
    """
    none = np.zeros_like(limbs[0])
    words, power = [limbs[0], none, none], np.zeros(len(none), np.int64)
    rest, below = np.zeros(len(none), bool), np.zeros(len(none), bool)
    for at, limb in enumerate(limbs[1:]):
        is_first = limb != 0
        lower = [limb, limbs[at], limbs[at - 1] if at else none]
        words = [np.where(is_first, one, other) for one, other in zip(lower, words, strict=True)]
        power, rest = np.where(is_first, at + 1, power), np.where(is_first, below, rest)
        below |= limbs[at - 1] != 0 if at else False
    first, second, third = words
    up = leading_zeros(first)
    down = np.uint64(WORD_BITS) - up  # a shift by all bits gives 0
    high, low = (first << up) | (second >> down), (second << up) | (third >> down)
    return high, low, WORD_BITS * (power - 1) - up.astype(np.int64), rest | (third << up != 0)


def leading_zeros(words: Bits) -> Bits:
    """Return how many bits stand before the first 1; none of 0."""
    upper = words >> HALF
    _, bits = np.frexp(np.where(upper != 0, upper, words).astype(np.float64))
    zeros = np.where(upper != 0, 32, WORD_BITS) - bits
    return np.where(words != 0, zeros, 0).astype(np.uint64)


def rounded(mantissa: Bits, rest: Marks) -> npt.NDArray[np.float64]:
    """Round 64 bits to 53, to the nearest, or to an even one where only half a bit is left."""
    kept, left = mantissa >> np.uint64(ROUNDED_BITS), mantissa & np.uint64(0x7FF)
    half = np.uint64(0x400)
    is_up = (left > half) | ((left == half) & (rest | (kept & np.uint64(1) != 0)))
    found: npt.NDArray[np.float64] = (kept + is_up).astype(np.float64)
    return found
