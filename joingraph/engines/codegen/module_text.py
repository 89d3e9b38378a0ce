"""What every generated module begins with: all that its kernel may call, and the kernel's head.

docstring | HEAD | PATHS, INSERTS or AHEADS | the lines that paths.py writes
"""

IMPORTS = """from joingraph.engines.compiled.maintain import emit_flips
from joingraph.graph.compiled.fields import (
    A_LINKS,
    A_RECORDS,
    A_ROWS,
    AHEAD,
    ALIASES,
    BLOCK_ROWS,
    CURSOR,
    DONE,
    FLAGGING,
    FLIP_COUNT,
    FULL,
    HEAP,
    HINTS,
    INSERT,
    LENGTH,
    LIMIT,
    LOW,
    NULL_RECORD,
    NULL_ROW,
    NULL_WORD,
    O_KIND,
    O_PLACE,
    O_ROW,
    OPS,
    OUT,
    OVERFLOW,
    P_EMIT,
    P_FLIPS,
    P_START,
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
from joingraph.graph.compiled.prefetch import ask_row
from joingraph.graph.compiled.machine.kernel import call3, copy8, fill8, ld, plug, prefetch, sto
from joingraph.maintainers.compiled.link import link_node
from joingraph.graph.compiled.lists import (
    append,
    begin_block,
    begin_inside,
    prefetch_column,
    prefetch_numbers,
    prefetch_run,
    resize,
)
from joingraph.graph.compiled.live_flags import (
    enliven,
    lay_dead,
    note_flip,
    settle,
    spread,
    spread_on,
)
from joingraph.generators.compiled.odometer import segment
from joingraph.graph.compiled.list_index import note_appended
from joingraph.graph.compiled.vertex_table import (
    likely_record,
    likely_word,
    prefetch_slot,
    prefetch_word,
    put,
    put_absent,
    put_word,
    same_key,
)
"""
IMPORTS_OF_GROUPS = """from joingraph.graph.compiled.entries import own_source
from joingraph.graph.compiled.fields import (
    G_COLUMN,
    G_DIFF,
    G_FIRST,
    G_FOLDS,
    G_NOTES,
    G_SERIAL,
    G_TABLE,
    GROUPS,
    O_DIFF,
    OP_COUNT,
    V_NEXT,
)
from joingraph.graph.compiled.machine.eight import (
    add8,
    add8_wide,
    ld8,
    places8,
    plus8,
    run8,
)
from joingraph.graph.compiled.machine.kernel import add128, multiply_high, sto8
from joingraph.maintainers.compiled.groups.group_table import group_of, list_empty, number_row
from joingraph.maintainers.compiled.groups.long_sums import wide_double, wide_real
from joingraph.maintainers.compiled.groups.messages import begin_diff
"""
IMPORTS_OF_LISTS = """from joingraph.graph.compiled.entries import own_source
from joingraph.graph.compiled.fields import (
    G_DIFF,
    GROUPS,
    O_DIFF,
    OP_COUNT,
)
from joingraph.graph.compiled.machine.kernel import add128, multiply_high
from joingraph.maintainers.compiled.groups.change_lists import (
    begin_change,
    gather,
    list_gathered,
    list_path,
    list_value,
)
"""
HEAD_OF_LISTS = f"{IMPORTS}{IMPORTS_OF_LISTS}\n\n@plug\n"
HEAD_OF_GROUPS = f"{IMPORTS}{IMPORTS_OF_GROUPS}\n\n@plug\n"
HEAD = f"{IMPORTS}\n\n@plug\n"
PATHS = "def kernel(st: int, row: int, weight: int) -> int:\n"
AHEADS = "def kernel(st: int, at: int, stage: int) -> int:\n"
INSERTS = "def kernel(st: int, begin: int, end: int) -> int:\n"
NOTE = "(Written by joingraph for one view's layout and compiled by numba.)"
