"""How SQL is refused: where it is found, only what is known there; the place is added once.

A rule that meets something it cannot take raises Refusal with the node at fault. `define`
catches it at the top, finds the node's line and column in the text and raises the ViewError that
people see.
"""

from __future__ import annotations

from sqlglot import exp

from joingraph.expressions.show import brief


class Refusal(Exception):
    """A construct that is not taken: the node, what it is, why not, and a rewrite if any."""

    def __init__(self, node: exp.Expr | None, what: str, why: str, instead: str = "") -> None:
        super().__init__(f"{what}: {why}")
        self.node, self.what, self.why, self.instead = node, what, why, instead

    def sentence(self) -> str:
        """Return what is not taken, why, and what to write instead."""
        rewrite = f"; {self.instead}" if self.instead else ""
        return f"{brief(self.what)} is not taken: {self.why}{rewrite}"


class Mistake(Refusal):
    """SQL that would be taken if it were right: an unknown name, a type that does not fit."""

    def __init__(self, node: exp.Expr | None, text: str) -> None:
        super().__init__(node, text, "")

    def sentence(self) -> str:
        """Return what is wrong, in the words of the rule that found it."""
        return self.what


def word_of(arg: str) -> str:
    """Write the name of a part of sqlglot's nodes as SQL does: except_ is EXCEPT."""
    return arg.rstrip("_").replace("_", " ").upper()
