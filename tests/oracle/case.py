"""A case of the oracle: tables, a view and a feed, all plain data, so that it can be shrunk."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa

from tests.oracle.kinds import Kind

Row = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table or of a source."""

    name: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class Table:
    """A base table."""

    name: str
    columns: tuple[Column, ...]

    @property
    def create(self) -> str:
        """The CREATE TABLE text, as DuckDB reads it."""
        columns = ", ".join(f"{each.name} {each.kind.sql}" for each in self.columns)
        return f"CREATE TABLE {self.name} ({columns})"

    @property
    def schema(self) -> pa.Schema:
        """The columns' Arrow types."""
        return pa.schema([pa.field(each.name.strip('"'), each.kind.arrow) for each in self.columns])


@dataclass(frozen=True, slots=True)
class Source:
    """What stands in FROM under one alias: a table, a subquery, or a CTE's name."""

    alias: str
    sql: str
    columns: tuple[Column, ...]
    tables: tuple[str, ...]
    cte: str = ""
    join: str = ""  # USING (…) or NATURAL, where the view joins that way


@dataclass(frozen=True, slots=True)
class Fragment:
    """A piece of SQL over the columns of some aliases; `bare` when every one is kept as it is."""

    sql: str
    columns: frozenset[tuple[str, str]]
    bare: bool = False

    @property
    def aliases(self) -> frozenset[str]:
        """The aliases it reads."""
        return frozenset(alias for alias, _ in self.columns)


@dataclass(frozen=True, slots=True)
class Use:
    """An aggregate, or an expression over some; what judges are asked for it, and its value then.

    `value` names a function of values.py, with its constants, that makes it of what judges say.
    """

    asked: Fragment
    judged: str
    value: tuple[str, ...] = ("as_it_is",)


@dataclass(frozen=True, slots=True)
class Grouping:
    """How a view groups: by its outputs and by what it hides; its aggregates, and what they meet.

    `fragile` names columns of tables whose "fresh" or "greatest" values may leave no result.
    """

    hidden: tuple[Fragment, ...]
    uses: tuple[Use, ...]
    having: tuple[Fragment, ...] = ()
    order: tuple[int, ...] = ()  # the uses by which it is read, the greatest first
    by: str = "text"  # GROUP BY: "text", "numbers", "all", or "distinct" instead of it
    fragile: tuple[tuple[str, str, str], ...] = ()

    def tail(self, shown: tuple[Fragment, ...], *, is_judged: bool) -> str:
        """Write what follows on WHERE; judges are asked in plain words, and in no order."""
        keys = [each.sql for each in (*shown, *self.hidden)]
        by = "text" if is_judged else self.by
        text = ""
        if keys and by != "distinct":
            plain = {"text": keys, "numbers": map(str, range(1, len(keys) + 1)), "all": ["ALL"]}
            text += f"\nGROUP BY {', '.join(plain[by])}"
        if self.having:
            text += "\nHAVING " + " AND ".join(each.sql for each in self.having)
        if self.order and not is_judged:
            order = ", ".join(f"u{at} DESC NULLS LAST" for at in self.order)
            text += f"\nORDER BY {order}"
        return text


