"""Rows as callers hand them -> one Arrow table of the declared columns, or DiffError.

    Arrow tables, batches, readers, frames    columns by name, in any order
    lists of tuples (or lists)                values in declared order
    lists of dicts                            values by name
    one bare tuple, one bare dict             one row; a tuple of tuples or dicts is a list of rows

The table's own schema lets all columns be NULL, as most tables that come say of themselves; that
those declared NOT NULL are not has been looked at. Nothing is lost on the way: a value either is
one of the declared type or the row is refused by number. Only a FLOAT column rounds, as it must:
Python has no number of its size. Whole columns are converted at once; the offending row is looked
for only after a column has failed.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from joingraph.common.errors import DiffError
from joingraph.common.names import did_you_mean, quoted, short_repr
from joingraph.expressions import texts
from joingraph.expressions.python_values import python_value, scalar_text
from joingraph.expressions.texts import is_text
from joingraph.expressions.types import canonical, is_number, sql_name
from joingraph.tables.arrow_checks import FAILURES, check_sound, first_failing
from joingraph.tables.table import Table

VALUE_CHARS_MAX = 80

_NUMPY_SCALARS = (np.integer, np.floating, np.bool_)


def to_table(rows: object, table: Table, entry: str) -> pa.Table:
    """Read rows as rows of a declared table; `entry` names in errors what they were handed for.

    >>> tweet = Table("tweet", pa.schema([("tweetId", pa.int64()), ("text", pa.string())]))
    >>> to_table([(7, "hello")], tweet, "insert into tweet").to_pylist()
    [{'tweetId': 7, 'text': 'hello'}]
    """
    found: Any = rows
    if isinstance(rows, pa.Table) and found.schema.equals(table.nullable):
        check_sound(found, entry)
    else:
        columns = _declared_columns(rows, table, entry)
        found = pa.Table.from_arrays(columns, schema=table.nullable)
    if table.texts and not texts.is_within(found, texts.ARRAY_BYTES_MAX):
        for place in table.texts:
            _check_lengths(found.column(place), table.schema.field(place), entry)
    for place in table.required:
        _check_null(found.column(place), table.schema.field(place), entry)
    return found


def _declared_columns(rows: Any, table: Table, entry: str) -> list[pa.ChunkedArray]:
    """Return the declared columns, of the declared types but for what may be NULL."""
    if isinstance(rows, pa.Table) and rows.schema.equals(table.schema):
        check_sound(rows, entry)
        return list(rows.columns)
    arrow = _as_arrow(rows, entry)
    if arrow is not None:
        check_sound(arrow, entry)
        named = dict(zip(arrow.column_names, arrow.columns, strict=True))
        order = _order(arrow.column_names, table, entry)
        return [
            _cast(named[found], field, entry)
            for found, field in zip(order, table.schema, strict=True)
        ]
    return [
        _convert(values, field, entry)
        for values, field in zip(_columns(rows, table, entry), table.schema, strict=True)
    ]


def _as_arrow(rows: Any, entry: str) -> pa.Table | None:
    """See rows as an Arrow table where they are one, or can say so."""
    if isinstance(rows, pa.Table):
        named = rows
    elif isinstance(rows, pa.RecordBatch):
        named = pa.Table.from_batches([rows])
    elif isinstance(rows, pa.RecordBatchReader):
        named = rows.read_all()
    elif hasattr(rows, "__arrow_c_stream__"):
        try:
            named = pa.table(rows)
        except FAILURES as error:
            raise DiffError(f"{entry}: rows that say they are Arrow are none: {error}") from None
    else:
        return None
    try:
        names = named.column_names
    except UnicodeDecodeError as error:
        raise DiffError(f"{entry}: a column's name is not UTF-8 text: {error}") from None
    if len(set(names)) < len(names):
        raise DiffError(f"{entry}: two columns have the same name; found {names}")
    return named


def _order(found: Sequence[str], table: Table, entry: str, row: int | None = None) -> list[str]:
    """Find the declared columns among those that came, whatever the case of their names."""
    declared = {name.lower(): name for name in table.schema.names}
    place = entry if row is None else f"{entry}, row {row}"
    spelled: dict[str, str] = {}
    for name in found:
        if name.lower() not in declared:
            hint = did_you_mean(name, table.schema.names, f"; it has {_listed(table)}")
            raise DiffError(f"{place}: {table.name} has no column {quoted(name)}{hint}")
        if spelled.setdefault(name.lower(), name) != name:
            raise DiffError(f'{place}: two columns are called "{declared[name.lower()]}"')
    for low, name in declared.items():
        if low not in spelled:
            raise DiffError(f'{place}: column "{name}" is missing; found {_shown(list(found))}')
    return [spelled[low] for low in declared]


def _cast(column: pa.ChunkedArray, field: pa.Field, entry: str) -> pa.ChunkedArray:
    """Bring an Arrow column to the declared type, where that loses nothing."""
    if column.type == field.type:
        return column
    if pa.types.is_dictionary(column.type):
        column = texts.decoded(column)
    if not _may_cast(column.type, field.type):
        raise DiffError(f"{entry}: {_claim(field)}, found a column of {column.type}")
    if is_text(field.type) and not texts.is_within(column, texts.ARRAY_BYTES_MAX):
        wide = column.cast(texts.WIDE[field.type.id])
        _check_lengths(wide, field, entry)
        return texts.narrowed(wide, field.type)
    try:
        return _cast_exactly(column, field.type)
    except FAILURES:
        row = first_failing(
            len(column), lambda low, high: _cast_exactly(column[low:high], field.type)
        )
        raise _wrong(entry, row, field, f"{_text(column[row])} ({column.type})") from None


def _may_cast(source: pa.DataType, target: pa.DataType) -> bool:
    """True if values of one type can be values of another at all."""
    types = pa.types
    if types.is_null(source):
        return True
    if types.is_integer(source):
        return is_number(target)
    if types.is_floating(source):
        return bool(types.is_floating(target))
    if types.is_decimal(source):
        return bool(types.is_decimal(target))
    if types.is_timestamp(source):
        return bool(types.is_timestamp(target)) and (source.tz is None) == (target.tz is None)
    try:
        return bool(canonical(source) == target)
    except TypeError:
        return False


def _cast_exactly(column: pa.ChunkedArray, type: pa.DataType) -> pa.ChunkedArray:
    """Cast a column, or raise where a value would change."""
    if pa.types.is_integer(column.type) and pa.types.is_decimal(type):
        wide = pa.decimal128(38, min(type.scale, 18))
        return column.cast(wide).cast(type)
    cast = column.cast(type)
    if pa.types.is_floating(column.type):
        back = cast.cast(column.type)
        if not np.array_equal(back.to_numpy(), column.to_numpy(), equal_nan=True):
            raise ValueError("a value has more digits than the type")
    return cast


def _text(scalar: pa.Scalar) -> str:
    """Show a value of Arrow; a time by its text, as Python's has no nanoseconds."""
    is_time = pa.types.is_timestamp(scalar.type)
    return scalar_text(scalar) if is_time else _shown(python_value(scalar))


