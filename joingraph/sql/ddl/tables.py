"""Declarations of base tables -> Table: CREATE TABLE text, Arrow schemas, Spark schemas.

    declare("tweet", "CREATE TABLE tweet (tweetId BIGINT PRIMARY KEY, text STRING)")
    ->  Table(tweet, tweetId: int64 not null, text: string, key (tweetId))

What only the source enforces (CHECK, UNIQUE, REFERENCES, DEFAULT, where its files are) means
nothing here and is passed over; what would change values or comparisons is refused by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from joingraph.common.errors import ViewError
from joingraph.common.names import did_you_mean, plain_items, quoted, short_repr
from joingraph.expressions.types import canonical
from joingraph.sql.ddl.create_table import read_create
from joingraph.sql.text.parse import binding, check_dialect, parse_one
from joingraph.tables.table import Table

_SPARK_TYPES = {
    "boolean": pa.bool_(),
    "byte": pa.int8(),
    "short": pa.int16(),
    "integer": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}


TAKEN = "tables= takes the declarations of the base tables by name, {name: CREATE TABLE text}"


def declare(name: str, declaration: object, dialect: str = "spark") -> Table:
    """Make a base table of its CREATE TABLE text, an Arrow or Spark schema, or what has one.

    >>> declare("tweet", "CREATE TABLE tweet (tweetId BIGINT PRIMARY KEY, text STRING)").key
    ('tweetId',)
    """
    check_dialect(dialect)
    if isinstance(declaration, str):
        return _from_sql(name, declaration, dialect)
    if isinstance(declaration, Table):
        return _checked(name, declaration.schema, declaration.key)
    if isinstance(declaration, pa.Schema):
        return _checked(name, declaration, ())
    if hasattr(declaration, "jsonValue"):
        return _checked(name, _from_spark(name, declaration), ())
    schema = getattr(declaration, "schema", None)
    if isinstance(schema, pa.Schema):
        return _checked(name, schema, ())
    raise ViewError(
        f"table {quoted(name)}: a declaration is CREATE TABLE text, a pyarrow.Schema or a Spark "
        f"StructType, found {type(declaration).__name__}"
    )


def declare_all(declarations: Mapping[str, object], dialect: str = "spark") -> dict[str, Table]:
    """Declare several tables, each under its name."""
    items = plain_items(declarations, TAKEN)
    return {name: declare(name, each, dialect) for name, each in items}


def _checked(name: str, schema: pa.Schema, key: tuple[str, ...]) -> Table:
    """Bring a schema to the types joingraph keeps, and a key to the columns' own spelling."""
    fields: dict[str, pa.Field] = {}
    for field in schema:
        if field.name.lower() in fields:
            other = fields[field.name.lower()].name
            raise ViewError(
                f"table {quoted(name)}: columns {quoted(other)} and {quoted(field.name)} have "
                "the same name; SQL could not tell them apart"
            )
        fields[field.name.lower()] = pa.field(field.name, _canonical(name, field), field.nullable)
    if not fields:
        raise ViewError(f"table {quoted(name)} has no columns")
    names = []
    for column in key:
        if column.lower() not in fields:
            hint = did_you_mean(column, schema.names)
            raise ViewError(f"table {quoted(name)}: its key names no column {quoted(column)}{hint}")
        field = fields[column.lower()]
        fields[column.lower()] = field.with_nullable(False)
        names.append(field.name)
    return Table(name, pa.schema(list(fields.values())), tuple(names))


def _canonical(name: str, field: pa.Field) -> pa.DataType:
    try:
        return canonical(field.type)
    except TypeError as error:
        raise ViewError(f"table {quoted(name)}, column {quoted(field.name)}: {error}") from None


def _from_spark(name: str, struct: Any) -> pa.Schema:
    """Read a Spark StructType by its JSON form, so that Spark need not be there."""
    value = struct.jsonValue()
    if not isinstance(value, dict) or value.get("type") != "struct":
        raise ViewError(
            f"table {quoted(name)}: a Spark schema is a StructType, found {short_repr(value)}"
        )
    return pa.schema([_spark_field(name, each) for each in value["fields"]])


def _spark_field(name: str, field: Mapping[str, Any]) -> pa.Field:
    written = field["type"]
    type = _spark_type(written) if isinstance(written, str) else None
    if type is None:
        shown = written if isinstance(written, str) else written.get("type", written)
        raise ViewError(
            f"table {quoted(name)}, column {quoted(field['name'])}: Spark's type {shown} is not "
            "taken; select its parts into columns of their own"
        )
    return pa.field(field["name"], type, bool(field["nullable"]))


def _spark_type(written: str) -> pa.DataType | None:
    if written.startswith("decimal("):
        precision, scale = written[len("decimal(") : -1].split(",")
        return pa.decimal128(int(precision), int(scale))
    return pa.string() if written.startswith("varchar(") else _SPARK_TYPES.get(written)


def _from_sql(name: str, sql: str, dialect: str) -> Table:
    with binding(sql, dialect, f"table {quoted(name)}: "):
        written, schema, key = read_create(parse_one(sql, dialect), sql, dialect)
    if name.lower() not in (written.lower(), written.lower().split(".")[-1]):
        raise ViewError(f"table {quoted(name)}: its text declares {quoted(written)}; name it so")
    return _checked(name, schema, key)
