"""Trees of joins against DuckDB: what a tree says, row by row, is what the text means there.

The tree is computed here in the plainest way, a join as a loop over its sides, over tables of a
few rows with NULLs and duplicates. Texts are drawn at random from the forms that are taken.
"""

from __future__ import annotations

import contextlib
import itertools
import random
import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import duckdb
import pyarrow as pa
import pytest

from joingraph.expressions.evaluate import evaluate
from joingraph.expressions.tree import Call, Expression, columns_of
from joingraph.sql import define
from joingraph.sql.definition import Definition, Inner, Joined, Leaf, Outer, Probe
from tests.test_join_trees import TABLES

Row = Mapping[str, Mapping[str, object] | None]  # by alias; of "" the marks
Data = Mapping[str, Sequence[Mapping[str, object]]]
COLUMNS = {"a": "kvn", "b": "kvn", "c": "kw"}


class Tree:
    """Computes the rows of a view's tree."""

    def __init__(self, definition: Definition, data: Data) -> None:
        self.definition = definition
        self.tables = {each.name: data[each.table] for each in definition.aliases}

    def view(self) -> Counter[tuple[object, ...]]:
        rows = self.rows(self.definition.tree or self.inner())
        outputs = [self.values(each.value, rows) for each in self.definition.output]
        return Counter(zip(*outputs, strict=True))

    def inner(self) -> Joined:
        leaves = tuple(Leaf(each.name) for each in self.definition.aliases)
        return Inner(leaves, self.definition.conditions)

    def rows(self, joined: Joined) -> list[Row]:
        match joined:
            case Leaf(alias):
                return [{alias: row} for row in self.tables[alias]]
            case Inner(parts, conditions):
                sides = itertools.product(*map(self.rows, parts))
                whole = [merged(each) for each in sides]
                return [
                    row
                    for row, is_in in zip(whole, self.tests(conditions, whole), strict=True)
                    if is_in
                ]
            case Outer(left, right, conditions, is_full):
                mine, others = self.rows(left), self.rows(right)
                pairs = list(itertools.product(range(len(mine)), range(len(others))))
                whole = [merged((mine[i], others[j])) for i, j in pairs]
                is_in = self.tests(conditions, whole)
                found = [row for row, kept in zip(whole, is_in, strict=True) if kept]
                met = [pair for pair, kept in zip(pairs, is_in, strict=True) if kept]
                alone = set(range(len(mine))) - {i for i, _ in met}
                found += [merged((mine[i], missing(right))) for i in alone]
                if is_full:
                    alone = set(range(len(others))) - {j for _, j in met}
                    found += [merged((missing(left), others[j])) for j in alone]
                return found
            case Probe(kind, left, right, conditions, mark):
                others = self.rows(right)
                found = list[Row]()
                for row in self.rows(left):
                    answer = any(self.tests(conditions, [merged((row, each)) for each in others]))
                    if mark is not None:
                        found.append(merged((row, {"": {mark.name: answer}})))
                    elif answer is (kind == "semi"):
                        found.append(row)
                return found

    def tests(self, conditions: Iterable[Expression], rows: list[Row]) -> list[bool]:
        columns = [self.values(each, rows) for each in conditions]
        return [all(column[at] is True for column in columns) for at in range(len(rows))]

    def values(self, expression: Expression, rows: list[Row]) -> list[object]:
        given: dict[Expression, pa.Array] = {}
        for column in columns_of(expression):
            of_alias = [row[column.alias] for row in rows]
            values = [None if each is None else each[column.name] for each in of_alias]
            given[column] = pa.array(values, column.type)
            there = pa.array([each is not None for each in of_alias], pa.bool_())
            given[Call("is_there", (column,), pa.bool_())] = there
        if not rows:
            return []
        return list(evaluate(expression, given, len(rows)).to_pylist())


def merged(rows: Iterable[Row]) -> Row:
    found: dict[str, Mapping[str, object] | None] = {}
    for row in rows:
        found.update({alias: each for alias, each in row.items() if alias})
        found[""] = {**(found.get("") or {}), **(row.get("") or {})}
    return found


