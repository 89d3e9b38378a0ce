"""Drives the three stages over the plain join graph, diff by diff: what every form must do.

    entries -> filters.diffs -> maintainers.presence -> (maintainers.rows -> generators.diffs)
            -> generators.rows -> table of view diffs

An update of a self-joined table goes through the table's aliases one after the other: each alias'
change meets the others as they are by then, the earlier ones new, the later ones old.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa

from joingraph.common.errors import LimitError
from joingraph.common.progress import Progress
from joingraph.engines.contract import Applied, Blocks, Ready
from joingraph.engines.streaming import one_table
from joingraph.expressions.tree import Expression
from joingraph.filters.diffs import felt, side
from joingraph.filters.loads import refused_load
from joingraph.generators.diffs import Effect, effects
from joingraph.generators.factorised import Factoriser
from joingraph.generators.fanout import Fanout, fanout, joined
from joingraph.generators.reads.reading import count, read, why
from joingraph.generators.reads.starts import best_way
from joingraph.generators.reads.unanswered import new_unanswered, read_unanswered
from joingraph.generators.reads.why_not import why_not
from joingraph.generators.rows import to_rows
from joingraph.graph.blocks import Block
from joingraph.graph.join_graph import Change, Diff, Flip, Graph, Image, Move
from joingraph.graph.row_blocks import block_name, dump_rows, images, read_rows
from joingraph.graph.size import stats
from joingraph.maintainers.check import check
from joingraph.maintainers.expire import expired
from joingraph.maintainers.keys import KeyIndex, RunningKeys
from joingraph.maintainers.lookahead import look_ahead
from joingraph.maintainers.pairs import Paired
from joingraph.maintainers.presence import Presence
from joingraph.maintainers.rows import insert, maintain
from joingraph.plan.model import Plan
from joingraph.reads.access_paths import Way
from joingraph.reads.expire import Conditions
from joingraph.reads.requests import Reading, Touched
from joingraph.reads.row_lookup import Asked
from joingraph.reads.unanswered import Unanswered
from joingraph.reads.why import Kept
from joingraph.reads.why_not import Break
from joingraph.tables.batch import Entry, Refused
from joingraph.tables.table import Table
from joingraph.view_diffs.factorised import Factorised
from joingraph.view_diffs.view_diff import DiffRows

Changes = tuple[Change | Move | Flip, ...]
Use = Callable[[Changes], None]
Numbered = tuple[int, tuple[Diff, ...]]  # a base diff: what its aliases have of it


class ReferenceEngine:
    """Keeps a view's join graph in plain objects."""

    def __init__(self, plan: Plan, lookahead: str, key_index: Sequence[str] = ()) -> None:
        self.plan = plan
        self.graph = Graph(plan)
        self.look = look_ahead(lookahead, self.graph)
        self.keys = KeyIndex(plan, key_index)
        self.pairs = Paired(plan)
        self.lookahead, self.tables = lookahead, key_index
        self.keep()

    def calls(self, tables: Mapping[str, Table]) -> None:
        """Carry all batches out alike."""

    def load(self, entries: Sequence[Entry], *, check: bool = True) -> None:
        """Insert rows without making view diffs."""
        fresh = [alias.index for alias in self.plan.aliases if not self.graph.size(alias.index)]
        admitted, _ = self.admit(entries, skip=True)
        new: dict[int, list[Image]] = {}
        self.keep()
        for _, diffs in admitted:
            for diff in diffs:
                self.carry_out(diff, unused)
                if diff.post is not None:
                    new.setdefault(diff.alias, []).append(diff.post)
        if check and (found := new_unanswered(self.graph, self.look, new, fresh)):
            raise refused_load(self.plan, entries, found)

    def apply(
        self,
        entries: Sequence[Entry],
        *,
        skip: bool,
        generate: bool,
        silent: int = 0,
        ready: Ready | None = None,
    ) -> Applied:
        """Apply a batch; after an exception, `undo` takes back what was done of it."""
        admitted, refused = self.admit(entries, skip=skip)
        if ready is not None:
            ready(refused)
        first = sum(entry.length for entry in entries[:silent]) if generate else None
        return Applied(self.carry_out_all(admitted, first), refused)

    def carry_out_all(self, admitted: Iterable[Numbered], first: int | None) -> DiffRows:
        """Carry out base diffs; give the view diffs from the first one on, None: of none."""
        found: list[tuple[int, Effect]] = []
        self.keep()
        for number, diffs in admitted:
            for diff in diffs:
                is_told = first is not None and number >= first
                use = partial(self.add_effects, found, number) if is_told else unused
                self.carry_out(diff, use)
        return DiffRows.of(to_rows(self.plan, found))

    def stream(
        self, entries: Sequence[Entry], *, skip: bool, generate: bool
    ) -> tuple[Generator[pa.Table], list[Refused]]:
        """Find what a batch is refused for, then apply it while its view diffs are taken."""
        applied = self.apply(entries, skip=skip, generate=generate)
        return one_table(applied.changes.rows), applied.refused

    def factorise(
        self, entries: Sequence[Entry], *, skip: bool
    ) -> tuple[Factorised, list[Refused]]:
        """Apply a batch as `apply` does, and give its view diffs as nested lists."""
        admitted, refused = self.admit(entries, skip=skip)
        factoriser = Factoriser(self.graph, self.look)
        self.keep()
        for number, diffs in admitted:
            moves = any(diff.pre and diff.post for diff in diffs)
            paired = bool(self.plan.pairs) or (len(diffs) > 1 and (moves or not self.plan.is_inner))
            for diff in diffs:
                self.carry_out(diff, partial(factoriser.add, number, paired=paired))
        return factoriser.made(), refused

    def fanout(self, entries: Sequence[Entry], *, skip: bool) -> tuple[int, bool, list[Refused]]:
        """Count the rows of a batch's view diffs, and say if that is exact; change nothing."""
        admitted, refused = self.admit(entries, skip=skip)
        found = []
        self.keep()
        for _, diffs in admitted:
            counts = list[Fanout]()
            for diff in diffs:
                self.carry_out(diff, partial(self.add_fanout, counts))
            found.append(joined(counts))
        self.undo()
        return sum(each.rows for each in found), all(each.exact for each in found), refused

    def expire(self, conditions: Conditions, *, generate: bool) -> DiffRows:
        """Delete all base rows that meet the conditions, in every alias named; give view diffs."""
        gone = [
            diff
            for alias, conjuncts in conditions.items()
            for diff in expired(self.graph, self.plan.aliases[alias], conjuncts)
        ]
        numbered = enumerate((diff,) for diff in gone)
        return self.carry_out_all(numbered, 0 if generate else None)

    def effects(self, number: int, changed: Changes) -> list[tuple[int, Effect]]:
        """Return what changes do to the view, with the number of their base diff."""
        return [
            (number, effect)
            for change in changed
            for effect in effects(self.graph, self.look, change)
        ]

    def add_effects(self, found: list[tuple[int, Effect]], number: int, changed: Changes) -> None:
        """Add what changes do to the view, while the graph is as they have left it."""
        found += self.effects(number, changed)

    def add_fanout(self, found: list[Fanout], changed: Changes) -> None:
        """Add how many rows changes have, while the graph is as they have left it."""
        found.append(fanout(self.graph, self.look, changed))

    def carry_out(self, diff: Diff, use: Use) -> None:
        """Carry one diff out, with the pairs that come and go by it; use what changed each time.

        `torn` says that an exception came in the middle of it.
        """
        for image in diff.pre, diff.post:
            if image is not None:
                self.before.setdefault((diff.alias, image), self.graph.count(diff.alias, image))
        self.is_torn = True
        for each in self.pairs.coming(diff):
            use(maintain(self.graph, self.look, each))
        changed = maintain(self.graph, self.look, diff)
        going = self.pairs.going(diff)
        self.keys.note(diff)
        self.done.append(diff)
        self.is_torn = bool(going)
        use(changed)
        for each in going:
            use(maintain(self.graph, self.look, each))
        self.is_torn = False

    def limit(self, memory_limit: int) -> None:
        """Refuse: plain objects take what they take."""
        raise LimitError(
            'memory_limit=… is kept by the compiled engine; leave out engine="reference"'
        )

    @property
    def is_whole(self) -> bool:
        """True: no call ends in the middle but by an exception."""
        return True

    def keep(self) -> None:
        """Keep what was done so far: `undo` does not reach behind it."""
        self.before: dict[tuple[int, Image], int] = {}  # rows of images a batch has changed
        self.done: list[Diff] = []
        self.is_torn = False

    def undo(self) -> None:
        """Take the last batch back: diff by diff, or by making the graph anew if it is torn."""
        if self.is_torn:
            self.make_anew()
        else:
            self.is_torn = True
            for alias, pre, post in self.done[::-1]:
                self.carry_out(Diff(alias, post, pre), unused)
        self.keep()

    def make_anew(self) -> None:
        """Make the graph anew of the rows that there were before the last batch.

        A join tuple's counts are right even where what hangs on it is not.
        """
        rows = {
            (each.alias, Image(each.key, row)): times
            for alias in self.plan.of_tables
            for each in self.graph.tuples[alias.index].values()
            for row, times in each.rows.items()
        }
        made = ReferenceEngine(self.plan, self.lookahead, self.tables)
        for (alias, image), times in (rows | self.before).items():
            if times:
                made.put(alias, image, times)
        for column in self.graph.indexes:
            made.index(column)
        self.graph, self.look = made.graph, made.look
        self.keys, self.pairs = made.keys, made.pairs

    def dump(self) -> Iterator[Block]:
        """Write what is kept of the base rows; everything else follows from that."""
        return dump_rows(self.graph)

    def arrays(self) -> tuple[Block, ...]:
        """Write nothing: a plain graph's memory is Python's own."""
        return ()

    def restore(self, blocks: Blocks) -> None:
        """Insert the rows that were written."""
        for alias in self.plan.aliases:
            if block_name(alias) in blocks:
                for batch in read_rows(self.plan, alias, blocks[block_name(alias)]):
                    for image, times in images(self.plan, alias, batch):
                        self.put(alias.index, image, times)

    def put(self, alias: int, image: Image, times: int) -> None:
        """Insert rows that were there before: the view has what follows from them."""
        diff = Diff(alias, None, image)
        for each in self.pairs.coming(diff, times):
            maintain(self.graph, self.look, each)
        insert(self.graph, self.look, alias, image, times=times)
        self.look.flipped()
        self.keys.note(diff)

    def missing(self, entries: Sequence[Entry]) -> list[Refused]:
        """Name the diffs of a batch that remove a row which is not there; change nothing."""
        return self.admit(entries, skip=True)[1]

    def admit(
        self, entries: Sequence[Entry], *, skip: bool
    ) -> tuple[list[Numbered], list[Refused]]:
        """Filter a batch and number its base diffs; leave out those that miss their row, or all."""
        present, keys = Presence(self.graph), RunningKeys(self.keys)
        admitted: list[Numbered] = []
        refused: list[Refused] = []
        number = 0
        for place, entry in enumerate(entries):
            for row, diffs in enumerate(self.alias_diffs(entry, keys)):
                if diffs is not None and present.admit(diffs):
                    keys.admit(diffs)
                    admitted.append((number, diffs))
                else:
                    refused.append(Refused(place, row))
                number += 1
        return admitted if skip or not refused else [], refused

    def alias_diffs(self, entry: Entry, keys: RunningKeys) -> Iterable[tuple[Diff, ...] | None]:
        """Yield each base row's diffs of the aliases; None where no row has its key."""
        table = self.plan.definition.tables[entry.table]
        if entry.pre is None or entry.pre.num_columns == len(table.schema):
            return felt(self.plan, entry)
        return self.diffs_by_key(entry, keys)

    def diffs_by_key(self, entry: Entry, keys: RunningKeys) -> Iterator[tuple[Diff, ...] | None]:
        """Find the images of rows given by their keys, as they are after the diffs before."""
        aliases = [alias for alias in self.plan.aliases if alias.table == entry.table]
        assert entry.pre is not None, "only a row that goes is found by its key"
        pre_keys = [list(self.keys.given(alias.index, entry.pre)) for alias in aliases]
        posts = [side(alias, entry.post, entry) for alias in aliases]
        for row in range(entry.length):
            found = [
                Diff(alias.index, keys.find(alias.index, of[row]), post[row])
                for alias, of, post in zip(aliases, pre_keys, posts, strict=True)
            ]
            known = any(diff.pre for diff in found) or not self.keys.holds_all(entry.table)
            yield tuple(diff for diff in found if diff.pre or diff.post) if known else None

    def scan(self) -> Iterator[pa.RecordBatch]:
        """Read the whole view, starting from the alias with the fewest join tuples."""
        return self.read(Reading(), Touched())

    def read(self, reading: Reading, touched: Touched) -> Iterator[pa.RecordBatch]:
        """Read what is asked of the view, counting what is touched of the graph."""
        return read(self.graph, self.look, reading, touched)

    def way(self, reading: Reading) -> Way:
        """Choose where a read starts."""
        return best_way(self.graph, reading)

    def index(self, column: str) -> None:
        """Declare a secondary index on an output column that is kept as it is."""
        (value,) = (each.value for each in self.plan.definition.output if each.name == column)
        self.graph.indexes[column] = self.plan.slots[value]

    def unanswered(self, conditions: Sequence[Expression]) -> Unanswered | None:
        """Return a complete path that meets conditions and on which the view has no answer."""
        return read_unanswered(self.graph, self.look, conditions)

    def why(self, asked: Asked) -> Sequence[Sequence[Kept | None]]:
        """Find the complete paths behind a row of the view: what each alias keeps on it."""
        return why(self.graph, self.look, asked)

    def joined_rows(self, asked: Asked) -> int:
        """Count the rows that are equal to one of the view."""
        return self.count(asked.conditions)

    def why_not(self, asked: Asked) -> list[Break]:
        """Find where the paths of a row break that the view does not have."""
        return why_not(self.graph, self.look, asked)

    def count(self, conditions: tuple[Expression, ...] = ()) -> int:
        """Count the view's rows that meet conditions, without making them."""
        return count(self.graph, self.look, conditions)

    def stats(self) -> dict[str, Any]:
        """Return the graph's size by alias, vertex and kind."""
        return stats(self.graph)

    def compile(self, progress: Progress) -> None:
        """Compile nothing: this form is plain Python."""

    def check(self) -> None:
        """Recompute every invariant, or raise CorruptGraph."""
        check(self.graph, self.look)
        self.pairs.check(self.graph)


def unused(_: Changes) -> None:
    """Make nothing of what changed."""
