"""Deltas of groups: added up they are the totals that groups have, kept or computed when read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import joingraph as jg
from joingraph.plan.keys.totals import delta_columns, is_count_of_rows
from tests import ENGINES
from tests.test_groups import (
    KEYS,
    SOURCES,
    TABLES,
    drawn_batch,
    is_close,
    plain,
    rows_in,
    rows_of,
    view_of,
)

ARGUMENTS = {"f": ("f.a",), "t": ("t.s", "t.d", "t.s + 1", "t.s * t.a"), "r": ("r.n",)}
FORMS = ("COUNT({0})", "SUM({0})", "AVG({0})", "COUNT_IF({0} > 1)", "SUM({0})")


def drawn_sql(chance: Random) -> tuple[str, str, tuple[str, ...]]:
    """Draw a view that groups into sums: its SQL without HAVING, that with it, its tables."""
    source = chance.choice(list(SOURCES))
    tables = SOURCES[source]
    keys = chance.sample([k for t in tables for k in KEYS[t]], chance.choice((0, 1, 1, 2)))
    arguments = [x for t in tables for x in ARGUMENTS[t]]
    uses = ["COUNT(*)"] * chance.randrange(2)
    for _ in range(chance.choice((1, 1, 2, 3))):
        use = chance.choice(FORMS).format(chance.choice(arguments))
        if chance.random() < 0.2:
            use += f" FILTER (WHERE {chance.choice(arguments)} > 2)"
        uses.append(use)
    columns = ", ".join(f"{each} AS c{at}" for at, each in enumerate((*keys, *uses)))
    sql = f"SELECT {columns} FROM {source}"
    sql += f" GROUP BY {', '.join(keys)}" if keys else ""
    having = chance.choice(("", " HAVING COUNT(*) > 2", " HAVING MAX(t.s) > 3 OR COUNT(*) = 1"))
    return sql, sql + (having if "t" in tables else ""), tables


def added(totals: dict[Any, list[Any]], key: tuple[Any, ...], changes: list[Any]) -> None:
    """Add changes to the totals of a group, which goes once it has no path."""
    key = tuple(map(plain, key))
    old = totals.get(key, [0] * len(changes))
    totals[key] = [a + b for a, b in zip(old, changes, strict=True)]


def shown(view: jg.View, totals: dict[Any, list[Any]]) -> Iterator[tuple[Any, ...]]:
    """Yield the view's rows as its reader has them of totals."""
    columns, outputs = delta_columns(view.definition), view.definition.output
    assert view.definition.grouping is not None
    uses, names = view.definition.grouping.uses, [each.name for each in columns.changes]
    paths = next(
        each.name
        for each in columns.changes
        if each.use is None or is_count_of_rows(uses[each.use])
    )
    for key, of in totals.items():
        now = dict(zip(names, of, strict=True))
        if not now[paths] and columns.key:
            continue
        keys = dict(zip(columns.key, key, strict=True))
        yield tuple(
            keys[each.name] if each.name in keys else value_of(each.name, now) for each in outputs
        )


def value_of(name: str, now: dict[str, Any]) -> Any:
    """Return an aggregate of its totals."""
    if f"{name}_sum" in now:
        count = now[f"{name}_count"]
        return float(now[f"{name}_sum"]) / count if count else None
    if now.get(f"{name}_count") == 0:
        return None
    return plain(now[name])


def check_case(seed: int, engine: str, steps: int = 10) -> str:
    """Follow a random view's deltas, and put the view together of them."""
    chance = Random(seed)
    bare, sql, tables = drawn_sql(chance)
    views = [jg.View(each, TABLES, dialect="duckdb") for each in (bare, sql)]
    kept, rows = (jg.JoinGraph(each, engine=engine) for each in views)
    told = jg.JoinGraph(views[1], engine=engine, keep_groups=chance.random() < 0.3)
    held: dict[str, list[Any]] = {table: [] for table in tables}
    one, whole = dict[Any, list[Any]](), dict[Any, list[Any]]()
    if not delta_columns(views[0].definition).key:
        one[()] = whole[()] = [0] * len(delta_columns(views[0].definition).changes)
    for step in range(steps):
        batch = drawn_batch(chance, held)
        where = (seed, step, sql, batch)
        form = chance.choice(("deltas", "factorised"))
        tried = told.what_if(batch, form=form).deltas()
        diff = told.apply(batch, form=form)
        deltas = diff.deltas()
        assert bag_of(tried.table) == bag_of(deltas.table), where
        assert_factorised(diff, where)
        width = len(deltas.key)
        for row in rows_in(deltas.table):
            assert any(row[width + 1 :]), where
            added(one, row[:width], list(row[width + 1 :]))
        for row in rows_in(deltas.net()):
            added(whole, row[:width], list(row[width:]))
        kept.apply(batch)
        rows.apply(batch)
        for totals in (one, whole):
            assert_alike(shown(views[0], totals), rows_of(kept), where)
        assert bag_of(told.to_arrow()) == bag_of(rows.to_arrow()), where
    told.check()
    return sql


