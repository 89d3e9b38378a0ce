"""A view that groups: the join graph of the rows that are grouped, and the groups above it.

    entries -> engine of the joined rows -> its view diff -> groups (generators/groups.py)
            -> (pre-image, post-image) of each group, births and deaths

Groups follow from the rows: none is stored, and whatever is raised leaves them to be made anew of
the rows. They are made when they are first asked for. Deltas (generators/deltas.py) need none, so
an engine may keep none: then groups are made for each read.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any, Protocol

import pyarrow as pa

from joingraph.common.errors import CorruptGraph, DiffError, LimitError, ViewError
from joingraph.common.progress import Progress
from joingraph.engines.contract import Applied, Blocks, Engine, Ready
from joingraph.engines.group_paths import of_key, paths_of
from joingraph.engines.streaming import one_table
from joingraph.expressions.evaluate import NoAnswer, evaluate
from joingraph.expressions.order import in_order
from joingraph.expressions.show import show
from joingraph.expressions.texts import blocks, take_rows
from joingraph.expressions.tree import Expression
from joingraph.expressions.words import Word
from joingraph.generators.deltas import DeltaMaker
from joingraph.generators.groups import Groups, Key, Shown, Values, some, surviving
from joingraph.generators.reads.scan import BLOCK
from joingraph.graph.blocks import Block
from joingraph.reads.access_paths import AllGroups
from joingraph.reads.expire import Conditions
from joingraph.reads.group_keys import GroupsWay, choose_groups
from joingraph.reads.requests import Reading
from joingraph.reads.requests import Touched as Visited
from joingraph.reads.row_lookup import Asked, ask, of_joined, of_rows
from joingraph.reads.why import Kept
from joingraph.reads.why_not import Break, NoGroup, NotHaving, OtherRow
from joingraph.sql.definition import Definition
from joingraph.tables.batch import Entry, Refused
from joingraph.tables.table import Table
from joingraph.view_diffs.deltas import Deltas, FactorisedDeltas
from joingraph.view_diffs.factorised import Factorised
from joingraph.view_diffs.view_diff import DiffRows, Fold, fold

NO_GROUPS = (
    "this graph keeps no groups, so batches make deltas of them and no rows; ask for"
    ' form="deltas", or make it with keep_groups=True'
)


class Known(Protocol):
    """The groups of a view, as far as rows were brought to them: plain, or by column."""

    def __len__(self) -> int: ...

    def add_rows(self, rows: pa.Table) -> None:
        """Add joined rows, each once."""
        ...

    def absorbed(self, changes: pa.Table) -> tuple[DiffRows, Fold | None]:
        """Add the rows of the join's view diff; give the groups' view diff, and what folds it."""
        ...

    def take_back(self, changes: pa.Table) -> None:
        """Take back the rows of the join's view diff that were absorbed, the last one first."""
        ...

    def all_shown(self) -> Shown:
        """Return what all groups show."""
        ...

    def shown_by(self, way: GroupsWay) -> Shown:
        """Return what the groups show at which a read looks."""
        ...

    def shown(self, keys: Sequence[Key], values: Sequence[Values]) -> Shown:
        """Return which groups pass HAVING, their values, and the view's rows of these."""
        ...

    def keys_of(self, words: tuple[Word, ...], way: GroupsWay) -> list[Key]:
        """Return the keys of the groups that show a row, of those at which a read looks."""
        ...

    def values_of(self, key: Key) -> Values | None:
        """Compute a group's aggregates; None if it is not there."""
        ...

    def states(self) -> Mapping[Key, object]:
        """Return what is kept of each group, to compare it."""
        ...

    @property
    def bytes(self) -> int:
        """About how many bytes groups take."""
        ...


