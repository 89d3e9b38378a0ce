"""Counts the view's rows by messages: no path is walked, so no view is too large.

    F --- v0 --- T --- v1 --- R        T sends to a value of v0: over its entries there, the sum of
                                       what R sends to the entry's value of v1

Numbers are kept modulo primes of 31 bits, as many as the product of all aliases' rows needs; the
Chinese remainder theorem puts the exact count together. It never wraps.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from math import isqrt, prod

import numpy as np

from joingraph.graph.compiled import fields as f
from joingraph.graph.compiled.entries import link_of, node_at
from joingraph.graph.compiled.machine.kernel import kernel, ld, sto
from joingraph.graph.compiled.memory.reserved import Words, lent
from joingraph.graph.compiled.memory.state import GraphMemory


def count(memory: GraphMemory) -> int:
    """Count the rows of a view without residual predicates."""
    rows = [int(memory.alias(alias)[f.A_ROWS]) for alias in range(len(memory.layout.aliases))]
    primes: list[int] = []
    while prod(primes) <= prod(rows):
        primes.append(prime_below(primes[-1] if primes else 1 << 31))
    with ThreadPoolExecutor() as pool:
        together = pool.map if len(primes) > 1 else map  # to start a thread takes 0.2 ms
        rests = list(together(partial(count_modulo, memory), primes))
    total, modulus = 0, 1
    for prime, rest in zip(primes, rests, strict=True):
        total += modulus * ((rest - total) * pow(modulus, -1, prime) % prime)
        modulus *= prime
    return total


def count_modulo(memory: GraphMemory, prime: int) -> int:
    """Count the rows modulo a prime."""
    return int(arriving(memory, 0, -1, prime).astype(object).sum()) % prime


@cache
def prime_below(limit: int) -> int:
    """Return the largest prime below a limit; to find one takes longer than a small count."""
    number = limit - 1
    while any(number % divisor == 0 for divisor in range(2, isqrt(number) + 1)):
        number -= 1
    return number


def arriving(memory: GraphMemory, vertex: int, but: int, prime: int) -> Words:
    """Multiply, for each value of a vertex, what its aliases send there; all but one."""
    product = np.ones(int(memory.vertex(vertex)[f.V_NEXT]), np.int64)
    for seat in memory.layout.vertices[vertex].seats:
        if seat.alias != but:
            product = product * sent(memory, seat.alias, seat.link, prime) % prime
    return product


def sent(memory: GraphMemory, alias: int, link: int, prime: int) -> Words:
    """Add up, for each value at a link, what the alias' rows there bring from their other links."""
    links = memory.layout.aliases[alias].links
    beyond = [
        np.zeros(0, np.int64) if at == link else arriving(memory, each.vertex, alias, prime)
        for at, each in enumerate(links)
    ]
    found = np.zeros(int(memory.vertex(links[link].vertex)[f.V_NEXT]), np.int64)
    places = np.array([each.ctypes.data for each in beyond], np.int64)
    with lent(found, places, *beyond):
        given = np.array([link, places.ctypes.data, found.ctypes.data, len(found), prime])
        send(memory.st, memory.alias(alias).ctypes.data, given)
    return found


@kernel
def send(st: int, ad: int, given: Words) -> None:
    """Fill in what an alias sends to every value of one of its links."""
    link, places, found, values, prime = given[0], given[1], given[2], given[3], given[4]
    ln = link_of(ad, link)
    vd = ld(ln, f.L_VERTEX)
    for value in range(values):
        record = ld(vd, f.V_RECORDS) + value * ld(vd, f.V_STRIDE) * 8
        length = ld(record, ld(ln, f.L_LENGTH)) & f.LENGTH
        if ld(ad, f.A_KIND) < f.EDGE:
            sto(found, value, length % prime)
            continue
        total, entries = 0, 0
        if length:
            entries = ld(st, f.HEAP) + ld(record, ld(ln, f.L_OFFSET)) * 8
        for at in range(length):
            total = (total + brought(ad, link, ld(entries, at), places, prime)) % prime
        sto(found, value, total)


@kernel
def brought(ad: int, link: int, entry: int, places: int, prime: int) -> int:
    """Multiply what arrives at the other values of one row."""
    if ld(ad, f.A_KIND) == f.EDGE:
        return ld(ld(places, 1 - link), entry >> 32)
    product, node = 1, node_at(ad, entry)
    for other in range(ld(ad, f.A_LINK_COUNT)):
        if other != link:
            product = product * ld(ld(places, other), ld(node, 1 + other) >> 32) % prime
    return product