def _columns(rows: object, table: Table, entry: str) -> list[Sequence[object]]:
    """Turn rows of Python values into columns of them, in declared order."""
    if isinstance(rows, Mapping) or (isinstance(rows, tuple) and _is_row(rows, table, entry)):
        rows = [rows]
    if isinstance(rows, (str, bytes)) or not isinstance(rows, Iterable):
        raise DiffError(
            f"{entry}: rows are an Arrow table or a list of tuples or dicts, "
            f"found {type(rows).__name__}"
        )
    rows = list(rows)
    width = len(table.schema)
    if not rows:
        return [()] * width
    if isinstance(rows[0], Mapping):
        rows = _from_dicts(rows, table, entry)
    elif not set(map(type, rows)) <= {tuple, list}:  # a class of the caller's may lie of its length
        rows = [tuple(row) if isinstance(row, (tuple, list)) else row for row in rows]
    if not (_are_rows(rows) and set(map(len, rows)) == {width}):
        _refuse_shape(rows, table, entry)
    return list(zip(*rows, strict=True))


def _is_row(values: tuple[Any, ...], table: Table, entry: str) -> bool:
    """True if a bare tuple is one row: it holds values, and no value is a tuple, list or dict."""
    kinds = set(map(type, values))
    rows = {kind for kind in kinds if issubclass(kind, (tuple, list, Mapping))}
    if rows and rows != kinds:
        raise DiffError(
            f"{entry}: a tuple is one row of values, or rows; this one holds both:"
            f" {_shown(values)}; put rows into a list"
        )
    is_row = bool(kinds) and not rows
    if is_row and len(values) > len(table.schema) == 1:
        raise DiffError(
            f"{entry}: a bare tuple is one row, and {table.name} has 1 column ({_listed(table)}),"
            f" found {_shown(values)}; several rows are a list of tuples: [(value,), ...]"
        )
    return is_row


