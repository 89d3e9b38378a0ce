"""The compiled join graph: the same graph as the reference form, in flat memory and machine code.

    layout      Plan -> where every word of the graph lies, as one descriptor of int64
    memory      reservations of address space that fill as they are touched
    intrinsics  the few machine operations: load, store, prefetch, copy or fill eight words
    table, lists, link, lookahead      vertex values, their lists, base rows, live counts
    places, load                       an index of long lists; many rows at once, by counting
    odometer, run, hints               the plan-looping form: one code for all views
    codegen, linker, ahead, modules    a view's own kernels: text, cache on disk, compilation
    engine                             batches in, blocks of view rows out

Nothing here is imported by `import joingraph`: numba costs half a second.
"""
