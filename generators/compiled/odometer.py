"""The plan-looping traversal: one walk for all views, which can stop after any row and go on.

    program   level 0 | level 1 | ... | last            a step each: which alias, and from where
    walk      position, end, list, weight, level        the odometer's wheels
    sources   base, step of every vertex and alias      where the bound values' words lie
    block     column c of row n at out + c * stride + n

A row is one complete path; its weight is the diff's sign times the counts on the way. Rows of
one op and weight form a segment. A block that is full ends the walk; the wheels stay. Entries are
taken from the last live one to the first: the global look-ahead lays dead those that turn out to
lead nowhere, and what takes their places has been seen.
"""

from __future__ import annotations

from joingraph.graph.compiled import fields as f
from joingraph.graph.compiled.entries import link_of, node_at, record_at, set_source
from joingraph.graph.compiled.lists import step_of
from joingraph.graph.compiled.live_flags import is_met, lay_dead
from joingraph.graph.compiled.machine.kernel import copy8, fill8, kernel, ld, small, sto


@kernel
def begin(st: int, program: int, weight: int) -> None:
    """Set the wheels to the first path of a program."""
    sto(ld(st, f.WHEELS), f.W_WEIGHT, weight)
    for depth in range(ld(program, f.T_COUNT)):
        level = ld(program, f.T_LEVELS) + depth * (f.LEVEL_WORDS * 8)
        sto(ld(st, f.WHEELS), depth * f.WALK_WORDS + f.W_LEVEL, level)
    sto(st, f.DEPTH, 0)
    if ld(program, f.T_COUNT) > 0:
        enter(st, program, 0)


@kernel
def enter(st: int, program: int, depth: int) -> None:
    """Set a wheel to the start of its list, and the next wheel's weight."""
    wheel = ld(st, f.WHEELS) + depth * (f.WALK_WORDS * 8)
    if depth + 2 == ld(program, f.T_COUNT):
        order_leaves(st, wheel)
    level = ld(wheel, f.W_LEVEL)
    record = ld(ld(st, f.SOURCES), 2 * ld(level, f.H_VERTEX))
    live = live_at(st, level)
    weight = ld(wheel, f.W_WEIGHT)
    sto(wheel, f.W_POSITION, 0)
    if ld(level, f.H_KIND) == f.MARKED:
        bind_mark(st, level, live)
        sto(wheel, f.W_END, 1)
    elif is_missing(st, level, record, live):
        enter_missing(st, level, wheel)
    elif ld(level, f.H_KIND) >= f.EDGE:
        sto(wheel, f.W_POSITION, live)
        sto(wheel, f.W_END, 0)
        sto(wheel, f.W_BASE, ld(st, f.HEAP) + ld(record, ld(level, f.H_OFFSET)) * 8)
    elif ld(level, f.H_KIND) == f.COUNT:
        weight *= summed(st, ld(level, f.H_ALIAS), ld(level, f.H_LINK), record)
        sto(wheel, f.W_END, 1 if weight else 0)
    else:
        sto(wheel, f.W_END, live)
        sto(wheel, f.W_BASE, ld(st, f.HEAP) + ld(record, ld(level, f.H_OFFSET)) * 8)
        step = step_of(record + ld(level, f.H_OFFSET) * 8)
        set_source(st, ld(ld(level, f.H_ALIAS), f.A_SOURCE), ld(wheel, f.W_BASE), step)
    sto(wheel, f.WALK_WORDS + f.W_WEIGHT, weight)


@small
def is_missing(st: int, level: int, record: int, live: int) -> bool:
    """True if one row of NULLs stands for those that an alias does not have at a value."""
    mode = ld(level, f.H_MODE)
    is_optional = mode == f.OPT and live == 0
    return is_optional or mode == f.TAKEN_MISSING or record == ld(st, f.NULL_RECORD)


@small
def enter_missing(st: int, level: int, wheel: int) -> None:
    """Set a wheel to the one row that stands in: the heap's first words are NULL."""
    set_source(st, ld(ld(level, f.H_ALIAS), f.A_SOURCE), ld(st, f.HEAP), 0)
    sto(wheel, f.W_BASE, ld(st, f.HEAP))
    sto(wheel, f.W_END, 1)
    if ld(level, f.H_KIND) >= f.EDGE:
        sto(wheel, f.W_POSITION, 1)
        sto(wheel, f.W_END, 0)
        sto(wheel, f.W_BASE, 0)


@small
def bind_mark(st: int, level: int, live: int) -> None:
    """Bind whether an alias is there, or what is told of it."""
    mode, word = ld(level, f.H_MODE), f.FALSE_WORD
    if mode == f.TOLD_YES or (mode != f.TOLD_NO and live > 0):
        word = f.TRUE_WORD
    set_source(st, ld(ld(level, f.H_ALIAS), f.A_SOURCE), st + word * 8, 8)


