"""Writes the modules of a view's own kernels: which an alias has, and what each begins with.

insert   links new rows and emits all paths through each        of an alias
paths    emits all paths through a row that changes or goes
ahead    prefetches what an op will touch
around   emits the rows around a value whose seat flips         of a seat that has a mode
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from joingraph.engines.codegen.groups.telling import write_telling, write_telling_inserts
from joingraph.engines.codegen.link import Linker
from joingraph.engines.codegen.missing import OuterWriter
from joingraph.engines.codegen.module_text import AHEADS, INSERTS, PATHS
from joingraph.engines.codegen.paths import Writer
from joingraph.engines.codegen.prefetch import AheadOfAny, AheadOfInserts
from joingraph.graph.compiled import fields as f
from joingraph.graph.compiled.fields import (
    A_AHEAD,
    A_INSERT,
    A_PLUG,
    ALIAS_WORDS,
    EDGE,
    L_PLUG,
    L_PLUG_NOT,
    OP_WORDS,
    REQ,
    SEMI,
)
from joingraph.graph.compiled.groups.group_layout import GroupLayout
from joingraph.graph.compiled.layout import Around, Layout, lay_out
from joingraph.plan.groups.messages import messages_of
from joingraph.plan.model import Plan
from joingraph.plan.program import Enter, Step, Weigh
from joingraph.sql.definition import Grouping

MAX_LOOPS = 12  # CPython takes 20 nested blocks; beyond ten hops the odometer is as fast
NO_ALIAS = -1  # of a walk that starts at a value


def loops_of(layout: Layout, steps: Sequence[Step]) -> int:
    """Count the loops that steps need; to weigh a count or a leaf takes none."""
    loops = sum(isinstance(step, Enter) for step in steps)
    sides = [step for step in steps if isinstance(step, Weigh)]
    long = [side for side in sides if layout.aliases[side.enter.alias].kind >= EDGE]
    return loops + sum(loops_of(layout, side.steps) for side in long)


def has_plug(layout: Layout, alias: int) -> bool:
    """True if an alias gets a kernel of its own; beyond the limit the odometer serves."""
    return loops_of(layout, layout.programs[alias].steps) <= MAX_LOOPS


def has_around(layout: Layout, around: Around) -> bool:
    """True if a flip's walk gets a kernel of its own."""
    return loops_of(layout, around.program.steps) <= MAX_LOOPS


def writer_of(layout: Layout, lookahead: int, alias: int) -> Writer:
    """Begin the text of a kernel that starts at a row of an alias, or at a value."""
    return (Writer if layout.is_inner else OuterWriter)(layout, lookahead, alias)


def write_paths(layout: Layout, lookahead: int, alias: int) -> str:
    """Write the kernel that emits all paths through a row whose vertex values are bound."""
    writer = writer_of(layout, lookahead, alias)
    writer.bases()
    for link in layout.aliases[alias].links:
        writer.say(f"r{link.vertex} = ld(sources, {2 * link.vertex})")
    writer.paths()
    writer.say("return DONE")
    return writer.module(f"All paths through a row of alias {alias}.", PATHS)


def write_insert(layout: Layout, lookahead: int, alias: int) -> str:
    """Write the kernel that links new rows and emits all paths through each."""
    writer = writer_of(layout, lookahead, alias)
    writer.bases()
    ahead = AheadOfInserts(writer)
    writer.say("silent, sink, limit = ld(st, SILENT), ld(st, SINK), ld(st, LIMIT)", "weight = 1")
    writer.say(f"ad = ld(st, ALIASES) + {alias * ALIAS_WORDS * 8}")
    ahead.begin()
    writer.depth = 2
    ahead.look()
    writer.say(f"row = ld(ops + at * {OP_WORDS * 8}, O_ROW)")
    own = own_flip(layout, alias)
    Linker(writer, ahead, own).link()
    if not layout.aliases[alias].is_silent:
        write_walk(writer)
    if own is not None:
        write_own_flip(writer, own)
    if layout.tells_flips(alias):
        writer.say(*FLIPS)
    writer.depth = 1
    writer.say("sto(st, CURSOR, end)", "return DONE")
    return writer.module(f"Link new rows of alias {alias}, and all paths through them.", INSERTS)


def write_walk(writer: Writer) -> None:
    """Write the walk from a row that was linked, if what it meets is as it is wanted."""
    layout, alias = writer.layout, writer.start_alias
    bound = layout.aliases[alias].links
    tests = [test for link in bound for test in writer.others(link.vertex)]
    writer.say(f"if not ({' or '.join(['silent', *tests])}):")
    writer.depth = 3
    writer.say("sto(st, CURSOR, at)")
    writer.giving_up = [f"sto(sources, {2 * each.vertex}, r{each.vertex})" for each in bound]
    writer.giving_up.append("sto(st, PHASE, P_EMIT)")
    writer.flagging = "True"
    writer.paths()
    if not layout.tells_flips(alias):
        writer.consume()
    writer.depth = 2


