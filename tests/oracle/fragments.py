"""Random expressions and conditions over the columns in sight."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from tests.oracle.case import Column, Fragment, Source
from tests.oracle.kinds import Kind, duckdb_literal, short_literal

COMPARISONS = ("<", "<=", ">", ">=", "<>")


@dataclass(frozen=True, slots=True)
class Place:
    """A column of an alias."""

    alias: str
    column: Column

    @property
    def sql(self) -> str:
        """The column with its alias before it."""
        return f"{self.alias}.{self.column.name}"

    @property
    def kind(self) -> Kind:
        """The column's type."""
        return self.column.kind


def places(sources: Sequence[Source]) -> list[Place]:
    """List every column of every source."""
    return [Place(source.alias, column) for source in sources for column in source.columns]


def over(sql: str, *read: Place, bare: bool = False) -> Fragment:
    """Make a fragment that reads some columns."""
    return Fragment(sql, frozenset((each.alias, each.column.name) for each in read), bare)


def literal(random: Random, kind: Kind) -> str:
    """Write some value of a type's domain; small integers and text as every dialect reads them."""
    value = random.choice(kind.values)
    plain = kind.values[0] in (0, "") and isinstance(value, int | str)
    write = short_literal if plain or random.random() < 0.5 else duckdb_literal
    return write(value, kind)


def partner(random: Random, place: Place, others: Sequence[Place]) -> Place | None:
    """Choose a column to compare with another, mostly one of the same values."""
    group = [each for each in others if each.kind.group == place.kind.group]
    same = [each for each in group if each.kind.values == place.kind.values]
    choices = same if same and random.random() < 0.95 else group
    return random.choice(choices) if choices else None


def equality(random: Random, one: Sequence[Place], other: Sequence[Place]) -> Fragment | None:
    """Equate a column of some aliases with a column of others."""
    left = random.choice(one)
    right = partner(random, left, other)
    if right is None:
        return None
    roll = random.random()
    if roll < 0.04:
        return over(f"{left.sql} IS NOT DISTINCT FROM {right.sql}", left, right)
    if roll < 0.07 and left.kind.sums and right.kind.sums:
        return over(f"{left.sql} + 1 = {right.sql}", left, right)
    if roll < 0.1 and left.kind.group == "text":
        return over(f"lower({left.sql}) = {right.sql}", left, right)
    return over(f"{left.sql} = {right.sql}", left, right, bare=True)


def residual(random: Random, sight: Sequence[Place]) -> Fragment | None:
    """Compare columns of two aliases by something that is no plain equality."""
    left = random.choice(sight)
    right = partner(random, left, [each for each in sight if each.alias != left.alias])
    if right is None:
        return None
    sign = random.choice(COMPARISONS)
    roll = random.random()
    if roll < 0.6:
        return over(f"{left.sql} {sign} {right.sql}", left, right)
    if roll < 0.8:
        return over(f"({left.sql} = {right.sql} OR {left.sql} IS NULL)", left, right)
    if roll < 0.9:
        return over(f"NOT ({left.sql} {sign} {right.sql})", left, right)
    return over(f"coalesce({left.sql} {sign} {right.sql}, {left.sql} IS NULL)", left, right)


def condition(random: Random, sight: Sequence[Place]) -> Fragment:
    """Ask something of one column, or of two of one alias."""
    place = random.choice(sight)
    other = partner(random, place, [each for each in sight if each.alias == place.alias])
    assert other is not None
    texts = [
        f"{place.sql} IS NULL",
        f"{place.sql} IS NOT NULL",
        f"{place.sql} = {other.sql}",
        f"NOT ({place.sql} <> {other.sql} AND {other.sql} IS NOT NULL)",
    ]
    if place.kind.constants:
        value, another = literal(random, place.kind), literal(random, place.kind)
        null, full = f"{other.sql} IS NULL", f"{other.sql} IS NOT NULL"
        texts = [
            *random.sample(texts, 2),
            f"{place.sql} = {value}",
            f"{place.sql} {random.choice(COMPARISONS)} {value}",
            f"{place.sql} IN ({value}, {another})",
            f"{place.sql} NOT IN ({value}, {another})",
            f"{place.sql} BETWEEN {value} AND {another}",
            f"({place.sql} = {value} OR {null})",
            f"NOT ({place.sql} = {value} AND {full})",
            f"CASE WHEN {place.sql} = {value} THEN {null} ELSE {full} END",
        ]
    return over(random.choice(texts), place, other)


def output(random: Random, sight: Sequence[Place], *, plain: bool) -> Fragment:
    """Output a column, mostly; else an expression over one or two aliases."""
    place = random.choice(sight)
    if random.random() < 0.75:
        return over(place.sql, place, bare=True)
    other = random.choice(sight)
    texts = over_one(random, place, plain=plain)
    both = []
    if place.kind.sums and other.kind.sums:
        both = [f"{place.sql} + {other.sql}", f"{place.sql} - {other.sql}"]
    if place.kind.group == other.kind.group == "text":
        both = [f"{place.sql} || {other.sql}"]
    if both and random.random() < 0.5:
        return over(random.choice(both), place, other)
    return over(random.choice(texts), place)


def over_one(random: Random, place: Place, *, plain: bool) -> list[str]:
    """List expressions over one column."""
    texts = [f"CASE WHEN {place.sql} IS NULL THEN 'none' ELSE 'some' END"]
    if place.kind.constants:
        texts += [f"coalesce({place.sql}, {literal(random, place.kind)})"]
    if not plain:
        texts += [f"{place.sql} IS NULL"]
    if not plain and place.kind.constants:
        texts += [f"{place.sql} = {literal(random, place.kind)}"]
    if place.kind.sums:
        texts += [f"{place.sql} + 1", f"-{place.sql}", f"{place.sql} * 2 - 1"]
    if place.kind.group == "text":
        texts += [f"upper({place.sql})", f"{place.sql} || '-'"]
    return texts