@kernel
def summed(st: int, ad: int, link: int, record: int) -> int:
    """Return how many paths go on at a value through an alias that is weighed, and beyond."""
    ln, links = link_of(ad, link), ld(ad, f.A_LINK_COUNT)
    live = ld(record, ld(ln, f.L_LIVE)) & f.LENGTH
    if ld(ln, f.L_MODE) >= f.SEMI or (live == 0 and ld(ln, f.L_MODE) == f.OPT):
        return 1
    if ld(ad, f.A_KIND) < f.EDGE:
        return live
    entries, total = ld(st, f.HEAP) + ld(record, ld(ln, f.L_OFFSET)) * 8, 0
    for at in range(live):
        entry, ways = ld(entries, at), 1
        for other in range(links):
            if other != link:
                far = link_of(ad, other)
                identity = (
                    entry if ld(ad, f.A_KIND) == f.EDGE else ld(node_at(ad, entry), 1 + other)
                )
                value, vd = record_at(far, identity >> 32), ld(far, f.L_VERTEX)
                for seat in range(ld(vd, f.V_SEAT_COUNT)):
                    sd = ld(vd, f.V_SEATS) + seat * (f.SEAT_WORDS * 8)
                    if ld(sd, f.S_ALIAS) != ad:
                        ways *= summed(st, ld(sd, f.S_ALIAS), ld(sd, f.S_LINK), value)
        total += ways
    return total


@small
def order_leaves(st: int, wheel: int) -> None:
    """Let the longer of two last leaves be the inner one: its rows are copied in runs."""
    one, two = ld(wheel, f.W_LEVEL), ld(wheel, f.WALK_WORDS + f.W_LEVEL)
    leaves = ld(one, f.H_KIND) == f.LEAF and ld(two, f.H_KIND) == f.LEAF
    if leaves and live_at(st, one) > live_at(st, two):
        sto(wheel, f.W_LEVEL, two)
        sto(wheel, f.WALK_WORDS + f.W_LEVEL, one)


@small
def live_at(st: int, level: int) -> int:
    """Return how many entries a level has at the value bound where it is entered."""
    record = ld(ld(st, f.SOURCES), 2 * ld(level, f.H_VERTEX))
    return ld(record, ld(level, f.H_LIVE)) & f.LENGTH


@small
def advance(st: int, level: int, wheel: int) -> bool:
    """Bind a wheel's next entry; false if it is seen to lead nowhere."""
    at, ad, kind = ld(wheel, f.W_POSITION), ld(level, f.H_ALIAS), ld(level, f.H_KIND)
    if kind >= f.EDGE:
        at -= 1
        sto(wheel, f.W_POSITION, at)
    else:
        sto(wheel, f.W_POSITION, at + 1)
    if kind >= f.EDGE and ld(wheel, f.W_BASE) == 0:
        bind_beyond_missing(st, level)
    elif kind == f.LEAF:
        sto(ld(st, f.SOURCES), 2 * ld(ad, f.A_SOURCE), ld(wheel, f.W_BASE) + at * 8)
    elif kind == f.EDGE:
        far = 1 - ld(level, f.H_LINK)
        return bind_value(st, ad, far, ld(ld(wheel, f.W_BASE), at) >> 32)
    elif kind > f.EDGE:
        links = ld(ad, f.A_LINK_COUNT)
        node = node_at(ad, ld(ld(wheel, f.W_BASE), at))
        set_source(st, ld(ad, f.A_SOURCE), node + (1 + links) * 8, 8)
        leads_on = True
        for link in range(links):
            if link != ld(level, f.H_LINK) and not bind_value(
                st, ad, link, ld(node, 1 + link) >> 32
            ):
                leads_on = False
        return leads_on
    return True


@small
def bind_beyond_missing(st: int, level: int) -> None:
    """Bind the values beyond an alias that is missing: all are missing there."""
    ad = ld(level, f.H_ALIAS)
    for link in range(ld(ad, f.A_LINK_COUNT)):
        if link != ld(level, f.H_LINK):
            number = ld(link_of(ad, link), f.L_NUMBER)
            sto(ld(st, f.SOURCES), 2 * number, ld(st, f.NULL_RECORD))


@kernel
def close(st: int, level: int, wheel: int) -> None:
    """Lay a wheel's entry dead if it is seen by now to lead nowhere (global)."""
    if ld(st, f.FLAGGING) == 0 or ld(level, f.H_KIND) < f.EDGE:
        return
    ad, own = ld(level, f.H_ALIAS), ld(level, f.H_LINK)
    for link in range(ld(ad, f.A_LINK_COUNT)):
        ln = link_of(ad, link)
        record = ld(ld(st, f.SOURCES), 2 * ld(ln, f.L_NUMBER))
        if link != own and not is_met(ln, record, ad):
            here = ld(ld(st, f.SOURCES), 2 * ld(level, f.H_VERTEX))
            lay_dead(st, ad, own, here, ld(wheel, f.W_POSITION))
            return


