"""Lists in the heap: blocks of p columns with a power-of-two capacity, freed ones reused.

    group    | offset | (1 + log2 capacity) << 40 | length |      at `group` (an address)
    block    column c begins at offset + c * capacity

One free list for each (columns, log2 capacity), threaded through the blocks' first words. Where
the record has room (the upper half of a shape), a list of one row lies there, and its offset
leads out of the heap into the record: readers of a list see no difference.
"""

from __future__ import annotations

from joingraph.graph.compiled.fields import FREE, FREE_CLASSES, HEAP, LENGTH, LOW, TOP
from joingraph.graph.compiled.machine.kernel import kernel, ld, prefetch, small, sto

COUNTED_ROWS = 32
PREFETCHED_ROWS = 32  # beyond that the machine has seen where it goes
PREFETCHED_NUMBERS = 256


@kernel
def take_block(st: int, columns: int, log2: int) -> int:
    """Return a block's offset: a freed one of that shape, or the heap's next."""
    head = ld(st, FREE) + (columns * FREE_CLASSES + log2) * 8
    offset = ld(head, 0)
    if offset:
        sto(head, 0, ld(ld(st, HEAP), offset))
        return offset
    offset = ld(st, TOP)
    sto(st, TOP, offset + (columns << log2))
    return offset


@kernel
def free_block(st: int, columns: int, log2: int, offset: int) -> None:
    """Keep a block for reuse."""
    head = ld(st, FREE) + (columns * FREE_CLASSES + log2) * 8
    sto(ld(st, HEAP), offset, ld(head, 0))
    sto(head, 0, offset)


@kernel
def count_free(st: int, columns: int, log2: int, most: int) -> int:
    """Count the free blocks of a shape, up to a number."""
    offset, count = ld(ld(st, FREE) + (columns * FREE_CLASSES + log2) * 8, 0), 0
    while offset and count < most:
        offset, count = ld(ld(st, HEAP), offset), count + 1
    return count


@kernel
def resize(st: int, group: int, shape: int, log2: int) -> None:
    """Move a list into a block of another capacity; -1 gives its block up (it is empty)."""
    heap, offset, columns, room = ld(st, HEAP), ld(group, 0), shape & LOW, shape >> 32
    length, old = ld(group, 1) & LENGTH, (ld(group, 1) >> 40) - 1
    fresh = 0
    if log2 == 0 and room:
        fresh = ((group - heap) >> 3) + room
    elif log2 >= 0:
        fresh = take_block(st, columns, log2)
    if old >= 0:
        for column in range(columns if length else 0):
            to, of = heap + (fresh + (column << log2)) * 8, heap + (offset + (column << old)) * 8
            for row in range(length):
                sto(to, row, ld(of, row))
        if old > 0 or room == 0:
            free_block(st, columns, old, offset)
    sto(group, 0, fresh)
    sto(group, 1, ((log2 + 1) << 40) | length)


@small
def begin_inside(st: int, group: int, shape: int) -> int:
    """Let an empty list lie in its record; gives its sized length."""
    sto(group, 0, ((group - ld(st, HEAP)) >> 3) + (shape >> 32))
    return 1 << 40


@small
def begin_block(st: int, group: int, columns: int) -> int:
    """Let an empty list lie in a block for one row; gives its sized length."""
    head = ld(st, FREE) + columns * (FREE_CLASSES * 8)
    offset = ld(head, 0)
    if offset:
        sto(head, 0, ld(ld(st, HEAP), offset))
    else:
        offset = ld(st, TOP)
        sto(st, TOP, offset + columns)
    sto(group, 0, offset)
    return 1 << 40