def _are_rows(rows: list[Any]) -> bool:
    return all(issubclass(kind, (tuple, list)) for kind in set(map(type, rows)))


def _refuse_shape(rows: list[Any], table: Table, entry: str) -> None:
    for row, values in enumerate(rows):
        if not isinstance(values, (tuple, list)):
            raise DiffError(
                f"{entry}, row {row}: a row is a tuple of {len(table.schema)} values, "
                f"found {_found(values)}"
            )
        if len(values) != len(table.schema):
            raise DiffError(
                f"{entry}, row {row}: {table.name} has {len(table.schema)} columns "
                f"({_listed(table)}), found {len(values)} values"
            )


def _from_dicts(rows: list[Any], table: Table, entry: str) -> list[tuple[object, ...]]:
    """Read dicts as tuples in declared order; a run of equal keys is resolved once."""
    keys: object = None
    order: list[str] = []
    found: list[tuple[object, ...]] = []
    for number, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise DiffError(
                f"{entry}, row {number}: the rows before are dicts, found {_found(row)}"
            )
        if row.keys() != keys:
            names = [name for name in row if isinstance(name, str)]
            if len(names) < len(row):
                raise DiffError(f"{entry}, row {number}: columns are named by strings")
            keys, order = row.keys(), _order(names, table, entry, number)
        found.append(tuple(row[name] for name in order))
    return found


def _convert(values: Sequence[object], field: pa.Field, entry: str) -> pa.ChunkedArray:
    """Make a column of Python values, each of which must be one of the declared type."""
    try:
        found = _array(values, field.type)
        chunks = found.chunks if isinstance(found, pa.ChunkedArray) else [found]
        return pa.chunked_array(chunks, type=field.type)
    except FAILURES:
        for row, value in enumerate(values):
            if isinstance(value, (str, bytes)) and _bytes_of(value) > texts.ARRAY_BYTES_MAX:
                raise _too_long(entry, row, field, _bytes_of(value)) from None
        row = first_failing(len(values), lambda low, high: _array(values[low:high], field.type))
        raise _wrong(entry, row, field, _found(values[row])) from None


def _array(values: Sequence[object], type: pa.DataType) -> texts.Column:
    """Convert values to Arrow, or raise; which Python types are meant is decided here, not there.

    Texts that do not fit one array come in several chunks.
    Arrow alone would take 1.0 for an integer, a datetime for a date and bytes for a string.
    """
    if any(issubclass(kind, _NUMPY_SCALARS) for kind in set(map(_type, values))):
        values = [value.item() if isinstance(value, _NUMPY_SCALARS) else value for value in values]
    scalars: list[Any] = [value for value in values if isinstance(value, pa.Scalar)]
    if scalars and all(value.type == type for value in scalars):
        return _with_scalars(values, type)
    kinds = set(map(_type, values)) - {_NONE}
    if not kinds <= _kinds(type):
        raise TypeError("a value of another kind")
    if pa.types.is_floating(type):
        return _floats(values, type, has_int=int in kinds)
    if pa.types.is_timestamp(type):
        aware = type.tz is not None
        if any(_is_aware(value) is not aware for value in values if value is not None):
            raise TypeError("a time with and one without a zone")
    return pa.array(values, type)