@small
def bind_value(st: int, ad: int, link: int, identity: int) -> bool:
    """Bind the value that a row has at a link; false if an alias is missing there."""
    ln = link_of(ad, link)
    record = record_at(ln, identity)
    sto(ld(st, f.SOURCES), 2 * ld(ln, f.L_NUMBER), record)
    asks = ld(st, f.LOOKAHEAD) == f.LOCAL or ld(st, f.LOOKAHEAD) == f.GLOBAL
    return not asks or is_met(ln, record, ad)


@kernel
def walk(st: int, program: int) -> int:
    """Emit paths from where the wheels stand until none is left (DONE) or no room is (FULL)."""
    last = ld(program, f.T_COUNT) - 1
    if last < 0:
        return walk_alone(st)
    depth = ld(st, f.DEPTH)
    while depth >= 0:
        wheel = ld(st, f.WHEELS) + depth * (f.WALK_WORDS * 8)
        level = ld(wheel, f.W_LEVEL)
        if ld(wheel, f.W_POSITION) == ld(wheel, f.W_END):
            depth -= 1
            if depth >= 0:
                wheel -= f.WALK_WORDS * 8
                close(st, ld(wheel, f.W_LEVEL), wheel)
        elif depth == last:
            if ld(st, f.ROWS) == f.BLOCK_ROWS:
                sto(st, f.DEPTH, depth)
                return f.FULL
            if ld(level, f.H_KIND) == f.LEAF:
                emit_run(st, level, wheel)
            elif advance(st, level, wheel):
                emit_row(st, ld(wheel, f.WALK_WORDS + f.W_WEIGHT))
            else:
                close(st, level, wheel)
        elif advance(st, level, wheel):
            depth += 1
            enter(st, program, depth)
        else:
            close(st, level, wheel)
    return f.DONE


@kernel
def walk_alone(st: int) -> int:
    """Emit the one path of a view that has one alias."""
    if ld(st, f.ROWS) == f.BLOCK_ROWS:
        return f.FULL
    emit_row(st, ld(ld(st, f.WHEELS), f.W_WEIGHT))
    return f.DONE


@small
def segment(st: int, weight: int) -> None:
    """Begin a segment at the next row, unless the last one goes on."""
    count = ld(st, f.SEGMENT_COUNT)
    last = ld(st, f.SEGMENTS) + (count - 1) * (f.SEGMENT_WORDS * 8)
    if count and ld(last, f.G_OP) == ld(st, f.CURSOR) and ld(last, f.G_WEIGHT) == weight:
        return
    fresh = last + f.SEGMENT_WORDS * 8
    sto(fresh, f.G_START, ld(st, f.ROWS))
    sto(fresh, f.G_OP, ld(st, f.CURSOR))
    sto(fresh, f.G_WEIGHT, weight)
    sto(st, f.SEGMENT_COUNT, count + 1)


@small
def word_of(st: int, column: int) -> int:
    """Return the word of an output column on the bound path."""
    source, word = ld(ld(st, f.COLUMNS), 2 * column), ld(ld(st, f.COLUMNS), 2 * column + 1)
    place = ld(st, f.SOURCES) + source * 16
    return ld(ld(place, 0) + word * ld(place, 1), 0)


@kernel
def emit_row(st: int, weight: int) -> None:
    """Write the bound path as a row."""
    segment(st, weight)
    row, out = ld(st, f.ROWS), ld(st, f.OUT)
    for column in range(ld(st, f.COLUMN_COUNT)):
        sto(out, row + column * ld(st, f.STRIDE), word_of(st, column))
    sto(st, f.ROWS, row + 1)


@kernel
def emit_run(st: int, level: int, wheel: int) -> None:
    """Write the rows that differ in the last leaf only, as many as there is room for.

    Stores overshoot by up to seven words; the columns have slack for them.
    """
    at, source = ld(wheel, f.W_POSITION), ld(ld(level, f.H_ALIAS), f.A_SOURCE)
    row, base = ld(st, f.ROWS), ld(wheel, f.W_BASE)
    rows = min(ld(wheel, f.W_END) - at, f.BLOCK_ROWS - row)
    segment(st, ld(wheel, f.W_WEIGHT))
    for column in range(ld(st, f.COLUMN_COUNT)):
        to = ld(st, f.OUT) + (row + column * ld(st, f.STRIDE)) * 8
        if ld(ld(st, f.COLUMNS), 2 * column) == source:
            step = ld(ld(st, f.SOURCES) + source * 16, 1)
            of = base + ld(ld(st, f.COLUMNS), 2 * column + 1) * step
            for done in range(0, rows, 8):
                copy8(to, done, of, at + done)
        else:
            word = word_of(st, column)
            for done in range(0, rows, 8):
                fill8(to, done, word)
    sto(wheel, f.W_POSITION, at + rows)
    sto(st, f.ROWS, row + rows)


@small
def reachable(st: int, ad: int) -> bool:
    """True if every other alias at a row's bound values has something there."""
    for link in range(ld(ad, f.A_LINK_COUNT)):
        ln = link_of(ad, link)
        record = ld(ld(st, f.SOURCES), 2 * ld(ln, f.L_NUMBER))
        if not is_met(ln, record, ad):
            return False
    return True
