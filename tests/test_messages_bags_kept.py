"""What bags of groups leave in memory: trees against a plain twin, texts, freed groups, undo."""

from __future__ import annotations

import sys
from collections import Counter
from functools import partial
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import joingraph as jg
from joingraph.engines.compiled.groups.grouped import CompiledGroups
from joingraph.graph.compiled import fields as f
from joingraph.graph.compiled.groups.bag_contents import contents
from joingraph.graph.compiled.groups.bag_layout import ZEROS, Change, changes
from joingraph.graph.compiled.groups.bag_nodes import (
    B_ENTRIES,
    B_ENTRY,
    B_FEWEST,
    B_HEIGHT,
    B_KEY,
    B_NEXT,
    B_NODES,
    B_POOL,
    B_ROOT,
    B_WORDS,
    DOWN,
    NODE_WORDS,
    NULLS_FIRST,
    NUMBER,
    TEXT,
    most_nodes,
    tree_words,
)
from joingraph.graph.compiled.groups.bag_tree import at_rank, change, following, least, rank
from joingraph.graph.compiled.groups.merged_entries import merge_entries
from joingraph.graph.compiled.memory.reserved import Region, Words, address_of, lent, reserve
from joingraph.graph.compiled.values.string_pool import COUNT, Interner
from joingraph.plan.groups.bags import Kept
from joingraph.plan.model import Slot
from tests.crash.interrupting import stepped

OWNERS, VALUES = 5, 9
MOST_ENTRIES = OWNERS * VALUES * VALUES
Twin = Counter[tuple[int, ...]]
TABLES = {
    "t": "CREATE TABLE t (a BIGINT, g INT, s BIGINT, txt VARCHAR)",
    "r": "CREATE TABLE r (a BIGINT, n INT)",
}
ALL = """SELECT t.g, COUNT(*) AS n, COUNT(DISTINCT t.txt) AS c, SUM(DISTINCT t.s) AS d,
    MIN(t.txt) AS low, MAX(t.txt) AS high, MEDIAN(t.txt) AS middle, MAX_BY(t.txt, t.s) AS last,
    QUANTILE_CONT(t.s, 0.3) AS q, STRING_AGG(t.txt, ';' ORDER BY t.txt DESC) AS l
    FROM t JOIN r ON t.a = r.a GROUP BY t.g"""


class Tree:
    """A tree in memory of its own, of values whose words compare in some orders."""

    def __init__(self, orders: list[int], pool: int = 0, *, weighed: bool = False) -> None:
        words = tree_words(orders, pool, weighed=weighed)
        self.descriptor: Region = reserve(len(words))
        self.memory = reserve(NODE_WORDS * most_nodes(2 * MOST_ENTRIES, len(orders) + 3))
        self.descriptor.words[: len(words)] = words
        self.descriptor.words[B_NODES] = self.memory.address
        self.bd = self.descriptor.address

    @property
    def words(self) -> Words:
        return self.descriptor.words

    def change(self, row: tuple[int, ...], times: int) -> int:
        self.words[B_KEY : B_KEY + len(row)] = row
        return change(self.bd, times)

    def rows(self) -> list[tuple[int, ...]]:
        return contents(self.words, self.memory.words)


