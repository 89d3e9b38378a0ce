"""The contract of stores (joingraph/storage/contract.py): every store is handed to each test.

A store joins by one line in STORES: a function that opens one under a name in a folder of the
test's own. Where its records outlive it, opening it again under the name gives them back.
"""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest

import joingraph as jg
from joingraph.storage.contract import Store
from joingraph.storage.disk import log
from joingraph.storage.disk.disk import open_disk
from joingraph.storage.disk.owner import Owner
from joingraph.storage.memory import Memory
from joingraph.storage.record import Record
from joingraph.view_diffs.view_diff import change_table
from tests.crash.interrupting import stepped

VIEW = jg.View("SELECT t.a FROM t", {"t": "CREATE TABLE t (a BIGINT)"})
OWNER = Owner(VIEW, (), {"engine": "reference", "lookahead": "auto", "on_missing": "error"})
Opener = Callable[[str], Store]


def in_memory(_: Path, __: str) -> Store:
    return Memory()


def on_disk(folder: Path, name: str) -> Store:
    disk = open_disk(folder / name, OWNER, readonly=False)
    for _ in disk.steps():
        pass
    disk.begin_writing("fsync")
    return disk


STORES: dict[str, Callable[[Path, str], Store]] = {
    "memory": in_memory,
    "disk": on_disk,
}


@pytest.fixture(params=STORES)
def opened(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Opener]:
    """A function that opens a store; all are closed at the end."""
    monkeypatch.setattr(log, "SEGMENT_BYTES", 3_000)  # so that a store on disk has many segments
    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)  # of files an interrupt left open
    found: list[Store] = []

    def open_store(name: str = "a") -> Store:
        found.append(STORES[request.param](tmp_path, name))
        return found[-1]

    yield open_store
    for store in found:
        store.close(complete=False)


def view_diffs(*values: int) -> pa.Table:
    rows = pa.table({"a": pa.array(values, pa.int64())})
    count = len(values)
    return change_table(rows, ["insert"] * count, [1] * count, list(range(count)))


def batch(seq: int, *values: int, source: str | None = None) -> Record:
    """A batch whose view diffs are kept, if it has any."""
    said = {"skip": False, "quarantine": False, "source": source, "position": seq}
    return Record("batch", seq, said, (), view_diffs(*values) if values else None)


def values(changes: pa.Table) -> list[int]:
    found: list[int] = changes["a"].to_pylist()
    return found


def test_a_new_store_has_no_record(opened: Opener) -> None:
    assert opened("a").settle() == (0, "")


def test_a_record_that_was_appended_is_the_last(opened: Opener) -> None:
    store, last = opened("a"), 0
    for seq in range(1, 60):
        number = store.append(batch(seq, seq, seq))
        assert number > last
        assert store.settle() == (number, "batch")
        last = number
    number = store.append(Record("index", 59, {"column": "a"}))
    assert store.settle() == (number, "index")


def test_a_record_holds_its_view_diffs(opened: Opener) -> None:
    store = opened("a")
    numbers = {store.append(batch(seq, seq, 100 * seq)): seq for seq in range(1, 60)}
    for number, seq in numbers.items():
        assert values(store.changes(number)) == [seq, 100 * seq]
        assert store.changes(number).schema == view_diffs(1).schema


def test_a_record_without_view_diffs_says_so(opened: Opener) -> None:
    store = opened("a")
    number = store.append(batch(1))
    for asked in (number, number + 1):
        with pytest.raises(jg.StoreError, match="no longer kept"):
            store.changes(asked)


def test_view_diffs_beside_the_last_record_are_kept_once(opened: Opener) -> None:
    store = opened("a")
    number = store.append(batch(1))
    for _ in range(2):
        store.keep(number, view_diffs(5))
        assert values(store.changes(number)) == [5]


def test_what_is_waited_for_is_not_forgotten(opened: Opener) -> None:
    store = opened("a")
    numbers = [store.append(batch(seq, seq)) for seq in range(1, 60)]
    for place, number in enumerate(numbers):
        store.forget(number)
        store.forget(number)
        for seq, kept in enumerate(numbers[place:], place + 1):
            assert values(store.changes(kept)) == [seq]


def test_each_sources_last_view_diffs_are_not_forgotten(opened: Opener) -> None:
    store, last = opened("a"), dict[str, tuple[int, int]]()
    for seq in range(1, 20):
        source = f"s{seq % 3}"
        last[source] = store.append(batch(seq, seq, source=source)), seq
        store.forget(1 << 62)
        for number, value in last.values():
            assert values(store.changes(number)) == [value]


