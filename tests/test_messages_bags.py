"""Bags kept by messages against groups of the joined rows: random views, every batch."""

from __future__ import annotations

from collections import Counter
from datetime import date
from decimal import Decimal
from random import Random
from typing import Any

import pytest

import joingraph as jg
from joingraph.engines.compiled.groups.grouped import CompiledGroups

TABLES = {
    "f": "CREATE TABLE f (a BIGINT, fan VARCHAR)",
    "t": (
        "CREATE TABLE t (a BIGINT, id BIGINT, g INT, s BIGINT, d DECIMAL(9,2), w DECIMAL(30,2),"
        " x DOUBLE, y FLOAT, u UBIGINT, c BOOLEAN, p DATE, txt VARCHAR, raw BLOB)"
    ),
    "r": "CREATE TABLE r (id BIGINT, n INT)",
}
SOURCES = {
    "t": "t",
    "t, r": "t r",
    "f JOIN t ON f.a = t.a": "f t",
    "f JOIN t ON f.a = t.a JOIN r ON r.id = t.id": "f t r",
    "t JOIN r ON r.id = t.id JOIN f ON f.a = t.a JOIN f h ON h.a = t.a": "t r f",
}
KEYS = ("t.g", "t.a", "t.txt", "t.x", "t.c")
NUMBERS = ("t.s", "t.d", "t.w", "t.id")
VALUES = (*NUMBERS, "t.x", "t.y", "t.u", "t.c", "t.p", "t.txt", "t.raw", "t.s + 1")
SETS = (
    *("COUNT(DISTINCT {value})", "SUM(DISTINCT {number})", "AVG(DISTINCT {number})"),
    *("VAR_POP(DISTINCT {number})", "COUNT_IF(DISTINCT t.c)"),
)
BESTS = ("MIN({value})", "MAX({value})", "MIN(f.fan)", "MAX(DISTINCT {value})")
PLACES = (
    *("MEDIAN({value})", "MIN_BY({value}, {other})", "MAX_BY({value}, {other})", "MAX(t.w)"),
    *("QUANTILE_CONT({real}, 0.25)", "QUANTILE_DISC({value}, 0.7)", "QUANTILE_CONT({real}, 1)"),
    *("PERCENTILE_DISC(0.3) WITHIN GROUP (ORDER BY {real} DESC)", "QUANTILE_DISC({value}, 0)"),
    "PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY {real} DESC)",
)
LISTS = (
    *("ARRAY_AGG({value} ORDER BY {other})", "ARRAY_AGG(DISTINCT {value} ORDER BY {value})"),
    *("STRING_AGG(t.txt, ';' ORDER BY {value} DESC, t.txt)", "MEDIAN(DISTINCT {value})"),
    *(
        "PERCENTILE_DISC(0.3) WITHIN GROUP (ORDER BY t.x DESC)",
        "QUANTILE_DISC({value}, 0.12345678)",
    ),
    *("LIST({value} ORDER BY {other} NULLS FIRST)", "COUNT(DISTINCT {value})", "MEDIAN({real})"),
)
LINEAR = ("COUNT(*)", "SUM({number})", "COUNT({value})")
WORDS = ("a", "", "ab", "b\u00e9", "a long text " * 3, "a long text " * 3 + "b", "Z")
Held = dict[str, list[tuple[Any, ...]]]


def drawn_row(chance: Random, table: str) -> tuple[Any, ...]:
    """Draw a row of few values, among them NULL, both zeros, NaN, and values of two words."""

    def null(value: Any) -> Any:
        return None if chance.random() < 0.12 else value

    number = chance.randrange(4)
    if table == "f":
        return null(number), null(chance.choice("abc"))
    if table == "r":
        return null(number), null(chance.randrange(5))
    real = chance.choice((0.0, -0.0, 0.5, -2.5, float("nan"), float("inf")))
    wide = chance.choice((Decimal("-12345678901234567890.25"), Decimal(10**25), Decimal("-0.5")))
    values = (
        *(chance.randrange(-2, 4), chance.choice((Decimal("1.50"), Decimal(-3))), wide, real),
        *(chance.choice((0.0, -0.0, 1.5, -7.5)), chance.choice((0, 7, 2**64 - 1))),
        *(chance.random() < 0.5, chance.choice((date(2020, 1, 1), date(1969, 12, 31)))),
        *(chance.choice(WORDS), chance.choice(WORDS).encode()),
    )
    return null(number), null(chance.randrange(4)), null(chance.randrange(3)), *map(null, values)


