"""What no caller hands over on purpose is refused by name at every door, and changes nothing."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import joingraph as jg
from joingraph.cli import main
from tests import ENGINES
from tests.hostile import LONE, LONG_NUMBER, VALUES, is_right

TABLES = {
    "t": "CREATE TABLE t (k BIGINT PRIMARY KEY, n STRING)",
    "u": "CREATE TABLE u (k BIGINT, m BIGINT)",
}
SQL = "SELECT t.k, t.n, u.m, t.k + u.m AS s FROM t JOIN u ON t.k = u.k"
VIEW = jg.View(SQL, TABLES)
Door = Callable[[jg.JoinGraph, Any], object]


def option(name: str) -> Door:
    return lambda _, v: jg.JoinGraph(VIEW, **{"engine": "reference", name: v}).close()


OPTIONS = (
    "engine",
    "lookahead",
    "on_missing",
    "memory_limit",
    "durability",
    "key_index",
)
DOORS: dict[str, Door] = {
    "View(sql)": lambda _, v: jg.View(v, TABLES),
    "View(tables)": lambda _, v: jg.View("SELECT k FROM t", v),
    "View(table)": lambda _, v: jg.View("SELECT k FROM t", {"t": v}),
    "View(table name)": lambda _, v: jg.View("SELECT k FROM t", {v: TABLES["t"]}),
    "View(dialect)": lambda _, v: jg.View("SELECT k FROM t", TABLES, v),
    "JoinGraph(view)": lambda _, v: jg.JoinGraph(v, engine="reference"),
    "JoinGraph(path)": lambda _, v: v is None or jg.JoinGraph(VIEW, v, engine="reference").close(),
    **{f"JoinGraph({each})": option(each) for each in OPTIONS},
    "open": lambda _, v: jg.open(v),
    "load": lambda g, v: g.load(v),
    "load rows": lambda g, v: g.load({"t": v}),
    "load name": lambda g, v: g.load({v: []}),
    "load source": lambda g, v: g.load({}, source=v, position=1),
    "load position": lambda g, v: g.load({}, source="load", position=v),
    "insert table": lambda g, v: g.insert(v, []),
    "insert rows": lambda g, v: g.insert("t", v),
    "insert form": lambda g, v: g.insert("t", [], form=v),
    "insert value": lambda g, v: g.insert("t", [(5, v)]),
    "insert key": lambda g, v: g.insert("t", [(v, "x")]),
    "insert dict": lambda g, v: g.insert("t", [{"k": v, "n": v}]),
    "insert dict name": lambda g, v: g.insert("t", [{v: 1}]),
    "delete rows": lambda g, v: g.delete("t", v),
    "delete value": lambda g, v: g.delete("t", [(1, v)]),
    "delete key": lambda g, v: g.delete("t", [{"k": v}]),
    "update pre": lambda g, v: g.update("t", v, []),
    "update post": lambda g, v: g.update("t", [], v),
    "apply": lambda g, v: g.apply(v),
    "apply entry": lambda g, v: g.apply([v]),
    "apply operation": lambda g, v: g.apply([(v, "t", [])]),
    "apply source": lambda g, v: g.apply([], source=v, position=2),
    "apply position": lambda g, v: g.apply([], source="apply", position=v),
    "apply form": lambda g, v: g.apply([], form=v),
    "what_if": lambda g, v: g.what_if(v),
    "what_if form": lambda g, v: g.what_if([], form=v),
    "fanout": lambda g, v: g.fanout(v),
    "stream": lambda g, v: list(g.stream(v)),
    "expire table": lambda g, v: g.expire(v, "k = 77"),
    "expire where": lambda g, v: g.expire("t", v),
    "scan where": lambda g, v: g.scan(where=v).read_all(),
    "scan order": lambda g, v: g.scan(order_by=v).read_all(),
    "scan orders": lambda g, v: g.scan(order_by=[v]).read_all(),
    "scan limit": lambda g, v: g.scan(limit=v).read_all(),
    "explain": lambda g, v: str(g.explain(where=v, order_by=v)),
    "count": lambda g, v: g.count(v),
    "index": lambda g, v: g.index(v),
    "partitions": lambda g, v: g.partitions(v),
    "partitions where": lambda g, v: g.partitions(1, where=v),
    "why": lambda g, v: str(g.why(v)),
    "why value": lambda g, v: str(g.why((1, v, 1, 2))),
    "why_not": lambda g, v: str(g.why_not(v)),
    "why_not value": lambda g, v: str(g.why_not((v, "x", 1, 2))),
    "why dict": lambda g, v: g.why({v: 1}),
    "subscribe": lambda g, v: g.subscribe(v),
    "subscribe bytes": lambda g, v: g.subscribe("b", max_bytes=v),
    "subscribe full": lambda g, v: g.subscribe("c", when_full=v),
    "unsubscribe": lambda g, v: g.unsubscribe(v),
    "ack": lambda g, v: g.subscribe("a").ack(v),
    "next": lambda g, v: v is None or v == float("inf") or g.subscribe("a").next(v),
    "rebuild": lambda g, v: g.rebuild(v),
    "apply_idiffs": lambda g, v: g.insert("t", []).idiffs().apply_idiffs(v),
    "apply_idiffs table": lambda g, v: jg.JoinGraph(VIEW, engine="reference")
    .insert("t", []).idiffs().apply_idiffs(sqlite3.connect(":memory:"), v),
    "apply_idiffs idiffs": lambda _, v: jg.apply_idiffs(pa.table({"k": [1]}), v),
    "apply_idiffs all": lambda _, v: jg.apply_idiffs(v, v, v),
    "snapshot_after": lambda g, v: setattr(g, "snapshot_after", v),
    "max_view_diffs": lambda g, v: setattr(g, "max_view_diffs", v) or g.insert("t", []),
    "compile": lambda g, v: g.compile(v),
}  # fmt: skip


def wrong(door: Door, graph: jg.JoinGraph) -> list[str]:
    """Hand a door every value; list the errors that say nothing."""
    found = []
    for name, make in VALUES.items():
        try:
            door(graph, make())
        except BaseException as error:  # noqa: BLE001  # any of them is judged here
            if not is_right(error):
                found.append(f"{name}: {error!r:.200}")
        graph.max_view_diffs = None
        for each in graph.subscribers():
            graph.unsubscribe(each)
    return found


@pytest.mark.parametrize("name", DOORS)
def test_every_door_refuses_hostile_values_by_name(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # some of the values are names of folders
    with jg.JoinGraph(VIEW, tmp_path / "g", engine="reference", durability="none") as graph:
        graph.load({"t": [(1, "x")], "u": [(1, 1)]})
        assert wrong(DOORS[name], graph) == []
        graph.check()
        graph.insert("u", [(3, 3)])
    with jg.open(tmp_path / "g") as graph:
        graph.check()


ROWS = [
    name for name in DOORS if name.split()[0] in ("load", "insert", "delete", "update", "apply")
]


@pytest.mark.parametrize("name", [*ROWS, "why value", "scan where", "expire where", "index"])
def test_the_compiled_graph_refuses_them_too(name: str) -> None:
    graph = jg.JoinGraph(VIEW, engine="compiled", key_index=["t"])
    graph.load({"t": [(1, "x")], "u": [(1, 1)]})
    assert wrong(DOORS[name], graph) == []
    graph.check()


@pytest.mark.parametrize("engine", ENGINES)
def test_numbers_of_thousands_of_digits_are_refused_wherever_sql_is_read(engine: str) -> None:
    graph = jg.JoinGraph(VIEW, engine=engine)
    texts = [
        LONG_NUMBER,
        f"-{LONG_NUMBER}",
        f"'{LONG_NUMBER}'",
        f"{LONG_NUMBER}.5",
        f"1e{LONG_NUMBER}",
    ]
    texts += [
        f"CAST('{LONG_NUMBER}' AS {kind})"
        for kind in ("BIGINT", "DOUBLE", "DECIMAL(38, 0)", "DATE")
    ]
    for text in [*texts, f"'{LONE}'", f"`{LONE}`"]:
        for where in (f"k = {text}", f"n = {text}", f"s > {text}"):
            for ask in (
                graph.count,
                lambda w: graph.expire("t", w),
                lambda w: jg.View(f"{SQL} WHERE t.{w}", TABLES),
            ):
                try:
                    ask(where)
                except jg.JoinGraphError as error:
                    assert len(str(error)) < 2_000, text[:20]
    for dialect in ("duckdb", "postgres", "sqlite"):
        for text in texts:
            try:
                jg.View(f"SELECT k FROM t WHERE k = {text}", TABLES, dialect)
            except jg.JoinGraphError as error:
                assert len(str(error)) < 2_000, text[:20]


@pytest.mark.parametrize("command", ["inspect", "verify", "snapshot", "dump", "load", "explain"])
@pytest.mark.parametrize(
    "path", ["a\0b", "x/" * 3_000, LONE, "x" * 300, "/proc/self/mem", "/dev/null/x"]
)
def test_commands_refuse_odd_paths_in_one_line(
    command: str, path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [
        command,
        path,
        *(["/nowhere/out"] if command in ("dump", "load", "explain") else []),
    ]
    assert main.main(arguments) == 2
    assert capsys.readouterr().err.startswith("joingraph: ")


@pytest.mark.parametrize("dialect", ["spark", "duckdb", "postgres", "sqlite"])
def test_texts_of_thousands_of_digits_are_no_numbers_of_any_type(dialect: str) -> None:
    for kind in ("BIGINT", "SMALLINT", "DOUBLE", "DECIMAL(38, 2)", "DATE"):
        try:
            view = jg.View(f"SELECT CAST(n AS {kind}) AS c FROM t", TABLES, dialect)
        except jg.ViewError:
            continue
        graph = jg.JoinGraph(view, engine="reference")
        for text in (LONG_NUMBER, f"-{LONG_NUMBER}", f"1e{LONG_NUMBER}", f"0.{LONG_NUMBER}"):
            try:
                graph.insert("t", [(1, text)])
            except jg.DiffError:
                assert graph.count() == 0
            else:
                graph.delete("t", [(1, text)])


GRAPHS: list[jg.JoinGraph] = []  # which hostile values ask when they are asked themselves


def ask_graphs() -> None:
    for graph in GRAPHS:
        graph.count()
        assert graph.subscribers() is not None


class AskingList(list[Any]):
    """A list that asks the graph it is handed to."""

    def __len__(self) -> int:
        ask_graphs()
        return super().__len__()

    def __iter__(self) -> Iterator[Any]:
        ask_graphs()
        return super().__iter__()


class AskingText(str):
    """A text that asks the graph it is handed to."""

    __slots__ = ()

    def __str__(self) -> str:
        ask_graphs()
        return str.__str__(self)

    def __eq__(self, other: object) -> bool:
        ask_graphs()
        return str.__eq__(self, other)

    def __hash__(self) -> int:
        ask_graphs()
        return str.__hash__(self)


class AskingNumber(int):
    """A number that asks the graph it is handed to."""

    def __le__(self, other: int) -> bool:
        ask_graphs()
        return int.__le__(self, other)

    def __int__(self) -> int:
        ask_graphs()
        return int.__int__(self)

    def __ge__(self, other: int) -> bool:
        ask_graphs()
        return int.__ge__(self, other)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("is_durable", [True, False], ids=["in a folder", "in memory"])
def test_values_that_ask_the_graph_are_read_before_it_changes(
    engine: str, is_durable: bool, tmp_path: Path
) -> None:
    text, path = AskingText, tmp_path / "g" if is_durable else None
    with jg.JoinGraph(VIEW, path, engine=engine, on_missing=text("skip")) as graph:
        GRAPHS[:] = [graph]
        try:
            graph.load({"u": [(1, 1)]}, source=text("l"), position=AskingList([text("a")]))
            subscription = graph.subscribe(text("s"), max_bytes=AskingNumber(1_000_000))
            insert = text("insert"), text("t"), AskingList([(1, "x")])
            for _ in range(2):
                position = AskingList([text("5")])
                graph.apply([insert], source=text("a"), position=position, form=text("rows"))
            assert (graph.seq, graph.count()) == (1, 1)
            assert subscription.next(0) is not None
            subscription.ack(AskingNumber(1))
            graph.expire(text("t"), text("k = 1"))
            graph.index(text("n"))
            graph.unsubscribe(text("s"))
            assert (graph.seq, graph.count(), graph.subscribers()) == (2, 0, [])
            assert graph.positions() == {"l": ("a",), "a": ("5",)}
            assert all(type(each) is str for each in graph.positions())
            graph.check()
        finally:
            GRAPHS.clear()


def test_nested_values_are_refused_in_columns_of_every_type() -> None:
    kinds = ("BOOLEAN", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(10, 2)", "STRING", "BINARY")
    kinds += ("DATE", "TIMESTAMP", "TIMESTAMP_NTZ")
    columns = ", ".join(f"c{at} {kind}" for at, kind in enumerate(kinds))
    names = [f"c{at}" for at in range(len(kinds))]
    view = jg.View(f"SELECT {', '.join(names)} FROM t", {"t": f"CREATE TABLE t ({columns})"})
    graph = jg.JoinGraph(view, engine="reference")
    for value in ("list scalar", "deep scalar", "map scalar", "union scalar", "interval", "run"):
        for name in names:
            row = {each: VALUES[value]() if each == name else None for each in names}
            for call in (
                lambda r: graph.insert("t", [r]),
                lambda r: graph.insert("t", [tuple(r.values())]),
                lambda r: graph.delete("t", [r]),
                lambda r: graph.what_if([("insert", "t", [r])]),
                graph.why,
                graph.why_not,
            ):
                with pytest.raises(jg.DiffError, match=f'column "{name}" is '):
                    call(row)
    assert (graph.seq, graph.count()) == (0, 0)