@small
def append(st: int, group: int, shape: int) -> int:
    """Lengthen a list by one row; gives the address of its first column there."""
    sized = ld(group, 1)
    length, size = sized & LENGTH, sized >> 40
    if sized == 0 and shape >> 32 != 0:
        sized = begin_inside(st, group, shape)
    elif length == (1 << size) >> 1:
        resize(st, group, shape, size)
        sized = ld(group, 1)
    sto(group, 1, sized + 1)
    return ld(st, HEAP) + (ld(group, 0) + length) * 8


@kernel
def shorten(st: int, group: int, shape: int) -> None:
    """Drop a list's last row; a list four times too large moves to a smaller block."""
    sized = ld(group, 1) - 1
    sto(group, 1, sized)
    length, size = sized & LENGTH, sized >> 40
    if length == 0:
        resize(st, group, shape, -1)
    elif length * 8 <= 1 << size and size > 4:
        resize(st, group, shape, size - 2)


@small
def step_of(group: int) -> int:
    """Return how many bytes lie between the columns of a list's block."""
    return ((1 << (ld(group, 1) >> 40)) >> 1) * 8


@kernel
def append_row(st: int, group: int, shape: int, columns: int, row: int) -> None:
    """Append a row, of whose words so many lie together at an address."""
    place = append(st, group, shape)
    step = step_of(group)
    for column in range(columns):
        sto(place + column * step, 0, ld(row, column))


@kernel
def find_row(st: int, group: int, columns: int, row: int) -> int:
    """Return the position of the last row with the words at an address, or -1."""
    block, step = ld(st, HEAP) + ld(group, 0) * 8, step_of(group)
    position = find_word(block, ld(group, 1) & LENGTH, ld(row, 0), 0)
    while position >= 0 and not is_at(block + position * 8, step, columns, row):
        position = find_word(block, position, ld(row, 0), 0)
    return position


@small
def is_at(place: int, step: int, columns: int, row: int) -> bool:
    """True if a list's row, whose words lie a step apart, has the words at an address."""
    for column in range(columns):  # noqa: SIM110  # kernels have no generators
        if ld(place + column * step, 0) != ld(row, column):
            return False
    return True


@kernel
def find_word(base: int, length: int, word: int, shift: int) -> int:
    """Return the last position whose word, shifted, is the given one, or -1.

    To count without stopping is what the machine does several words at a time.
    """
    end = length
    while end > 0:
        first, found = max(0, end - COUNTED_ROWS), 0
        for position in range(first, end):
            found += ld(base, position) >> shift == word
        if found:
            while ld(base, end - 1) >> shift != word:
                end -= 1
            return end - 1
        end = first
    return -1


@kernel
def remove_row(st: int, group: int, shape: int, position: int) -> None:
    """Remove a row; the last one takes its place."""
    block, step = ld(st, HEAP) + ld(group, 0) * 8, step_of(group)
    last = (ld(group, 1) & LENGTH) - 1
    for column in range(shape & LOW):
        sto(block + column * step, position, ld(block + column * step, last))
    shorten(st, group, shape)


@small
def prefetch_run(heap: int, group: int, columns: int) -> None:
    """Ask for the first rows of a list, in each of its columns."""
    for column in range(columns):
        prefetch_column(heap, group, column)


@small
def prefetch_column(heap: int, group: int, column: int) -> None:
    """Ask for the first rows of a list, in one of its columns."""
    offset, sized = ld(group, 0), ld(group, 1)
    rows, capacity = min(sized & LENGTH, PREFETCHED_ROWS), (1 << (sized >> 40)) >> 1
    for row in range(0, rows, 8):
        prefetch(heap, offset + column * capacity + row)


@small
def prefetch_numbers(heap: int, group: int, column: int) -> None:
    """Ask for one column of a list, which has numbers: the machine goes where they lead instead."""
    offset, sized = ld(group, 0), ld(group, 1)
    rows, capacity = min(sized & LENGTH, PREFETCHED_NUMBERS), (1 << (sized >> 40)) >> 1
    for row in range(0, rows, 8):
        prefetch(heap, offset + column * capacity + row)