def drawn_view(chance: Random, forms: tuple[str, ...]) -> tuple[jg.View, tuple[str, ...]]:
    """Draw a view whose aggregates need bags of one table's rows, perhaps beside sums."""
    source = chance.choice(list(SOURCES))
    tables = tuple(SOURCES[source].split())
    keys = chance.sample(KEYS, chance.choice((0, 1, 1, 2)))

    def use(form: str) -> str:
        found = form.format(
            value=chance.choice(VALUES),
            other=chance.choice(VALUES),
            number=chance.choice(NUMBERS),
            real=chance.choice((*NUMBERS, "t.x", "t.y", "t.u", "t.p")),
        )
        is_filtered = "f." not in form and chance.random() < 0.25
        return found + (
            f" FILTER (WHERE {chance.choice(('t.c', 't.s > 1'))})" if is_filtered else ""
        )

    forms = tuple(form for form in forms if "f" in tables or "f." not in form)
    uses = [use(chance.choice(forms)) for _ in range(chance.choice((1, 1, 2, 3)))]
    uses += [use(chance.choice(LINEAR)) for _ in range(chance.choice((0, 0, 1)))]
    columns = ", ".join(f"{each} AS c{at}" for at, each in enumerate((*keys, *uses)))
    by = f" GROUP BY {', '.join(keys)}" if keys else ""
    having = f" HAVING {chance.choice(('COUNT(*) > 2', 'COUNT(DISTINCT t.s) > 1'))}"
    sql = f"SELECT {columns} FROM {source}{by}{having if chance.random() < 0.3 else ''}"
    return jg.View(sql, TABLES, dialect="duckdb"), tables


def drawn_batch(
    chance: Random, tables: tuple[str, ...], held: Held, sizes: tuple[int, ...] = (1, 2, 5, 20)
) -> list[tuple[Any, ...]]:
    """Draw diffs over what base tables hold, and change that."""
    batch: list[tuple[Any, ...]] = []
    for _ in range(chance.choice(sizes)):
        table, kind = chance.choice(tables), chance.random()
        rows, fresh = held[table], drawn_row(chance, table)
        if kind < 0.55 or not rows:
            batch.append(("insert", table, [fresh]))
            rows.append(fresh)
            continue
        old = rows.pop(chance.randrange(len(rows)))
        if kind < 0.8:
            batch.append(("delete", table, [old]))
            continue
        new = (*old[:-1], fresh[-1]) if chance.random() < 0.5 else fresh
        batch.append(("update", table, [old], [new]))
        rows.append(new)
    return batch


def bag(rows: object) -> Counter[str]:
    assert isinstance(rows, list)
    return Counter(map(repr, rows))


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize(
    "forms", [SETS, BESTS, PLACES, LISTS], ids=["sets", "bests", "places", "lists"]
)
def test_bags_give_the_groups_that_the_joined_rows_give(forms: tuple[str, ...], seed: int) -> None:
    chance = Random(seed)
    view, tables = drawn_view(chance, forms)
    one = jg.JoinGraph(view, lookahead=chance.choice(("exact", "none", "local", "global")))
    other = jg.JoinGraph(view, engine="reference")
    assert isinstance(one.engine, CompiledGroups), view.sql
    held: Held = {table: [] for table in TABLES}
    if chance.random() < 0.5:
        held.update({table: [drawn_row(chance, table) for _ in range(20)] for table in tables})
        for graph in (one, other):
            graph.load(held)
    for _ in range(10):
        before = {table: list(rows) for table, rows in held.items()}
        batch, how = drawn_batch(chance, tables, held), chance.randrange(6)
        if how == 0:
            mine, theirs = one.what_if(batch), other.what_if(batch)
            held = before
        elif how == 1 and "f" in tables:
            for graph in (one, other):
                with pytest.raises(jg.DiffError, match="there is no row"):
                    graph.apply([*batch, ("delete", "f", [(77, "zz")])])
            held = before
            continue
        elif how == 2:
            for graph in (one, other):
                graph.maintain_only = True
                graph.apply(batch)
                graph.maintain_only = False
            continue
        else:
            mine, theirs = one.apply(batch), other.apply(batch)
        assert bag(mine.rows()) == bag(theirs.rows()), view.sql
        assert bag(mine.net()) == bag(theirs.net()), view.sql
        assert bag(one.scan().read_all().to_pylist()) == bag(other.scan().read_all().to_pylist())
        one.check()


