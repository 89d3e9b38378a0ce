"""Much text: the bounds, lowered here, change no answer; what is beyond them is refused by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import joingraph as jg
from joingraph.expressions import texts
from joingraph.expressions.functions.strings import concat, replace
from joingraph.tables.rows_in import to_table
from tests import ENGINES, first
from tests.oracle.forms_search import search_forms
from tests.oracle.search import search

BLOCK, ARRAY = 1_000, 4_000
TABLES = {
    "follower": "CREATE TABLE follower (author INT, fan INT, name STRING)",
    "tweet": "CREATE TABLE tweet (author INT, id INT PRIMARY KEY, text STRING, raw BINARY)",
}
JOIN = "FROM follower F JOIN tweet T ON F.author = T.author"
VIEWS = (
    f"SELECT F.fan, T.id, T.text, T.raw {JOIN}",
    f"SELECT F.fan, T.text || '-' || F.name AS made {JOIN} WHERE T.text || F.name <> 'x'",
    f"SELECT T.text {JOIN}",
)
FANS = 60


def lower(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a block have 1,000 bytes of text, an array 4,000."""
    monkeypatch.setattr(texts, "BLOCK_BYTES", BLOCK)
    monkeypatch.setattr(texts, "ARRAY_BYTES_MAX", ARRAY)


