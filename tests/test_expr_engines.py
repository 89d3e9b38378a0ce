"""Random expressions over random columns: our answers against DuckDB's and SQLite's own.

Columns hold NULLs, NaN, -0.0, infinities and the extremes of their types. Where a whole column
cannot be answered because some row fails, both sides are asked row by row.
"""

from __future__ import annotations

import math
import random
import sqlite3
from collections.abc import Callable, Mapping
from decimal import Context, Decimal

import duckdb
import pyarrow as pa
import pytest

from joingraph.common.errors import DiffError
from joingraph.expressions.evaluate import evaluate
from joingraph.expressions.tree import Column, Expression
from joingraph.sql.text.refusal import Refusal
from tests.expressions import bound

ROWS = 30
FAILED = "<no answer>"
TEXTS = [
    "",
    "a",
    "A",
    "b",
    "Ab",
    "abc",
    "é",
    "ß",
    " pad ",
    "a%b",
    "a_b",
    "a\\b",
    "\n",
    "日本",
    "12",
]
FLOATS = [math.nan, math.inf, -math.inf, 0.0, -0.0, 0.5, 2.5, -2.5, 1.005, 1e300, 5e-324]
Maker = Callable[[random.Random], object]


def integers(low: int, high: int) -> Maker:
    return lambda rng: rng.choice([low, high, low + 1, 0, 1, 5, rng.randint(low, high)])


def decimals(digits: int, scale: int) -> Maker:
    most = 10**digits - 1
    exact = Context(prec=60)

    def make(rng: random.Random) -> Decimal:
        number = rng.choice([0, most, -most, 1, -5, rng.randint(-most, most), rng.randint(-99, 99)])
        return Decimal(number).scaleb(-scale, exact)

    return make