def test_any_record_can_be_synced_at_any_time(opened: Opener) -> None:
    store = opened("a")
    first = store.append(batch(1, 1))
    store.sync(first, wait=False)
    second = store.append(batch(2, 2))
    for number in (second, first, second):
        store.sync(number)
        store.sync(number, wait=False)
    assert store.settle() == (second, "batch")


def test_several_may_wait_while_one_appends(opened: Opener) -> None:
    store = opened("a")
    with ThreadPoolExecutor(8) as pool:
        numbers = [store.append(batch(seq, seq)) for seq in range(1, 40)]
        waiting = [pool.submit(store.sync, number) for number in numbers]
        numbers += [store.append(batch(seq, seq)) for seq in range(40, 80)]
        for each in waiting:
            each.result(30)
    assert store.settle() == (numbers[-1], "batch")


def test_a_store_may_be_closed_twice(opened: Opener) -> None:
    store = opened("a")
    store.sync(store.append(batch(1, 1)))
    store.close(complete=True)
    store.close(complete=True)


@pytest.mark.parametrize("stride", [1, 7])
def test_an_interrupted_record_stands_whole_or_not_at_all(opened: Opener, stride: int) -> None:
    """At any step, and a second time while it is settled."""
    store, seen, last, at = opened("a"), set[bool](), 0, 0
    for seq in range(1, 1_000):
        came, _ = stepped(partial(store.append, batch(seq, seq)), [at, at + stride])
        while stepped(store.settle, [at % 5])[0]:
            at += 1
        number, kind = store.settle()
        stands = number > last and kind == "batch"
        if stands:
            assert values(store.changes(number)) == [seq]
        seen.add(stands)
        last = store.append(batch(seq, -seq))
        assert last > number
        assert values(store.changes(last)) == [-seq]
        at += stride
        if not came:
            break
    else:
        raise AssertionError("appending a record takes more steps than were tried")
    assert seen == {True, False}


def test_interrupts_lose_nothing_that_was_appended(opened: Opener) -> None:
    """Random calls, interrupted at random steps, against a dictionary."""
    chance, store, held, last = random.Random(5), opened("a"), dict[int, int](), 0
    oldest, seq = 0, 0
    for _ in range(300):
        at = [chance.randrange(60)] if chance.random() < 0.5 else []
        if chance.random() < 0.5:
            seq += 1
            stepped(partial(store.append, batch(seq, seq)), at)
            number, _ = store.settle()
            if number > last and values_or_none(store, number) == [seq]:
                held[number] = seq
            last = number
        elif chance.random() < 0.3 and held:
            oldest = max(oldest, chance.choice(list(held)))
            stepped(partial(store.forget, oldest), at)
        elif held:
            stepped(partial(store.sync, chance.choice(list(held))), at)
        for number, value in held.items():
            if number >= oldest:
                assert values(store.changes(number)) == [value]


def values_or_none(store: Store, number: int) -> list[int] | None:
    try:
        return values(store.changes(number))
    except jg.StoreError:
        return None


def test_a_forked_child_can_append_nothing_and_its_parent_goes_on(opened: Opener) -> None:
    store = opened("a")
    if not store.is_durable:
        pytest.skip("each process has its own")
    before = store.append(batch(1, 1))
    child = os.fork()
    if not child:
        try:
            store.append(batch(2, 2))
        except jg.StoreError:
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert store.settle() == (before, "batch")
    number = store.append(batch(2, 3))
    store.sync(number)
    assert values(store.changes(number)) == [3]


def test_what_was_synced_is_there_when_the_store_is_opened_again(opened: Opener) -> None:
    store = opened("a")
    if not store.is_durable:
        pytest.skip("its records end with it")
    numbers = {store.append(batch(seq, seq)): seq for seq in range(1, 30)}
    store.sync(max(numbers))
    store.close(complete=True)
    again = opened("a")
    assert again.settle()[0] >= max(numbers)
    for number, seq in numbers.items():
        assert values(again.changes(number)) == [seq]
    assert again.append(batch(30, 30)) > max(numbers)


def test_stores_are_apart(opened: Opener) -> None:
    one, other = opened("a"), opened("b")
    number = one.append(batch(1, 1))
    assert other.settle() == (0, "")
    assert values(one.changes(number)) == [1]


def test_a_store_says_what_can_be_done_about_its_failure(opened: Opener) -> None:
    assert opened("a").remedy