def missing(joined: Joined) -> Row:
    """Stand in for a row of a part; its marks may say anything, as they are not to be read."""
    match joined:
        case Leaf(alias):
            return {alias: None}
        case Inner(parts):
            return merged(map(missing, parts))
        case Outer(left, right):
            return merged((missing(left), missing(right)))
        case Probe(_, left, _, _, mark):
            return merged((missing(left), {"": {mark.name: True}} if mark else {}))


def random_data(rng: random.Random) -> dict[str, list[dict[str, object]]]:
    def row(columns: str) -> dict[str, object]:
        most = [0, 1, 2]
        return {each: rng.choice(most if each == "n" else [None, *most]) for each in columns}

    return {
        table: [row(columns) for _ in range(rng.choice((0, 1, 2, 3, 4)))]
        for table, columns in COLUMNS.items()
    }


def of_duckdb(sql: str, data: Data) -> Counter[tuple[object, ...]]:
    with duckdb.connect() as base:
        for table, columns in COLUMNS.items():
            types = ", ".join(f"{each} INT" for each in columns)
            base.execute(f"CREATE TABLE {table} ({types})")
            for row in data[table]:
                marks = ", ".join("?" * len(columns))
                base.execute(f"INSERT INTO {table} VALUES ({marks})", list(row.values()))
        return Counter(base.execute(sql).fetchall())


class Texts:
    """Draws views at random."""

    def __init__(self, rng: random.Random) -> None:
        self.rng, self.number = rng, 0

    def view(self) -> str:
        part, columns = self.joined(self.rng.choice((1, 1, 2, 2, 3)))
        shown = [f"{each} AS o{at}" for at, each in enumerate(self.some(columns, 3))]
        if self.rng.random() < 0.3:
            shown.append(f"{self.asked(columns, 1)} AS answer")
        where = f" WHERE {self.condition(columns, 2)}" if self.rng.random() < 0.7 else ""
        return f"SELECT {', '.join(shown)} FROM {part}{where}"

    def some(self, columns: list[str], most: int) -> list[str]:
        return self.rng.sample(columns, min(most, len(columns)))

    def source(self) -> tuple[str, list[str]]:
        table, name = self.rng.choice("abc"), f"t{self.number}"
        self.number += 1
        if self.number < 6 and self.rng.random() < 0.25:
            columns = [f"{name}.k", f"{name}.x", f"{name}.y"]
            own = [f"{table}.{each}" for each in COLUMNS[table]]
            value = self.rng.choice(("1", f"COALESCE({own[1]}, 7)", f"{own[0]} + 1"))
            asked = self.asked(own, 0) if self.rng.random() < 0.4 else f"{own[1]} IS NULL"
            where = f" WHERE {self.condition(own, 1)}" if self.rng.random() < 0.4 else ""
            text = f"SELECT {table}.k, {value} AS x, CAST({asked} AS INT) AS y FROM {table}{where}"
            return f"({text}) {name}", columns
        return f"{table} {name}", [f"{name}.{each}" for each in COLUMNS[table]]

    def joined(self, count: int) -> tuple[str, list[str]]:
        if count == 1:
            return self.source()
        first = self.rng.randint(1, count - 1)
        left, mine = self.joined(first)
        right, others = self.joined(count - first)
        right = f"({right})" if count - first > 1 else right
        word = self.rng.choice(("JOIN", "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"))
        both = mine + others
        if count == 2 and self.rng.random() < 0.15:
            word = self.rng.choice(("SEMI JOIN", "ANTI JOIN"))
        on = f"{self.rng.choice(mine)} = {self.rng.choice(others)}"
        if self.rng.random() < 0.3:
            on += f" AND {self.plain(both)}"
        if word == "JOIN" and self.rng.random() < 0.4:
            on += f" AND {self.condition(both, 1)}"
        return f"{left} {word} {right} ON {on}", mine if word[:4] in ("SEMI", "ANTI") else both

    def plain(self, columns: list[str]) -> str:
        left, right = self.rng.choice(columns), self.rng.choice([*columns, "1"])
        return self.rng.choice(
            (f"{left} {self.comparison()} {right}", f"{left} IS NULL", f"{left} IS NOT NULL")
        )

    def comparison(self) -> str:
        return self.rng.choice(("=", "=", "<>", "<", ">", "<=", ">="))

    def condition(self, columns: list[str], depth: int) -> str:
        chance = self.rng.random()
        if depth and chance < 0.2:
            return f"NOT ({self.condition(columns, depth - 1)})"
        if depth and chance < 0.6:
            word = self.rng.choice(("AND", "OR"))
            sides = [self.condition(columns, depth - 1) for _ in range(2)]
            return f"({sides[0]} {word} {sides[1]})"
        if chance < 0.7:
            asked = self.asked(columns, depth - 1)
            return f"CASE WHEN {asked} THEN {self.plain(columns)} ELSE {self.plain(columns)} END"
        if chance < 0.75:
            return f"({self.asked(columns, depth - 1)}) IS NOT TRUE"
        return self.asked(columns, depth - 1) if chance < 0.95 else self.plain(columns)

    def asked(self, around: list[str], depth: int) -> str:
        part, own = self.source() if self.rng.random() < 0.6 else self.joined(2)
        where, form = "", self.rng.randrange(6)
        columns = own if form == 5 else around  # DuckDB has no correlated IN of several columns
        if self.rng.random() < 0.7:
            where = f" WHERE {self.rng.choice(own)} {self.comparison()} {self.rng.choice(columns)}"
            if depth > 0 and self.rng.random() < 0.4:
                where += f" AND {self.condition(own, depth - 1)}"
        query = f"FROM {part}{where}"
        side, shown = self.rng.choice([*around, "1"]), self.rng.choice([*own, "2"])
        word = self.rng.choice(("", "NOT "))
        match form:
            case 0 | 1:
                return f"{word}EXISTS (SELECT 1 {query})"
            case 2 | 3:
                return f"{side} {word}IN (SELECT {shown} {query})"
            case 4:
                quantifier = self.rng.choice(("ANY", "ALL"))
                return f"{side} {self.comparison()} {quantifier} (SELECT {shown} {query})"
            case _:
                pair = f"({side}, {self.rng.choice(around)})"
                return f"{pair} {word}IN (SELECT {shown}, {self.rng.choice(own)} {query})"