def assert_factorised(diff: Any, where: object) -> None:
    """Compare factorised deltas, multiplied out, with the deltas."""
    nested = diff.factorised()
    assert bag_of(nested.flatten()) == bag_of(diff.deltas().table), where
    changes = nested.tables["groups"].drop_columns("_groups")
    assert len(bag_of(changes)) == changes.num_rows, where


def bag_of(table: pa.Table) -> Counter[str]:
    return Counter(map(repr, rows_in(table)))


def assert_alike(mine: Iterator[Any], theirs: list[Any], where: object) -> None:
    def rounded(row: tuple[Any, ...]) -> list[str]:
        return [f"{float(x):.9g}" if isinstance(x, (int, float)) else repr(x) for x in row]

    sides = [sorted((tuple(map(plain, row)) for row in s), key=rounded) for s in (mine, theirs)]
    assert len(sides[0]) == len(sides[1]), (where, *sides)
    for a, b in zip(*sides, strict=True):
        assert is_close(a, b), (where, a, b)


@pytest.mark.parametrize("engine", ENGINES)
def test_deltas_of_random_views_add_up_to_the_totals_of_groups(engine: str) -> None:
    seen = " ".join(check_case(seed, engine) for seed in range(40))
    assert all(word in seen for word in ("HAVING", "FILTER", "GROUP BY", "AVG", "u ON"))


MEAN = "SELECT f.fan, COUNT(*) AS n, AVG(t.s) AS mean FROM f JOIN t ON f.a = t.a GROUP BY f.fan"
TWEET = (1, 9, 1, None, None, "z")


def deltas_of(diff: Any) -> list[tuple[Any, ...]]:
    return rows_in(diff.deltas().table)


@pytest.mark.parametrize(
    ("sql", "text"),
    [
        ("MAX(s)", 'no deltas of MAX(s): it is not a sum; ask for form="rows"'),
        ("COUNT(DISTINCT s)", 'COUNT(DISTINCT s): it is not a sum; ask for form="rows"'),
        ("MEDIAN(s)", ': it is not a sum; ask for form="rows"'),
        ("ARRAY_AGG(s ORDER BY s)", ': it is not a sum; ask for form="rows"'),
        ("SUM(x)", "are rounded, and do not add up; CAST the argument to DECIMAL"),
        ("AVG(x)", "are rounded, and do not add up; CAST the argument to DECIMAL"),
        (
            "VAR_POP(s)",
            "it is computed of sums, and is not one; write COUNT(x), SUM(x), SUM(x * x)",
        ),
        ("CORR(s, id)", "write COUNT(y + x), SUM(y), SUM(x), SUM(y * x)"),
        ("BOOL_AND(s > 1)", "write COUNT(*) FILTER (WHERE x), COUNT(x)"),
        ("AVG(s) + 1", '"c": it is computed of aggregates; show AVG(s) in columns of their own'),
    ],
)
def test_aggregates_that_are_no_sums_are_refused_by_name(sql: str, text: str) -> None:
    view = view_of(f"SELECT a, {sql} AS c FROM t GROUP BY a")
    graph = jg.JoinGraph(view, engine="reference", keep_groups=False)
    for form in ("deltas", "factorised"):
        with pytest.raises(jg.ViewError) as error:
            graph.insert("t", [TWEET], form=form)
        assert text in str(error.value)
    with pytest.raises(jg.ViewError, match="no deltas of"):
        graph.subscribe("s")
    assert "none of " in view.explain() and 'form="deltas" is refused' in view.explain()
    graph.load({"t": [TWEET]})
    assert graph.count() == 1 and graph.seq == 0


def test_a_view_without_groups_has_no_deltas_and_keeps_no_groups() -> None:
    view = view_of("SELECT a FROM t")
    with pytest.raises(jg.ViewError, match="does not group its rows, so it has no totals"):
        jg.JoinGraph(view, engine="reference").insert("t", [TWEET], form="deltas")
    with pytest.raises(jg.ViewError, match="keep_groups=False: view does not group its rows"):
        jg.JoinGraph(view, keep_groups=False)
    wrong: Any = "no"
    with pytest.raises(TypeError, match="keep_groups is True or False, found 'no'"):
        jg.JoinGraph(view_of(MEAN), keep_groups=wrong)


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        (MEAN, "fan _diff n mean_sum mean_count"),
        ("SELECT DISTINCT a, id FROM t", "a id _diff _paths"),
        ("SELECT SUM(s) AS s, COUNT(s) AS s_count, COUNT(*) FROM t", None),
        ("SELECT SUM(s) AS s, COUNT(s) AS s_count FROM t", "_diff _paths s s_count"),
        ("SELECT COUNT(*) + 1 AS m, a + 1 AS b FROM t GROUP BY a", "t.a _diff _paths"),
        ("SELECT AVG(s) AS m, AVG(s) + 1 AS k FROM t", "_diff _paths m_sum m_count"),
        ("SELECT COUNT_IF(s > 1) AS c FROM t", "_diff _paths c c_count"),
        ("SELECT REGR_COUNT(s, id) AS c FROM t HAVING MAX(s) > 1", "_diff _paths c"),
    ],
)
def test_deltas_are_named_by_the_columns_of_the_view(sql: str, names: str | None) -> None:
    graph = jg.JoinGraph(view_of(sql), engine="reference")
    table = graph.apply([], form="deltas").deltas().table
    assert names is None or table.column_names == names.split()
    assert graph.what_if([], form="factorised").deltas().table.schema == table.schema