class GroupingEngine:
    """Keeps the groups of one view over an engine that keeps its joined rows, or keeps none."""

    def __init__(self, definition: Definition, rows: Engine, *, keep_groups: bool) -> None:
        assert definition.grouping is not None, "a view without groups needs no more than its rows"
        self.definition, self.grouping, self.rows = definition, definition.grouping, rows
        self.keep_groups = keep_groups
        self._groups: Known | None = None
        # View diffs of the join since `keep`; None: groups were made anew since.
        self._absorbed: list[pa.Table] | None = []

    @property
    def groups(self) -> Known:
        """The groups, made of the joined rows where they are not known."""
        assert self.keep_groups, "groups that are not kept are made for each read"
        if self._groups is None:
            self._absorbed = None
            self._groups = self.made_groups()
        return self._groups

    def groups_of(self, conditions: Sequence[Expression] = ()) -> Known:
        """Return the groups that are kept, or else those that may meet conditions."""
        return self.groups if self.keep_groups else self.made_groups(conditions)

    def new_groups(self) -> Known:
        """Return groups of no rows."""
        return Groups(self.definition)

    def made_groups(self, conditions: Sequence[Expression] = ()) -> Known:
        """Make groups of the joined rows: of all, or of those that may be of such groups."""
        groups, asked = self.new_groups(), of_rows(self.grouping, conditions)
        rows = self.rows
        for batch in rows.read(Reading(asked), Visited()) if asked else rows.scan():
            groups.add_rows(pa.Table.from_batches([batch]))
        return groups

    @cached_property
    def deltas(self) -> DeltaMaker:
        """What makes deltas of joined rows, or ViewError."""
        return DeltaMaker(self.definition)

    def calls(self, tables: Mapping[str, Table]) -> None:
        """Carry all batches out alike."""

    def load(self, entries: Sequence[Entry], *, check: bool = True) -> None:
        """Insert rows without making view diffs; a group that is kept must have a value then."""
        self._groups = None
        self.rows.load(entries, check=check)
        if check and self.keep_groups:
            with nothing_applied():
                self.groups.all_shown()

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
        assert not silent, "groups hear of every entry"
        if generate and not self.keep_groups:
            raise DiffError(NO_GROUPS)
        groups = self.groups if generate else None
        applied = self.rows.apply(entries, skip=skip, generate=generate, ready=ready)
        changes, net = self._absorbed_by(groups, applied.changes)
        return Applied(changes, applied.refused, net)

    def _absorbed_by(self, groups: Known | None, changes: DiffRows) -> tuple[DiffRows, Fold | None]:
        """Let groups absorb a view diff of the joined rows; None: they are made anew once asked."""
        self._groups = None  # until they are whole again
        if groups is None:
            return Groups(self.definition).diff_rows([]), None
        with nothing_applied():
            found = groups.absorbed(changes.table)
        if self._absorbed is not None:
            self._absorbed.append(changes.table)
        self._groups = groups
        return found

    def fold(self, entries: Sequence[Entry], *, skip: bool) -> tuple[pa.Table, list[Refused]]:
        """Apply a batch as `apply` does, and give its view diffs folded."""
        applied = self.apply(entries, skip=skip, generate=True)
        return fold(applied.changes, applied.net), applied.refused

    def stream(
        self, entries: Sequence[Entry], *, skip: bool, generate: bool
    ) -> tuple[Generator[pa.Table], list[Refused]]:
        """Apply a batch whole: its results may fail."""
        applied = self.apply(entries, skip=skip, generate=generate)
        return one_table(applied.changes.rows), applied.refused

    def add_up(self, entries: Sequence[Entry], *, skip: bool) -> tuple[Deltas, list[Refused]]:
        """Apply a batch; give its deltas."""
        deltas, groups = self.deltas, self.groups if self.keep_groups else None
        applied = self.rows.apply(entries, skip=skip, generate=True)
        found = self.deltas_of(applied.changes.table, deltas)
        self._absorbed_by(groups, applied.changes)
        return found, applied.refused

    def deltas_of(self, changes: pa.Table, maker: DeltaMaker) -> Deltas:
        """Return the deltas of the rows of a join's view diff."""
        return maker.of(changes)

    def factorise(
        self, entries: Sequence[Entry], *, skip: bool
    ) -> tuple[Factorised, list[Refused]]:
        """Apply a batch; give its deltas, each with the list of its groups."""
        found, refused = self.add_up(entries, skip=skip)
        return FactorisedDeltas.of(found), refused

    def missing(self, entries: Sequence[Entry]) -> list[Refused]:
        """Name the diffs of a batch that remove a row which is not there; change nothing."""
        return self.rows.missing(entries)

    def fanout(self, entries: Sequence[Entry], *, skip: bool) -> tuple[int, bool, list[Refused]]:
        """Bound the rows of a batch's view diffs: two for each group that a base diff touches.

        It touches one for each joined row at the most, and none but those that are there if it
        only takes joined rows away: by inner joins deletes do.
        """
        rows, _, refused = self.rows.fanout(entries, skip=skip)
        touched, known = rows, self.known_groups()
        is_inner, only_takes = (
            self.grouping.joined.tree is None,
            all(e.post is None for e in entries),
        )
        if self.grouping.is_whole:
            touched = min(rows, sum(each.length for each in entries))
        elif is_inner and only_takes and known is not None:
            touched = min(rows, known * sum(each.length for each in entries))
        return 2 * touched, rows == 0, refused

    def known_groups(self) -> int | None:
        """Return how many groups there are, if that is known."""
        return None if self._groups is None else len(self._groups)

    def expire(self, conditions: Conditions, *, generate: bool) -> DiffRows | Deltas:
        """Delete all base rows that meet the conditions, in every alias named; give view diffs."""
        deltas = self.deltas if generate and not self.keep_groups else None
        groups = self.groups if generate and self.keep_groups else None
        changes = self.rows.expire(conditions, generate=generate)
        assert isinstance(changes, DiffRows), "rows that are joined are no groups"
        found = None if deltas is None else self.deltas_of(changes.table, deltas)
        rows, _ = self._absorbed_by(groups, changes)
        return rows if found is None else found

    def limit(self, memory_limit: int) -> None:
        """Refuse where groups are kept in Python: what they take is not known beforehand."""
        if not self.keep_groups:
            self.rows.limit(memory_limit)
            return
        raise LimitError(
            f"memory_limit=… is not kept by groups of joined rows, which {self.definition.name}"
            " needs; leave it out, or keep_groups=False"
        )

    def keep(self) -> None:
        """Keep what was done so far: `undo` does not reach behind it."""
        self._absorbed = []
        self.rows.keep()

    def undo(self) -> None:
        """Take back what the last call did; groups in doubt are made anew."""
        groups, self._groups = self._groups, None
        self.rows.undo()
        absorbed, self._absorbed = self._absorbed, []
        if groups is not None and absorbed is not None:
            for changes in reversed(absorbed):
                groups.take_back(changes)
            self._groups = groups

    @property
    def is_whole(self) -> bool:
        """True if the last call that changes the graph was carried out to its end."""
        return self.rows.is_whole

    def dump(self) -> Iterable[Block]:
        """Write the joined rows; groups follow from them."""
        return self.rows.dump()

    def arrays(self) -> Iterable[Block]:
        """Write the memory of the joined rows."""
        return self.rows.arrays()

    def restore(self, blocks: Blocks) -> None:
        """Bring an empty graph to what was written."""
        self._groups = None
        self.rows.restore(blocks)

    def scan(self) -> Iterator[pa.RecordBatch]:
        """Read the whole view in bounded batches."""
        return blocks(self.groups_of().all_shown().rows, BLOCK)

    def read(self, reading: Reading, touched: Visited) -> Iterator[pa.RecordBatch]:
        """Read what is asked of the view."""
        _, values, rows = self.groups_of(reading.conditions).shown_by(self.way(reading))
        touched.projected_tuples += rows.num_rows
        chosen = surviving(reading.conditions, values, rows.num_rows)
        if reading.order and len(chosen):
            known = some(values, chosen)
            columns = [evaluate(each.value, known, len(chosen)) for each in reading.order]
            chosen = chosen[in_order(reading.order, columns)]
        part, parts = reading.part
        return blocks(take_rows(rows, chosen[part::parts][: reading.limit]), BLOCK)

    def way(self, reading: Reading) -> GroupsWay:
        """Choose at which groups a read looks."""
        return self.way_to(reading.conditions)

    def way_to(self, conditions: Sequence[Expression]) -> GroupsWay:
        """Choose at which groups to look that may meet conditions."""
        if not self.keep_groups:
            return AllGroups(are_kept=False)
        return choose_groups(self.grouping, conditions)

    def index(self, column: str) -> None:
        """Refuse: groups are found by their key."""
        raise ViewError(f"index: the rows of {self.definition.name} are groups, and have no index")

    def unanswered(self, conditions: Sequence[Expression]) -> None:
        """Name no path: a group has many."""

    def why(self, asked: Asked) -> Sequence[Sequence[Kept | None]]:
        """Find the complete paths of a group of such values."""
        return paths_of(self.rows, self.grouping.joined, self.keys_of(asked), asked.limit)

    def joined_rows(self, asked: Asked) -> int:
        """Count the joined rows of a group."""
        joined = self.grouping.joined
        return sum(self.rows.count(of_key(joined, key)) for key in self.keys_of(asked))

    def keys_of(self, asked: Asked) -> list[Key]:
        """Return the keys of the groups that show such a row."""
        groups, way = self.groups_of(asked.conditions), self.way_to(asked.conditions)
        return groups.keys_of(asked.words, way)

    def why_not(self, asked: Asked) -> list[Break]:
        """Say what the group of such keys shows, or why it has no path."""
        keys = self.grouping.values[: self.grouping.keys]
        shown = {each.value: at for at, each in enumerate(self.definition.output)}
        if any(key not in shown for key in keys):
            way = self.way_to(asked.conditions)
            return [] if self.groups_of().keys_of(asked.words, way) else [NoGroup()]
        key = tuple(asked.words[shown[each]] for each in keys)
        groups = self.groups_of(asked.conditions)
        values = groups.values_of(key)
        if values is None:
            return self.rows.why_not(of_joined(self.definition, asked))
        passing, _, rows = groups.shown([key], [values])
        if not len(passing):
            assert self.grouping.having is not None, "a group without HAVING is shown"
            names = [use.text for use in self.grouping.uses]
            return [NotHaving(show(self.grouping.having), dict(zip(names, values, strict=True)))]
        (row,) = rows.to_pylist()
        return [] if ask(self.definition, row, "").words == asked.words else [OtherRow(row)]

    def count(self, conditions: tuple[Expression, ...] = ()) -> int:
        """Count the groups that are shown and meet conditions."""
        return sum(each.num_rows for each in self.read(Reading(conditions), Visited()))

    def stats(self) -> dict[str, Any]:
        """Return the size of the joined rows' graph, how many groups are kept, and their size."""
        size, taken = (len(self.groups), self.groups.bytes) if self.keep_groups else (0, 0)
        return {**self.rows.stats(), "groups": size, "group_bytes": taken}

    def compile(self, progress: Progress) -> None:
        """Compile what the engine of the joined rows has to compile."""
        self.rows.compile(progress)

    def check(self) -> None:
        """Recompute every invariant, and every group, or raise CorruptGraph."""
        self.rows.check()
        if not self.keep_groups:
            return
        kept, self._groups = self.groups, None
        anew = self.groups
        if kept.states() != anew.states():
            raise CorruptGraph("a group is not what its rows make it")


@contextmanager
def nothing_applied() -> Generator[None]:
    """Add to what refuses a change that nothing of it was applied."""
    try:
        yield
    except NoAnswer:
        raise
    except DiffError as error:
        raise DiffError(f"{error}; nothing was applied") from None
