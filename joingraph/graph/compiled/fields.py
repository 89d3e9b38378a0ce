"""Where each word of the descriptors lies: the one vocabulary of Python and the kernels.

    state      one word a field; addresses of everything else
    vertex     VERTEX_WORDS a join vertex          seat     SEAT_WORDS an alias at a vertex
    alias      ALIAS_WORDS an alias                link     LINK_WORDS a vertex of an alias
    program    PROGRAM_WORDS a start of walks      level    LEVEL_WORDS a step of a program
    op         OP_WORDS a change of one alias, in the order they are made
    groups     GROUPS_WORDS of a view            tell     TELL_WORDS an alias: what it tells
    term       TERM_WORDS a factor               meet     MEET_WORDS a vertex: what it is told

The graph's own records:

    vertex value   | key words | per seat: a group |                          stride W words
        group      COUNT: length            LEAF: offset, sized length
                   EDGE, NODE: offset, sized length [, live]                  (live: exact only)
        sized length = (1 + log2 capacity) << 40 | length, so that all zero is a valid empty list
    shape          where one row of the list has room in the record, from its group, << 32 | p
    LEAF list      a block of p columns: column c begins at offset + c * capacity
    EDGE list      entry = other vertex value's id << 32 | the entry's place in the list there
    NODE list      entry = the node record's id
    node record    | used, complete | per link: value id << 32 | place | projected words |
    index slot     32 bits of hash << 32 | id + 1
    sum            one word, a number of paths; two of a value: an integer of 128 bits; of floats
                   as many as it takes
    group          | key words | sums | serial number of its note | rows that have its number |
    note           by column: diff << 32 | number of a group; its key words; sums before; sums now
    change         | diff << 32 | where its groups begin | sums |     their key words: by column
"""

from __future__ import annotations

# kinds of alias
COUNT, LEAF, EDGE, NODE = 0, 1, 2, 3
MARKED = -1  # of a level: whether an alias is there
# modes of seats (plan/model.py), and of levels: who is taken for missing
REQ, OPT, SEMI, ANTI, MARK = 0, 1, 2, 3, 4
TAKEN_MISSING, TOLD_NO, TOLD_YES = 2, 3, 4
MODES = {"req": REQ, "opt": OPT, "semi": SEMI, "anti": ANTI, "mark": MARK}
# look-ahead modes
NONE, LOCAL, GLOBAL, EXACT = 0, 1, 2, 3
# kinds of op; an update changes keys, a move does not; the new row follows the old one
INSERT, DELETE, UPDATE, MOVE = 0, 1, 2, 3
NOTHING = -1  # the kind of an op that only says that its row is there
# how a run ends: all ops are done, the block must be taken before it goes on, or a row is missing
DONE, FULL, MISSED = 0, 1, 2
# where an op stands between two runs
P_START, P_EMIT, P_WALK, P_MIDDLE, P_EMIT_POST, P_WALK_POST = 0, 1, 2, 3, 4, 5
P_FLIPS, P_WALK_FLIP = 6, 7
# what a plugged traversal returns when a block cannot hold the diff
OVERFLOW = -1

LENGTH = (1 << 40) - 1
LOW = (1 << 32) - 1
USED = 1 << 62
# a value that no column holds: of no int narrower than 64 bits, no decimal's high word, no id;
# the filter refuses it in the columns whose every bit pattern is a value
NULL_WORD = -0x7A3F9D215C8EB461

# state
HEAP, TOP, FREE = 0, 1, 2
VERTICES, ALIASES, LOOKAHEAD = 3, 4, 5
OPS, OP_COUNT, CURSOR, PHASE = 6, 7, 8, 9
OUT, STRIDE, ROWS, LIMIT = 10, 11, 12, 13
SEGMENTS, SEGMENT_COUNT, SINK = 14, 15, 16
COLUMNS, COLUMN_COUNT = 17, 18
SOURCES, WHEELS, STACK, STACK_TOP = 19, 20, 21, 22
DEPTH, SPARE, SILENT, VERTEX_COUNT = 23, 24, 25, 26
ALIAS_COUNT, AHEAD, RING = 27, 28, 29
PLACES_BASE, PLACES, PLACES_MASK, PLACE_COUNT, LONG = 32, 33, 34, 35, 36
HINTS, MOST_LINKS, RUNNING, GENERATION, FLAGGING = 37, 38, 39, 40, 41
GROUPS = 42  # of a view that groups and knows its groups; else 0
LAST_NODE = 43  # the node that was linked last
FLIPS, FLIP_COUNT, FLIP_NEXT = 44, 45, 46  # of the op under way, and how many have been told
NULL_RECORD = 47  # all zero: the vertex value beyond an alias that is missing
FALSE_WORD, TRUE_WORD = 48, 49
NULL_ROW = 50  # the node record of an alias that is missing: all NULL
STATE_WORDS = 56