@pytest.mark.parametrize(
    "columns",
    [
        "SUM(s) AS s, COUNT(id) AS s_count",
        "a AS s_count, SUM(s) AS s",
        "a AS _paths",
        "a AS _groups, COUNT(*) AS n",
    ],
)
def test_deltas_whose_columns_would_have_one_name_are_refused(columns: str) -> None:
    graph = jg.JoinGraph(view_of(f"SELECT {columns} FROM t GROUP BY a"), engine="reference")
    with pytest.raises(jg.ViewError, match=r"two columns called .*: write another AS"):
        graph.insert("t", [TWEET], form="deltas")


def test_a_net_that_its_type_does_not_hold_is_refused_and_the_changes_can_be_read() -> None:
    view = jg.View("SELECT SUM(b) AS s FROM t", {"t": "CREATE TABLE t (b BIGINT)"})
    graph = jg.JoinGraph(view, engine="reference", keep_groups=False)
    deltas = graph.insert("t", [((1 << 63) - 1,), (1,)], form="deltas").deltas()
    assert len(deltas) == 2
    with pytest.raises(jg.DiffError, match='"s" changes by 9223372036854775808 in the whole'):
        deltas.net()
    with pytest.raises(jg.DiffError, match=r"^SUM\(b\) is 9223372036854775808, .* not hold$"):
        graph.to_arrow()


def test_deltas_of_much_text_are_written_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("joingraph.expressions.texts.ARRAY_BYTES_MAX", 60)
    view = jg.View("SELECT a, COUNT(*) AS n FROM t GROUP BY a", {"t": "CREATE TABLE t (a STRING)"})
    graph = jg.JoinGraph(view, engine="reference", keep_groups=False)
    texts = [(each * 20,) for each in "abcdef"]
    batch = [("insert", "t", texts)]
    nested = graph.apply(batch, form="factorised")
    assert sorted(row[0] for row in deltas_of(nested)) == [text for (text,) in texts]
    assert nested.factorised().tables["groups"].num_rows == 6


def test_deltas_come_block_by_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("joingraph.engines.compiled.groups.telling.NOTES", 3)
    for seed in range(100, 112):
        check_case(seed, "compiled")


def test_changes_of_sums_may_take_two_words() -> None:
    table = "CREATE TABLE t (g INT, d DECIMAL(30,2), PRIMARY KEY (g, d))"
    view = jg.View("SELECT g, SUM(d) AS s FROM t GROUP BY g", {"t": table})
    graphs = [jg.JoinGraph(view, engine=engine) for engine in ENGINES]
    great = Decimal("9" * 27 + ".25")
    for batch in (
        [("insert", "t", [(1, great), (2, -great), (1, Decimal("0.25"))])],
        [("update", "t", [(1, great)], [(2, great)]), ("delete", "t", [(2, -great)])],
        [("insert", "t", [(1, Decimal(-(1 << 64)))]), ("delete", "t", [(1, Decimal("0.25"))])],
    ):
        one, other = (graph.apply(batch, form="factorised") for graph in graphs)
        assert bag_of(one.deltas().table) == bag_of(other.deltas().table)
        assert_factorised(one, batch)
        assert one.deltas().net().num_rows == other.deltas().net().num_rows > 0


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("form", ["deltas", "factorised"])
def test_a_change_that_its_type_does_not_hold_names_the_group(engine: str, form: str) -> None:
    tables = {name: f"CREATE TABLE {name} (a INT, b BIGINT)" for name in "tu"}
    view = jg.View("SELECT t.b, SUM(u.b) AS s FROM t JOIN u ON t.a = u.a GROUP BY t.b", tables)
    graph = jg.JoinGraph(view, engine=engine)
    graph.load({"t": [(1, 7)], "u": []})
    half = 1 << 62
    graph.insert("u", [(1, -half), (1, -half)])
    more = [("insert", "t", [(1, 8), (1, 7)]), ("insert", "u", [(1, half + 1)])]
    with pytest.raises(jg.DiffError, match=r"b = 7.*; nothing was applied"):
        graph.apply(more, form=form)
    graph.check()
    assert graph.seq == 1
    bare = jg.JoinGraph(view, engine=engine, keep_groups=False)
    bare.load({"t": [], "u": [(1, half), (1, half)]})
    with pytest.raises(jg.DiffError) as error:
        bare.insert("t", [(2, 9), (1, 8)], form=form)
    text = '"s" of the group b = 8 changes by 9223372036854775808, which BIGINT does not hold'
    assert str(error.value) == f"{text}; nothing was applied"
