"""Dates and timestamps: parts of them, differences, and moving them by an interval."""

from __future__ import annotations

import re

import pyarrow as pa
from sqlglot import exp

from joingraph.expressions.tree import Expression, Literal
from joingraph.expressions.types import INTEGERS, TIMESTAMP, sql_name
from joingraph.sql.functions.binding import (
    UNTYPED,
    Binder,
    Rule,
    call,
    fits,
    moment,
    only,
    refused,
    settle,
)
from joingraph.sql.text.refusal import Refusal

DATE = pa.date32()
_SECOND = 1_000_000
_MICROS = {
    "WEEK": 604_800 * _SECOND,
    "DAY": 86_400 * _SECOND,
    "HOUR": 3_600 * _SECOND,
    "MINUTE": 60 * _SECOND,
    "SECOND": _SECOND,
}
_DAYS = {"WEEK": 7, "DAY": 1}
_MONTHS = {"YEAR": 12, "QUARTER": 3, "MONTH": 1}
_COUNT = re.compile(r"-?[0-9]{1,18}")
_FIELDS = ("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND")


def bind_field(node: exp.Expr, bind: Binder) -> Expression:
    """YEAR(d), MONTH(d), DAY(d), HOUR(t), MINUTE(t), SECOND(t)."""
    name = "DAY" if isinstance(node, exp.DayOfMonth) else node.key.upper()
    return _field(name, bind_moment(_without_wrapper(node.this), bind), bind)


def bind_extract(node: exp.Expr, bind: Binder) -> Expression:
    """EXTRACT(YEAR FROM d)."""
    name = node.this.name.upper()
    if name not in _FIELDS:
        raise refused(node, f"EXTRACT takes {', '.join(_FIELDS)}")
    subject = bind_moment(node.expression, bind)
    if name == "SECOND" and bind.dialect in ("spark", "postgres"):
        return call("second_exact", pa.decimal128(8, 6), settle(subject, TIMESTAMP))
    return _field(name, subject, bind)


def _field(name: str, subject: Expression, bind: Binder) -> Expression:
    if name in ("HOUR", "MINUTE", "SECOND"):
        subject = settle(subject, TIMESTAMP)
    types = {"spark": pa.int32(), "duckdb": pa.int64(), "postgres": pa.decimal128(10, 0)}
    return call(name.lower(), types[bind.dialect], subject)


def bind_moment(node: exp.Expr, bind: Binder) -> Expression:
    """Bind a date or a timestamp without time zone."""
    return as_moment(node, bind(node))


def as_moment(node: exp.Expr, bound: Expression) -> Expression:
    """Return what a node was bound to as a date or timestamp, or refuse it."""
    if bound == UNTYPED:
        return Literal(None, TIMESTAMP)
    if bound.type in (DATE, TIMESTAMP):
        return bound
    if pa.types.is_timestamp(bound.type):
        raise by_session(node)
    why = f"a DATE or TIMESTAMP is needed here, this is {sql_name(bound.type)}"
    raise refused(node, why, "write CAST(… AS DATE)")


def by_session(node: exp.Expr) -> Refusal:
    """Return the refusal of what another session would compute otherwise."""
    return refused(node, "the answer depends on the session's time zone")


def bind_date(node: exp.Expr, bind: Binder) -> Expression:
    """Bind a date; a timestamp loses its time of day."""
    return settle(bind_moment(node, bind), DATE)


def bind_to_date(node: exp.Expr, bind: Binder) -> Expression:
    """TO_DATE(x): CAST(x AS DATE)."""
    subject = bind(node.this)
    if isinstance(subject, Literal) and isinstance(subject.value, str):
        return moment(node, subject.value, DATE)
    if subject.type == pa.string():
        return call("parse", DATE, subject)
    return settle(as_moment(node, subject), DATE)


def bind_days_between(node: exp.Expr, bind: Binder) -> Expression:
    """DATEDIFF(late, early) in Spark, DATE_DIFF('day', early, late) in DuckDB: days."""
    unit = node.args.get("unit")
    if (unit is None) != (bind.dialect == "spark") or (unit is not None and unit.name != "DAY"):
        raise refused(node, "only differences in days are taken")
    parts = [_without_wrapper(each) for each in (node.this, node.expression)]
    type = pa.int32() if bind.dialect == "spark" else pa.int64()
    return call("days_between", type, *(bind_date(part, bind) for part in parts))


def _without_wrapper(node: exp.Expr) -> exp.Expr:
    """Remove the TO_DATE that sqlglot puts around what a function takes for a date."""
    return node.this if isinstance(node, exp.TsOrDsToDate) else node


def bind_interval(node: exp.Expr, bind: Binder) -> Expression:
    """moment + INTERVAL 3 DAY, INTERVAL 3 DAY + moment, moment - INTERVAL 3 MONTH."""
    if bind.dialect == "sqlite":
        why = "SQLite has no intervals"
        raise refused(node, why, "declare the view in another dialect, such as duckdb")
    left, right = node.this, node.expression
    if isinstance(left, exp.Interval) and isinstance(node, exp.Add):
        left, right = right, left
    is_one = isinstance(right, exp.Interval) and not isinstance(left, exp.Interval)
    if not is_one or not isinstance(node, exp.Add | exp.Sub):
        why = "one interval is added to or taken from a date or timestamp"
        raise refused(node, why, "write d + INTERVAL 14 MONTH")
    unit, count = interval_length(right, bind)
    if isinstance(node, exp.Sub):
        count = -count
    return moved(node, bind_moment_zoned(left, bind), (unit, count), bind)


