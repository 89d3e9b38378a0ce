"""Shows a plan to people: as text, as a Mermaid flowchart, as a networkx graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import networkx as nx

from joingraph.expressions.show import show
from joingraph.expressions.types import sql_name
from joingraph.plan.groups.messages import Messages, messages_of
from joingraph.plan.keys.keyed import idiff_lines
from joingraph.plan.keys.totals import delta_lines
from joingraph.plan.model import AliasPlan, Nearer, Pairs, Plan, Slot, Vertex
from joingraph.sql.definition import Definition, Grouping

PRODUCT = "<>"  # how the empty vertex is written


def vertex_name(plan: Plan, vertex: Vertex) -> str:
    """Write a vertex by its members: <F.userId = T.userId>, one part for each class."""
    if not vertex.members:
        return f"{PRODUCT} of {', '.join(plan.aliases[alias].name for alias in vertex.aliases)}"
    named = [not plan.aliases[alias].is_of_pairs for alias in vertex.aliases]
    texts = (
        " = ".join(show(each) for each, is_named in zip(members, named, strict=True) if is_named)
        for members in vertex.members
    )
    return "<" + ", ".join(texts) + ">"


# What is taken of a value, as explain() says it.
FACTORS = {
    "value": "{0}",
    "known": "[{0} is not NULL]",
    "true": "[{0}]",
    "nan": "[{0} is NaN]",
    "inf": "[{0} is inf]",
    "-inf": "[{0} is -inf]",
}


def explain(definition: Definition, plan: Plan) -> str:
    """Write the plan section by section."""
    output = [
        f"{each.name} {sql_name(each.value.type)} = {show(each.value)}"
        for each in definition.output
    ]
    vertices = [f"v{vertex.index}  {vertex_name(plan, vertex)}" for vertex in plan.vertices]
    tree = tree_lines(plan, lambda alias: plan.aliases[alias].name, lambda way: f"v{way.vertex}")
    sections = [
        ("output", output),
        ("groups", list(group_lines(plan, definition.grouping))),
        ("deltas", list(delta_lines(definition))),
        ("aliases", [line for alias in plan.of_tables for line in alias_lines(alias)]),
        ("pairs", [pair_line(plan, each) for each in plan.pairs]),
        ("join vertices", vertices),
        ("join tree", list(tree)),
        ("rows that may be missing, or are asked for", list(seat_lines(plan))),
        ("residual predicates (checked on the path)", [show(each) for each in plan.residuals]),
        ("i-diffs", list(idiff_lines(plan)) if definition.grouping is None else []),
    ]
    title = f"view {plan.definition.name}"
    parts = [
        f"{head}\n" + "".join(f"  {line}\n" for line in lines) for head, lines in sections if lines
    ]
    return "\n".join([title + "\n", *parts])


# What is told of a value, by the mode of the seat that tells.
TOLD = {
    "req": "{0}",
    "opt": "{0}; where it has none, those of one row of NULLs",
    "semi": "one path where it has a row",
    "anti": "one path where it has none",
}


def group_lines(plan: Plan, grouping: Grouping | None) -> Iterator[str]:
    """Yield what rows are grouped by, what is made of them, and how it is kept."""
    if grouping is None:
        return
    keys = ", ".join(show(each.value) for each in grouping.joined.output[: grouping.keys])
    yield f"by         {keys or ('all rows, one group' if grouping.is_whole else '()')}"
    for use in grouping.uses:
        yield f"aggregate  {use.text}"
    if grouping.having is not None:
        yield f"having     {show(grouping.having)}"
    messages = messages_of(plan, grouping)
    if messages is None:
        yield "kept       of the joined rows, each brought to its group"
        return
    root = f"v{messages.root_vertex}" if messages.root is None else plan.aliases[messages.root].name
    yield f"root       {root}"
    for alias in messages.order:
        tell, told = messages.tells[alias], ", ".join(told_texts(plan, messages, alias))
        yield f"told       {plan.aliases[alias].name} to v{tell.up}: {TOLD[tell.mode].format(told)}"
    bags = [[kept_text(plan, each.slot) for each in bag.columns] for bag in messages.bags]
    for values in dict.fromkeys(", ".join(dict.fromkeys(bag)) for bag in bags):
        yield f"bag        of each group's {values}"


def kept_text(plan: Plan, slot: Slot) -> str:
    """Write a value that an alias keeps."""
    alias = plan.aliases[slot.alias]
    kept = alias.projected if slot.vertex is None else alias.keys[slot.vertex]
    return show(kept[slot.position])


def told_texts(plan: Plan, messages: Messages, alias: int) -> Iterator[str]:
    """Yield what an alias tells."""
    names = {slot: show(value) for value, slot in plan.slots.items()}
    for part in messages.tells[alias].parts:
        factors = (FACTORS[term.kind].format(names[term.slot]) for term in part)
        text = " * ".join(factors)
        yield f"sum({text})" if text else "is there" if messages.is_set else "paths"
    for number in messages.carried[alias]:
        best = messages.bests[number]
        yield f"{'max' if best.is_greatest else 'min'}({names[best.slot]})"


# What a join wants of an alias at a vertex, where not every row of the others has a partner.
WANTS = {
    "opt": "NULLs where it has no row",
    "semi": "rows go on where it has one",
    "anti": "rows go on where it has none",
    "mark": "noted whether it has one",
}


def seat_lines(plan: Plan) -> Iterator[str]:
    """Yield what is wanted of each alias that may be missing, or is asked for, and what follows."""
    for vertex, alias in plan.asked_seats():
        mode = plan.mode(alias, vertex.index)
        yield f"{plan.aliases[alias].name} at v{vertex.index}  {mode}: {WANTS[mode]}"


def alias_lines(alias: AliasPlan) -> Iterator[str]:
    """Yield what an alias keeps of its table, and which rows."""
    yield alias_title(alias)
    if alias.conditions:
        yield "    filter     " + " AND ".join(map(show, alias.conditions))
    for vertex, key in zip(alias.vertices, alias.keys, strict=True):
        yield f"    key at v{vertex}  ({', '.join(map(show, key))})"
    if alias.projected:
        yield "    projected  " + ", ".join(map(show, alias.projected))


def pair_line(plan: Plan, pairs: Pairs) -> str:
    """Return of which values an alias lists pairs, and where it meets both sides."""
    ends = " and ".join(f"v{side.vertex}" for side in pairs.sides)
    return f"{plan.aliases[pairs.alias].name}  at {ends}, where {show(pairs.condition)}"


def tree_lines(
    plan: Plan,
    label: Callable[[int], str],
    edge: Callable[[Nearer], str],
    *,
    has_pairs: bool = True,
) -> Iterator[str]:
    """Draw the join tree from the first alias on, each other one below the one it hangs on.

    Pairs are drawn as an alias; or else both that they pair hang on each other.
    """
    tree = plan.tree_from(0)

    def hanging(near: int) -> Iterator[int]:
        for alias, nearer in tree.items():
            if nearer.alias == near and plan.aliases[alias].is_of_pairs and not has_pairs:
                yield from hanging(alias)
            elif nearer.alias == near:
                yield alias

    def below(near: int, indent: str) -> Iterator[str]:
        aliases = list(hanging(near))
        for alias in aliases:
            branch, carry = ("└─", "   ") if alias == aliases[-1] else ("├─", "│  ")
            yield f"{indent}{branch} {edge(tree[alias])} ─ {label(alias)}"
            yield from below(alias, indent + carry)

    yield label(0)
    yield from below(0, "")


# A seat whose alias may be missing is drawn by a dotted line.
LINKS = {"req": "---", **{mode: f"-. {mode} .-" for mode in WANTS}}


def mermaid(plan: Plan) -> str:
    """Draw the join tree as a Mermaid flowchart: aliases as boxes, join vertices as circles."""
    lines = ["flowchart LR"]
    lines += [f"  a{alias.index}[{quoted(alias_title(alias))}]" for alias in plan.aliases]
    lines += [f"  v{v.index}(({quoted(vertex_name(plan, v))}))" for v in plan.vertices]
    lines += [f"  a{alias} {LINKS[plan.mode(alias, at)]} v{at}" for alias, at in edges(plan)]
    return "\n".join(lines) + "\n"


def alias_title(alias: AliasPlan) -> str:
    """Name an alias with its table."""
    is_named = alias.name == alias.table or alias.is_of_pairs
    return alias.name if is_named else f"{alias.name} = {alias.table}"


def quoted(text: str) -> str:
    """Write text so that Mermaid takes it as text, whatever names hold."""
    coded = "".join(c if c.isalnum() or c in " .=,_" else f"#{ord(c)};" for c in text)
    return f'"{coded}"'


def edges(plan: Plan) -> Iterable[tuple[int, int]]:
    """Yield (alias, vertex) for each alias that meets others at a vertex."""
    return ((alias, vertex.index) for vertex in plan.vertices for alias in vertex.aliases)


def tree_graph(plan: Plan) -> nx.Graph[str]:
    """Make the join tree a networkx graph: nodes have `kind` and `label`."""
    tree: nx.Graph[str] = nx.Graph(name=plan.definition.name)
    for alias in plan.aliases:
        tree.add_node(f"a{alias.index}", kind="alias", label=alias.name, table=alias.table)
    for vertex in plan.vertices:
        tree.add_node(f"v{vertex.index}", kind="vertex", label=vertex_name(plan, vertex))
    tree.add_edges_from(
        (f"a{alias}", f"v{vertex}", {"mode": plan.mode(alias, vertex)})
        for alias, vertex in edges(plan)
    )
    return tree
