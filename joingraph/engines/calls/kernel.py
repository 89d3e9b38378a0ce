"""A batch of few rows in one compiled call: base rows of words in, rows of the view diff out.

    base row   | aliases it passes | NULLs | a word or two a column ... |       both are masks
               a text's word: offset << 32 | length in the batch's text bytes; interned here
    view row   | a word or two a column ... | kind | count | base diff |
               a text's word: offset << 32 | length in the view diff's text bytes; copied here

    head       where all this lies, and what the call answers      HEAD_WORDS
    entry      table, kind, count, pre rows, post rows             ENTRY_WORDS an entry of the batch
    table      width, aliases, text places                         TABLE_WORDS, then its aliases'
    alias      its number, its bit, what of a base row it keeps    ALIAS_WORDS

After CLASH nothing was changed; after MISSED the ops before CURSOR were carried out. After WIDE,
once there is more room, `consolidate` finishes the call; after MANY the block goes the long way.
"""

from __future__ import annotations

from joingraph.generators.compiled.fold import fold_all, write_effects
from joingraph.graph.compiled import fields as f
from joingraph.graph.compiled.machine.kernel import brief, call3, kernel, ld, sto
from joingraph.graph.compiled.memory.reserved import Words
from joingraph.graph.compiled.ops import kind_of_change, write_op
from joingraph.graph.compiled.values.string_pool import ARENA, intern_one
from joingraph.graph.compiled.vertex_table import copy_words

CLASH, MANY, WIDE = 3, 4, 5  # how a call ends besides DONE and MISSED

# the head: what a graph settles, where the batch and the room for its result are, the answer
C_ST, C_STRINGS, C_RUN, C_TOLD, C_TOLD_COUNT = 0, 1, 2, 3, 4
C_FOLDS = 5  # so many paths at most
C_BATCH, C_ENTRY_COUNT, C_TEXTS, C_RESULT = 8, 9, 10, 11
C_FOUND, C_ALIKE, C_HAS_NULL, C_TEXT_BYTES, C_FOLDED = 12, 13, 14, 15, 16
C_COLUMNS = 17  # addresses of the told words' columns
HEAD_WORDS = 18

# the parts of a batch, and of the room for a result: their addresses
B_ENTRIES, B_BASE, B_OPS, B_ALIAS_ROWS = 0, 1, 2, 3
BATCH_WORDS = 4
R_MADE, R_EFFECTS, R_MARKS, R_SLOTS, R_PAIRS = 0, 1, 2, 3, 4
R_ORDER, R_SLOT_OF, R_FOLDED, R_OUT, R_OUT_TEXTS, R_ROOM, R_TEXT_ROOM = 5, 6, 7, 8, 9, 10, 11
RESULT_WORDS = 12

N_TABLE, N_KIND, N_COUNT, N_PRE, N_POST = 0, 1, 2, 3, 4
ENTRY_WORDS = 5

T_WIDTH, T_ALIASES, T_TEXTS, T_TEXT_PLACES = 0, 1, 2, 3
TABLE_WORDS = 4

K_ALIAS, K_BIT, K_WIDTH, K_KEYS, K_PLACES, K_INSERTS, K_OTHERS = 0, 1, 2, 3, 4, 5, 6
ALIAS_WORDS = 7
# of each word that an alias keeps: where a base row has it, what care it needs, where NULL is noted
PLACE_WORDS = 3
# (LONE: a key whose NULL is kept, by blocks, since the row counts without partners)
PLAIN, NOT_NULL_WORD, DOUBLE_ZERO, FLOAT_ZERO, LONE = 0, 1, 2, 3, 4
MINUS_ZERO, MINUS_ZERO_FLOAT = -(1 << 63), -(1 << 31)

# a told word: where the block has it, and whether it is an id or may be NULL
TOLD_WORDS = 2
IS_TEXT, MAY_BE_NULL, IS_MADE = 1, 2, 4  # a made text lies behind all others
META_WORDS = 3  # kind, count, base diff
BASE_META_WORDS = 2  # aliases, NULLs


@brief
def call(c: int, given: Words) -> int:
    """Carry out a batch; gives DONE, MISSED, CLASH, WIDE or MANY."""
    ops = lay_ops(c)
    if ops < 0:
        return CLASH
    st = ld(c, C_ST)
    sto(st, f.OPS, ld(ld(c, C_BATCH), B_OPS))
    sto(st, f.OP_COUNT, ops)
    sto(st, f.PHASE, f.P_START)
    sto(st, f.SINK, 0)
    sto(st, f.ROWS, 0)
    sto(st, f.SEGMENT_COUNT, 0)
    sto(c, C_FOUND, 0)
    ended = call3(ld(c, C_RUN), st, 0, 0)
    if ended == f.MISSED:
        sto(st, f.OP_COUNT, ld(st, f.CURSOR))
        return f.MISSED
    if ended != f.DONE or ld(st, f.ROWS) > ld(c, C_FOLDS):
        return MANY
    return consolidate(c, given)


