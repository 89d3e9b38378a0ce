"""What names mean at one place of the text: its relations, their columns, and what `*` lists.

    tweet T JOIN retweet R USING (tweetId)
    relations   T: tweetId userId      R: tweetId userId         (T.x, R.x, T.*, R.*)
    fields      tweetId userId userId                            (x, *): the joined one once

Names are compared without regard to case and keep their declared spelling. A scope never
changes; a join makes a new one of two.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from sqlglot import exp

from joingraph.common.names import NAME_CHARS_MAX, did_you_mean, quoted, suggest
from joingraph.expressions.tree import Expression
from joingraph.sql.limits import Size
from joingraph.sql.text.refusal import Mistake, Refusal, word_of

NAMES_LISTED_MAX = 12
FURTHER_OUT_INSTEAD = "make one subquery of the two, by a join"


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """A column that can be named: of a base table, or computed by a subquery.

    `item` is the entry of a SELECT list that makes it, where the list names it.
    """

    name: str
    relation: str
    value: Expression
    size: Size
    item: exp.Expr | None = None

    def __deepcopy__(self, memo: object) -> Field:
        """Return the same: it never changes, and sqlglot copies what hangs on a node."""
        return self

    @property
    def text(self) -> str:
        """The name, after its relation's; a FULL JOIN's common column is of neither side."""
        return f"{self.relation}.{self.name}" if self.relation else self.name


Named = TypeVar("Named", Field, exp.Expr)


class Relation:
    """A table, subquery or parenthesised join with a name, and its columns."""

    def __init__(self, name: str, fields: tuple[Field, ...]) -> None:
        self.name, self.fields = name, fields

    @cached_property
    def by_name(self) -> Mapping[str, list[Field]]:
        """The columns by their names in lower case."""
        return _grouped(self.fields)


class Scope:
    """The relations in reach, and the columns that `*` and unqualified names mean.

    `around` is the scope of the query around, whose columns a subquery in a condition may read.
    """

    def __init__(
        self,
        relations: Mapping[str, Relation],
        fields: tuple[Field, ...],
        around: Scope | None = None,
    ) -> None:
        self.relations, self.fields, self.around = relations, fields, around

    @cached_property
    def by_name(self) -> Mapping[str, list[Field]]:
        """The columns by their names in lower case, as unqualified names find them."""
        return _grouped(self.fields)

    def find(self, node: exp.Column) -> Field:
        """Resolve a column reference, or say what there is instead."""
        bound: Field | None = node.meta.get("field")
        if bound is not None:
            return bound
        check_args(node, {"this", "table", "db", "catalog"}, "this column reference")
        if self.around is not None and not self._names(node):
            if self.around._names(node):
                return self.around.find(node)
            self.around.refuse_further(node)
        if not node.table:
            return self.find_unqualified(node, node.name)
        relation = self.relation(node)
        found = relation.by_name.get(node.name.lower(), [])
        if not found:
            names = [field.name for field in relation.fields]
            raise Mistake(
                node.this,
                f"{relation.name} has no column {quoted(node.name)}" + _hint(node.name, names),
            )
        if len(found) > 1:
            raise Mistake(
                node.this,
                f"{relation.name} has {len(found)} columns {quoted(node.name)}; "
                "give them different names with AS",
            )
        return found[0]

    def find_unqualified(self, node: exp.Expr, name: str) -> Field:
        """Resolve a bare name; two relations that have it are an error."""
        found = self.by_name.get(name.lower(), [])
        if len(found) == 1:
            return found[0]
        if found:
            candidates = " or ".join(each.text for each in found)
            raise Mistake(node, f"column {quoted(name)} is ambiguous: it may be {candidates}")
        raise Mistake(node, self._missing(name))

    def relation(self, node: exp.Column) -> Relation:
        """Find the relation that qualifies a column or a `*`."""
        found = self.relations.get(node.table.lower())
        if found is not None and not node.db:
            return found
        names = [each.name for each in self.relations.values() if each.name]
        written = f"{node.db}.{node.table}" if node.db else node.table
        hint = _hint(node.table, names)
        if found is not None:
            hint = f"; write {found.name}.{node.name}"
        raise Mistake(
            node.args["table"], f"no table or alias is called {quoted(written)} here{hint}"
        )

    def refuse_further(self, node: exp.Column) -> None:
        """Refuse a column of a query further out than the one around."""
        further = self.around
        while further is not None and not further._names(node):
            further = further.around
        if further is not None:
            why = "it is a column of a query two levels further out"
            raise Refusal(node, node.sql(), why, FURTHER_OUT_INSTEAD)

    def _names(self, node: exp.Column) -> bool:
        """True if a column reference is to be resolved here."""
        if not node.table:
            return node.name.lower() in self.by_name
        return not node.db and node.table.lower() in self.relations

    def _missing(self, name: str) -> str:
        sources = list(dict.fromkeys(field.relation for field in self.fields if field.relation))
        if len(sources) == 1:
            names = [field.name for field in self.fields]
            return f"{sources[0]} has no column {quoted(name)}{_hint(name, names)}"
        text = f"no table here has a column {quoted(name)}"
        near = suggest(name, self.by_name)
        if near is None:
            return f"{text}; they are {', '.join(sources[:NAMES_LISTED_MAX])}"
        meant = [each.text for each in self.by_name[near]]
        return f"{text}; did you mean {' or '.join(meant)}?"


@dataclass(frozen=True, slots=True)
class Context:
    """What a query can name besides tables, and what its aliases' names begin with."""

    ctes: Mapping[str, Cte]
    prefix: str = ""
    is_view: bool = True  # it is the view's own SELECT, not a part of it
    around: Scope | None = None  # of the query that a condition's subquery may read


@dataclass(slots=True)
class Cte:
    """A query of a WITH clause, and what was in reach where it stands."""

    node: exp.CTE
    context: Context
    used: bool = False


def stand_in(field: Field, text: str) -> exp.Column:
    """Return a node that stands for what is bound already, and reads as a text in errors."""
    node = exp.Column(this=exp.Identifier(this=text))
    node.meta["field"] = field
    return node


def check_args(node: exp.Expr, taken: Iterable[str], what: str) -> None:
    """Refuse what a node says besides the parts we know, so that nothing is silently ignored."""
    for name, value in node.args.items():
        if value and name not in taken:
            raise Mistake(node, f"{word_of(name)} is not taken in {what}")


def check_name(node: exp.Expr | None) -> None:
    """Refuse as the name of a column or table what is no plain name: a parameter, an expression."""
    if node is not None and not isinstance(node, exp.Identifier):
        raise Mistake(node, f"{node.sql()} is no name")


def repeated(named: Iterable[Named]) -> Named | None:
    """Return the first of some fields or nodes that has the name of one before it."""
    earlier: set[str] = set()
    for each in named:
        if each.name.lower() in earlier:
            return each
        earlier.add(each.name.lower())
    return None


def _hint(name: str, names: list[str]) -> str:
    listed = ", ".join(
        each if len(each) < NAME_CHARS_MAX else quoted(each) for each in names[:NAMES_LISTED_MAX]
    )
    more = ", ..." if len(names) > NAMES_LISTED_MAX else ""
    return did_you_mean(name, names, f"; known here: {listed}{more}" if names else "")


def _grouped(fields: tuple[Field, ...]) -> Mapping[str, list[Field]]:
    groups: dict[str, list[Field]] = {}
    for field in fields:
        groups.setdefault(field.name.lower(), []).append(field)
    return groups
