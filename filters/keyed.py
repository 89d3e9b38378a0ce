"""Finds what a batch does to the rows of keyed aliases, told from base rows and nothing else.

    tweet 7: a -> b, b -> c       net 7: a -> c        update 7 | text c
    tweet 8: insert, delete       net 8: nothing       -
    tweet 9: x -> y, T drops y    net 9: x -> y        delete 9

In: a batch's entries. Out: the deletes and updates of each keyed alias, and the batch once more,
every base row changed at most once. First come the diffs of which keyed aliases say everything, so
that no other alias needs their rows of the view; then the others. What a batch costs here does not
depend on how many rows of the view there are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from joingraph.common.errors import DiffError
from joingraph.expressions import texts
from joingraph.expressions.python_values import python_rows, value_text
from joingraph.expressions.texts import codes, is_text
from joingraph.expressions.tree import Expression
from joingraph.expressions.words import bits_of, normal
from joingraph.filters.conditions import BaseColumns, Numbers, passing
from joingraph.filters.images import computed, without_null
from joingraph.plan.keys.keyed import Keyed, binding
from joingraph.plan.model import ALWAYS, AliasPlan, Plan
from joingraph.tables.batch import Entry
from joingraph.tables.table import Table
from joingraph.view_diffs.idiffs import KeyedDiffs

Mask = npt.NDArray[np.bool_]


class Split(NamedTuple):
    """A batch as i-diffs need it: what keyed aliases say; the entries, `silent` ones first."""

    diffs: dict[int, KeyedDiffs]
    entries: list[Entry]
    silent: int


class Net(NamedTuple):
    """A table's base rows by key, before a batch and after it.

    `was` and `now` give for each key its row of `rows`, -1 where there is none. Where a row came
    with the key alone, `full` does not hold and its other columns are empty.
    """

    table: Table
    rows: pa.Table
    full: Mask
    was: Numbers
    now: Numbers


class Seen(NamedTuple):
    """The keys whose rows an alias lets pass, in order, and what was asked of these rows."""

    keys: Numbers
    values: list[pa.Array]


class Felt(NamedTuple):
    """What an alias feels of the keys of a table."""

    deleted: Mask
    updates: Numbers
    values: dict[str, texts.Column]  # own columns that changed, for the updates
    told: Mask  # rows of the view change otherwise than by these deletes and updates


def split(plan: Plan, keyed: Mapping[int, Keyed], entries: Sequence[Entry]) -> Split:
    """Take apart what keyed aliases say of a batch, and what must be told by rows."""
    diffs: dict[int, KeyedDiffs] = {}
    names = {keyed[index].alias.table for index in keyed}
    silent: list[Entry] = []
    told = [entry for entry in entries if entry.table not in names]
    for name in dict.fromkeys(entry.table for entry in entries if entry.table in names):
        table = plan.definition.tables[name]
        net = net_by_key(table, [entry for entry in entries if entry.table == name])
        loud = np.zeros(len(net.was), bool)
        for alias in plan.aliases:
            if alias.table == name:
                felt = felt_by(plan, alias, keyed.get(alias.index), net)
                loud |= felt.told
                if alias.index in keyed:
                    diffs[alias.index] = keyed_diffs(plan, keyed[alias.index], net, felt)
        silent += entries_of(net, ~loud)
        told += entries_of(net, loud)
    return Split(diffs, silent + told, len(silent))


def net_by_key(table: Table, entries: Sequence[Entry]) -> Net:
    """Fold the diffs of one table by its key; a row of a key may follow another, never join it."""
    sides: list[pa.Table] = []
    moments: list[Numbers] = []  # even where a row goes; one more where it is followed
    first = 0
    for entry in entries:
        for is_late, side in enumerate((entry.pre, entry.post)):
            if side is not None:
                sides.append(side)
                moments.append(2 * (first + np.arange(entry.length)) + is_late)
        first += entry.length
    moment = np.concatenate(moments)
    order = np.argsort(moment)
    rows = texts.take_rows(stacked(table, sides), order)
    width = len(table.schema)
    full = np.concatenate([np.full(len(side), side.num_columns == width) for side in sides])
    is_post = moment[order] % 2 == 1
    firsts, lasts = by_key(table, rows, is_post)
    was, now = np.where(is_post[firsts], -1, firsts), np.where(is_post[lasts], lasts, -1)
    return Net(table, rows, full[order], was, now)


def stacked(table: Table, sides: Sequence[pa.Table]) -> pa.Table:
    """Put rows below one another; columns that keys alone do not have are NULL."""
    columns_of = [
        [side.column(n) if n in side.column_names else pa.nulls(len(side), kind)
         for n, kind in zip(table.schema.names, table.schema.types, strict=True)]
        for side in sides
    ]  # fmt: skip
    return pa.concat_tables(pa.table(each, names=table.schema.names) for each in columns_of)


def by_key(table: Table, rows: pa.Table, is_post: Mask) -> tuple[Numbers, Numbers]:
    """Return the first and the last row of each key; rows come in order."""
    names = [f"{at}" for at in range(len(table.key))]
    columns = [
        pa.array(codes(each)) if is_text(each.type) else each
        for each in rows.select(table.key).columns
    ]
    keyed = pa.table(columns, names=names).append_column("at", pa.array(np.arange(len(rows))))
    lists = keyed.group_by(names, use_threads=False).aggregate([("at", "list")])["at_list"]
    lists = texts.whole(lists)
    flat = lists.flatten().to_numpy()
    ends = np.cumsum(lists.value_lengths().to_numpy()).astype(np.int64)
    firsts = np.concatenate([np.zeros(1, np.int64), ends])[:-1]
    same = is_post[flat][1:] == is_post[flat][:-1]
    same[firsts[1:] - 1] = False
    if same.any():
        (twice,) = python_rows(rows.select(table.key).slice(flat[np.argmax(same)], 1))
        pairs = ", ".join(f"{name}={value_text(value)}" for name, value in twice.items())
        raise DiffError(
            f"{table.name} holds several rows with the key ({pairs}), which is declared to name"
            " one: i-diffs are not possible, use the rows of the view diff"
        )
    return flat[firsts], flat[ends - 1]


def felt_by(plan: Plan, alias: AliasPlan, keyed: Keyed | None, net: Net) -> Felt:
    """Judge both sides of every key as one alias does, and compare what it sees."""
    output = plan.definition.output
    own = keyed.own if keyed else ()
    bound = binding(plan, alias, own)
    wanted = [*(output[at].value for at in own), *bound]
    pre, post = seen(alias, net, net.was, wanted), seen(alias, net, net.now, wanted)
    count = len(net.was)
    in_pre, in_post = marked(pre.keys, count), marked(post.keys, count)
    unknown = (net.was >= 0) & ~net.full[net.was]
    both = np.flatnonzero(in_pre & in_post)
    old, new = np.searchsorted(pre.keys, both), np.searchsorted(post.keys, both)
    changed = [
        marked(both[differ(one.take(pa.array(old)), other.take(pa.array(new)))], count)
        | (unknown & in_post)
        for one, other in zip(pre.values, post.values, strict=True)
    ]
    told = (in_post & ~in_pre) | any_of(changed[len(own) :], count)
    if keyed is None or alias.presence != ALWAYS:  # rows without it may come as it goes
        told |= (in_pre & ~in_post) | unknown
    updates = np.flatnonzero(any_of(changed[: len(own)], count))
    at = pa.array(np.searchsorted(post.keys, updates))
    values = {
        output[column].name: texts.chunked(post.values[place].take(at))
        for place, column in enumerate(own)
        if changed[place].any()
    }
    return Felt((in_pre | unknown) & ~in_post, updates, values, told)


def seen(alias: AliasPlan, net: Net, at: Numbers, wanted: Sequence[Expression]) -> Seen:
    """Let the rows of keys through as an alias does; compute what is wanted of those that pass."""
    keys = np.flatnonzero((at >= 0) & net.full[at])
    parts, first = list[Seen](), 0
    for piece in texts.pieces(texts.take_rows(net.rows, at[keys])):
        given = BaseColumns(piece)
        numbers = passing(alias.conditions, given, len(piece))
        joined = [normal(each) for each in computed(alias.binding, given, numbers)]
        numbers = numbers[without_null(joined, len(numbers))]
        parts.append(Seen(keys[first + numbers], computed(wanted, given, numbers)))
        first += len(piece)
    if len(parts) == 1:
        return parts[0]
    values = [texts.joined(each) for each in zip(*(each.values for each in parts), strict=True)]
    return Seen(np.concatenate([each.keys for each in parts]), values)


def marked(numbers: Numbers, count: int) -> Mask:
    """Turn numbers into a mask."""
    marks = np.zeros(count, bool)
    marks[numbers] = True
    return marks


def any_of(masks: Sequence[Mask], count: int) -> Mask:
    """Unite masks."""
    found = np.zeros(count, bool)
    for mask in masks:
        found |= mask
    return found


def differ(one: pa.Array, other: pa.Array) -> Mask:
    """Mark where two columns have other values; -0.0 is another value than 0.0."""
    bits = bits_of(one.type)
    if bits is not None:
        one, other = one.view(bits), other.view(bits)
    nulls = pc.not_equal(one.is_null(), other.is_null())
    values = pc.fill_null(pc.not_equal(one, other), False)
    return np.asarray(pc.or_(nulls, values), dtype=bool)


def keyed_diffs(plan: Plan, keyed: Keyed, net: Net, felt: Felt) -> KeyedDiffs:
    """Write an alias' deletes and updates as tables over the view's columns."""
    deleted = key_columns(plan, keyed, net, net.was[felt.deleted])
    updates = felt.updates if felt.values else felt.updates[:0]
    updated = key_columns(plan, keyed, net, net.now[updates])
    return KeyedDiffs(pa.table(deleted), pa.table({**updated, **felt.values}))


def key_columns(plan: Plan, keyed: Keyed, net: Net, at: Numbers) -> dict[str, pa.ChunkedArray]:
    """Return base rows' keys as the view's columns have them."""
    rows = texts.take_rows(net.rows.select(keyed.key), at)
    fields = [plan.definition.schema.field(place) for place in keyed.names]
    pairs = zip(fields, rows.columns, strict=True)
    return {field.name: column.cast(field.type) for field, column in pairs}


def entries_of(net: Net, chosen: Mask) -> Iterator[Entry]:
    """Write the chosen keys' diffs as entries; a row that comes and goes is in none."""
    name = net.table.name
    for full in (True, False):
        columns_kept = net.rows.column_names if full else net.table.key
        old = chosen & (net.was >= 0) & (net.full[net.was] == full)
        for operation, mask in (("update", old & (net.now >= 0)), ("delete", old & (net.now < 0))):
            if mask.any():
                pre = texts.take_rows(net.rows.select(columns_kept), net.was[mask])
                post = texts.take_rows(net.rows, net.now[mask]) if operation == "update" else None
                yield Entry(operation, name, pre, post)
    new = chosen & (net.was < 0) & (net.now >= 0)
    if new.any():
        yield Entry("insert", name, None, texts.take_rows(net.rows, net.now[new]))
