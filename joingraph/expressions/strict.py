"""What an expression is where all columns of some alias are NULL: an outer join's rows show it.

    alias b missing      b.x + a.y   NULL        b.x > 3   never TRUE        b.x IS NULL   TRUE
                         COALESCE(b.x, 0)   not known here, so neither is claimed

Each answer is a claim that always holds; where nothing is known, it is no.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from joingraph.expressions.tree import Call, Column, Expression, Literal, aliases_of

# Functions that may answer though an argument is NULL.
NOT_STRICT = frozenset(
    {
        *("and", "or", "case", "coalesce", "distinct", "not_distinct", "is_null", "is_true"),
        *("is_false", "greatest", "least", "concat_known", "slice", "is_there"),
    }
)
IS_THERE = (
    "is_there"  # of a column: TRUE for each row, NULL where a row stands in for a missing one
)


def is_null(value: Expression, missing: str) -> bool:
    """True if an expression is NULL where an alias is missing."""
    match value:
        case Column():
            return value.alias == missing
        case Literal():
            return value.value is None
        case Call("coalesce", args):
            return all(is_null(each, missing) for each in args)
        case Call("slice", (text, *_)):
            return is_null(text, missing)
        case Call("case", args):
            return is_null_case(args, missing)
        case Call(function, args):
            return function not in NOT_STRICT and any(is_null(each, missing) for each in args)


def is_null_case(args: tuple[Expression, ...], missing: str) -> bool:
    """True if each value that CASE may take is NULL."""
    *pairs, otherwise = args
    tests = zip(pairs[::2], pairs[1::2], strict=True)
    taken = (value for test, value in tests if not is_not_true(test, missing))
    return all(is_null(each, missing) for each in (*taken, otherwise))


def is_not_true(condition: Expression, missing: str) -> bool:
    """True if a condition is FALSE or NULL where an alias is missing."""
    match condition:
        case Call("and", args):
            return any(is_not_true(each, missing) for each in args)
        case Call("or", args):
            return all(is_not_true(each, missing) for each in args)
        case Call("not", (arg,)) if is_true(arg, missing):
            return True
        case Call("is_true", (arg,)):
            return is_not_true(arg, missing)
        case Call("is_false", (arg,)):
            return is_null(arg, missing) or is_true(arg, missing)
        case Call("is_there", (Column(alias),)):
            return alias == missing
        case Call("not_distinct", (one, other)):
            return null_and_known(one, other, missing) or null_and_known(other, one, missing)
        case Literal():
            return condition.value is not True
        case _:
            return is_null(condition, missing)


def is_true(condition: Expression, missing: str) -> bool:
    """True if a condition is TRUE where an alias is missing."""
    match condition:
        case Call("is_null", (arg,)):
            return is_null(arg, missing)
        case Call("and", args):
            return all(is_true(each, missing) for each in args)
        case Call("or", args):
            return any(is_true(each, missing) for each in args)
        case Literal():
            return condition.value is True
        case _:
            return False


def null_and_known(one: Expression, other: Expression, missing: str) -> bool:
    """True if one side is NULL, and the other a constant that is not."""
    return is_null(one, missing) and isinstance(other, Literal) and other.value is not None


def rejected(conditions: Iterable[Expression]) -> frozenset[str]:
    """Name the aliases without which some condition is not TRUE."""
    return frozenset(
        alias
        for each in conditions
        for alias in aliases_of(each)
        if alias and is_not_true(each, alias)
    )


def nulling(values: Iterable[Expression]) -> frozenset[str]:
    """Name the aliases without which some value is NULL."""
    return frozenset(alias for each in values for alias in aliases_of(each) if is_null(each, alias))


def without(value: Expression, is_missing: Callable[[str], bool]) -> Expression:
    """Return an expression over rows that stand in for missing ones."""
    match value:
        case Call("is_there", (Column(alias),)) if is_missing(alias):
            return Literal(None, value.type)
        case Call(function, args, kind):
            return Call(function, tuple(without(each, is_missing) for each in args), kind)
        case _:
            return value
