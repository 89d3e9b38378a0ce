"""What one SELECT asks of subqueries: probes above its rows, and marks for what they answer.

    FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.k = a.k) AND a.v > 3
    ->  Probe("semi", Inner((a,), (a.v > 3,)), exists.b, (exists.b.k = a.k,))

    FROM a WHERE a.v > 3 OR EXISTS (...)
    ->  Inner((Probe("mark", a, exists.b, (...), "exists 1"),), (a.v > 3 OR "exists 1",))

A probe stands above what asks nothing, so that joins by WHERE are made before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple, TypeAlias

import pyarrow as pa
from sqlglot import exp

from joingraph.expressions.tree import Column, Expression
from joingraph.expressions.tree import Literal as Constant
from joingraph.sql.binder import FlatView, conjuncts
from joingraph.sql.definition import Joined, Probe
from joingraph.sql.joined.negation import asks, inwards
from joingraph.sql.joined.questions import (
    Compared,
    Question,
    Test,
    called,
    check_grouping,
    question_of,
)
from joingraph.sql.joined.trees import Rows, aliases_in, always, conditions_in, inner, reads, split
from joingraph.sql.limits import Size
from joingraph.sql.scope import FURTHER_OUT_INSTEAD, Field, Scope, stand_in
from joingraph.sql.text.refusal import Mistake, Refusal

Kind: TypeAlias = Literal["semi", "anti", "mark"]


class Subquery(NamedTuple):
    """A subquery of a condition, flattened: its columns, its FROM, and its WHERE."""

    fields: Sequence[Field]
    joined: Joined
    conditions: Sequence[Expression]


# Flattens a subquery, which may read the columns of a scope; its aliases begin with a word.
Expand: TypeAlias = Callable[[exp.Expr, Scope, str], Subquery]


class Asked(NamedTuple):
    """A test of a subquery that is flattened for it."""

    test: Test
    subquery: Subquery
    compared: Sequence[Compared]


class Probes:
    """Hangs what is asked above the rows of a SELECT, as conditions and columns come up."""

    def __init__(self, rows: Rows, flat: FlatView, expand: Expand) -> None:
        self.scope, self.joined = rows
        self.flat, self.expand = flat, expand
        self._answers: dict[str, exp.Expr] = {}

    def require(self, node: exp.Expr) -> None:
        """Keep the rows on which a condition is TRUE: what asks nothing is required first."""
        if not asks(node):
            self.joined = inner((self.joined,), self.flat.require(node, self.scope))
            return
        terms = _terms(node)
        for asking in (False, True):
            found = [self._conjunct(term) for term in terms if asks(term) is asking]
            self.joined = inner((self.joined,), (part for each in found for part in each))

    def ask(self, node: exp.Expr) -> list[Expression]:
        """Ask what a condition asks; return the conjuncts which are left for each row."""
        return [each for term in _terms(node) for each in self._conjunct(term)]

    def value(self, node: exp.Expr) -> exp.Expr:
        """Return an expression with columns in place of what it asks."""
        if not asks(node) or isinstance(node, exp.Query):
            return node
        question = None if isinstance(node, exp.Not) else question_of(node)
        if question is not None:
            return self._answer(question)
        check_grouping(node)
        found = type(node)()
        for name, part in node.args.items():
            found.set(
                name, [*map(self._part, part)] if isinstance(part, list) else self._part(part)
            )
        found.meta.update(node.meta)
        found.parent = node.parent
        return found

    def _part(self, part: object) -> object:
        if not isinstance(part, exp.Expr):
            return part
        found = self.value(part)
        return part.copy() if found is part else found

    def _conjunct(self, node: exp.Expr) -> tuple[Expression, ...]:
        """Ask what one conjunct asks; return it if it is to be computed of each row."""
        if asks(node):
            question = question_of(node)
            if question is not None:
                for each in self._asked(question, question.tests):
                    self._hang("semi" if each.test.is_wanted else "anti", question, each)
                return ()
            node = self._marked(node)
        return self.flat.conjunct(node, self.scope.find)

    def _marked(self, node: exp.Expr) -> exp.Expr:
        """Put marks into a condition of which only TRUE matters, its NOTs brought inwards."""
        bare = node.unnest()
        if not asks(bare):
            return node.copy()
        question = question_of(bare)
        if question is not None:
            return self._all_marks(question)
        if isinstance(bare, (exp.And, exp.Or)):
            return type(bare)(
                this=self._marked(bare.this), expression=self._marked(bare.expression)
            )
        return self.value(bare)

    def _all_marks(self, question: Question) -> exp.Expr:
        """Return that all tests of a question come out."""
        if question.comparison is None:
            mark = self._answer(question._replace(is_all=False))
            return exp.Not(this=mark) if question.is_all else mark
        found = list[exp.Expr]()
        for each in self._asked(question, question.tests):
            mark = self._mark(question, each)
            found.append(mark if each.test.is_wanted else exp.Not(this=mark))
        return _chain(exp.And, found)

    def _answer(self, question: Question) -> exp.Expr:
        """Return the value of a question, one of three; what is asked twice is asked once."""
        text = question.node.sql(self.flat.dialect)
        if text not in self._answers:
            self._answers[text] = self._new_answer(question)
        return self._answers[text].copy()

    def _new_answer(self, question: Question) -> exp.Expr:
        if question.is_all:
            return exp.Not(this=self._new_answer(question.contrary))
        yes, *unknown = (
            self._mark(question, each)
            for each in self._asked(
                question, lambda pairs: [*question.tests(pairs), *question.unknown(pairs)]
            )
        )
        if not unknown:
            return yes
        branches = [
            exp.If(this=yes, true=exp.true()),
            exp.If(this=_chain(exp.Or, unknown), true=exp.Null()),
        ]
        return exp.Case(ifs=branches, default=exp.false())

    def _asked(
        self, question: Question, tests: Callable[[Sequence[Compared]], list[Test]]
    ) -> Iterator[Asked]:
        """Yield the tests of a question, each with a subquery flattened for it."""
        sides = [self.flat.value(self.value(each), self.scope.find) for each in question.sides]
        first = self._flattened(question, sides)
        for at, test in enumerate(tests(first[1])):
            subquery, compared = self._flattened(question, sides) if at else first
            yield Asked(test, subquery, compared)

    def _flattened(
        self, question: Question, sides: Sequence[Field]
    ) -> tuple[Subquery, list[Compared]]:
        """Flatten a subquery once more; return it beside what is compared with it."""
        subquery = self.expand(question.query, self.scope, question.word)
        fields = subquery.fields if question.comparison else ()
        if len(fields) != len(sides):
            text = f"the subquery of {called(question)} has {len(fields)} columns"
            raise Mistake(question.node, f"{text}, and is compared with {len(sides)}; list as many")
        there = always(self.joined) | always(subquery.joined)
        return subquery, [
            Compared(
                stand_in(side, node.sql(self.flat.dialect)),
                stand_in(field, field.name),
                self._is_optional(side.value, there),
                self._is_optional(field.value, there),
            )
            for side, node, field in zip(sides, question.sides, fields, strict=True)
        ]

    def _is_optional(self, value: Expression, there: frozenset[str]) -> bool:
        """True if a value may be NULL, as far as is known."""
        match value:
            case Constant(constant):
                return constant is None
            case Column(alias, name) if alias in there:
                return bool(self.flat.table_of[alias].schema.field(name).nullable)
            case _:
                return True

    def _mark(self, question: Question, asked: Asked) -> exp.Expr:
        """Hang a test that keeps all rows; return a node that stands for its answer."""
        self.flat.marks += 1
        mark = Column("", f"{question.word} {self.flat.marks}", pa.bool_())
        self._hang("mark", question, asked, mark)
        return stand_in(Field(mark.name, "", mark, Size(1, 1)), question.node.sql())

    def _hang(
        self, kind: Kind, question: Question, asked: Asked, mark: Column | None = None
    ) -> None:
        """Put a test above the rows."""
        compared = asked.test.conditions(asked.compared)
        for each in compared:
            each.parent = question.node  # so that an error about it has a place
        conditions = [
            part for each in compared for part in self.flat.conjunct(each, self.scope.find)
        ]
        own = aliases_in(asked.subquery.joined)
        right, foreign = split(asked.subquery.joined, own)
        conditions += [*foreign, *asked.subquery.conditions]
        if any(reads(each) - own - aliases_in(self.joined) for each in conditions):
            why = "it reads a column of a query two levels further out"
            raise Refusal(question.node, "this subquery", why, FURTHER_OUT_INSTEAD)
        if any(reads(each) - own for each in conditions_in(right)):
            why = "which of its rows have partners would depend on the row that asks"
            what = "a column of the query around, in an outer or semi join of a subquery"
            raise Refusal(question.node, what, why, "ask it of an inner join")
        self.joined = Probe(kind, self.joined, right, tuple(conditions), mark)


def _terms(node: exp.Expr) -> list[exp.Expr]:
    return [part for term in conjuncts(node) for part in conjuncts(inwards(term))]


def _chain(kind: type[exp.Expr], nodes: Sequence[exp.Expr]) -> exp.Expr:
    """Join conditions by AND or OR."""
    found, *others = nodes
    for each in others:
        found = kind(this=found, expression=each)
    return found
