"""Quotients by column against Python's own, which rounds quotients of integers once."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from joingraph.aggregates.quotients import quotients

WORD = (1 << 64) - 1


def drawn(chance: Random, bits: int) -> tuple[int, int]:
    """Draw a quotient: of any size, of few bits, or half-way between two doubles."""
    bottom = chance.choice((1, 2, 3, 10, chance.randrange(1, 1 << 32), chance.randrange(1, 1000)))
    top = chance.getrandbits(chance.randrange(1, bits))
    kind = chance.randrange(4)
    if kind == 0:
        top = chance.getrandbits(5) << chance.randrange(bits - 6)
    elif kind == 1:
        half = (1 << 53) | chance.getrandbits(53)
        top = (half << chance.randrange(max(1, bits - 56))) + chance.choice((0, 0, 1, -1))
        top *= chance.choice((1, bottom))
    top &= (1 << bits) - 1
    return chance.choice((top, -top)), bottom


@pytest.mark.parametrize("words", [1, 2, 3, 5])
@pytest.mark.parametrize("exponent", [0, -59, -1074, 900])
def test_quotients_are_rounded_once(words: int, exponent: int) -> None:
    chance = Random(words - exponent)
    pairs = [drawn(chance, 64 * words - 1) for _ in range(3000)]
    limbs = [[top >> 64 * at & WORD for at in range(words)] for top, _ in pairs]
    tops = np.array(limbs, np.uint64).view(np.int64)
    found, are_right = quotients(tops, np.array([bottom for _, bottom in pairs]), exponent)
    for (top, bottom), each, is_right in zip(pairs, found, are_right, strict=True):
        if is_right:
            up, down = max(exponent, 0), max(-exponent, 0)
            assert repr(float(each)) == repr((top << up) / (bottom << down))
    assert exponent in (-1074, 900) or are_right.mean() > 0.9


def test_what_may_be_rounded_otherwise_is_not_said_to_be_right() -> None:
    tops, bottoms = np.array([[1], [1], [1], [0]]), np.array([1 << 32, 0, -1, 5])
    assert quotients(tops, bottoms, 0).are_right.tolist() == [False, False, False, True]
    assert not quotients(np.array([[1], [3]]), np.array([1, 1]), -1074).are_right.any()
    assert not quotients(np.array([[1 << 60]]), np.array([1]), 1000).are_right.any()