@pytest.fixture
def lowered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lower both bounds."""
    lower(monkeypatch)


def tweet(number: int, length: int = 300) -> tuple[int, int, str, bytes | None]:
    """A tweet whose text has some length; every third has no bytes."""
    return 1, number, chr(97 + number % 26) * length, None if number % 3 == 0 else b"\0\xff"


def graph(sql: str, engine: str, path: Path | None = None) -> jg.JoinGraph:
    """One author with many fans, some of them twice, and two tweets."""
    made = jg.JoinGraph(jg.View(sql, TABLES), path, engine=engine)
    fans = [(1, fan, f"n{fan}") for fan in range(FANS)] + [(1, 7, "n7")] * 3
    made.load({"follower": fans, "tweet": [tweet(1), tweet(2, 0)]})
    return made


BATCH = [
    ("insert", "tweet", [tweet(3), tweet(4, 2_500)]),
    ("update", "tweet", [tweet(1)], [tweet(1, 301)]),
    ("insert", "follower", [(1, 900, "x" * 50), (1, 901, "")]),
    ("delete", "follower", [(1, 7, "n7")]),
]


def bytes_in(block: pa.RecordBatch | pa.Table) -> int:
    """How much text all columns have, as many bytes as are counted."""
    return int(texts.sizes(block.columns, block.num_rows).sum())


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("sql", VIEWS)
def test_bounds_change_no_answer(sql: str, engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = list(answers(sql, engine))
    lower(monkeypatch)
    for expected, (name, found) in zip(plain, answers(sql, engine), strict=True):
        assert (name, found) == expected


def answers(sql: str, engine: str) -> Iterator[tuple[str, object]]:
    """Yield all that can be asked about much text, by name."""
    made = graph(sql, engine)
    if "made" not in sql:  # all combinations of a tweet's fans are one list
        yield "factorised", Counter(made.what_if(BATCH, form="factorised").rows())
    yield "fanout", made.fanout(BATCH)
    diff = made.apply(BATCH)
    diff.changes().validate(full=True)
    yield "rows", Counter(diff.rows())
    yield "net", Counter(diff.net())
    yield (
        "idiffs",
        Counter((each.kind, each.alias, str(bag_of(each.table))) for each in diff.idiffs().parts),
    )
    yield "scan", bag_of(made.to_arrow())
    yield "count", (made.count(), made.count(f"{made.view.schema.names[-1]} IS NOT NULL"))
    last = made.view.schema.names[-1]
    yield "ordered", made.scan(order_by=made.view.schema.names, limit=30).read_all().to_pylist()
    yield "where", bag_of(made.scan(where=f"{last} IS NOT NULL").read_all())
    parts = [bag_of(part.read().read_all()) for part in made.partitions(3)]
    yield "partitions", sum(parts, Counter())
    row = made.scan(limit=1).read_all().to_pylist()[0]
    yield "why", bool(made.why(row)) and not made.why_not(row)
    yield (
        "net idiffs",
        len(made.update("tweet", [tweet(3)], [tweet(3, 77)], form="idiffs").idiffs()),
    )
    made.check()


def bag_of(table: pa.Table) -> Counter[tuple[object, ...]]:
    """The rows of a table, counted."""
    return Counter(tuple(row.values()) for row in table.to_pylist())


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("sql", VIEWS)
@pytest.mark.usefixtures("lowered")
def test_blocks_have_no_more_text_than_the_bound(sql: str, engine: str) -> None:
    made = graph(sql, engine)
    streamed = list(made.stream([("insert", "tweet", [tweet(3), tweet(4, 2_500)])]))
    assert sum(pc.sum(each["_count"]).as_py() for each in streamed) == 2 * (FANS + 3)
    for block in (*streamed, *made.scan(), *(b for p in made.partitions(2) for b in p.read())):
        assert block.num_rows == 1 or bytes_in(block) <= BLOCK
    diff = made.insert("tweet", [tweet(5), tweet(6)])
    for column in diff.to_arrow().columns:
        assert all(texts.sizes([chunk], len(chunk)).sum() <= ARRAY for chunk in column.chunks)
    made.check()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.usefixtures("lowered")
def test_a_folder_holds_what_was_streamed_and_opens_again(engine: str, tmp_path: Path) -> None:
    with graph(VIEWS[0], engine, tmp_path / "g") as made:
        streamed = sum(len(each) for each in made.stream([("insert", "tweet", [tweet(3)])]))
        assert streamed == FANS
        kept = made.subscribe("s")
        made.apply(BATCH[1:])
        expected = Counter(kept.next().rows())
        made.snapshot()
        made.insert("tweet", [tweet(8)])
        seen = made.seq, bag_of(made.to_arrow())
    with jg.open(tmp_path / "g") as opened:
        assert (opened.seq, bag_of(opened.to_arrow())) == seen
        assert Counter(opened.subscribe("s").next().rows()) == expected
        opened.rebuild(jg.View(VIEWS[2], TABLES))
        assert opened.count() == sum(seen[1].values())


@pytest.mark.usefixtures("lowered")
def test_text_comes_in_any_arrow_form() -> None:
    values = [chr(97 + at) * 900 for at in range(20)] + [None]
    table = jg.View(VIEWS[0], TABLES).tables["tweet"]
    plain = {"author": pa.array([1] * 21, pa.int32()), "id": pa.array(range(21), pa.int32())}
    narrow = pa.array(values)
    for text in (
        pa.array(values, pa.large_string()),
        pa.array(values, pa.string_view()),
        narrow.dictionary_encode(),
        pa.chunked_array([narrow[:7], narrow[7:]]),
        narrow,
    ):
        rows = pa.table({**plain, "text": text, "raw": text.cast(pa.large_binary())})
        found = to_table(rows, table, "insert into tweet")
        found.validate(full=True)
        assert found.column("text").to_pylist() == values
        made = graph(VIEWS[2], "compiled")
        assert len(made.insert("tweet", rows.slice(3))) == 18


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.usefixtures("lowered")
def test_a_value_that_no_column_can_hold_is_refused_by_name(engine: str) -> None:
    made = graph(VIEWS[1], engine)
    before = bag_of(made.to_arrow())
    long = tweet(3, ARRAY + 1)
    wide = pa.table(
        [[1, 1], [8, 3], pa.array(["x", long[2]], pa.large_string()), [b"", b""]],
        names=["author", "id", "text", "raw"],
    )
    said = r'tweet.*, row {}: column "text" is STRING, found a value of 4,001 bytes'
    for rows, row in (([tweet(8), long], 1), ([long], 0), (wide, 1)):
        for door in (made.insert, made.delete, lambda name, given: made.load({name: given})):
            with pytest.raises(jg.DiffError, match=said.format(row)):
                door("tweet", rows)
    with pytest.raises(jg.DiffError, match=said.format(0)):
        made.update("tweet", [tweet(1)], [long])
    with pytest.raises(jg.DiffError, match="makes a text of more than 4,000 bytes"):
        made.insert("tweet", [tweet(3, ARRAY)])
    assert bag_of(made.to_arrow()) == before and made.seq == 0
    made.check()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.usefixtures("lowered")
def test_a_nested_list_of_too_much_text_is_refused_and_changes_nothing(engine: str) -> None:
    made = graph(VIEWS[0], engine)
    made.load({"tweet": [tweet(number) for number in range(10, 30)]})
    before = bag_of(made.to_arrow())
    with pytest.raises(jg.LimitError, match=r'more than 4,000 bytes of text.*form="rows"'):
        made.insert("follower", [(1, 77, "n")], form="factorised")
    assert bag_of(made.to_arrow()) == before
    made.check()
    assert len(made.insert("follower", [(1, 77, "n")])) == 22


@pytest.mark.usefixtures("lowered")
def test_functions_never_make_more_text_than_an_array_holds() -> None:
    column = pa.array(["a" * 1000, None, "b"])
    with pytest.raises(texts.TooMuchText):
        replace([column, pa.scalar("a"), pa.scalar("xyzzy")], pa.string())
    with pytest.raises(texts.TooMuchText):
        concat([column] * 5, pa.string())
    assert concat([column] * 3, pa.string())[2].as_py() == "bbb"


@pytest.mark.parametrize("cases", first(1, [10, 40]))
def test_random_cases_agree_under_lowered_bounds(
    monkeypatch: pytest.MonkeyPatch, cases: int
) -> None:
    """Texts of a few bytes fill blocks of twelve."""
    monkeypatch.setattr(texts, "BLOCK_BYTES", 12)
    monkeypatch.setattr(texts, "ARRAY_BYTES_MAX", 400)
    found = [
        search(range(cases)),
        search_forms(range(cases // 3)),
        search_forms([12, 36], engine="reference"),
    ]
    assert not [failure for each in found for failure in each.failures]
