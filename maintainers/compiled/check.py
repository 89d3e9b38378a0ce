"""Recomputes every invariant of the compiled graph: a kernel goes through all records once.

    each value       is found by its key, and has a row
    each entry       knows its place at its other ends, and they know it
    each list        fits its block; the lengths of an alias' lists add up to its rows
    live entries     come first, and are those that lead on (exact), or these and more (global)

That an entry lives is judged by the counts next to it: on a tree, if every count agrees with its
neighbours, all of them are right.
"""

from __future__ import annotations

from joingraph.common.errors import CorruptGraph
from joingraph.graph.compiled import fields as f
from joingraph.graph.compiled.entries import length_at, link_of, list_at, node_at, record_at
from joingraph.graph.compiled.list_index import (
    has_places,
    hash_at,
    owner_of,
    place_at,
    slot_of,
    tag_of,
)
from joingraph.graph.compiled.live_flags import opens
from joingraph.graph.compiled.machine.kernel import kernel, ld
from joingraph.graph.compiled.memory.state import GraphMemory
from joingraph.graph.compiled.vertex_table import find
from joingraph.maintainers.compiled.link import empty

FAULTS = (
    "",
    "a vertex value is not found by its key",
    "a list is longer than its block",
    "an entry's other end does not know it",
    "an entry is counted live and leads nowhere, or lives and is not counted",
    "an alias' lists do not add up to its rows",
    "a vertex value without rows was not freed",
    "a row of a long list is not found through the list's index",
)


def check(memory: GraphMemory) -> None:
    """Raise CorruptGraph at the first invariant that does not hold."""
    for number, vertex in enumerate(memory.layout.vertices):
        vd = memory.vertex(number)
        fault = check_vertex(memory.st, vd.ctypes.data)
        if fault:
            raise corrupt(FAULTS[fault], f"vertex {number}")
        for place, seat in enumerate(vertex.seats):
            rows = int(memory.alias(seat.alias)[f.A_ROWS])
            if rows_at(vd.ctypes.data, place) != rows:
                raise corrupt(FAULTS[5], f"vertex {number}, alias {seat.alias}")


def corrupt(what: str, where: str) -> CorruptGraph:
    """Make the error that names a broken invariant."""
    return CorruptGraph(f"{what} ({where}): please report this; rebuild the graph from its sources")


@kernel
def rows_at(vd: int, place: int) -> int:
    """Add up the lengths of a seat's lists over all values."""
    total, seat = 0, ld(vd, f.V_SEATS) + place * (f.SEAT_WORDS * 8)
    for value in range(ld(vd, f.V_NEXT)):
        record = ld(vd, f.V_RECORDS) + value * ld(vd, f.V_STRIDE) * 8
        total += ld(record, ld(seat, f.S_LENGTH)) & f.LENGTH
    return total


@kernel
def check_vertex(st: int, vd: int) -> int:
    """Check all values of a vertex; gives a fault's number, or 0."""
    living = 0
    for value in range(ld(vd, f.V_NEXT)):
        record = ld(vd, f.V_RECORDS) + value * ld(vd, f.V_STRIDE) * 8
        if empty(vd, record):
            continue
        living += 1
        if find(vd, record) != record:
            return 1
        seat = ld(vd, f.V_SEATS)
        for _ in range(ld(vd, f.V_SEAT_COUNT)):
            fault = check_list(st, seat, record)
            if fault:
                return fault
            seat += f.SEAT_WORDS * 8
    return 0 if living == ld(vd, f.V_LIVE) or ld(vd, f.V_KEY) == 0 else 6


@kernel
def check_list(st: int, seat: int, record: int) -> int:
    """Check one alias' list at a value."""
    ad, kind, sized = ld(seat, f.S_ALIAS), ld(seat, f.S_KIND), ld(record, ld(seat, f.S_LENGTH))
    length = sized & f.LENGTH
    if kind != f.COUNT and length > (1 << (sized >> 40)) >> 1:
        return 2
    if kind == f.LEAF:
        for at in range(length):
            if not has_place(st, ad, record, at):
                return 7
    if kind < f.EDGE:
        return 0
    link = ld(seat, f.S_LINK)
    ln = link_of(ad, link)
    entries = list_at(st, ln, record)
    for at in range(length):
        if not knows_place(st, ad, link, ld(entries, at), at):
            return 3
        if link == 0 and not has_place(st, ad, record, at):
            return 7
        live = at < ld(record, ld(ln, f.L_LIVE))
        if ld(st, f.LOOKAHEAD) == f.GLOBAL and not live and opens(ad, link, ld(entries, at)):
            return 4
        if ld(st, f.LOOKAHEAD) == f.EXACT and live != opens(ad, link, ld(entries, at)):
            return 4
    return 0


@kernel
def has_place(st: int, ad: int, record: int, at: int) -> bool:
    """True if a row's place is known, or its list is not indexed."""
    if not has_places(st, ad, record):
        return True
    owner = owner_of(ad, record)
    tag = tag_of(owner, hash_at(st, ad, record, at))
    return ld(ld(st, f.PLACES), 2 * slot_of(st, owner, tag, place_at(st, ad, record, at))) != 0


@kernel
def knows_place(st: int, ad: int, link: int, entry: int, at: int) -> bool:
    """True if an entry's other end knows its place."""
    if ld(ad, f.A_KIND) == f.EDGE:
        far = link_of(ad, 1 - link)
        other = record_at(far, entry >> 32)
        if (entry & f.LOW) >= length_at(far, other):
            return False
        return ld(list_at(st, far, other), entry & f.LOW) & f.LOW == at
    node = node_at(ad, entry)
    return ld(node, 0) & f.USED != 0 and ld(node, 1 + link) & f.LOW == at
