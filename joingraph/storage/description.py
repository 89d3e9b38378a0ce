"""A view as its snapshots write it down, so that a folder can be opened by its path alone.

    View  ->  {"sql", "dialect", "tables": {name: {"schema", "key"}}}  ->  View

What is stored is text and schemas, read again as a caller's would be: never code.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from joingraph.common.errors import StoreError
from joingraph.common.unreadable import UNREADABLE
from joingraph.plan.view import View
from joingraph.tables.table import Table


def describe(view: View) -> dict[str, Any]:
    """Write a view down."""
    return {
        "sql": view.sql,
        "dialect": view.dialect,
        "tables": {
            name: {
                "schema": base64.b64encode(table.schema.serialize().to_pybytes()).decode(),
                "key": list(table.key),
            }
            for name, table in view.tables.items()
        },
    }


def digest(view: View, key_index: tuple[str, ...]) -> bytes:
    """Return 16 bytes that are the same for the same view only, as the log's records see it."""
    tables = {
        name: [[field.name, str(field.type), field.nullable] for field in table.schema]
        + [list(table.key)]
        for name, table in view.tables.items()
    }
    text = json.dumps([view.sql, view.dialect, tables, key_index], sort_keys=True)
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def read_view(written: Any) -> View:
    """Make the view that was written down."""
    try:
        tables = {str(name): read_table(name, each) for name, each in written["tables"].items()}
        return View.stored(str(written["sql"]), tables, str(written["dialect"]))
    except UNREADABLE as error:
        raise StoreError(f"the stored view does not read: {error!r:.200}") from error


def read_table(name: str, written: Mapping[str, Any]) -> Table:
    """Make a base table that was written down."""
    schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(written["schema"], validate=True)))
    return Table(name, schema, tuple(map(str, written["key"])))
