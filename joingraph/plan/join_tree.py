"""Makes the join tree: which aliases meet at which vertex.

    classes  a {R, S}   b {S, T}   c {S, T}        alias graph   R -1- S -2- T
    tree     R --<a>-- S --<b, c>-- T              vertices      <a>: R S     <b, c>: S T

The tree is a maximum-weight spanning tree of the alias graph, weighted by shared classes: every
class is then connected in it exactly when the view is acyclic. A class that falls into pieces
joins within each piece; that the pieces agree becomes a residual predicate. Edges that share the
same classes and touch are one vertex. Parts that share nothing meet at the empty vertex.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import networkx as nx

from joingraph.expressions.tree import Expression
from joingraph.plan.classes import cast_to, class_type, equal
from joingraph.plan.model import Mode

Class = dict[int, Expression]  # alias index -> member


@dataclass(frozen=True, slots=True)
class Bundle:
    """A join vertex to be: the classes its aliases share, those aliases, modes other than req."""

    classes: tuple[Class, ...]
    aliases: tuple[int, ...]
    modes: Mapping[int, Mode] = field(default_factory=dict)


def make_tree(count: int, classes: Sequence[Class]) -> tuple[list[Bundle], list[Expression]]:
    """Bundle `count` aliases into vertices; also give the equalities that the tree cannot hold."""
    tree = spanning_tree(count, classes)
    pieces: list[Class] = []
    residuals: list[Expression] = []
    for members in classes:
        parts = connected_parts(tree, members)
        pieces += [part for part in parts if len(part) > 1]
        residuals += agreements(parts)
    return bundles(tree, pieces), residuals


def spanning_tree(count: int, classes: Sequence[Class]) -> nx.Graph[int]:
    """Span the aliases by the edges that share the most classes; unconnected parts by any edge."""
    shared: nx.Graph[int] = nx.Graph()
    shared.add_nodes_from(range(count))
    pairs = Counter(pair for each in classes for pair in itertools.combinations(sorted(each), 2))
    shared.add_weighted_edges_from((*pair, count) for pair, count in pairs.items())
    tree: nx.Graph[int] = nx.maximum_spanning_tree(shared)
    hub, *others = (min(part) for part in nx.connected_components(tree))
    tree.add_edges_from((hub, other) for other in others)
    return tree


def connected_parts(tree: nx.Graph[int], members: Class) -> list[Class]:
    """Split a class into the pieces whose aliases are connected in the tree."""
    parts = nx.connected_components(tree.subgraph(members))
    ordered = sorted(sorted(part) for part in parts)
    return [{alias: members[alias] for alias in part} for part in ordered]


def agreements(parts: Sequence[Class]) -> list[Expression]:
    """Return the equalities by which the pieces of one class agree, each with the one before."""
    heads = [next(iter(part.values())) for part in parts]
    kind = class_type(heads)
    assert kind is not None, "the pieces come from one class"
    pairs = itertools.pairwise(heads)
    return [equal(cast_to(one, kind), cast_to(other, kind)) for one, other in pairs]


def bundles(tree: nx.Graph[int], pieces: Sequence[Class]) -> list[Bundle]:
    """Make one vertex of the tree's edges that share the same classes and touch each other."""
    by_label: dict[tuple[int, ...], nx.Graph[int]] = {}
    for one, other in sorted(sorted(edge) for edge in tree.edges):
        label = tuple(i for i, piece in enumerate(pieces) if one in piece and other in piece)
        by_label.setdefault(label, nx.Graph()).add_edge(one, other)
    return [
        Bundle(tuple(pieces[i] for i in label), tuple(sorted(part)))
        for label, edges in by_label.items()
        for part in sorted(nx.connected_components(edges), key=min)
    ]