@kernel
def lay_ops(c: int) -> int:
    """Write the ops of a batch, a base diff through all its aliases before the next; -1: CLASH."""
    batch, diff = ld(c, C_BATCH), 0
    op, to = ld(batch, B_OPS), ld(batch, B_ALIAS_ROWS)
    for number in range(ld(c, C_ENTRY_COUNT)):
        entry = ld(batch, B_ENTRIES) + number * ENTRY_WORDS * 8
        table, kind, count = ld(entry, N_TABLE), ld(entry, N_KIND), ld(entry, N_COUNT)
        size = ld(table, T_WIDTH) * 8
        if kind != f.INSERT:
            intern_texts(c, table, ld(entry, N_PRE), count)
        if kind != f.DELETE:
            intern_texts(c, table, ld(entry, N_POST), count)
        for row in range(count):
            pre, post = ld(entry, N_PRE) + row * size, ld(entry, N_POST) + row * size
            for each in range(ld(table, T_ALIASES)):
                alias = table + (TABLE_WORDS + each * ALIAS_WORDS) * 8
                wide = ld(alias, K_WIDTH) * 8
                has_pre = gather_row(alias, pre, to) if kind != f.INSERT else 0
                has_post = gather_row(alias, post, to + wide) if kind != f.DELETE else 0
                if has_pre < 0 or has_post < 0:
                    return -1
                if has_pre or has_post:
                    felt = kind_of(alias, to, has_pre, has_post)
                    write_op(op, diff, ld(alias, K_ALIAS), felt, to if has_pre else to + wide)
                    op += f.OP_WORDS * 8
                    to += 2 * wide
            diff += 1
    return (op - ld(batch, B_OPS)) // (f.OP_WORDS * 8)


@kernel
def kind_of(alias: int, rows: int, has_pre: int, has_post: int) -> int:
    """Return what an alias feels of a base diff, and count it."""
    kind = f.INSERT if has_post else f.DELETE
    if has_pre and has_post:
        width = ld(alias, K_WIDTH)
        kind = kind_of_change(rows, rows + width * 8, ld(alias, K_KEYS), width)
    counter = K_INSERTS if kind == f.INSERT else K_OTHERS
    sto(alias, counter, ld(alias, counter) + 1)
    return kind


@kernel
def intern_texts(c: int, table: int, row: int, count: int) -> None:
    """Turn the texts of base rows that an alias lets pass into ids."""
    texts = ld(table, T_TEXTS)
    if texts == 0:
        return
    for _ in range(count):
        if ld(row, 0):
            for each in range(texts):
                at = ld(ld(table, T_TEXT_PLACES), each)
                if not (ld(row, 1) >> at) & 1:
                    word = ld(row, BASE_META_WORDS + at)
                    run = ld(c, C_TEXTS) + (word >> 32)
                    identity = intern_one(ld(c, C_STRINGS), run, word & 0xFFFFFFFF)
                    sto(row, BASE_META_WORDS + at, identity)
        row += ld(table, T_WIDTH) * 8


@kernel
def gather_row(alias: int, base: int, to: int) -> int:
    """Copy what an alias keeps of a base row; 0: it does not pass; -1: it cannot be kept."""
    if not ld(base, 0) & ld(alias, K_BIT):
        return 0
    nulls, keys, place = ld(base, 1), ld(alias, K_KEYS), ld(alias, K_PLACES)
    for word in range(ld(alias, K_WIDTH)):
        at, care = ld(place, 0), ld(place, 1)
        value = ld(base, BASE_META_WORDS + at)
        if (nulls >> at) & 1:
            if word < keys:
                return -1 if care == LONE else 0
            value = f.NULL_WORD
            sto(ld(place, 2), 0, 1)
        elif value == f.NULL_WORD and care in (NOT_NULL_WORD, LONE):
            return -1
        elif (care == DOUBLE_ZERO and value == MINUS_ZERO) or (
            care == FLOAT_ZERO and value == MINUS_ZERO_FLOAT
        ):
            value = 0
        sto(to, word, value)
        place += PLACE_WORDS * 8
    return 1


