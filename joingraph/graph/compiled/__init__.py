"""The compiled join graph: the same graph as the plain form, in flat memory.

    layout.py, fields.py        plan -> where every word of the graph lies, and its name
    vertex_table.py, entries.py, lists.py, list_index.py     vertex values and their lists
    live_flags.py               look-ahead: the live entries of each list come first
    ops.py, op_rows.py          what compiled stages hand on: ops over rows of words
    prefetch.py                 asks for the memory that later ops will touch
    key_index.py, sorted_index.py     indexes of base keys, and of output columns
    memory/  values/  machine/  address space; words of Arrow columns; machine operations

The kernels that change the graph are in maintainers/compiled, those that walk it in
generators/compiled, the one that does both in engines/compiled/maintain.py. `import joingraph`
imports none of it: numba costs half a second.
"""
