"""What a condition asks of a subquery, whichever way it is written: EXISTS, IN, ANY, ALL.

    EXISTS (q), NOT EXISTS (q)        Question(q), Question(q, is_all=True)
    x IN (q), x = ANY (q)             Question(q, (x,), exp.EQ)
    x NOT IN (q), x <> ALL (q)        Question(q, (x,), exp.NEQ, is_all=True)

A question is TRUE if all of its tests come out: each asks whether q has a row y on which some
conditions are TRUE. x IN (q) is one test. x NOT IN (q) is three, as NULL may be equal to anything:
no y equals x, no y is NULL, and q has no row at all if x is NULL.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from sqlglot import exp

from joingraph.sql.functions.binding import refused
from joingraph.sql.text.refusal import Refusal

_COMPARISONS = (
    *(exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ),
)
# How each comparison is denied.
_CONTRARY: dict[type[exp.Expr] | None, type[exp.Expr] | None] = {
    None: None,
    exp.EQ: exp.NEQ,
    exp.NEQ: exp.EQ,
    exp.LT: exp.GTE,
    exp.GTE: exp.LT,
    exp.GT: exp.LTE,
    exp.LTE: exp.GT,
}


class Compared(NamedTuple):
    """A value, the subquery's column that it is compared with, and whether each may be NULL."""

    left: exp.Expr
    right: exp.Expr
    is_left_optional: bool
    is_right_optional: bool


class Test(NamedTuple):
    """Whether a subquery has a row on which conditions are TRUE, and whether it should have."""

    conditions: Callable[[Sequence[Compared]], list[exp.Expr]]
    is_wanted: bool


class Question(NamedTuple):
    """What is asked of a subquery; without a comparison, whether it has a row at all."""

    node: exp.Expr  # which asks it
    query: exp.Expr
    sides: Sequence[exp.Expr] = ()
    comparison: type[exp.Expr] | None = None
    is_all: bool = False

    @property
    def word(self) -> str:
        """Return the word that asks, by which aliases and marks are named."""
        return _quantifier(self.node).key

    @property
    def contrary(self) -> Question:
        """Return what is TRUE where this is FALSE: x < ANY (q) where it is x >= ALL (q)."""
        return self._replace(comparison=_CONTRARY[self.comparison], is_all=not self.is_all)

    def tests(self, compared: Sequence[Compared]) -> list[Test]:
        """Return the tests which together say that it is TRUE."""
        if self.comparison is None or not self.is_all:
            return [Test(self._holds, not self.is_all)]
        if self.comparison is exp.NEQ:
            equal = self.contrary
            if len(compared) > 1:
                return [Test(_may_be_equal, False)]
            return [Test(equal._holds, False), *equal.unknown(compared)]
        return [Test(self._fails, False)]

    def unknown(self, compared: Sequence[Compared]) -> list[Test]:
        """Return the tests of which any makes x = ANY (q) NULL unless it is TRUE; none wanted."""
        if len(compared) > 1:
            is_optional = any(each.is_left_optional or each.is_right_optional for each in compared)
            return [Test(_may_be_equal, False)] if is_optional else []
        found = list[Test]()
        if any(each.is_right_optional for each in compared):
            found.append(Test(lambda pairs: [_is_null(pairs[0].right)], False))
        if any(each.is_left_optional for each in compared):
            found.append(Test(lambda pairs: [_is_null(pairs[0].left)], False))
        return found

    def _holds(self, compared: Sequence[Compared]) -> list[exp.Expr]:
        assert self.comparison is not None or not compared
        return [_compare(each, self.comparison) for each in compared]

    def _fails(self, compared: Sequence[Compared]) -> list[exp.Expr]:
        (only,) = compared
        if only.is_left_optional or only.is_right_optional:
            return [_denied(_compare(only, self.comparison), exp.true())]
        return self.contrary._holds(compared)


def question_of(node: exp.Expr) -> Question | None:
    """Return what a node asks of a subquery, or its negation."""
    bare = node.unnest()
    if isinstance(bare, exp.Not):
        denied = question_of(bare.this)
        return denied and denied.contrary
    asking = _quantifier(bare)
    query = asking.args.get("query") if isinstance(bare, exp.In) else asking.this
    if not isinstance(asking, (exp.Exists, exp.In, exp.Any, exp.All)):
        return None
    if not isinstance(query, exp.Query):
        return None
    if isinstance(bare, exp.Exists):
        return Question(bare, query)
    side = bare.this.unnest()
    sides = side.expressions if isinstance(side, exp.Tuple) else [bare.this]
    comparison = exp.EQ if isinstance(bare, exp.In) else type(bare)
    found = Question(bare, query, sides, comparison, isinstance(asking, exp.All))
    is_of_rows = isinstance(side, exp.Tuple)
    if is_of_rows and (comparison, found.is_all) not in ((exp.EQ, False), (exp.NEQ, True)):
        why = "which of two lists of columns is less differs by dialect"
        raise Refusal(bare, f"a list of columns before {called(found)}", why, "write EXISTS")
    return found


def check_grouping(node: exp.Expr) -> None:
    """Refuse x IN (q) = y without parentheses, as a = b = c is refused."""
    sides = (node.this, node.expression) if isinstance(node, _COMPARISONS) else ()
    if any(not isinstance(side, (exp.Not, exp.Paren)) and _compares(side) for side in sides):
        raise refused(node, "dialects group such tests differently", "add parentheses")


def _compares(node: exp.Expr) -> bool:
    found = question_of(node)
    return found is not None and found.comparison is not None


def questions_in(node: exp.Expr) -> Iterator[Question]:
    """Yield what an expression asks, in written order; not what its subqueries ask."""
    found = None if isinstance(node, exp.Not) else question_of(node)
    if found is not None:
        yield found
    elif not isinstance(node, exp.Query):
        for each in node.iter_expressions():
            yield from questions_in(each)


def refuse_questions(node: exp.Expr, place: str, reason: tuple[str, str]) -> None:
    """Refuse a clause that asks something, for a reason and with a remedy."""
    for each in questions_in(node):
        raise Refusal(each.node, f"{called(each)} in {place}", *reason)


def called(question: Question) -> str:
    """Name a question as it is written."""
    return f"{question.word.upper()} (SELECT ...)"


def _quantifier(node: exp.Expr) -> exp.Expr:
    """Return ANY or ALL of a comparison with either, else the node."""
    found = node.args.get("expression") if type(node) in _CONTRARY else None
    return found if isinstance(found, (exp.Any, exp.All)) else node


def _compare(pair: Compared, comparison: type[exp.Expr] | None) -> exp.Expr:
    assert comparison is not None
    return comparison(this=pair.left.copy(), expression=pair.right.copy())


def _is_null(node: exp.Expr) -> exp.Expr:
    return exp.Is(this=node.copy(), expression=exp.Null())


def _denied(comparison: exp.Expr, truth: exp.Expr) -> exp.Expr:
    """Return (a = b) IS NOT TRUE, or IS NOT FALSE."""
    return exp.Not(this=exp.Is(this=comparison, expression=truth))


def _may_be_equal(compared: Sequence[Compared]) -> list[exp.Expr]:
    """Return that each pair is equal, or either of it NULL."""
    return [
        _denied(_compare(each, exp.EQ), exp.false())
        if each.is_left_optional or each.is_right_optional
        else _compare(each, exp.EQ)
        for each in compared
    ]