def check(sql: str, data: Data) -> None:
    found = Tree(define(sql, TABLES, "duckdb"), data).view()
    assert found == of_duckdb(sql, data), (sql, data)


@pytest.mark.parametrize("seed", range(60))
def test_a_tree_says_what_the_text_means(seed: int) -> None:
    rng = random.Random(seed)
    sql = Texts(rng).view()
    for _ in range(3):
        check(sql, random_data(rng))


@pytest.mark.parametrize("side", ["LEFT", "RIGHT", "FULL", "SEMI", "ANTI"])
@pytest.mark.parametrize("form", ["a {} JOIN b USING (k, v)", "a NATURAL {} JOIN c"])
def test_star_lists_the_columns_of_using(form: str, side: str) -> None:
    rng = random.Random(7)
    columns = "k, a.n" if side in ("SEMI", "ANTI") else "*"
    if "b" in form and columns == "*":
        columns = "k, v, a.n, b.n AS m, a.k AS l, b.k AS r"
    for _ in range(4):
        check(f"SELECT {columns} FROM {form.format(side)}", random_data(rng))


def chain(rng: random.Random) -> str:
    """Join tables by one name, which means what is there of all of them."""
    text, names = f"{rng.choice('abc')} t0", ["t0"]
    for at in range(1, rng.choice((2, 3, 4))):
        side, table = rng.choice(("", "LEFT", "RIGHT", "FULL")), rng.choice("abc")
        text += f" {side} JOIN {table} t{at} USING (k)"
        names.append(f"t{at}")
    return f"SELECT k, {', '.join(f'{name}.k AS {name}' for name in names)} FROM {text}"


def of_sqlite(sql: str, data: Data) -> Counter[tuple[object, ...]]:
    with contextlib.closing(sqlite3.connect(":memory:")) as base:
        for table, columns in COLUMNS.items():
            base.execute(f"CREATE TABLE {table} ({', '.join(columns)})")
            marks = ", ".join("?" * len(columns))
            rows = [list(row.values()) for row in data[table]]
            base.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)
        return Counter(base.execute(sql).fetchall())


@pytest.mark.parametrize("seed", range(30))
def test_a_chain_by_one_name_means_what_it_means_in_duckdb_and_sqlite(seed: int) -> None:
    rng = random.Random(seed)
    sql, data = chain(rng), random_data(rng)
    check(sql, data)
    assert Tree(define(sql, TABLES, "sqlite"), data).view() == of_sqlite(sql, data)