# vertex
V_RECORDS, V_INDEX, V_MASK, V_NEXT, V_FREE, V_LIVE = 0, 1, 2, 3, 4, 5
V_STRIDE, V_KEY, V_SEATS, V_SEAT_COUNT, V_INDEX_BASE, V_PROGRAM = 6, 7, 8, 9, 10, 11
V_NUMBER = 12
VERTEX_WORDS = 16

# seat
S_ALIAS, S_KIND, S_OFFSET, S_LENGTH, S_LIVE, S_LINK, S_SHAPE, S_MODE = 0, 1, 2, 3, 4, 5, 6, 7
SEAT_WORDS = 8

# alias
A_KIND, A_LINKS, A_LINK_COUNT, A_PROJECTED, A_RECORDS, A_NEXT, A_FREE = 0, 1, 2, 3, 4, 5, 6
A_ROWS, A_STRIDE, A_WIDTH, A_KEY_WORDS, A_PROGRAM, A_SOURCE, A_PLUG = 7, 8, 9, 10, 11, 12, 13
A_INSERT, A_NUMBER, A_AHEAD = 14, 15, 16
ALIAS_WORDS = 17

# link
L_VERTEX, L_NUMBER, L_OFFSET, L_LENGTH, L_LIVE, L_KEY, L_SHAPE, L_MODE = 0, 1, 2, 3, 4, 5, 6, 7
L_AROUND, L_AROUND_NOT = 8, 9  # programs of the rows around a value whose seat flips; 0: none
L_ALIAS = 10
L_PLUG, L_PLUG_NOT = 11, 12  # a view's own kernels of these programs; 0: none
LINK_WORDS = 13

# program: the steps of a walk from an alias' row, or from a vertex value
T_LEVELS, T_COUNT = 0, 1
PROGRAM_WORDS = 2

# level: COUNT levels weigh, the others loop; the last LEAF is copied in runs
H_KIND, H_ALIAS, H_VERTEX, H_OFFSET, H_LIVE, H_LINK, H_PROJECTED, H_MODE = 0, 1, 2, 3, 4, 5, 6, 7
LEVEL_WORDS = 8

# the state of a traversal, per level
W_POSITION, W_END, W_BASE, W_WEIGHT, W_LEVEL = 0, 1, 2, 3, 4
WALK_WORDS = 5

# a source of output words: word c lies at base + c * step bytes
SOURCE_WORDS = 2

# op: which diff, which alias and kind, where its row lies, where it was in its list a while ago
O_DIFF, O_ALIAS, O_KIND, O_ROW, O_PLACE = 0, 1, 2, 3, 4
OP_WORDS = 5

# flip: the value, the link of who came first to it or went last, and whether one came
I_RECORD, I_LINK, I_IS_UP, I_TURN = 0, 1, 2, 3
FLIP_WORDS = 4

# segment of a block: the rows from `start` on belong to an op and count `weight` times
G_START, G_OP, G_WEIGHT = 0, 1, 2
SEGMENT_WORDS = 3

# rows a block holds, rows after which it is handed out, room for overshooting stores
BLOCK_ROWS = 1 << 17
BLOCK_LIMIT = 1 << 16
COLUMN_STRIDE = BLOCK_ROWS + 72
FREE_CLASSES = 48
LONG_LIST = 1 << 14  # rows above which a list is indexed when a removal searches it
# how many ops ahead their index slots, records, lists, next records and lists are asked for
AHEAD_SLOT, AHEAD_RECORD, AHEAD_LIST, AHEAD_NEXT, AHEAD_LAST = 24, 16, 8, 4, 2
RING_SLOTS = 32  # of records found ahead, more than AHEAD_RECORD

