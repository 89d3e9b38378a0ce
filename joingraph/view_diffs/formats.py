"""The forms in which a batch's view diffs can be had, given the one in which they were made."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pyarrow as pa

from joingraph.view_diffs.deltas import Deltas, FactorisedDeltas
from joingraph.view_diffs.factorised import Factorised
from joingraph.view_diffs.idiffs import IDiffs
from joingraph.view_diffs.view_diff import DiffRows, Fold, Forms, made_of

FORMS = ("rows", "net", "idiffs", "factorised")  # of every view
ALL_FORMS = (*FORMS, "deltas")  # of views that group
FromRows = Callable[[pa.Table], IDiffs]


def made_as_rows(changes: DiffRows, idiffs: FromRows, net: Fold | None = None) -> Forms:
    """Rows fold to i-diffs; multiplied out as they are, they stay so."""
    return Forms(
        lambda: changes,
        lambda: idiffs(changes.table),
        lambda: Factorised({}, changes.table),
        net,
    )


def made_as_idiffs(found: IDiffs) -> Forms:
    """I-diffs do not know the rows they stand for."""
    return Forms(None, lambda: found, None)


def made_folded(folded: pa.Table) -> Forms:
    """What is left of a batch does not say what each base diff did."""
    return Forms(None, folded=folded)


def made_factorised(found: Factorised, idiffs: FromRows) -> Forms:
    """Nested lists multiply out to rows, or of groups to deltas, when they are asked for."""
    if isinstance(found, FactorisedDeltas):
        return Forms(None, factorised=lambda: found, deltas=cache(found.deltas))
    rows = cache(found.flatten)
    return Forms(made_of(rows), lambda: idiffs(rows()), lambda: found)


def made_as_deltas(found: Deltas) -> Forms:
    """Deltas do not know the rows of their groups."""
    return Forms(None, factorised=lambda: FactorisedDeltas.of(found), deltas=lambda: found)
