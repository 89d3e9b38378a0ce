"""Values as sqllogictest writes them, and whether two results are the same bag."""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from hashlib import md5

from tests.sqllogic.records import Query

Row = tuple[object, ...]
Cells = tuple[str, ...]


def written(rows: Iterable[Row], types: str, dialect: str) -> list[Cells]:
    """Write rows as the files of a dialect have them."""
    if dialect == "duckdb":
        return [tuple(map(plain, row)) for row in rows]
    return [tuple(typed(v, t) for v, t in zip(row, types, strict=True)) for row in rows]


def typed(value: object, type: str) -> str:
    """Write a value as its column's letter asks: I an integer, R three decimals, T text."""
    if value is None:
        return "NULL"
    if type == "I":
        return str(leading_integer(value))
    if type == "R":
        return f"{float(str(value)):.3f}"
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    text = str(int(value)) if isinstance(value, bool) else text
    return re.sub(r"[^ -~]", "@", text) or "(empty)"


def leading_integer(value: object) -> int:
    """Convert to an integer as SQLite does: what a text starts with, a real cut off."""
    if isinstance(value, int | float):
        return int(value)
    found = re.match(r"\s*[+-]?\d+", str(value))
    return int(found[0]) if found else 0


def plain(value: object) -> str:
    """Write a value as DuckDB casts it to text."""
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).lower()
        case bytes():
            return "".join(chr(b) if 32 <= b < 127 else f"\\x{b:02X}" for b in value)
        case dt.datetime():
            text = str(value)
            return text.rstrip("0").rstrip(".") if "." in text else text
        case _:
            return str(value) or "(empty)"


def expected_rows(query: Query) -> list[Cells]:
    """Cut the file's values into rows."""
    width = max(1, len(query.types))
    if query.by_rows:
        return [tuple(line.split("\t")) for line in query.values]
    return [query.values[i : i + width] for i in range(0, len(query.values), width)]


def same(found: Sequence[Cells], expected: Sequence[Cells], query: Query) -> bool:
    """Tell whether two results hold the same rows; with `valuesort`, the same values."""
    if query.sort == "valuesort":
        return cells(found) == cells(expected)
    return Counter(tuple(map(normal, row)) for row in found) == Counter(
        tuple(map(normal, row)) for row in expected
    )


def cells(rows: Iterable[Cells]) -> Counter[str]:
    """Count values, whatever row they are in."""
    return Counter(normal(cell) for row in rows for cell in row)


def normal(cell: str) -> str:
    """Write a number one way: 1, 1.0 and true are the same in a result file."""
    if cell in ("true", "false"):
        return str(int(cell == "true"))
    if re.fullmatch(r"[+-]?\d+(\.0*)?", cell):
        return str(int(cell.partition(".")[0]))
    try:
        return f"{float(cell):.6g}"
    except ValueError:
        return cell


def hashed(rows: Sequence[Cells], sort: str) -> str:
    """Hash a result as sqllogictest does: every value and a line end, in the asked order."""
    ordered = sorted(rows) if sort == "rowsort" else list(rows)
    flat = [cell for row in ordered for cell in row]
    if sort == "valuesort":
        flat.sort()
    return md5("".join(f"{cell}\n" for cell in flat).encode()).hexdigest()
