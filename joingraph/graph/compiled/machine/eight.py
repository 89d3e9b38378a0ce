"""Operations on eight words at once, for what many rows have alike.

    numbers   | 7 | 3 | 9 | ...      ->  eight places   ->  eight old words, eight new ones

The words that are changed may lie anywhere, and two of the places may be one: they are changed in
turn. What they were and are can be stored as a run of a column (`sto8`), for which a machine takes
one instruction or two.
"""

from __future__ import annotations

from joingraph.graph.compiled.machine.kernel import add128, ld, small, sto

Eight = tuple[int, int, int, int, int, int, int, int]


@small
def places8(base: int, size: int, numbers: int) -> Eight:
    """Return where things of one size lie, whose numbers lie at an address."""
    return (
        base + ld(numbers, 0) * size,
        base + ld(numbers, 1) * size,
        base + ld(numbers, 2) * size,
        base + ld(numbers, 3) * size,
        base + ld(numbers, 4) * size,
        base + ld(numbers, 5) * size,
        base + ld(numbers, 6) * size,
        base + ld(numbers, 7) * size,
    )


@small
def run8(base: int) -> Eight:
    """Load eight words in a row."""
    return places8(0, 1, base)


@small
def ld8(places: Eight, word: int) -> Eight:
    """Load a word at each place."""
    a, b, c, d, e, f, g, h = places
    return (
        ld(a, word),
        ld(b, word),
        ld(c, word),
        ld(d, word),
        ld(e, word),
        ld(f, word),
        ld(g, word),
        ld(h, word),
    )


@small
def plus8(words: Eight, more: int) -> Eight:
    """Return sums of words and one that is added to each."""
    a, b, c, d, e, f, g, h = words
    return a + more, b + more, c + more, d + more, e + more, f + more, g + more, h + more


@small
def added(place: int, word: int, more: int) -> int:
    """Add to a word; gives what it was."""
    old = ld(place, word)
    sto(place, word, old + more)
    return old


@small
def add8(places: Eight, word: int, more: int) -> Eight:
    """Add to a word at each place, in turn; gives what they were."""
    a, b, c, d, e, f, g, h = places
    return (
        added(a, word, more),
        added(b, word, more),
        added(c, word, more),
        added(d, word, more),
        added(e, word, more),
        added(f, word, more),
        added(g, word, more),
        added(h, word, more),
    )


@small
def added128(place: int, low: int, high: int) -> tuple[int, int, int, int]:
    """Add to a sum of two words; gives the words that it was, and those that it is."""
    old = ld(place, 0), ld(place, 1)
    add128(place, low, high)
    return old[0], old[1], ld(place, 0), ld(place, 1)


@small
def add8_wide(places: Eight, word: int, low: int, high: int) -> tuple[Eight, Eight, Eight, Eight]:
    """Add to a sum of two words at each place, in turn; gives the words they were and are."""
    a, b, c, d, e, f, g, h = plus8(places, word * 8)
    a0, a1, a2, a3 = added128(a, low, high)
    b0, b1, b2, b3 = added128(b, low, high)
    c0, c1, c2, c3 = added128(c, low, high)
    d0, d1, d2, d3 = added128(d, low, high)
    e0, e1, e2, e3 = added128(e, low, high)
    f0, f1, f2, f3 = added128(f, low, high)
    g0, g1, g2, g3 = added128(g, low, high)
    h0, h1, h2, h3 = added128(h, low, high)
    return (
        (a0, b0, c0, d0, e0, f0, g0, h0),
        (a1, b1, c1, d1, e1, f1, g1, h1),
        (a2, b2, c2, d2, e2, f2, g2, h2),
        (a3, b3, c3, d3, e3, f3, g3, h3),
    )