MAKERS: dict[str, tuple[pa.DataType, Maker]] = {
    "i8": (pa.int8(), integers(-128, 127)),
    "i": (pa.int32(), integers(-(2**31), 2**31 - 1)),
    "b": (pa.int64(), integers(-(2**63), 2**63 - 1)),
    "u8": (pa.uint8(), integers(0, 255)),
    "u32": (pa.uint32(), integers(0, 2**32 - 1)),
    "u64": (pa.uint64(), integers(0, 2**64 - 1)),
    "j": (pa.int32(), lambda rng: rng.randint(-4, 4)),
    "k": (pa.int64(), lambda rng: rng.randint(-4, 4)),
    "x": (pa.float64(), lambda rng: rng.choice([*FLOATS, rng.uniform(-9, 9)])),
    "y": (pa.float64(), lambda rng: rng.choice([*FLOATS, rng.uniform(-9, 9)])),
    "f": (pa.float32(), lambda rng: rng.choice([*FLOATS[:7], 0.1, 16777216.0])),
    "n": (pa.decimal128(10, 2), decimals(10, 2)),
    "m": (pa.decimal128(5, 3), decimals(5, 3)),
    "w": (pa.decimal128(18, 4), decimals(18, 4)),
    "v": (pa.decimal128(30, 5), decimals(30, 5)),
    "s": (pa.string(), lambda rng: rng.choice(TEXTS)),
    "r": (pa.string(), lambda rng: rng.choice(TEXTS)),
    "d": (pa.date32(), lambda rng: rng.choice([0, -1, rng.randint(-99999, 99999)])),
    "e": (pa.date32(), lambda rng: rng.choice([0, -1, rng.randint(-99999, 99999)])),
    "t": (pa.timestamp("us"), lambda rng: rng.choice([0, -1, rng.randint(-(10**15), 10**15)])),
    "p": (pa.bool_(), lambda rng: rng.random() < 0.5),
    "q": (pa.bool_(), lambda rng: rng.random() < 0.5),
}
TYPES = {name: type for name, (type, _) in MAKERS.items()}
NUMBERS = ["i8", "i", "b", "u8", "u32", "u64", "j", "k", "x", "f", "n", "m", "w", "v"]
PARTS = {
    "#": [*NUMBERS, "1", "-3", "0", "300", "1.5", "0.1", "1e0", "3000000000", "NULL"],
    "$": ["s", "r", "'a'", "'%'", "'é'", "'a_b'", "''", "UPPER(s)", "LEFT(r, 2)"],
    "?": ["p", "q", "# = #", "# < #", "$ <= $", "d = e", "p IS NULL", "$ LIKE 'a%'", "TRUE"],
    "@": ["j", "k", "2", "-1", "0", "j + k", "j * 2", "CASE WHEN p THEN j ELSE k END"],
    "!": ["d", "e", "t", "DATE '1970-01-01'"],
}
FORMS = """
# + #; # - #; # * #; # / #; # // #; # % #; # = #; # < #; # >= #; # IS DISTINCT FROM #; -(#)
@ + @ * @; (@ - @) / @; @ % @ = @; @ // @; @ & @; @ | @; ~(@); XOR(@, @); @ BETWEEN @ AND @
@ IN (@, @); # IN (#, 1, NULL); COALESCE(#, #); NULLIF(#, #); GREATEST(#, #, #); LEAST(@, #)
CASE WHEN ? THEN # WHEN ? THEN # ELSE # END; CASE @ WHEN 1 THEN $ WHEN @ THEN $ END; IF(?, #, #)
? AND ?; ? OR ?; NOT ?; (?) IS TRUE; (?) IS NOT FALSE; (?) = (?); (?) AND @ > 0 AND (?); # IS NULL
ABS(#); SIGN(#); FLOOR(#); CEIL(#); ROUND(#); ROUND(#, 1); ROUND(x, 3); SQRT(#); LN(#); EXP(x)
POWER(#, @); CAST(# AS INTEGER); CAST(# AS TINYINT); CAST(# AS DOUBLE); CAST(# AS FLOAT)
CAST(# AS DECIMAL(10, 2)); CAST(# AS DECIMAL(38, 10)); TRY_CAST(# AS SMALLINT); CAST(# AS BOOLEAN)
TRY_CAST(# AS DECIMAL(4, 1)); TRY_CAST(# AS FLOAT); CAST(n AS VARCHAR); CAST(! AS VARCHAR)
$ = $; $ < $; $ || $; CONCAT($, $, NULL); STARTS_WITH($, $); ENDS_WITH($, $); CONTAINS($, $)
POSITION($ IN $); LENGTH($); UPPER($); LOWER($); TRIM($); LTRIM(s, 'aA'); RTRIM(s, 'bB ')
SUBSTRING($, 2, 2); SUBSTRING($, -2, 1); SUBSTRING($, 0, 2); SUBSTRING($, -3); LEFT($, -1)
RIGHT($, 2); REPLACE($, 'a', 'xy'); $ LIKE '%b'; $ LIKE '_'; $ LIKE 'a#_%' ESCAPE '#'
$ ILIKE 'A%'; $ NOT LIKE '%a%'; COALESCE($, $); $ IN ('a', 'é', NULL)
YEAR(!); MONTH(!); DAY(!); HOUR(t); MINUTE(t); SECOND(t); EXTRACT(YEAR FROM !); ! = !; ! < !
! >= '1970-01-01'; d + @; d - @; d - e; ! + INTERVAL 3 DAY; t - INTERVAL 90 MINUTE
! + INTERVAL 1 MONTH; ! - INTERVAL '13 months'; INTERVAL '-3' QUARTER + !; t - INTERVAL 7 YEARS
DATE_DIFF('day', !, !); CAST(! AS DATE); GREATEST(d, !)
"""
SQLITE_COLUMNS = {"i": "INTEGER", "b": "INTEGER", "j": "INTEGER", "k": "INTEGER", "x": "REAL"}
SQLITE_COLUMNS |= {"y": "REAL", "s": "TEXT", "r": "TEXT", "p": "INTEGER", "q": "INTEGER"}
SQLITE_PARTS = {
    "#": ["i", "b", "j", "x", "y", "p", "1", "-3", "0", "1.5", "1e0", "NULL"],
    "$": ["s", "r", "'a'", "'%'", "'é'", "''", "UPPER(s)"],
    "?": ["p", "j", "x", "j = k", "x < y", "s <= r", "p IS NULL", "s LIKE 'a%'"],
    "@": ["j", "k", "2", "-1", "0", "j + k", "CASE WHEN p THEN j ELSE k END"],
}
SQLITE_FORMS = """
# + #; # - #; # * #; # / #; # % #; # = #; # < #; # >= #; # IS #; # IS NOT #; -(#); ~(@); @ & @; @|@
@ + @ * @; (@ - @) / @; @ % @ = @; @ BETWEEN @ AND @; @ IN (@, @, NULL); # IN (#, 1)
COALESCE(#, #); NULLIF(#, #); MAX(#, #, #); MIN(@, #); CASE WHEN ? THEN # WHEN ? THEN # ELSE # END
CASE @ WHEN 1 THEN $ WHEN @ THEN $ END; ? AND ?; ? OR ?; NOT ?; (?) IS TRUE; (?) IS NOT FALSE
SIGN(#); FLOOR(#); CEIL(#); ROUND(#); SQRT(#); LN(#); POWER(#, @); CAST(# AS INTEGER)
CAST(# AS REAL); CAST(@ AS TEXT); CAST($ AS INTEGER); ABS(@); $ = $; $ < $; $ || $; INSTR($, $)
LENGTH($); UPPER($); LOWER($); TRIM($); LTRIM(s, 'aA'); SUBSTR($, 2, 2); SUBSTR($, -2, 1)
SUBSTR($, 0, 2); SUBSTR($, -9, 8); REPLACE($, 'a', 'xy'); $ LIKE 'A%'; $ LIKE '_'; $ NOT LIKE '%b'
$ LIKE 'a#_%' ESCAPE '#'; $ IN ('a', 'é', NULL); MAX($, $)
"""


