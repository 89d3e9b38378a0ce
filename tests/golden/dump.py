"""The join graph in text: join tuples with their projected tuples, then vertex values.

T  <'joe'> <'t1'>  ('2/2/15')              a join tuple, its vertex values, its projected tuples
[U.username = T.username]  <'joe'>  U 1, T 2      a vertex value and its join tuples by alias
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

import joingraph as jg
from joingraph.engines.compiled.engine import CompiledEngine
from joingraph.engines.compiled.mirror import plain_copy
from joingraph.engines.compiled.outer.engine import OuterEngine
from joingraph.engines.plain import ReferenceEngine
from joingraph.expressions.tree import Call, Column, Expression, Literal
from joingraph.expressions.words import Word, from_words
from joingraph.graph.join_graph import Graph, VertexValue
from tests.golden.literals import Row, render, render_row

Cells = tuple[str, ...]


def dump(graph: jg.JoinGraph) -> list[str]:
    """Write the whole graph, in an order that depends on its content alone."""
    plain = plain_graph(graph)
    tuples, values = sorted(tuple_cells(plain)), sorted(value_cells(plain))
    return [*aligned(tuples), *aligned(values)] or ["nothing"]


def plain_graph(graph: jg.JoinGraph) -> Graph:
    """Give the graph in its plain form."""
    if isinstance(graph.engine, ReferenceEngine):
        return graph.engine.graph
    if isinstance(graph.engine, OuterEngine):
        return graph.engine.plain_copy().graph
    assert isinstance(graph.engine, CompiledEngine)
    return plain_copy(graph.engine.folding_starts)


def tuple_cells(graph: Graph) -> Iterator[Cells]:
    """Write every join tuple: alias, vertex values, projected tuples with their counts."""
    for alias, tuples in zip(graph.plan.aliases, graph.tuples, strict=True):
        kinds = [each.type for each in alias.projected]
        for each in tuples.values():
            values = " ".join(angled(graph, value) for value in each.values)
            rows = sorted(render_row(plain(row, kinds), n) for row, n in each.rows.items())
            yield (alias.name, values, " ".join(rows))


def value_cells(graph: Graph) -> Iterator[Cells]:
    """Write every vertex value: its vertex, its values, how many join tuples each alias has."""
    for vertex, values in zip(graph.plan.vertices, graph.values, strict=True):
        name = "[" + ", ".join(" = ".join(map(show, each)) for each in vertex.members) + "]"
        for value in values.values():
            members = zip(vertex.aliases, value.tuples, strict=True)
            counts = [f"{graph.plan.aliases[alias].name} {len(who)}" for alias, who in members]
            yield (name, angled(graph, value), ", ".join(counts))


def angled(graph: Graph, value: VertexValue) -> str:
    """Write a vertex value's values; one with a NULL is of one alias alone."""
    kinds = graph.plan.vertices[value.vertex].types
    found = plain(value.words[: len(kinds)], kinds)
    return "<" + ", ".join(map(render, found)) + ">"


def plain(words: Sequence[Word], kinds: Sequence[pa.DataType]) -> Row:
    """Turn words of the graph into the values they stand for."""
    return tuple(from_words([w], kind).to_pylist()[0] for w, kind in zip(words, kinds, strict=True))


def show(expression: Expression) -> str:
    """Write an expression the short way."""
    match expression:
        case Column(alias, name):
            return f"{alias}.{name}"
        case Literal(value):
            return render(value)
        case Call(function, args):
            return f"{function}({', '.join(map(show, args))})"


def aligned(lines: list[Cells]) -> list[str]:
    """Pad cells so that columns stand below one another."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    padded = (zip(cells, widths, strict=True) for cells in lines)
    return ["  ".join(cell.ljust(width) for cell, width in each).rstrip() for each in padded]
