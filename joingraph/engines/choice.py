"""The two forms of the join graph by name."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from types import ModuleType

from joingraph.common.errors import ViewError
from joingraph.common.names import plain, short_repr
from joingraph.engines.contract import Engine
from joingraph.engines.grouping import GroupingEngine
from joingraph.engines.plain import ReferenceEngine
from joingraph.plan.groups.joined_rows import plan_of_joined
from joingraph.plan.groups.messages import messages_of
from joingraph.plan.groups.totals import ToldTotals, told_totals
from joingraph.plan.model import Plan
from joingraph.plan.show import vertex_name
from joingraph.plan.view import View

ENGINES = ("auto", "compiled", "reference")
LOOKAHEADS = ("auto", "none", "local", "global", "exact")
AUTO_LOOKAHEAD = "exact"  # of every form: the fastest where paths end early (docs/benchmarks.md)


def make_engine(
    view: View,
    engine: str,
    lookahead: str,
    key_index: Sequence[str] = (),
    *,
    keep_groups: bool = True,
) -> Engine:
    """Choose the form of the graph."""
    one_of("engine", engine, ENGINES)
    one_of("lookahead", lookahead, LOOKAHEADS)
    lookahead = AUTO_LOOKAHEAD if lookahead == "auto" else lookahead
    check_lookahead(view.plan, lookahead)
    grouping = view.definition.grouping
    if grouping is None:
        return of_rows(view, engine, lookahead, key_index)
    is_told = keep_groups and engine != "reference"
    messages = messages_of(view.plan, grouping) if is_told else None
    is_listed = not keep_groups and engine != "reference"
    if is_listed and (told := told_totals(view.plan, view.definition)):
        return listing_of(view, told, lookahead, key_index)
    if messages is None:
        rows = of_rows(view, engine, lookahead, key_index)
        joined = plan_of_joined(grouping) if engine != "reference" else None
        if joined is None:
            return GroupingEngine(view.definition, rows, keep_groups=keep_groups)
        absorbing = compiled("groups.absorbing").AbsorbingEngine
        by_column: Engine = absorbing(view.definition, rows, joined, keep_groups=keep_groups)
        return by_column
    telling_engine = compiled("groups.outer_telling").telling_engine
    telling = telling_engine(view.definition, view.plan, messages, lookahead, key_index)
    made: Engine = compiled("groups.grouped").CompiledGroups(view.definition, telling)
    return made


def listing_of(view: View, told: ToldTotals, lookahead: str, key_index: Sequence[str]) -> Engine:
    """Make the form of a graph that keeps no groups, whose totals travel by messages."""
    import_module("joingraph.engines.compiled.warm").ensure_compiled()
    listing = import_module("joingraph.engines.compiled.groups.listing")
    grouping, messages = view.definition.grouping, told.messages
    assert grouping is not None, "a view that groups"
    rows = listing.ListingEngine(view.definition, view.plan, messages, lookahead, key_index)
    made: Engine = listing.ListedGroups(view.definition, rows, plan_of_joined(grouping), told.reads)
    return made


def of_rows(view: View, engine: str, lookahead: str, key_index: Sequence[str]) -> Engine:
    """Choose the form of the graph of the rows that are joined."""
    made: Engine
    if engine == "reference":
        made = ReferenceEngine(view.plan, lookahead, key_index)
    elif view.plan.is_inner:
        made = compiled("engine").CompiledEngine(view.plan, lookahead, key_index)
    elif view.plan.pairs:
        made = compiled("outer.pairs").PairedEngine(view.plan, key_index)
    else:
        made = compiled("outer.engine").OuterEngine(view.plan, lookahead, key_index)
    return made


def compiled(module: str) -> ModuleType:
    """Return a module of the compiled form, whose kernels are compiled; numba loads slowly."""
    import_module("joingraph.engines.compiled.warm").ensure_compiled()
    return import_module(f"joingraph.engines.compiled.{module}")


def check_lookahead(plan: Plan, lookahead: str) -> None:
    """Refuse a look-ahead that does not know whether what a join looks at as a whole is empty."""
    for vertex, alias in plan.asked_seats() if lookahead != "exact" else ():
        if plan.aliases[alias].is_of_pairs:
            raise ViewError(
                f'lookahead="{lookahead}": the join at {vertex_name(plan, vertex)} has a condition'
                " that is no equality; choose exact, or leave it out"
            )
        if len(plan.aliases[alias].vertices) > 1:
            name, at = plan.aliases[alias].name, vertex_name(plan, vertex)
            raise ViewError(
                f'lookahead="{lookahead}": the join at {at} asks whether {name} has a row there,'
                f" which depends on what {name} is joined to; choose exact, or leave it out"
            )


def one_of(option: str, asked: object, known: Sequence[str]) -> str:
    """Return an option as a plain text; refuse one that is not known."""
    found = plain(asked)
    if not isinstance(found, str) or found not in known:
        raise ValueError(
            f"{option}={short_repr(asked)} is not known; choose one of {', '.join(known)}"
        )
    return found