OTHERS = {
    "spark": (
        *("PERCENTILE(t.s, 0.3)", "MEDIAN(t.d)", "MIN_BY(t.txt, t.x)", "MAX_BY(t.w, t.txt)"),
        *("SORT_ARRAY(COLLECT_LIST(t.x))", "SORT_ARRAY(COLLECT_SET(t.txt), FALSE)", "MIN(t.w)"),
        *("COUNT(DISTINCT t.s, t.txt)", "PERCENTILE_DISC(0.07) WITHIN GROUP (ORDER BY t.s)"),
    ),
    "postgres": (
        *("PERCENTILE_DISC(0.07) WITHIN GROUP (ORDER BY t.s)", "ARRAY_AGG(t.d ORDER BY t.x)"),
        *("PERCENTILE_CONT(0.35) WITHIN GROUP (ORDER BY t.x)", "SUM(DISTINCT t.s)", "MAX(t.txt)"),
        *("PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY t.txt DESC)", "MIN(t.x)"),
    ),
    "sqlite": (
        *("GROUP_CONCAT(t.txt, '-' ORDER BY t.s)", "COUNT(DISTINCT t.txt)", "SUM(DISTINCT t.s)"),
        *("MIN(t.txt)", "MAX(t.x)", "AVG(DISTINCT t.s)"),
    ),
}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("dialect", OTHERS)
def test_bags_mean_what_the_dialect_means(dialect: str, seed: int) -> None:
    chance = Random(seed)
    text, real = ("STRING", "DOUBLE") if dialect == "spark" else ("TEXT", "DOUBLE PRECISION")
    kept = "g BIGINT, s BIGINT, d DECIMAL(9,2), w DECIMAL(30,2)"
    declared = f"CREATE TABLE t ({kept}, x {real}, txt {text})"
    if dialect == "sqlite":
        declared = "CREATE TABLE t (g INTEGER, s INTEGER, d INTEGER, w INTEGER, x REAL, txt TEXT)"
    uses = chance.sample(OTHERS[dialect], 4)
    columns = ", ".join(f"{each} AS c{at}" for at, each in enumerate(uses))
    sql = f"SELECT t.g, {columns} FROM t GROUP BY t.g"
    view = jg.View(sql, {"t": declared}, dialect=dialect)
    one, other = jg.JoinGraph(view), jg.JoinGraph(view, engine="reference")
    assert isinstance(one.engine, CompiledGroups), view.sql
    places = (2, 3, 4, 5, 6, 11) if dialect != "sqlite" else (2, 3, 3, 3, 6, 11)
    held = list[tuple[Any, ...]]()
    for _ in range(15):
        drawn = [drawn_row(chance, "t") for _ in range(6)]
        fresh = [tuple(row[place] for place in places) for row in drawn]
        gone = [held.pop(chance.randrange(len(held))) for _ in range(5 if held else 0)]
        held += fresh
        batch = [("insert", "t", fresh), ("delete", "t", gone)]
        mine, theirs = one.apply(batch), other.apply(batch)
        assert bag(mine.rows()) == bag(theirs.rows()), view.sql
        assert bag(mine.net()) == bag(theirs.net()), view.sql
        one.check()