@pytest.mark.parametrize("seed", range(6))
def test_a_tree_holds_what_a_plain_bag_holds(seed: int) -> None:
    chance = Random(seed)
    width, weighed = chance.choice((1, 2, 5, 10)), chance.random() < 0.7
    tree, twin = Tree([NUMBER] * width, weighed=weighed), Twin()
    for step in range(1500):
        few = step % 600 > 400  # the tree grows and shrinks
        row = tuple(chance.randrange(-VALUES // 2, VALUES // 2) for _ in range(width - 1))
        row = (chance.randrange(OWNERS), chance.randrange(VALUES), *row[: width - 1])
        if few and twin:
            row = chance.choice(sorted(twin))
        if len(twin) >= MOST_ENTRIES and row not in twin:
            continue
        times = -twin[row] if few else chance.choice((1, 2, -min(1, twin[row])))
        if times:
            assert tree.change(row, times) == twin[row]
            twin[row] += times
            twin = +twin
        if step % 50 == 0:
            assert tree.rows() == [(*key, twin[key]) for key in sorted(twin)]
            assert tree.words[B_ENTRIES] == len(twin)
            assert fewest_of(tree) >= tree.words[B_FEWEST]
            owner = chance.randrange(OWNERS)
            walk(tree, owner, [(*key[1:], twin[key]) for key in sorted(twin) if key[0] == owner])
            if weighed:
                expected = [key[1:] for key in sorted(twin.elements()) if key[0] == owner]
                start = rank(tree.bd, owner)
                for place in range(0, len(expected), 7):
                    entry = entry_at(tree, at_rank(tree.bd, start + place))
                    assert tuple(entry[1 : width + 1]) == expected[place]


@pytest.mark.parametrize("weighed", [False, True])
@pytest.mark.parametrize("width", [1, 4, 10])
def test_a_tree_has_room_whatever_has_come_and_gone(width: int, weighed: bool) -> None:
    """Of rows that come and go in order a few stay: nodes that had only those were never freed."""
    tree, stay, most = Tree([NUMBER] * width, weighed=weighed), list[tuple[int, ...]](), 0
    rows = [(0, place, *[0] * (width - 1)) for place in range(20_000)]
    for place, row in enumerate(rows):
        tree.change(row, 1)
        gone = place - 100
        if gone >= 0 and gone % 60:
            tree.change(rows[gone], -1)
        elif gone >= 0:
            stay.append(rows[gone])
        most = max(most, int(tree.words[B_ENTRIES]))
        assert tree.words[B_NEXT] <= most_nodes(most, tree.words[B_ENTRY]), place
    assert tree.rows() == [(*row, 1) for row in [*stay, *rows[-100:]]]
    assert fewest_of(tree) >= tree.words[B_FEWEST]
    if weighed:
        for place in range(0, len(stay), 9):
            assert tuple(entry_at(tree, at_rank(tree.bd, place))[: width + 1]) == stay[place]


@pytest.mark.parametrize("weighed", [False, True])
def test_what_goes_in_ranges_comes_back_where_it_was(weighed: bool) -> None:
    """Nodes lose their first children, and get keys below those that are left."""
    chance, there = Random(7), set[int]()
    tree = Tree([NUMBER] * 9, weighed=weighed)
    for turn in range(60):
        start = chance.randrange(700)
        gone = {key for key in there if start <= key < start + 250}
        come = set(chance.sample(range(start, start + 250), 120)) if turn % 3 else set[int]()
        for key in chance.sample(sorted(gone ^ come), len(gone ^ come)):
            tree.change((0, key, *[0] * 8), -1 if key in gone else 1)
        there = there - gone | come
        assert tree.rows() == [(0, key, *[0] * 8, 1) for key in sorted(there)], turn
        assert fewest_of(tree) >= tree.words[B_FEWEST]


def fewest_of(tree: Tree) -> int:
    """Return the fewest entries of a node that is not the root."""
    found, level = list[int](), [int(tree.words[B_ROOT])]
    for _ in range(tree.words[B_HEIGHT]):
        nodes = [tree.memory.words[NODE_WORDS * each :][:NODE_WORDS] for each in level]
        size, words = int(tree.words[B_ENTRY]), int(tree.words[B_WORDS])
        level = [int(n[1 + at * size + 1 + words]) for n in nodes for at in range(int(n[0]))]
        found += [int(tree.memory.words[NODE_WORDS * each]) for each in level]
    return min(found, default=NODE_WORDS)


def entry_at(tree: Tree, address: int) -> list[int]:
    start = (address - tree.memory.address) // 8
    return [int(word) for word in tree.memory.words[start : start + 14]]


def walk(tree: Tree, owner: int, expected: list[tuple[int, ...]]) -> None:
    """Go through an owner's entries, one after the other."""
    entry, found = least(tree.bd, owner), list[tuple[int, ...]]()
    width = len(expected[0]) if expected else 1
    while entry:
        found.append(tuple(entry_at(tree, entry)[1 : 1 + width]))
        entry = following(tree.bd, owner)
    assert found == expected


@pytest.mark.parametrize(
    "order", [TEXT, TEXT | DOWN, TEXT | NULLS_FIRST, TEXT | DOWN | NULLS_FIRST]
)
def test_texts_compare_by_their_bytes(order: int) -> None:
    pool = Interner()
    texts = [
        "",
        "a",
        "ab",
        "abcdefgh",
        "abcdefghi",
        "abcdefghz",
        "b",
        "\u00e9",
        "Z",
        "a\0",
        "zz" * 9,
    ]
    Random(order).shuffle(texts)
    ids = pool.words(pa.array([*texts, None])).tolist()
    tree = Tree([order], pool.descriptor.address)
    assert tree.words[B_POOL]
    for number in ids:
        tree.change((1, number), 1)
    expected = sorted(texts, key=lambda text: text.encode(), reverse=bool(order & DOWN))
    listed: list[str | None] = [None, *expected] if order & NULLS_FIRST else [*expected, None]
    named = dict(zip(ids, [*texts, None], strict=True))
    assert [named[word] for _, word, _ in tree.rows()] == listed


def test_a_bag_and_its_log_tell_what_was_before() -> None:
    chance, bag, log, now, then = Random(3), Tree([NUMBER] * 2), Tree([NUMBER] * 2), Twin(), Twin()
    for step in range(300):
        row = (chance.randrange(3), chance.randrange(4), chance.randrange(4))
        times = chance.choice((1, -min(1, now[row])))
        if times == 0:
            continue
        bag.change(row, times)
        now[row] += times
        if step < 200:
            then[row] += times
        else:
            log.change(row, times)
    for owner in range(3):
        rows = sorted(key for key in {*+now, *+then} if key[0] == owner)
        expected = [[*key[1:], now[key], then[key]] for key in rows]
        changed = {key[1:3] for key in (row[:3] for row in log.rows()) if key[0] == owner}
        found = np.empty((merge_entries(bag.bd, log.bd, owner, 0), 4), np.int64)
        with lent(found):
            merge_entries(bag.bd, log.bd, owner, address_of(found))
        assert found.tolist() == expected
        assert {tuple(row[:2]) for row in expected if row[2] != row[3]} == changed


KINDS = (pa.int64(), pa.uint64(), pa.float64(), pa.float32(), pa.decimal128(30, 2), pa.date32())


@pytest.mark.parametrize("type", KINDS, ids=str)
def test_words_that_were_changed_are_had_back(type: pa.DataType) -> None:
    some = np.array(
        [0, 1, -1, 2**62, -(2**62), f.NULL_WORD - 1, f.NULL_WORD + 1, -(2**63), 2**63 - 1]
    )
    if type in ZEROS and type == pa.float32():
        some = some[:3]
    for order in ("up", "down"):
        for nulls_first in (False, True):
            column = Kept(
                Slot(0, None, 0, type),
                type,
                order=order,
                nulls_first=nulls_first,  # type: ignore[arg-type]
            )
            for each in changes(column):
                assert (each.undone(changed(each, some)) == some).all()


def changed(change: Change, words: Words) -> Words:
    """Do by column what the kernel does word by word."""
    found = np.where(words < 0, words ^ change.mask, words) ^ change.xor
    if change.is_up:
        return np.where(found < change.hole, found + 1, found)
    return np.where(found > change.hole, found - 1, found)


def telling(graph: jg.JoinGraph) -> Any:
    assert isinstance(graph.engine, CompiledGroups)
    return graph.engine.telling


def row(chance: Random, number: int) -> tuple[Any, ...]:
    text = f"{chance.choice('abc')} text of its own, {number}"
    return chance.randrange(3), chance.randrange(3), number, chance.choice((text, text, None))


@pytest.mark.parametrize("seed", range(4))
def test_texts_that_no_row_has_are_forgotten_and_bags_know_the_others(seed: int) -> None:
    chance, view = Random(seed), jg.View(ALL, TABLES, dialect="duckdb")
    one, other = jg.JoinGraph(view), jg.JoinGraph(view, engine="reference")
    engine, held, number, late = telling(one), list[tuple[Any, ...]](), 0, list[Any]()
    engine.sweeper.fewest_bytes = 300
    for graph in (one, other):
        graph.insert("r", [(0, 1), (1, 1), (1, 2)])
    for _ in range(60):
        fresh = [row(chance, number + at) for at in range(8)]
        number += 8
        gone = [held.pop(chance.randrange(len(held))) for _ in range(8 if len(held) > 12 else 0)]
        batch = [("insert", "t", fresh), ("delete", "t", gone)]
        held += fresh
        diffs = [graph.apply(batch) for graph in (one, other)]
        assert Counter(map(repr, diffs[0].rows())) == Counter(map(repr, diffs[1].rows()))
        late.append(diffs)
        rows = [sorted(map(repr, graph.scan().read_all().to_pylist())) for graph in (one, other)]
        assert rows[0] == rows[1]
        one.check()
    assert int(engine.interner.state[COUNT]) < number / 3, "texts were forgotten"
    for mine, theirs in late:  # a view diff that is folded later names texts that are gone
        assert Counter(map(repr, mine.net())) == Counter(map(repr, theirs.net()))


def test_groups_that_are_gone_leave_nothing_in_bags() -> None:
    chance, graph = Random(1), jg.JoinGraph(jg.View(ALL, TABLES, dialect="duckdb"))
    graph.insert("r", [(0, 1), (1, 1), (2, 2)])
    engine, sizes = telling(graph), list[int]()
    for step in range(12):
        rows = [row(chance, step * 100 + at) for at in range(100)]
        graph.insert("t", rows)
        graph.delete("t", rows)
        groups = engine.groups
        trees = [groups.tree(place) for place in range(groups.at.tree_count)]
        assert not any(tree[B_ENTRIES] for tree in trees)
        sizes.append(sum(int(tree[B_NEXT]) for tree in trees))
        graph.check()
    assert max(sizes[6:]) <= 2 * max(sizes[:6])


def test_a_batch_interrupted_at_any_step_leaves_bags_before_or_after(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)
    view, at, came, seen = jg.View(ALL, TABLES, dialect="duckdb"), 0, 1, set[int]()
    batch = [("insert", "t", [(0, 1, 7, "b")]), ("delete", "t", [(0, 1, 3, "a")])]
    while came:
        graph = jg.JoinGraph(view)
        graph.load({"r": [(0, 1), (0, 2)], "t": [(0, 1, 3, "a"), (0, 2, 4, None)]})
        came, _ = stepped(partial(graph.apply, batch), [at])
        graph.check()
        seen.add(graph.seq)
        found = graph.scan().read_all().to_pylist()
        lists = sorted(each["l"] or "" for each in found)
        assert lists == ["", "b;b" if graph.seq else "a;a"], f"at step {at}"
        assert len(graph.insert("t", [(0, 1, 5, "c")])) == 2
        at += 43
    assert seen == {0, 1}


def test_explain_names_the_values_in_bags() -> None:
    sql = "SELECT r.n, COUNT(DISTINCT t.a) AS c FROM t JOIN r ON t.a = r.a GROUP BY r.n"
    assert "bag        of each group's r.a" in jg.View(sql, TABLES, dialect="duckdb").explain()
