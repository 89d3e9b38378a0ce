"""Shows a view's own kernels as people read them."""

from __future__ import annotations

from joingraph.engines.codegen.paths import KERNELS, has_plug
from joingraph.graph.compiled import fields as f
from joingraph.graph.compiled.layout import lay_out
from joingraph.plan.model import Plan


def kernels_of(plan: Plan) -> dict[str, str]:
    """Write the kernels of every alias that has some, by "alias: kernel"."""
    layout = lay_out(plan, exact=True)
    return {
        f"{alias.name}: {name}": write(layout, f.EXACT, alias.index)
        for alias in plan.aliases
        if has_plug(layout, alias.index)
        for name, (_, write) in KERNELS.items()
    }