def own_flip(layout: Layout, alias: int) -> Around | None:
    """Return the flip of an alias' own seat, if its first row at a value is all that makes it.

    Another alias must be wanted there, or it would have to be asked whether any is there.
    """
    links = layout.aliases[alias].links
    if len(links) > 1:
        return None
    (vertex,) = (link.vertex for link in links)
    seats = layout.vertices[vertex].seats
    is_wanted = any(each.mode == REQ and each.alias != alias for each in seats)
    own = [each for each in layout.arounds if (each.vertex, each.alias) == (vertex, alias)]
    return own[0] if len(own) == 1 and is_wanted and has_around(layout, own[0]) else None


def write_own_flip(writer: Writer, around: Around) -> None:
    """Write the walk around a value to which an alias' first row came."""
    layout, vertex = writer.layout, around.vertex
    (seat,) = (each for each in layout.vertices[vertex].seats if each.alias == around.alias)
    assert isinstance(writer, OuterWriter), "no seat of an inner join flips"
    writer.say(f"turned = {1 if seat.mode == SEMI else -1}")
    writer.say(f"if not ({' or '.join(['silent', 'was != 0', *writer.unmet(vertex)])}):")
    writer.depth = 3
    writer.say("sto(st, CURSOR, at)")
    writer.giving_up = [f"note_flip(st, ld(ad, A_LINKS), r{vertex}, 1)", "sto(st, PHASE, P_FLIPS)"]
    writer.giving_up += HANDED_OVER
    writer.begin_anew("turned")
    writer.begin_paths()
    writer.load_key(vertex)
    writer.walk(around.program.steps)
    writer.depth = 2


def write_around(layout: Layout, lookahead: int, around: Around) -> str:
    """Write the kernel that emits the rows around a value one of whose seats flips."""
    writer = writer_of(layout, lookahead, NO_ALIAS)
    writer.bases()
    writer.say(f"r{around.vertex} = row")
    writer.begin_paths()
    writer.load_key(around.vertex)
    writer.walk(around.program.steps)
    writer.say("return DONE")
    title = f"Rows around a value of vertex {around.vertex} where alias {around.alias} flips."
    return writer.module(title, PATHS)


def write_ahead(layout: Layout, lookahead: int, alias: int) -> str:
    """Write the kernel that asks for what an op of any kind will touch, stage by stage."""
    writer = writer_of(layout, lookahead, alias)
    writer.bases()
    AheadOfAny(writer).look()
    writer.say("return DONE")
    return writer.module(f"Ask for what an op of alias {alias} will touch.", AHEADS)


HANDED_OVER = (
    "if sink:",
    "    call3(sink, st, 0, 0)",
    "    sto(st, ROWS, 0)",
    "    sto(st, SEGMENT_COUNT, 0)",
)
# Flips come behind a row's own paths; what does not fit into the block is left to the odometer.
FLIPS = (
    "if ld(st, FLIP_COUNT):",
    "    sto(st, CURSOR, at)",
    "    sto(st, PHASE, P_FLIPS)",
    "    if emit_flips(st) == FULL:",
    *(f"        {line}" for line in HANDED_OVER),
    "        return OVERFLOW",
    "    sto(st, PHASE, P_START)",
    "n = ld(st, ROWS)",
    "if n and sink:",
    "    call3(sink, st, 0, 0)",
    "    sto(st, ROWS, 0)",
    "    sto(st, SEGMENT_COUNT, 0)",
    "elif n >= limit:",
    "    sto(st, CURSOR, at + 1)",
    "    return FULL",
)
# The kernels of an alias: where the address of each belongs, and who writes it.
KERNELS = {
    "insert": (A_INSERT, write_insert),
    "paths": (A_PLUG, write_paths),
    "ahead": (A_AHEAD, write_ahead),
}
# Those of a seat that flips: of a mark, as it is told before and after.
AROUNDS = {True: L_PLUG, None: L_PLUG, False: L_PLUG_NOT}


def kernels_of(plan: Plan, grouping: Grouping | None) -> dict[str, str]:
    """Write the kernels of every alias that has some, by "alias: kernel"."""
    messages = None if grouping is None else messages_of(plan, grouping)
    if messages is None and grouping is not None and not plan.is_inner:
        return {}
    layout = lay_out(plan, exact=True)
    writers = {name: partial(write, layout) for name, (_, write) in KERNELS.items()}
    if messages is not None:
        layout = lay_out(plan, exact=True, numbered=messages.numbered)
        groups = GroupLayout(plan, layout, messages)
        if not groups.is_written:
            return {}
        writers = {
            "insert": partial(write_telling_inserts, groups),
            "tell": partial(write_telling, groups),
            "ahead": partial(write_ahead, layout),
        }
    found = {
        f"{alias.name}: {name}": write(f.EXACT, alias.index)
        for alias in plan.aliases
        if has_plug(layout, alias.index)
        for name, write in writers.items()
        if not (alias.is_silent and name == "paths")
    }
    for around in layout.arounds if messages is None else ():
        if has_around(layout, around):
            told = {True: ", told TRUE", False: ", told FALSE", None: ""}[around.told]
            name = f"{plan.aliases[around.alias].name}: around{told}"
            found[name] = write_around(layout, f.EXACT, around)
    return found
