"""Walk programs: which aliases are entered and which weighed, and what comes when."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

import joingraph as jg
from joingraph.engines.codegen.kernels import write_paths
from joingraph.expressions.show import show
from joingraph.graph.compiled.fields import EXACT
from joingraph.graph.compiled.layout import lay_out
from joingraph.plan.arrange import (
    Arrangement,
    count_program,
    fanout_program,
    paths_program,
    rows_program,
)
from joingraph.plan.branches import lists_program
from joingraph.plan.model import READS_MAX, Plan
from joingraph.plan.program import Enter, List, Program, Step
from joingraph.plan.program import Test as Asked
from joingraph.sql.conditions import bind_where
from tests import ENGINES, LOOKAHEADS

TABLES = {
    "follower": "CREATE TABLE follower (author BIGINT, fan BIGINT)",
    "tweet": "CREATE TABLE tweet (id BIGINT, author BIGINT, size BIGINT)",
    "retweet": "CREATE TABLE retweet (id BIGINT, by BIGINT, size BIGINT)",
    "person": "CREATE TABLE person (id BIGINT, name STRING)",
}
JOINED = (
    " FROM follower F JOIN tweet T ON F.author = T.author JOIN retweet R ON R.id = T.id"
    " JOIN person P ON P.id = R.by"
)


def plan_of(select: str, where: str = "") -> Plan:
    return jg.View(f"SELECT {select}{JOINED}{where}", TABLES).plan


def written(plan: Plan, program: Program) -> list[str]:
    """Write a program as text, own steps deeper."""
    start = f"v{program.vertex}" if program.alias is None else plan.aliases[program.alias].name
    return [
        f"start {start}",
        *(f"  test {show(each)}" for each in program.tests),
        *lines(plan, program.steps, "  "),
    ]


def lines(plan: Plan, steps: Sequence[Step], indent: str) -> Iterator[str]:
    for step in steps:
        match step:
            case Enter(alias, vertex):
                yield f"{indent}enter {plan.aliases[alias].name} at v{vertex}"
            case Asked(predicate):
                yield f"{indent}test {show(predicate)}"
            case List(own, name, columns):
                shown = ", ".join(plan.definition.output[at].name for at in columns)
                yield f"{indent}list {name} ({shown})"
                yield from lines(plan, own, indent + "  ")
            case _:
                yield f"{indent}weigh"
                yield from lines(plan, step.steps, indent + "  ")


def test_what_nothing_reads_is_weighed_before_anything_is_entered() -> None:
    plan = plan_of("T.id, F.fan")
    assert written(plan, plan.program(rows_program, 1)) == [
        "start T",
        "  weigh",
        "    enter R at v1",
        "    weigh",
        "      enter P at v2",
        "  enter F at v0",
    ]


def test_an_alias_on_the_way_to_what_is_read_is_entered_and_leaves_come_last() -> None:
    plan = plan_of("F.fan, P.name")
    assert written(plan, plan.program(rows_program, 1)) == [
        "start T",
        "  enter R at v1",
        "  enter F at v0",
        "  enter P at v2",
    ]


def test_a_fan_out_weighs_all_and_asks_nothing() -> None:
    plan = plan_of("F.fan", " WHERE T.size < R.size")
    assert written(plan, plan.program(fanout_program, 2)) == [
        "start R",
        "  weigh",
        "    enter T at v1",
        "    weigh",
        "      enter F at v0",
        "  weigh",
        "    enter P at v2",
    ]


def test_a_factorised_change_lists_each_branch_and_weighs_what_shows_nothing() -> None:
    plan = plan_of("T.id, F.fan, R.size", " WHERE T.size < R.size")
    assert written(plan, plan.program(lists_program, 1)) == [
        "start T",
        "  list F (fan)",
        "    enter F at v0",
        "  list R (size)",
        "    enter R at v1",
        "    test T.size < R.size",
        "    weigh",
        "      enter P at v2",
    ]


def test_a_test_comes_once_its_values_are_bound_and_inside_a_side_if_it_reads_that_alone() -> None:
    plan = plan_of("F.fan, T.author, T.size AS long, R.size, P.name")
    where = "author = 3 AND size > 5 AND long < size AND name = 'bob'"
    assert written(plan, count_program(plan, 0, bind_where(where, plan.definition))) == [
        "start F",
        "  test T.author = 3",  # a key is read at its vertex, before its alias is entered
        "  enter T at v0",
        "  enter R at v1",
        "  test R.size > 5",
        "  test T.size < R.size",
        "  weigh",
        "    enter P at v2",
        "    test P.name = 'bob'",
    ]
    only_bob = bind_where("name = 'bob'", plan.definition)
    assert written(plan, count_program(plan, 1, only_bob)) == [
        "start T",
        "  weigh",
        "    enter F at v0",
        "  weigh",
        "    enter R at v1",
        "    weigh",
        "      enter P at v2",
        "      test P.name = 'bob'",
    ]
    assert "  enter P at v2" in written(plan, rows_program(plan, 1, only_bob))


def test_a_test_that_may_raise_comes_behind_every_other_step() -> None:
    plan = plan_of("F.fan", " WHERE F.fan + T.size > 0")
    late = ["  test (F.fan + T.size) > 0"]
    assert written(plan, plan.program(rows_program, 0))[-1:] == late
    assert written(plan, plan.program(rows_program, 3))[-1:] == late
    assert "    test (F.fan + T.size) > 0" in written(plan, plan.program(lists_program, 1))


def test_a_branch_whose_tests_may_raise_is_listed_last() -> None:
    select, where = "F.fan, R.size, P.name", " WHERE F.fan + T.size > 0"
    plan = plan_of(select, where)
    assert written(plan, plan.program(lists_program, 1)) == [
        "start T",
        "  list R (size)",
        "    enter R at v1",
        "    list P (name)",
        "      enter P at v2",
        "  list F (fan)",
        "    enter F at v0",
        "    test (F.fan + T.size) > 0",
    ]


def test_tests_that_may_raise_tie_all_that_they_read() -> None:
    plan = plan_of("F.fan, R.size", " WHERE F.fan + T.size > 0 AND R.size + T.size > 0")
    (listed,) = plan.program(lists_program, 1).steps
    assert isinstance(listed, List) and listed.name == "F, R"


def test_a_key_of_another_type_than_its_vertex_is_read_where_its_alias_has_a_row() -> None:
    tables = {
        "a": "CREATE TABLE a (k INT, x BIGINT)",
        "b": "CREATE TABLE b (k BIGINT, x BIGINT)",
        "c": "CREATE TABLE c (k BIGINT, x BIGINT)",
    }
    sql = "SELECT a.k, b.k AS bk, b.x, c.x AS cx FROM b JOIN c ON b.k = c.k JOIN a ON a.k = b.k"
    plan = jg.View(sql, tables).plan
    conditions = bind_where("k < 7 AND bk > 1 AND x < cx", plan.definition)
    assert written(plan, count_program(plan, 0, conditions)) == [
        "start b",
        "  test b.k > 1",
        "  weigh",
        "    enter a at v0",
        "    test a.k < 7",
        "  enter c at v0",
        "  test b.x < c.x",
    ]
    graph = jg.JoinGraph(jg.View(sql, tables))
    graph.load({"b": [(1 << 40, 1)], "c": [(1 << 40, 2)]})
    assert graph.count(where="k < 7") == 0


def test_why_enters_every_alias_nearest_first_and_asks_at_the_last_alias() -> None:
    plan = plan_of("T.id, R.id AS same", " WHERE F.fan < R.size")
    conditions = bind_where("id = 4 AND same = 4", plan.definition)
    assert written(plan, paths_program(plan, 0, conditions)) == [
        "start F",
        "  enter T at v0",
        "  test T.id = 4",
        "  enter R at v1",
        "  test F.fan < R.size",
        "  test R.id = 4",
        "  enter P at v2",
    ]


def test_kernels_enter_what_is_read_and_weigh_what_is_not() -> None:
    plan = plan_of("F.fan, P.name")
    layout = lay_out(plan, exact=True)
    assert written(plan, layout.programs[0]) == [
        "start F",
        "  enter T at v0",
        "  enter R at v1",
        "  enter P at v2",
    ]
    assert written(plan, layout.scans[1]) == [
        "start v1",
        "  enter T at v1",
        "  enter R at v1",
        "  enter F at v0",
        "  enter P at v2",
    ]
    counts = plan_of("T.id")
    assert written(counts, lay_out(counts, exact=True).programs[1]) == [
        "start T",
        "  weigh",
        "    enter F at v0",
        "  weigh",
        "    enter R at v1",
        "    weigh",
        "      enter P at v2",
    ]
    assert written(counts, lay_out(counts, exact=True).scans[2]) == [
        "start v2",
        "  weigh",
        "    enter P at v2",
        "  enter R at v2",
        "  weigh",
        "    enter T at v1",
        "    weigh",
        "      enter F at v0",
    ]


def test_kernels_bind_what_predicates_read_and_test_none() -> None:
    plan = plan_of("T.id", " WHERE F.fan < length(P.name)")
    assert written(plan, lay_out(plan, exact=True).programs[1]) == [
        "start T",
        "  enter R at v1",
        "  enter F at v0",
        "  enter P at v2",
    ]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_read_that_comes_again_makes_no_program(
    engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = jg.View("SELECT F.fan, T.id, T.size, R.by, P.name" + JOINED, TABLES)
    graph = jg.JoinGraph(view, engine=engine)
    graph.load({"follower": [(1, 2)], "tweet": [(3, 1, 0)], "retweet": [(3, 4, 0)]})
    graph.load({"person": [(4, "ann")]})

    def answers() -> list[object]:
        where = "id = 3 AND fan + size > 1"
        rows = graph.scan(where=where, order_by="by", limit=2).read_all().to_pylist()
        paths, breaks = graph.why((2, 3, 0, 4, "ann")), graph.why_not((2, 3, 0, 4, "eve"))
        return [rows, graph.count(where=where), paths, breaks]

    before = answers()
    assert before[:2] == [[{"fan": 2, "id": 3, "size": 0, "by": 4, "name": "ann"}], 1]
    monkeypatch.delattr(Arrangement, "program")
    assert answers() == before
    with pytest.raises(AttributeError):
        graph.count(where="id = 4")


def test_a_plan_forgets_the_program_of_the_read_that_was_longest_ago() -> None:
    plan = plan_of("T.id")
    of_rows = plan.program(rows_program, 1)
    wheres = [bind_where(f"id = {number}", plan.definition) for number in range(READS_MAX)]
    first, second = (plan.program(count_program, 1, each) for each in wheres[:2])
    for each in (*wheres[2:], wheres[0], bind_where("id < 0", plan.definition)):
        plan.program(count_program, 1, each)
    assert plan.program(count_program, 1, wheres[0]) is first
    again = plan.program(count_program, 1, wheres[1])
    assert again == second
    assert again is not second
    assert plan.program(rows_program, 1) is of_rows


def test_the_architecture_page_shows_a_program_beside_its_kernel() -> None:
    page = (Path(__file__).parent.parent / "docs" / "architecture.md").read_text("utf-8")
    sql = page.split("```sql\n")[1].split("```")[0]
    plan = jg.View(sql, TABLES).plan
    layout = lay_out(plan, exact=True)
    assert plan.program(rows_program, 0) == layout.programs[0]
    kernel = write_paths(layout, EXACT, 0).split(
        "def kernel(st: int, row: int, weight: int) -> int:\n"
    )
    assert f"```\n{chr(10).join(written(plan, plan.program(rows_program, 0)))}\n```" in page
    assert f"```\n{kernel[1]}```" in page


BIG = 2**63 - 1


@pytest.mark.parametrize("lookahead", LOOKAHEADS)
@pytest.mark.parametrize("engine", ENGINES)
def test_a_residual_that_may_raise_is_asked_on_complete_paths_only(
    engine: str, lookahead: str
) -> None:
    tables = {name: f"CREATE TABLE {name} (k BIGINT, x BIGINT, y BIGINT)" for name in "abcd"}
    sql = (
        "SELECT a.x, b.x AS bx, c.x AS cx FROM a JOIN b ON a.k = b.k JOIN c ON b.y = c.y"
        " JOIN d ON d.k = a.k WHERE a.x + b.x > 0"
    )
    graph = jg.JoinGraph(jg.View(sql, tables), engine=engine, lookahead=lookahead)
    graph.load({"a": [(1, BIG, 0)], "d": [(1, 0, 0)], "c": [(0, 0, 6)]})
    assert graph.insert("b", [(1, BIG, 5)]).rows() == []  # no c has y = 5: the path ends there
    assert graph.count() == graph.count(where="bx > 0") == 0
    assert graph.scan().read_all().num_rows == graph.scan(where="bx > 0").read_all().num_rows == 0
    assert graph.why((BIG, BIG, 0)) == []
    assert graph.insert("b", [(1, BIG, 7)], form="factorised").factorised().tables == {}
    with pytest.raises(jg.DiffError, match="does not fit BIGINT"):
        graph.insert("c", [(0, 0, 5)])
    graph.check()


@pytest.mark.parametrize("engine", ENGINES)
def test_sides_that_are_weighed_never_wrap(engine: str) -> None:
    tables = {"a": "CREATE TABLE a (x BIGINT, y BIGINT)", "b": "CREATE TABLE b (z BIGINT)"}
    view = jg.View(f"SELECT a.x, a.y FROM a, {', '.join(f'b b{i}' for i in range(8))}", tables)
    graph = jg.JoinGraph(view, engine=engine)
    graph.load({"a": [(1, 5), (2, 6)], "b": [(0,)] * 300})
    assert graph.count(where="x = 1") == graph.count(where="x + y = 6") == 300**8
    rows = graph.scan(where="x + y < 8", limit=3).read_all()
    assert rows.to_pylist() == [{"x": 1, "y": 5}] * 3


@pytest.mark.parametrize("engine", ENGINES)
def test_a_thousand_tests_are_one_link_of_a_walk(engine: str) -> None:
    tables = {name: f"CREATE TABLE {name} (k BIGINT, x BIGINT)" for name in "ab"}
    tests = " AND ".join(f"a.x <> b.x - {each}" for each in range(1000))
    view = jg.View(f"SELECT a.x, b.x AS bx FROM a JOIN b ON a.k = b.k WHERE {tests}", tables)
    graph = jg.JoinGraph(view, engine=engine)
    graph.load({"a": [(1, 7)], "b": [(1, 7), (1, 5000)]})
    assert graph.count() == graph.scan(where="x = 7").read_all().num_rows == 1
    diff = graph.insert("a", [(1, 4001)], form="factorised")  # 4001 = 5000 - 999
    assert diff.rows() == [("insert", (4001, 7), 1)]
