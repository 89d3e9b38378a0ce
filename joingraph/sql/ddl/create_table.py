"""CREATE TABLE text -> name, columns and key; what only the source checks is passed over.

    CREATE TABLE tweet (tweetId BIGINT PRIMARY KEY, text STRING)
    ->  "tweet", tweetId: int64 and text: string, ("tweetId",)

What would change values or comparisons (COLLATE, GENERATED) is refused by name. A PRIMARY KEY
is also NOT NULL.
"""

from __future__ import annotations

import pyarrow as pa
from sqlglot import exp, tokenize
from sqlglot.tokenizer_core import Token

from joingraph.common.names import quoted
from joingraph.sql.clauses import kind
from joingraph.sql.ddl.column_types import column_type
from joingraph.sql.scope import check_args
from joingraph.sql.text.refusal import Mistake, Refusal

_CREATE_TAKEN = {"this", "kind", "exists", "replace", "properties"}
_COLUMN_TAKEN = {"this", "kind", "constraints"}
_PASSED_OVER = (
    exp.AutoIncrementColumnConstraint,
    exp.CheckColumnConstraint,
    exp.CommentColumnConstraint,
    exp.DefaultColumnConstraint,
    exp.ForeignKey,
    exp.GeneratedAsIdentityColumnConstraint,
    exp.Reference,
    exp.UniqueColumnConstraint,
)


def read_create(
    statement: exp.Expr, sql: str, dialect: str
) -> tuple[str, pa.Schema, tuple[str, ...]]:
    """Read a CREATE TABLE statement."""
    body = statement.this if isinstance(statement, exp.Create) else None
    if not isinstance(body, exp.Schema) or statement.args.get("kind") != "TABLE":
        raise Mistake(
            statement, f"{kind(statement)} declares no columns; write CREATE TABLE name (...)"
        )
    check_args(statement, _CREATE_TAKEN, "CREATE TABLE")
    for each in statement.find_all(exp.PartitionedByProperty):
        if each.find(exp.ColumnDef):
            raise Refusal(each, "PARTITIONED BY with types", "it adds columns", "list all columns")
    words = _words(sql, dialect)
    fields: list[pa.Field] = []
    keys: list[tuple[exp.Expr, tuple[str, ...]]] = []
    for item in body.expressions:
        if isinstance(item, exp.ColumnDef):
            fields.append(_field(item, words, dialect))
            keys += [(item, (item.name,)) for _ in item.find_all(exp.PrimaryKeyColumnConstraint)]
        elif isinstance(item, exp.Identifier):
            raise Mistake(item, f"column {quoted(item.name)} has no type")
        else:
            keys += [(item, key) for key in _table_keys(item)]
    if len(keys) > 1:
        raise Mistake(keys[1][0], "a table has one PRIMARY KEY; list all its columns there")
    name = ".".join(part.name for part in body.this.parts)
    return name, pa.schema(fields), keys[0][1] if keys else ()


def _words(sql: str, dialect: str) -> dict[int, str]:
    """Map the end of each token to the word after it: TIMESTAMP, or TIMESTAMP WITH (TIME ZONE)."""
    tokens: list[Token] = tokenize(sql, dialect=dialect)
    texts = [token.text.upper() for token in tokens]
    words = [
        f"{text} {after}" if after == "WITH" else text
        for text, after in zip(texts[1:], [*texts[2:], ""], strict=True)
    ]
    return {token.end: word for token, word in zip(tokens, words, strict=False)}


def _field(column: exp.ColumnDef, words: dict[int, str], dialect: str) -> pa.Field:
    check_args(column, _COLUMN_TAKEN, "a column")
    type = column.args.get("kind")
    if not isinstance(type, exp.DataType):
        raise Mistake(column, f"column {quoted(column.name)} has no type")
    written = words.get(column.this.meta.get("end", -1), "")
    nullable = True
    for each in column.args.get("constraints") or ():
        constraint = each.args.get("kind", each)
        if isinstance(constraint, exp.NotNullColumnConstraint):
            nullable = bool(constraint.args.get("allow_null"))
        elif not isinstance(constraint, (*_PASSED_OVER, exp.PrimaryKeyColumnConstraint)):
            raise _refused(constraint)
    return pa.field(column.name, column_type(type, written, dialect), nullable)


def _table_keys(item: exp.Expr) -> list[tuple[str, ...]]:
    """Find the keys that an entry beside the columns declares."""
    if isinstance(item, exp.Constraint):
        return [key for each in item.expressions for key in _table_keys(each)]
    if isinstance(item, exp.PrimaryKey):
        return [tuple(each.name or each.this.name for each in item.expressions)]
    if isinstance(item, _PASSED_OVER):
        return []
    raise _refused(item)


def _refused(node: exp.Expr) -> Refusal:
    why = "what it means for the column's values is not settled"
    return Refusal(node, node.sql(), why, "leave it out, and hand in rows as the source keeps them")
