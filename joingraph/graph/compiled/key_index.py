"""An index of base keys over the compiled graph: from a key to what an alias keeps of that row.

    table of one alias    | key words | row: key words of its vertices, projected words | ...

The same open-addressing table that finds vertex values (vertex_table.py), one for each alias of an
indexed table. A row's own words hold its key, so that changes of the graph are noted from the
ops alone.
What a batch does to keys before it is carried out is kept apart (`RunningKeys`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from joingraph.common.errors import DiffError
from joingraph.expressions import texts
from joingraph.expressions.python_values import python_values, value_text
from joingraph.graph.compiled import fields as f
from joingraph.graph.compiled.layout import Layout, row_places
from joingraph.graph.compiled.machine.kernel import kernel, ld, small, sto
from joingraph.graph.compiled.memory.reserved import Words, lent
from joingraph.graph.compiled.memory.state import RECORD_WORDS
from joingraph.graph.compiled.memory.tables import RecordTable
from joingraph.graph.compiled.values.string_pool import Interner
from joingraph.graph.compiled.values.words import from_words, to_words
from joingraph.graph.compiled.vertex_table import INDEX_WORDS, copy_words, drop, find, put
from joingraph.plan.kept_columns import key_slots, takes_all
from joingraph.plan.model import Plan

Key = bytes  # the words of a key, or of a row, side by side
Row = bytes


class KeyTable(RecordTable):
    """What one alias keeps of base rows, by their keys, whose words lie at `places` of a row."""

    def __init__(self, places: Sequence[int], width: int) -> None:
        self.places, self.width = np.array(places, np.int64), width
        super().__init__(len(places), len(places) + width, [RECORD_WORDS, INDEX_WORDS])

    def make_room(self, ops: int) -> None:
        """Make room for so many ops and for taking them back, as memory/state.py does."""
        self.area.prepare(ops, self.needed)
        self.finish_move()

    def rows(self, keys: Words) -> list[Row | None]:
        """Find the rows with some keys."""
        found = np.zeros((len(keys), 1 + self.width), np.int64)
        with lent(keys, found):
            args = np.array([keys.ctypes.data, found.ctypes.data, len(keys), self.width])
            find_rows(self.descriptor.address, args)
        return [row[1:].tobytes() if row[0] else None for row in found]

    def note(self, alias: int, ops: Words) -> None:
        """Take note of ops that were carried out; the rows they point to are lent."""
        self._do(note_ops, alias, ops)

    def has_twice(self, alias: int, ops: Words) -> bool:
        """True if a row comes with one of some ops while another has its key; nothing is noted."""
        return bool(self._do(have_twice, alias, ops))

    def _do(self, kernel: Callable[[int, Words], object], alias: int, ops: Words) -> object:
        """Call a kernel that goes through the ops of an alias."""
        key = np.zeros(len(self.places), np.int64)
        with lent(ops, key, self.places):
            args = [ops.ctypes.data, len(ops), alias, self.width]
            args += [self.places.ctypes.data, len(self.places), key.ctypes.data]
            return kernel(self.descriptor.address, np.array(args))


class Keys:
    """The key indexes of a graph, by alias."""

    def __init__(
        self, plan: Plan, layout: Layout, interner: Interner, tables: Sequence[str]
    ) -> None:
        self.plan, self.layout, self.interner = plan, layout, interner
        self.tables = frozenset(tables)
        self.slots = {a.index: key_slots(plan, a) for a in plan.aliases if a.table in self.tables}
        self.of = {
            alias: KeyTable(
                [word for slot in slots for word in row_places(plan, layout.aliases[alias], slot)],
                layout.aliases[alias].width,
            )
            for alias, slots in self.slots.items()
        }

    def clear(self) -> None:
        """Forget all rows."""
        for alias, table in self.of.items():
            self.of[alias] = KeyTable(table.places.tolist(), table.width)

    def make_room(self, ops: int) -> None:
        """Make room for the rows of so many ops, or refuse them."""
        for table in self.of.values():
            table.make_room(ops)

    def note(self, ops: Words) -> None:
        """Take note of ops that were carried out."""
        for alias, table in self.of.items():
            table.note(alias, ops)

    def have_twice(self, ops: Words) -> bool:
        """True if a row came with one of some ops while another had its key; nothing is noted."""
        return any(table.has_twice(alias, ops) for alias, table in self.of.items())

    def given(self, alias: int, keys: pa.Table) -> Words:
        """Turn keys that a caller gave into words as an alias keeps them."""
        found = [
            np.stack(
                [
                    word
                    for column, slot in zip(piece.columns, self.slots[alias], strict=True)
                    for word in to_words(
                        texts.whole(column).cast(slot.stored),
                        self.interner,
                        key=slot.vertex is not None,
                    )
                ],
                axis=1,
            )
            for piece in texts.pieces(keys)
        ]
        return np.concatenate(found)

    def holds_all(self, table: str) -> bool:
        """True if some alias holds every row of a table."""
        return any(takes_all(self.plan, self.plan.aliases[alias], table) for alias in self.slots)

    def key_of(self, alias: int, row: Row) -> Key:
        """Read a row's key off its words."""
        return np.frombuffer(row, np.int64)[self.of[alias].places].tobytes()