@dataclass(frozen=True, slots=True)
class View:
    """A view: its sources in order, its conditions, its output, how it groups."""

    sources: tuple[Source, ...]
    conditions: tuple[Fragment, ...]
    outputs: tuple[Fragment, ...]
    style: str  # "comma": all conditions in WHERE; "on": as early as an ON can hold them; "using"
    grouping: Grouping | None = None

    @property
    def sql(self) -> str:
        """The view as SQL text."""
        output = [f"{each.sql} AS o{i}" for i, each in enumerate(self.outputs)]
        if self.grouping is None:
            return self.select(output)
        output += [f"{each.asked.sql} AS u{i}" for i, each in enumerate(self.grouping.uses)]
        tail = self.grouping.tail(self.outputs, is_judged=False)
        distinct = "DISTINCT " if self.grouping.by == "distinct" else ""
        return self.select([distinct + output[0], *output[1:]]) + tail

    @property
    def judged(self) -> str:
        """The view as judges are asked; of one that groups also how many paths each row has."""
        if self.grouping is None:
            return self.sql
        asked = [each.sql for each in self.outputs]
        asked += [each.judged for each in self.grouping.uses]
        return self.select([*asked, "count(*)"]) + self.grouping.tail(self.outputs, is_judged=True)

    @property
    def tables_read(self) -> list[str]:
        """The tables of all aliases."""
        return [name for source in self.sources for name in source.tables]

    @property
    def aliases_read(self) -> set[str]:
        """The aliases that conditions and output read."""
        found = [*self.conditions, *self.outputs]
        if self.grouping is not None:
            found += [*self.grouping.hidden, *self.grouping.having]
            found += [each.asked for each in self.grouping.uses]
        return {alias for each in found for alias in each.aliases}

    def select(self, output: list[str]) -> str:
        """Write SELECT some columns, up to WHERE."""
        ctes = [f"{each.sql} AS ({each.cte})" for each in self.sources if each.cte]
        start = f"WITH {', '.join(ctes)}\n" if ctes else ""
        joined, where = self.joined()
        text = f"{start}SELECT {', '.join(output)}\nFROM {joined}"
        return text + ("\nWHERE " + " AND ".join(where) if where else "")

    def joined(self) -> tuple[str, list[str]]:
        """Write the FROM clause, and give the conditions it leaves to WHERE."""
        left = list(self.conditions)
        names = [f"{each.sql} AS {each.alias}" for each in self.sources]
        if self.style == "comma":
            return ", ".join(names), [each.sql for each in left]
        text, bound = names[0], {self.sources[0].alias}
        for source, name in zip(self.sources[1:], names[1:], strict=True):
            bound.add(source.alias)
            if source.join:
                text += f"\nNATURAL JOIN {name}" if source.join == "NATURAL" else (
                    f"\nJOIN {name} {source.join}"
                )  # fmt: skip
                continue
            here = [each for each in left if source.alias in each.aliases <= bound]
            left = [each for each in left if each not in here]
            ons = " AND ".join(each.sql for each in here)
            text += f"\nJOIN {name} ON {ons}" if here else f"\nCROSS JOIN {name}"
        return text, [each.sql for each in left]


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a batch: rows to insert, rows to delete, or pairs to update."""

    kind: str
    table: str
    rows: tuple[Row, ...]
    post: tuple[Row, ...] = ()

    @property
    def gone(self) -> tuple[Row, ...]:
        """The rows that are no more."""
        return () if self.kind == "insert" else self.rows

    @property
    def come(self) -> tuple[Row, ...]:
        """The rows that are new."""
        return self.rows if self.kind == "insert" else self.post

    def diffs(self) -> Iterable[Entry]:
        """Cut the entry into one entry a diff."""
        for i, row in enumerate(self.rows):
            yield Entry(self.kind, self.table, (row,), self.post[i : i + 1])


@dataclass(frozen=True, slots=True)
class Batch:
    """Entries applied as one; `missing`, put before entry `at`, is of a row that is not there.

    `poison` comes before it, a batch of inserts that may leave a group without a result.
    """

    entries: tuple[Entry, ...]
    missing: Entry | None = None
    at: int = 0
    poison: tuple[Entry, ...] = ()

    @property
    def bad_entries(self) -> tuple[Entry, ...]:
        """The entries with the one that cannot be applied among them."""
        assert self.missing is not None
        return (*self.entries[: self.at], self.missing, *self.entries[self.at :])


@dataclass(frozen=True, slots=True)
class Case:
    """Everything of one run. `plain`: only integers, text and operators that all dialects share."""

    seed: int
    tables: tuple[Table, ...]
    view: View
    dialect: str
    plain: bool
    load: tuple[Entry, ...]
    batches: tuple[Batch, ...]
    last: Batch | None  # one with huge numbers, which may overflow

    @property
    def steps(self) -> int:
        """The number of batches, each compared in full."""
        return len(self.batches)
