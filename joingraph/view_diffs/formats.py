"""The forms in which a batch's view diffs can be had, given the one in which they were made."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pyarrow as pa

from joingraph.view_diffs.factorised import Factorised
from joingraph.view_diffs.idiffs import IDiffs
from joingraph.view_diffs.view_diff import DiffRows, Forms, made_of

FORMS = ("rows", "idiffs", "factorised")
FromRows = Callable[[pa.Table], IDiffs]


def made_as_rows(
    changes: DiffRows, idiffs: FromRows, net: Callable[[pa.Table], pa.Table] | None = None
) -> Forms:
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


def made_factorised(found: Factorised, idiffs: FromRows) -> Forms:
    """Nested lists multiply out to rows, when they are asked for."""
    rows = cache(found.flatten)
    return Forms(made_of(rows), lambda: idiffs(rows()), lambda: found)