class RunningKeys:
    """The index as it will be after the base rows admitted so far."""

    def __init__(self, keys: Keys) -> None:
        self.keys = keys
        self.changed: dict[tuple[int, Key], Row | None] = {}

    def find(self, alias: int, keys: Words) -> Iterator[Row | None]:
        """Yield what an alias holds of the rows with some keys, each as it is when asked for."""
        held = self.keys.of[alias].rows(keys)
        for key, row in zip((each.tobytes() for each in keys), held, strict=True):
            yield self.changed.get((alias, key), row)

    def find_alike(self, alias: int, rows: Sequence[Row | None]) -> Iterator[Row | None]:
        """Yield the row that an alias holds with the key of each other; None if there is none."""
        table = self.keys.of[alias]
        none = bytes(8 * table.width)
        whole = np.frombuffer(b"".join(row or none for row in rows), np.int64)
        keys = np.ascontiguousarray(whole.reshape(-1, table.width)[:, table.places])
        for row, found in zip(rows, self.find(alias, keys), strict=True):
            yield found if row is not None else None

    def go(self, alias: int, row: Row | None) -> None:
        """Take into account that a row goes."""
        if row is not None:
            self.changed[alias, self.keys.key_of(alias, row)] = None

    def come(self, alias: int, row: Row | None, held: Row | None) -> None:
        """Take into account that a row comes; refuse it if one with its key is held."""
        if held is not None and row is not None:
            raise DiffError(twice_text(self.keys, alias, row))
        if row is not None:
            self.changed[alias, self.keys.key_of(alias, row)] = row


def twice_text(keys: Keys, alias: int, row: Row) -> str:
    """Return which key two rows have."""
    table = keys.plan.definition.tables[keys.plan.aliases[alias].table]
    words = np.frombuffer(row, np.int64)
    pairs = []
    for name, slot in zip(table.key, keys.slots[alias], strict=True):
        parts = [
            words[at : at + 1] for at in row_places(keys.plan, keys.layout.aliases[alias], slot)
        ]
        (value,) = python_values(from_words(parts, slot.stored, keys.interner))
        pairs.append(f"{name}={value_text(value)}")
    return (
        f"{table.name} already has a row with the key ({', '.join(pairs)}), and its keys are"
        " indexed; delete or update that row first"
    )


@kernel
def find_rows(vd: int, args: Words) -> None:
    """Write 1 and the row for each key that is there."""
    keys, found, count, width = args[0], args[1], args[2], args[3]
    length = ld(vd, f.V_KEY)
    for at in range(count):
        record = find(vd, keys + at * length * 8)
        if record:
            to = found + at * (1 + width) * 8
            sto(to, 0, 1)
            copy_words(record + length * 8, to + 8, width)


@kernel
def note_ops(vd: int, args: Words) -> None:
    """Drop the keys of rows that went, and put those of rows that came."""
    for at in range(args[1]):
        op = args[0] + at * (f.OP_WORDS * 8)
        exchange(vd, row_that_went(op, args), row_that_came(op, args), args)


@kernel
def have_twice(vd: int, args: Words) -> bool:
    """True if a row came while another had its key; what is noted to find out is taken back."""
    noted = 0
    while noted < args[1] and is_alone(vd, args[0] + noted * (f.OP_WORDS * 8), args):
        op = args[0] + noted * (f.OP_WORDS * 8)
        exchange(vd, row_that_went(op, args), row_that_came(op, args), args)
        noted += 1
    for at in range(noted - 1, -1, -1):
        op = args[0] + at * (f.OP_WORDS * 8)
        exchange(vd, row_that_came(op, args), row_that_went(op, args), args)
    return bool(noted < args[1])


@kernel
def is_alone(vd: int, op: int, args: Words) -> bool:
    """True if no row has the key of the one that comes, but for the one that goes for it."""
    went, came = row_that_went(op, args), row_that_came(op, args)
    held = find_row(vd, came, args) if came else 0
    return held == 0 or (went != 0 and find_row(vd, went, args) == held)


@kernel
def exchange(vd: int, went: int, came: int, args: Words) -> None:
    """Drop a row's key, and put another's; 0 is no row."""
    held = find_row(vd, went, args) if went else 0
    if held:
        drop(vd, held)
    if came:
        gather_words(came, args[4], args[6], args[5])
        record = put(vd, args[6])
        copy_words(came, record + args[5] * 8, args[3])


@small
def row_that_went(op: int, args: Words) -> int:
    """Return the row that an op of the alias takes away, or 0."""
    is_felt = ld(op, f.O_ALIAS) == args[2] and ld(op, f.O_KIND) >= f.DELETE
    return ld(op, f.O_ROW) if is_felt else 0


@small
def row_that_came(op: int, args: Words) -> int:
    """Return the row that an op of the alias brings, or 0; it lies behind the one that goes."""
    kind = ld(op, f.O_KIND)
    if ld(op, f.O_ALIAS) != args[2] or kind == f.DELETE or kind == f.NOTHING:
        return 0
    return ld(op, f.O_ROW) + (args[3] * 8 if kind >= f.UPDATE else 0)


@small
def find_row(vd: int, row: int, args: Words) -> int:
    """Return the record of a row's key, or 0."""
    gather_words(row, args[4], args[6], args[5])
    return find(vd, args[6])


@small
def gather_words(row: int, places: int, to: int, count: int) -> None:
    """Copy the words at some places of a row."""
    for word in range(count):
        sto(to, word, ld(row, ld(places, word)))