# groups: their table, notes of what was touched, which may be empty; where a path has the key
G_TABLE, G_STATE, G_WORDS, G_PARTS, G_SIZES = 0, 1, 2, 3, 4
G_NOTES, G_COLUMN, G_EMPTY, G_EMPTY_COUNT = 5, 6, 7, 8  # a column is so many bytes behind the last
G_KEYS, G_KEY, G_TELLS, G_TOUCHED = 9, 10, 11, 12
# the serial number of the next note; of a base diff's first note, and which diff that is
G_SERIAL, G_FIRST, G_DIFF = 13, 14, 15
# best values: how many, who has their bags (of a root alias) or the vertex that is told; sets
G_BESTS, G_BEST_TELL, G_BEST_MEET, G_IS_SET, G_IS_LINEAR = 16, 17, 18, 19, 20
G_BAGS, G_BAG_LIST = 21, 22  # bags of the root's rows: how many, and where they are described
G_BESTS_AT = 23  # where best values lie in a group's state
G_FOLDS = 24  # whether a group has one note a batch, not one a base diff
# where no groups are kept: whether it is so, the changes that are listed; the list of which value
# the last of them has; sums by vertex value, how many words one takes, and who told of them
G_LISTS, G_CHANGES, G_WHERE, G_GATHERED, G_GATHERED_WORDS, G_TELLER = 25, 26, 27, 28, 29, 30
# how many keys have room where the block has them; where as many as may come have, by column
G_ROOM, G_ALL, G_ALL_COLUMN = 31, 32, 33
# where the root may be missing: the vertex (0: nowhere), which parts of what it is told are sums of
# the group of NULLs, a vector of these, and the one side that tells a FULL JOIN (0: it is none)
G_MISSING, G_MISSING_PARTS, G_MISSING_VECTOR, G_WHOLE_SIDE = 34, 35, 36, 37
GROUPS_WORDS = 38
LISTED = 1 << 62  # beside a group's rows: it is among those that may be empty
KEY_WORDS = 3  # of a word of the key: its source, which word, whether it is of a float
FLOAT_32, FLOAT_64 = 1, 2
NEGATIVE_ZERO_32, NEGATIVE_ZERO_64 = -(1 << 31), -(1 << 63)

# tell: an alias, by which link it tells and which vertex (0: it is the root), its parts
N_ALIAS, N_PARTS, N_SIZES, N_WORDS, N_LINK, N_MEET, N_BLOCK = 0, 1, 2, 3, 4, 5, 6
N_OWN, N_TERMS, N_BELOW, N_BELOWS, N_PICKS, N_VECTOR, N_NUMBERED = 7, 8, 9, 10, 11, 12, 13
N_CARRIED, N_BESTS, N_BEST_AT, N_OLD = 14, 15, 16, 17  # best values, where they lie in a block
N_ALIKE = 18  # whether all rows of the root at a value bring what the value is told
N_MODE = 19  # of the seat by which it tells
TELL_WORDS = 20
# best: its bag; its own row there, or the alias below that tells it, and which of its
C_TREE, C_NUMBER, C_IS_OWN, C_ROW, C_TELL, C_PLACE = 0, 1, 2, 3, 4, 5
BEST_FIELDS = 6
# meet: a vertex' parts, the aliases that tell them, the alias above (0: the vertex is the root)
M_PARTS, M_SIZES, M_SIDES, M_SIDE_COUNT, M_PICKS = 0, 1, 2, 3, 4
M_TOP, M_TOP_LINK, M_VECTOR = 5, 6, 7
MEET_WORDS = 8
# size of a part: where it lies among the words of all, and how many they are
SIZE_WORDS = 2
# term: what is taken of a value, where it lies, whether it may be NULL; the unit of a float is
# 2^operand, and EQUAL is 1 where the word is the operand
T_KIND, T_SOURCE, T_WORD, T_NULLABLE, T_OPERAND = 0, 1, 2, 3, 4
TERM_WORDS = 5
VALUE, WIDE_VALUE, KNOWN, EQUAL, DOUBLE, REAL, TRUE = 0, 1, 2, 3, 4, 5, 6
# bag: what it is for, its tree and rows, where its words lie in a group's state; of a set the sums
# over its rows
K_KIND, K_TREE, K_AT, K_ROW = 0, 1, 2, 3
K_SUMS, K_SIZES, K_FACTORS, K_ENDS, K_VECTOR = 4, 5, 6, 7, 8
K_TOP, K_BOTTOM, K_MORE, K_LESS, K_COUNT = 4, 5, 6, 7, 8  # of places (aggregates/bags/)
BAG_FIELDS = 9
# row of a bag: its parts, how many, and the word that must be TRUE (source -1: none must)
R_PARTS, R_PART_COUNT, R_IF_SOURCE, R_IF_WORD = 0, 1, 2, 3
K_LOG = 4  # of a list: the tree of what a base diff has changed
OF_SET, OF_BEST, OF_PLACES, OF_LIST = 0, 1, 2, 3
# part of a bag's row: where the word lies, where the one that tells NULL (-1: none does), whether
# a row is left out then; what stands for NULL; the word that is made 0; what is changed of those
# below zero, and of all; those above the hole move down by one, or those below it up
X_SOURCE, X_WORD, X_TEST, X_SKIP, X_NULL, X_ZERO, X_MASK, X_XOR, X_HOLE = 0, 1, 2, 3, 4, 5, 6, 7, 8
X_IS_UP = 9
PART_FIELDS = 10
# factor: what is taken of a bag's row, which word, and whether it may be NULL
Y_KIND, Y_WORD, Y_NULLABLE = 0, 1, 2
FACTOR_FIELDS = 3
