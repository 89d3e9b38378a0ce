"""What every generated module begins with: all that its kernel may call, and the kernel's head.

docstring | HEAD | PATHS, INSERTS or AHEADS | the lines that codegen.py writes
"""

HEAD = """from joingraph.kernels.fields import (
    A_RECORDS,
    A_ROWS,
    AHEAD,
    ALIASES,
    BLOCK_ROWS,
    CURSOR,
    DONE,
    FLAGGING,
    FULL,
    HEAP,
    HINTS,
    INSERT,
    LENGTH,
    LIMIT,
    O_KIND,
    O_PLACE,
    O_ROW,
    OPS,
    OUT,
    OVERFLOW,
    P_EMIT,
    PHASE,
    PLACE_COUNT,
    RING,
    ROWS,
    SEGMENT_COUNT,
    SILENT,
    SINK,
    SOURCES,
    UPDATE,
    V_RECORDS,
    VERTICES,
)
from joingraph.kernels.hints import ask_row
from joingraph.kernels.intrinsics import call3, copy8, fill8, ld, plug, prefetch, sto
from joingraph.kernels.link import link_node
from joingraph.kernels.lists import append, begin_inside, prefetch_run, resize
from joingraph.kernels.lookahead import enliven, lay_dead, settle, spread
from joingraph.kernels.odometer import segment
from joingraph.kernels.places import note_appended
from joingraph.kernels.table import (
    likely_record,
    likely_word,
    prefetch_slot,
    prefetch_word,
    put,
    put_absent,
    put_word,
    same_key,
)


@plug
"""
PATHS = "def kernel(st: int, row: int, weight: int) -> int:\n"
AHEADS = "def kernel(st: int, at: int, stage: int) -> int:\n"
INSERTS = "def kernel(st: int, begin: int, end: int) -> int:\n"
NOTE = "(Written by joingraph for one view's layout and compiled by numba.)"
