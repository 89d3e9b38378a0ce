"""Base tables declared by CREATE TABLE text, Arrow schemas and Spark schemas."""

from __future__ import annotations

import pyarrow as pa
import pytest

from joingraph.common.errors import ViewError
from joingraph.sql.ddl.tables import declare, declare_all
from joingraph.tables.table import Table


class StructType:
    """Spark's schema as far as it is looked at: its JSON form."""

    def __init__(self, fields: dict[str, object]) -> None:
        self.fields = fields

    def jsonValue(self) -> dict[str, object]:
        """Give the schema as Spark does."""
        fields = [
            {"name": name, "type": type, "nullable": name != "id", "metadata": {}}
            for name, type in self.fields.items()
        ]
        return {"type": "struct", "fields": fields}


def types(columns: str, dialect: str = "spark") -> list[str]:
    """Declare a table of unnamed columns and write their Arrow types."""
    named = ", ".join(f"c{n} {type}" for n, type in enumerate(columns.split("; ")))
    return [str(field.type) for field in declare("t", f"CREATE TABLE t ({named})", dialect).schema]


def refusal(declaration: object, dialect: str = "spark") -> str:
    """Give the first line of what is said of a declaration of `t` that is not taken."""
    with pytest.raises(ViewError) as caught:
        declare("t", declaration, dialect)
    return str(caught.value).split("\n")[0]


def test_create_table_gives_columns_nullability_and_key() -> None:
    table = declare(
        "tweet",
        "CREATE TABLE tweet (tweetId BIGINT, `the text` STRING NOT NULL, at TIMESTAMP, "
        "PRIMARY KEY (TWEETID))",
    )
    assert table.key == ("tweetId",)
    assert table.schema == pa.schema(
        [
            pa.field("tweetId", pa.int64(), False),
            pa.field("the text", pa.string(), False),
            pa.field("at", pa.timestamp("us")),
        ]
    )


def test_a_key_may_stand_at_its_column_or_in_a_named_constraint() -> None:
    assert declare("t", "CREATE TABLE t (a INT PRIMARY KEY, b INT)").key == ("a",)
    sql = "CREATE TABLE t (a INT, b INT, CONSTRAINT k PRIMARY KEY (b, a))"
    assert declare("t", sql).key == ("b", "a")


def test_spark_types_have_sparks_sizes() -> None:
    assert types("TINYINT; SMALLINT; INT; INTEGER; BIGINT; LONG; SHORT; BYTE") == [
        *("int8", "int16", "int32", "int32", "int64", "int64", "int16", "int8")
    ]
    assert types("FLOAT; REAL; DOUBLE; DECIMAL; DECIMAL(5); NUMERIC(5,2)") == [
        *("float", "float", "double", "decimal128(10, 0)", "decimal128(5, 0)", "decimal128(5, 2)")
    ]
    assert types("STRING; VARCHAR(9); BINARY; BOOLEAN; DATE") == [
        *("string", "string", "binary", "bool", "date32[day]")
    ]
    assert types("TIMESTAMP; TIMESTAMP_NTZ; TIMESTAMP_LTZ") == [
        *("timestamp[us]", "timestamp[us]", "timestamp[us, tz=UTC]")
    ]


def test_duckdb_types_have_duckdbs_sizes() -> None:
    assert types("INT8; UBIGINT; UINTEGER; REAL; DECIMAL; CHAR(3); BLOB", "duckdb") == [
        *("int64", "uint64", "uint32", "float", "decimal128(18, 3)", "string", "binary")
    ]
    assert types("TIMESTAMP; TIMESTAMPTZ; TIMESTAMP WITH TIME ZONE", "duckdb") == [
        *("timestamp[us]", "timestamp[us, tz=UTC]", "timestamp[us, tz=UTC]")
    ]


def test_postgres_and_sqlite_have_their_own_floats_and_integers() -> None:
    assert types("FLOAT; REAL; FLOAT8; INT8; BYTEA; CHARACTER VARYING(3)", "postgres") == [
        *("double", "float", "double", "int64", "binary", "string")
    ]
    assert types("INT; INTEGER; TINYINT; REAL; FLOAT; TEXT; VARCHAR(3); BLOB", "sqlite") == [
        *("int64", "int64", "int64", "double", "double", "string", "string", "binary")
    ]