def texts(forms: str, parts: Mapping[str, list[str]], rng: random.Random) -> list[str]:
    """Fill every form with parts, three times."""

    def fill(form: str) -> str:
        while any(mark in form for mark in parts):
            form = "".join(
                rng.choice(parts[letter]) if letter in parts else letter for letter in form
            )
        return form

    found = [form.strip() for line in forms.strip().splitlines() for form in line.split(";")]
    return [fill(form) for form in found for _ in range(3)]


def columns(rng: random.Random) -> dict[str, pa.Array]:
    """Make random columns, a sixth of them NULL."""
    return {
        name: pa.array([None if rng.random() < 1 / 6 else make(rng) for _ in range(ROWS)], type)
        for name, (type, make) in MAKERS.items()
    }


def our_answers(expression: Expression, arrays: Mapping[str, pa.Array]) -> list[object]:
    """Evaluate all rows, one by one where some row fails."""
    known: dict[Expression, pa.Array] = {
        Column("", name, array.type): array for name, array in arrays.items()
    }
    try:
        return list(evaluate(expression, known, ROWS).to_pylist())
    except DiffError:
        rows = ({c: a.slice(row, 1) for c, a in known.items()} for row in range(ROWS))
        return [our_answer(expression, row) for row in rows]


def our_answer(expression: Expression, known: Mapping[Expression, pa.Array]) -> object:
    try:
        return evaluate(expression, known, 1)[0].as_py()
    except DiffError:
        return FAILED


def same(ours: object, theirs: object) -> bool:
    if isinstance(ours, float) and isinstance(theirs, float):
        return ours == theirs or (math.isnan(ours) and math.isnan(theirs))
    return ours == theirs and (type(ours) is type(theirs))


def differences(ours: list[object], theirs: list[object]) -> list[str]:
    pairs = enumerate(zip(ours, theirs, strict=True))
    return [f"row {row}: {a!r}, not {b!r}" for row, (a, b) in pairs if not same(a, b)]


def taken(text: str, dialect: str) -> Expression | None:
    try:
        return bound(text, dialect, TYPES)
    except Refusal:
        return None