@brief
def consolidate(c: int, given: Words) -> int:
    """Fold the block's paths by base diff, and write the rows of the view diff."""
    st, r = ld(c, C_ST), ld(c, C_RESULT)
    rows, told = ld(st, f.ROWS), ld(c, C_TOLD_COUNT)
    if rows == 0:
        return f.DONE
    if rows > ld(r, R_ROOM):
        return WIDE
    columns, stride = ld(c, C_COLUMNS), ld(st, f.STRIDE)
    for word in range(told):
        place = ld(st, f.OUT) + ld(ld(c, C_TOLD), word * TOLD_WORDS) * stride * 8
        made = ld(r, R_MADE) + word * rows * 8
        sto(columns, word, place if ld(c, C_FOLDS) else made)
    segments = ld(st, f.SEGMENTS)
    given[0], given[1] = segments + f.G_OP * 8, segments + f.G_START * 8
    given[2], given[3] = segments + f.G_WEIGHT * 8, ld(st, f.SEGMENT_COUNT)
    given[4], given[5] = ld(ld(c, C_BATCH), B_OPS), ld(r, R_MARKS)
    given[6], given[7], given[8], given[9] = ld(r, R_EFFECTS), 1, f.SEGMENT_WORDS, rows
    effects = write_effects(given)
    given[0], given[1], given[2], given[3] = columns, told, ld(r, R_EFFECTS), effects
    given[4], given[5] = ld(r, R_FOLDED), 2 * ld(r, R_ROOM)
    given[6] = ld(c, C_FOLDED)  # slots of earlier calls are older generations
    given[7], given[8] = ld(r, R_ORDER), ld(r, R_SLOT_OF)
    given[9], given[10] = ld(r, R_PAIRS), ld(r, R_SLOTS)
    sto(c, C_FOLDED, given[6] + effects)
    return tell(c, fold_all(given))


@kernel
def tell(c: int, found: int) -> int:
    """Write the rows that are left, and the texts beside them; DONE, or WIDE for want of room."""
    told, r = ld(c, C_TOLD_COUNT), ld(c, C_RESULT)
    columns, out, folded, stride = (
        ld(c, C_COLUMNS),
        ld(r, R_OUT),
        ld(r, R_FOLDED),
        2 * ld(r, R_ROOM),
    )
    alike, has_null = ld(folded, stride), 0
    for at in range(found):
        row, kind, count = ld(folded, at), ld(folded, stride + at), ld(folded, 2 * stride + at)
        for word in range(told):
            value = ld(ld(columns, word), row)
            sto(out, word, value)
            if value == f.NULL_WORD and ld(ld(c, C_TOLD), word * TOLD_WORDS + 1) & MAY_BE_NULL:
                has_null = 1
        sto(out, told, kind)
        sto(out, told + 1, count)
        sto(out, told + 2, ld(folded, 3 * stride + at))
        if kind != alike or count != 1:
            alike = -1
        out += (told + META_WORDS) * 8
    size = 0
    for word in range(told):
        if ld(ld(c, C_TOLD), word * TOLD_WORDS + 1) & IS_TEXT:
            size = tell_texts(c, found, word, size)
            if size < 0:
                return WIDE
    for word in range(told):
        if ld(ld(c, C_TOLD), word * TOLD_WORDS + 1) & IS_MADE:
            shift_texts(c, found, word, size)
    sto(c, C_FOUND, found)
    sto(c, C_ALIKE, alike)
    sto(c, C_HAS_NULL, has_null)
    sto(c, C_TEXT_BYTES, size)
    return f.DONE


@kernel
def shift_texts(c: int, found: int, word: int, size: int) -> None:
    """Let the texts of a column begin behind so many bytes."""
    told = ld(c, C_TOLD_COUNT)
    cell = ld(ld(c, C_RESULT), R_OUT) + word * 8
    for _ in range(found):
        if ld(cell, 0) != f.NULL_WORD:
            sto(cell, 0, ld(cell, 0) + (size << 32))
        cell += (told + META_WORDS) * 8


@kernel
def tell_texts(c: int, found: int, word: int, size: int) -> int:
    """Copy a column's texts out of the pool, equal neighbours once; gives their end, -1: no room.

    Words are copied whole, so each text begins at one.
    """
    step, strings, r = (ld(c, C_TOLD_COUNT) + META_WORDS) * 8, ld(c, C_STRINGS), ld(c, C_RESULT)
    to = ld(r, R_OUT_TEXTS)
    arena, entries = ld(strings, ARENA), ld(strings, f.V_RECORDS)
    last, place = f.NULL_WORD, f.NULL_WORD
    cell = ld(r, R_OUT) + word * 8
    for _ in range(found):
        identity = ld(cell, 0)
        if identity != last:
            last, place = identity, f.NULL_WORD
            if identity != f.NULL_WORD:
                length, of = ld(entries, 2 * identity + 1), arena + ld(entries, 2 * identity)
                if size + length + 8 > ld(r, R_TEXT_ROOM):
                    return -1
                copy_words(of, to + size, (length + 7) // 8)
                place = (size << 32) | length
                size += (length + 7) & ~7
        sto(cell, 0, place)
        cell += step
    return size