def _with_scalars(values: Sequence[object], type: pa.DataType) -> pa.Array:
    """Convert values some of which are pyarrow scalars, as Python cannot hold them."""
    others = [None if isinstance(value, pa.Scalar) else value for value in values]
    scalars = [value if isinstance(value, pa.Scalar) else None for value in values]
    return pc.coalesce(pa.array(scalars, type), _array(others, type))


_NONE = type(None)
_type = type


def _kinds(type: pa.DataType) -> set[Any]:
    """Name the Python types whose values are values of an Arrow type."""
    types = pa.types
    if types.is_boolean(type):
        return {bool}
    if types.is_integer(type):
        return {int}
    if types.is_floating(type):
        return {float, int}
    if types.is_decimal(type):
        return {Decimal, int}
    if types.is_string(type):
        return {str}
    if types.is_binary(type):
        return {bytes}
    if types.is_list(type):  # which a view of groups may show, and rows that are asked about have
        return {list}
    return {dt.date} if types.is_date(type) else {dt.datetime}


def _floats(values: Sequence[Any], type: pa.DataType, *, has_int: bool) -> pa.Array:
    """Convert floats, and integers that a float can hold."""
    to_float = np.float32 if pa.types.is_float32(type) else float
    for value in values if has_int else ():
        if isinstance(value, int) and float(to_float(value)) != value:
            raise ValueError("an integer with more digits than the type")
    wide = pa.array([None if value is None else float(value) for value in values], pa.float64())
    array = wide.cast(type)
    if (_infinite(array) != _infinite(wide)).any():
        raise OverflowError("a value beyond the type's range")
    return array


def _infinite(array: pa.Array) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Mark the infinite values; NULL is none."""
    marks: np.ndarray[Any, np.dtype[np.bool_]] = np.isinf(array.to_numpy(zero_copy_only=False))
    return marks


def _is_aware(value: Any) -> bool:
    return value.tzinfo is not None


def _check_null(column: pa.ChunkedArray, field: pa.Field, entry: str) -> None:
    if column.null_count:
        row = column.is_null().index(True).as_py()
        raise DiffError(f'{entry}, row {row}: column "{field.name}" is NOT NULL, found NULL')


def _check_lengths(column: pa.ChunkedArray, field: pa.Field, entry: str) -> None:
    """Refuse a value that no array could hold."""
    lengths = texts.sizes([column], len(column))
    row = int(np.argmax(lengths))
    if lengths[row] > texts.ARRAY_BYTES_MAX:
        raise _too_long(entry, row, field, int(lengths[row]))


def _bytes_of(value: str | bytes) -> int:
    """Return how many bytes a text takes; one that is short for sure is not encoded."""
    is_short = isinstance(value, bytes) or 4 * len(value) <= texts.ARRAY_BYTES_MAX
    return len(value) if is_short else len(str(value).encode("utf-8", "surrogatepass"))


def _too_long(entry: str, row: int, field: pa.Field, length: int) -> DiffError:
    return _wrong(
        entry,
        row,
        field,
        f"a value of {length:,} bytes; one has at most {texts.ARRAY_BYTES_MAX:,}: split it, or keep"
        " it elsewhere and its place here",
    )


def _wrong(entry: str, row: int, field: pa.Field, found: str) -> DiffError:
    return DiffError(f"{entry}, row {row}: {_claim(field)}, found {found}")


def _claim(field: pa.Field) -> str:
    return f'column "{field.name}" is {sql_name(field.type)}'


def _found(value: object) -> str:
    return f"{_shown(value)} ({type(value).__name__})"


def _shown(value: object) -> str:
    if isinstance(value, (str, bytes)):
        value = value[: VALUE_CHARS_MAX + 1]
    text = scalar_text(value) if isinstance(value, pa.Scalar) else short_repr(value, 10_000)
    return text if len(text) <= VALUE_CHARS_MAX else text[:VALUE_CHARS_MAX] + "..."


def _listed(table: Table) -> str:
    return ", ".join(table.schema.names)
