"""Entries of EDGE and NODE lists: each knows its place at its other ends, whatever moves.

    EDGE   a's list:  | id of b << 32 | j | at place i     b's list:  | id of a << 32 | i | at j
    NODE   a's list:  | node | at place i                 the node's link word: id of a << 32 | i

In: an alias' descriptor, which of its links, a vertex value's record, a place in the list there.
"""

from __future__ import annotations

from joingraph.graph.compiled import fields as f
from joingraph.graph.compiled.machine.kernel import ld, small, sto
from joingraph.graph.compiled.vertex_table import identity_of


@small
def link_of(ad: int, link: int) -> int:
    """Return the descriptor of an alias' link."""
    return ld(ad, f.A_LINKS) + link * (f.LINK_WORDS * 8)


@small
def bind(st: int, ln: int, record: int) -> None:
    """Note which vertex value a link has on the path."""
    sto(ld(st, f.SOURCES), 2 * ld(ln, f.L_NUMBER), record)


@small
def bound(st: int, ln: int) -> int:
    """Return the vertex value that a link has on the path."""
    return ld(ld(st, f.SOURCES), 2 * ld(ln, f.L_NUMBER))


@small
def set_source(st: int, source: int, base: int, step: int) -> None:
    """Say where a source's words lie."""
    sto(ld(st, f.SOURCES), 2 * source, base)
    sto(ld(st, f.SOURCES), 2 * source + 1, step)


@small
def own_source(st: int, ad: int, row: int) -> None:
    """Bind a changed row's own projected words."""
    set_source(st, ld(ad, f.A_SOURCE), row + ld(ad, f.A_KEY_WORDS) * 8, 8)


@small
def record_at(ln: int, identity: int) -> int:
    """Return the record of a vertex value that a link reaches."""
    vd = ld(ln, f.L_VERTEX)
    return ld(vd, f.V_RECORDS) + identity * ld(vd, f.V_STRIDE) * 8


@small
def identity_at(ln: int, record: int) -> int:
    """Return the id of a vertex value from its record."""
    return identity_of(ld(ln, f.L_VERTEX), record)


@small
def node_at(ad: int, node: int) -> int:
    """Return the record of a node."""
    return ld(ad, f.A_RECORDS) + node * ld(ad, f.A_STRIDE) * 8


@small
def list_at(st: int, ln: int, record: int) -> int:
    """Return the address of a link's list at a vertex value."""
    return ld(st, f.HEAP) + ld(record, ld(ln, f.L_OFFSET)) * 8


@small
def group_at(ln: int, record: int) -> int:
    """Return the address of a link's group in a vertex value's record."""
    return record + ld(ln, f.L_OFFSET) * 8


@small
def length_at(ln: int, record: int) -> int:
    """Return how many rows a link's list has at a vertex value."""
    return ld(record, ld(ln, f.L_LENGTH)) & f.LENGTH


@small
def set_low(base: int, index: int, low: int) -> None:
    """Replace the lower half of a word."""
    sto(base, index, (ld(base, index) & ~f.LOW) | low)


@small
def place(st: int, ad: int, link: int, record: int, entry: int, to: int) -> None:
    """Write an entry at a place of a list, and that place at its other end."""
    ln = link_of(ad, link)
    sto(list_at(st, ln, record), to, entry)
    if ld(ad, f.A_KIND) == f.EDGE:
        far = link_of(ad, 1 - link)
        set_low(list_at(st, far, record_at(far, entry >> 32)), entry & f.LOW, to)
    else:
        set_low(node_at(ad, entry), 1 + link, to)


@small
def swap(st: int, ad: int, link: int, record: int, one: int, two: int) -> None:
    """Exchange two entries of a list."""
    if one == two:
        return
    entries = list_at(st, link_of(ad, link), record)
    first, second = ld(entries, one), ld(entries, two)
    place(st, ad, link, record, first, two)
    place(st, ad, link, record, second, one)