@pytest.mark.skipif(
    int(duckdb.__version__.split(".")[0]) < 2, reason="dialect duckdb is DuckDB 2.0's"
)
@pytest.mark.parametrize("seed", range(4))
def test_our_answers_are_duckdb_s(seed: int) -> None:
    rng = random.Random(seed)
    arrays = columns(rng)
    with duckdb.connect() as duck:
        duck.register("t", pa.table(arrays))
        complaints: list[str] = []
        for text in texts(FORMS, PARTS, rng):
            expression = taken(text, "duckdb")
            if expression is not None:
                complaints += [
                    f"{text}: {each}" for each in against_duckdb(text, expression, arrays, duck)
                ]
    assert not complaints, "\n".join(complaints)


def against_duckdb(
    text: str,
    expression: Expression,
    arrays: Mapping[str, pa.Array],
    duck: duckdb.DuckDBPyConnection,
) -> list[str]:
    ours = our_answers(expression, arrays)
    try:
        theirs = duck.sql(f"SELECT {text} AS z FROM t").to_arrow_table()["z"]
    except duckdb.BinderException:
        return []  # DuckDB lacks the form; nothing to compare with
    except duckdb.Error:
        theirs = duck.sql(f"SELECT TRY({text}) AS z FROM t").to_arrow_table()["z"]
        ours = [None if each == FAILED else each for each in ours]
    if not ("u64" in text and is_shorter(expression.type, theirs.type)) and (
        expression.type != theirs.type and pa.null() not in (expression.type, theirs.type)
    ):
        return [f"{expression.type}, not {theirs.type}"]
    return differences(ours, theirs.to_pylist())


def is_shorter(ours: pa.DataType, theirs: pa.DataType) -> bool:
    """Hold if a decimal has the digits it needs, where DuckDB has a HUGEINT or its 38 digits."""
    both = pa.types.is_decimal(ours) and pa.types.is_decimal(theirs)
    return bool(both) and ours.scale == theirs.scale and theirs.precision == 38


@pytest.mark.parametrize("seed", range(4))
def test_our_answers_are_sqlite_s(seed: int) -> None:
    rng = random.Random(seed)
    arrays = {name: as_sqlite_stores(array) for name, array in columns(rng).items()}
    with sqlite3.connect(":memory:") as lite:
        names = ", ".join(f"{name} {kind}" for name, kind in SQLITE_COLUMNS.items())
        lite.execute(f"CREATE TABLE t ({names})")
        marks = ", ".join("?" * len(SQLITE_COLUMNS))
        rows = zip(*(arrays[name].to_pylist() for name in SQLITE_COLUMNS), strict=True)
        lite.executemany(f"INSERT INTO t VALUES ({marks})", rows)
        complaints: list[str] = []
        for text in texts(SQLITE_FORMS, SQLITE_PARTS, rng):
            expression = taken(text, "sqlite")
            if expression is not None:
                complaints += [
                    f"{text}: {each}" for each in against_sqlite(text, expression, arrays, lite)
                ]
    lite.close()
    assert not complaints, "\n".join(complaints)


def against_sqlite(
    text: str, expression: Expression, arrays: Mapping[str, pa.Array], lite: sqlite3.Connection
) -> list[str]:
    """Compare where we answer: SQLite turns an integer that overflows into a real, we fail."""
    ours = [
        int(each) if isinstance(each, bool) else each for each in our_answers(expression, arrays)
    ]
    theirs = [row[0] for row in lite.execute(f"SELECT {text} FROM t")]
    pairs = [pair for pair in zip(ours, theirs, strict=True) if pair[0] != FAILED]
    return differences([a for a, _ in pairs], [b for _, b in pairs])


def as_sqlite_stores(array: pa.Array) -> pa.Array:
    """Give NULL for NaN and 0.0 for -0.0, as SQLite stores them."""
    if array.type != pa.float64():
        return array
    values = [None if v is None or math.isnan(v) else v + 0.0 for v in array.to_pylist()]
    return pa.array(values, array.type)
