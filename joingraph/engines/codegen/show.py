"""Shows a view's own kernels as people read them."""

from __future__ import annotations

from functools import partial

from joingraph.engines.codegen.groups.telling import write_telling, write_telling_inserts
from joingraph.engines.codegen.kernels import (
    KERNELS,
    has_around,
    has_plug,
    write_ahead,
    write_around,
)
from joingraph.graph.compiled import fields as f
from joingraph.graph.compiled.groups.group_layout import GroupLayout
from joingraph.graph.compiled.layout import lay_out
from joingraph.plan.groups.messages import messages_of
from joingraph.plan.model import Plan
from joingraph.sql.definition import Grouping


def kernels_of(plan: Plan, grouping: Grouping | None) -> dict[str, str]:
    """Write the kernels of every alias that has some, by "alias: kernel"."""
    messages = None if grouping is None else messages_of(plan, grouping)
    if messages is None and not plan.is_inner:
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