def shift(node: exp.Expr, sides: list[Expression], bind: Binder) -> Expression:
    """date + 3, 3 + date, date - 3, and in DuckDB and Postgres date - date."""
    a, b = sides
    adding = isinstance(node, exp.Add)
    if adding and b.type == DATE:
        a, b = b, a
    is_known = bind.dialect != "sqlite" and isinstance(node, exp.Add | exp.Sub)
    if is_known and a.type == DATE and b.type in INTEGERS:
        return call("add_days" if adding else "subtract_days", DATE, a, b)
    if is_known and a.type == b.type == DATE and not adding and bind.dialect != "spark":
        return call("days_between", pa.int64() if bind.dialect == "duckdb" else pa.int32(), a, b)
    names = f"{sql_name(a.type)} and {sql_name(b.type)}"
    raise refused(node, f"{names} do not go together", "DATEDIFF gives days")


def bind_moment_zoned(node: exp.Expr, bind: Binder) -> Expression:
    """Bind a date or a timestamp with or without time zone."""
    bound = bind(node)
    return bound if pa.types.is_timestamp(bound.type) else as_moment(node, bound)


def moved(
    node: exp.Expr, subject: Expression, interval: tuple[str, int], bind: Binder
) -> Expression:
    """Move a date or timestamp by some units; in Spark a date moved by days or months is a date."""
    unit, count = interval
    is_of_time = unit not in _DAYS and unit not in _MONTHS
    is_zoned = subject.type not in (DATE, TIMESTAMP)
    stays_date = bind.dialect == "spark" and subject.type == DATE
    if (is_zoned and not is_of_time) or (stays_date and is_of_time):
        raise by_session(node)
    if stays_date and unit in _DAYS:
        return call("add_days", DATE, subject, _length(node, count * _DAYS[unit], pa.int64()))
    if subject.type == DATE and not stays_date:
        subject = settle(subject, TIMESTAMP)
    if unit in _MONTHS:
        months = _length(node, count * _MONTHS[unit], pa.int32())
        return call("add_months", subject.type, subject, months)
    length = _length(node, count * _MICROS[unit], pa.int64())
    return call("add_micros", subject.type, subject, length)


def _length(node: exp.Expr, units: int, type: pa.DataType) -> Literal:
    """Return the length of an interval as a constant, or refuse one that its type does not hold."""
    if not fits(units, type):
        raise refused(node, "the interval is too long")
    return Literal(units, type)


def interval_length(interval: exp.Interval, bind: Binder) -> tuple[str, int]:
    """Read the unit and the count of an interval."""
    only(interval, "this", "unit")
    unit, count = interval.args.get("unit"), interval.args.get("this")
    name = unit.name.upper() if isinstance(unit, exp.Var) else ""  # none for YEAR TO MONTH
    digits = count.name if isinstance(count, exp.Literal) else ""
    units = [*_MONTHS, *_MICROS]
    if bind.dialect != "duckdb":
        units.remove("QUARTER")
    if name.removesuffix("S") not in units or not _COUNT.fullmatch(digits):
        raise refused(interval, f"an interval is a whole constant of {', '.join(units)}")
    return name.removesuffix("S"), int(digits)


def bind_date_add(node: exp.Expr, bind: Binder) -> Expression:
    """DATE_ADD(d, 3) and DATE_SUB(d, 3) in Spark, DATE_ADD(d, INTERVAL 3 DAY) in DuckDB."""
    amount = node.expression
    if isinstance(amount, exp.Interval) and bind.dialect == "duckdb":
        subject = bind_moment_zoned(node.this, bind)
        return moved(node, subject, interval_length(amount, bind), bind)
    unit = node.args.get("unit")
    if isinstance(amount, exp.Interval) or (unit is not None and unit.name.upper() != "DAY"):
        raise refused(node, "only whole days are added", "write d + INTERVAL …")
    return call("add_days", DATE, bind_date(node.this, bind), _int(amount, "days", bind))


def bind_add_months(node: exp.Expr, bind: Binder) -> Expression:
    """ADD_MONTHS(d, 3)."""
    months = settle(_int(node.expression, "months", bind), pa.int32())
    return call("add_months", DATE, bind_date(node.this, bind), months)


def _int(node: exp.Expr, what: str, bind: Binder) -> Expression:
    """Bind an INT or a shorter integer."""
    bound = bind.number(node)
    if bound.type not in INTEGERS or bound.type == pa.int64():
        raise refused(node, f"INT {what} are needed, this is {sql_name(bound.type)}")
    return bound


# Where a function is not the dialect's own, or its meaning there is not certain.
_ONLY_SPARK = ("duckdb", "postgres", "sqlite")
_NO_DATES = ("postgres", "sqlite")
_TWO_DATES = ("this", "expression")
_FIELD_KINDS = (exp.Year, exp.Month, exp.Day, exp.DayOfMonth, exp.Hour, exp.Minute, exp.Second)

RULES: dict[type[exp.Expr], Rule] = {
    **dict.fromkeys(_FIELD_KINDS, Rule(bind_field, ("this",), absent=_NO_DATES)),
    exp.Extract: Rule(bind_extract, ("this", "expression"), absent=("sqlite",)),
    exp.TsOrDsToDate: Rule(bind_to_date, ("this",), ("safe",), absent=_ONLY_SPARK),
    exp.DateDiff: Rule(
        bind_days_between, _TWO_DATES, ("unit", "date_part_boundary"), absent=_NO_DATES
    ),
    exp.TsOrDsAdd: Rule(bind_date_add, _TWO_DATES, ("unit",), absent=_ONLY_SPARK),
    exp.AddMonths: Rule(bind_add_months, _TWO_DATES, absent=_ONLY_SPARK),
    exp.DateAdd: Rule(bind_date_add, _TWO_DATES, ("unit",), absent=_NO_DATES),
}