@pytest.mark.parametrize(
    ("column", "dialect", "why"),
    [
        ("HUGEINT", "duckdb", "type HUGEINT is not taken: it has over 64 bits"),
        ("CHAR(3)", "spark", "type CHAR is not taken: it pads and compares with blanks"),
        ("INT8", "spark", "type INT8 is not taken: Spark has none of that name"),
        ("DECIMAL", "postgres", "a DECIMAL of any size is not taken"),
        ("DECIMAL(39,0)", "spark", "a decimal has 1 to 38 digits"),
        ("DECIMAL(3,4)", "spark", "a decimal has 1 to 38 digits"),
        ("NUMERIC", "sqlite", "type NUMERIC is not taken: SQLite keeps other types"),
        ("BOOLEAN", "sqlite", "type BOOLEAN is not taken: SQLite keeps other types"),
        ("TIMESTAMP(3)", "postgres", "type TIMESTAMP(3) is not taken"),
        ("ARRAY<INT>", "spark", "type ARRAY is not taken"),
        ("STRUCT<b: INT>", "spark", "type STRUCT is not taken"),
        ("INTERVAL", "duckdb", "type INTERVAL is not taken"),
        ("UUID", "postgres", "type UUID is not taken"),
        ("TEXT COLLATE nocase", "sqlite", "COLLATE nocase is not taken"),
        ("INT GENERATED ALWAYS AS (1)", "spark", "is not taken: what it means"),
    ],
)
def test_types_that_would_lose_are_refused_by_name(column: str, dialect: str, why: str) -> None:
    assert why in refusal(f"CREATE TABLE t (a {column})", dialect)


def test_what_only_the_source_enforces_is_passed_over() -> None:
    sql = """CREATE TABLE IF NOT EXISTS t (
        a INT DEFAULT 3 COMMENT 'x' UNIQUE, b INT CHECK (b > 3) REFERENCES q (x),
        UNIQUE (a), CHECK (a > 3), FOREIGN KEY (a) REFERENCES q (b)
    ) USING parquet PARTITIONED BY (a) LOCATION '/tmp' TBLPROPERTIES ('a' = 'b')"""
    assert declare("t", sql).schema.names == ["a", "b"]


def test_texts_that_declare_no_table_are_refused_with_their_place() -> None:
    assert refusal("SELECT 1").startswith('table "t": line 1, column 1: SELECT declares no columns')
    assert "CREATE VIEW declares no columns" in refusal("CREATE VIEW t AS SELECT 1")
    assert "CREATE TABLE declares no columns" in refusal("CREATE TABLE t AS SELECT 1 AS a")
    assert refusal("DROP TABLE t").startswith('table "t": line 1, column 1: "DROP" begins neither')
    assert refusal("CREATE TABLE t (a INT").startswith(
        'table "t": line 1, column 19: not spark SQL'
    )
    assert 'column "b" has no type' in refusal("CREATE TABLE t (a INTEGER, b)", "sqlite")
    assert "adds columns" in refusal("CREATE TABLE t (a INT) PARTITIONED BY (b INT)")
    assert "no dialect 'mysql'" in refusal("CREATE TABLE t (a INT)", "mysql")


def test_columns_and_keys_must_make_sense_together() -> None:
    same = 'columns "a" and "A" have the same name'
    assert same in refusal("CREATE TABLE t (a INT, A INT)")
    assert same in refusal(pa.schema([("a", pa.int64()), ("A", pa.int64())]))
    assert "a table has one PRIMARY KEY" in refusal(
        "CREATE TABLE t (a INT PRIMARY KEY, PRIMARY KEY (a))"
    )
    unknown = 'its key names no column "userid2"; did you mean "userId"?'
    assert unknown in refusal("CREATE TABLE t (userId INT, PRIMARY KEY (userid2))")
    assert refusal(pa.schema([])) == 'table "t" has no columns'


def test_a_text_must_declare_the_table_that_it_stands_for() -> None:
    assert refusal("CREATE TABLE u (a INT)") == 'table "t": its text declares "u"; name it so'
    assert declare_all({"T": "CREATE TABLE db.t (a INT)"})["T"].name == "T"


def test_an_arrow_schema_is_brought_to_the_types_that_are_kept() -> None:
    schema = pa.schema(
        [
            pa.field("a", pa.large_string(), metadata={"x": "y"}),
            pa.field("b", pa.timestamp("ns"), False),
            pa.field("c", pa.dictionary(pa.int8(), pa.string())),
        ],
        metadata={"pandas": "{}"},
    )
    kept = declare("t", schema).schema
    assert kept.types == [pa.string(), pa.timestamp("us"), pa.string()]
    assert [field.nullable for field in kept] == [True, False, True]
    assert declare("t", schema.empty_table()).schema == kept
    assert 'column "a": list<item: int64>' in refusal(pa.schema([("a", pa.list_(pa.int64()))]))


def test_a_table_declared_by_hand_brings_its_key() -> None:
    table = declare("t", Table("t", pa.schema([("a", pa.int64())]), ("A",)))
    assert table.key == ("a",)
    assert not table.schema.field("a").nullable


def test_a_spark_schema_is_read_without_spark() -> None:
    columns = {"id": "long", "price": "decimal(10,2)", "at": "timestamp", "n": "string"}
    table = declare("t", StructType({**columns}))
    assert [str(type) for type in table.schema.types] == [
        *("int64", "decimal128(10, 2)", "timestamp[us, tz=UTC]", "string")
    ]
    assert [field.nullable for field in table.schema] == [False, True, True, True]
    assert "Spark's type array is not taken" in refusal(StructType({"a": {"type": "array"}}))


def test_anything_else_is_no_declaration() -> None:
    assert refusal(3).endswith("found int")
