"""Carries batches out and logs them: what is behind `apply`, `what_if` and `stream` (writes.py).

checked entries -> engine -> view diffs in one form -> record in the log
                              or: record first, where nothing can fail any more
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import pyarrow as pa

from joingraph.api.subscription import is_whole
from joingraph.common.errors import DiffError, LimitError
from joingraph.common.names import plain, short_repr
from joingraph.engines.contract import ALL_ROWS, Calls, Engine, IdiffsOf, Ready, Wanted
from joingraph.engines.grouping import GroupingEngine
from joingraph.engines.missing_rows import missing_text, set_aside
from joingraph.engines.stand_in import has_failed
from joingraph.engines.streaming import never_fails
from joingraph.expressions.evaluate import NoAnswer
from joingraph.filters.keyed import split
from joingraph.plan.keys.keyed import Keyed, keyed_aliases
from joingraph.plan.keys.totals import delta_columns
from joingraph.plan.view import View
from joingraph.storage.attempt import Attempt
from joingraph.storage.live_graph import LiveGraph
from joingraph.storage.positions import Origin
from joingraph.storage.record import Record
from joingraph.tables.batch import Entry, Refused, without
from joingraph.tables.row_batch import RowBatch
from joingraph.view_diffs.deltas import Deltas
from joingraph.view_diffs.factorised import Factorised
from joingraph.view_diffs.formats import (
    FromRows,
    made_as_deltas,
    made_as_idiffs,
    made_as_rows,
    made_factorised,
    made_folded,
)
from joingraph.view_diffs.idiffs import IDiffs, group_idiffs, make_idiffs
from joingraph.view_diffs.view_diff import META, Forms, ViewDiff, check_names


def said_of(origin: Origin | None) -> dict[str, object]:
    """Return what a record says of where its rows come from."""
    return dict(zip(Origin._fields, origin or (None, None), strict=True))


class Called(NamedTuple):
    """What carries few rows of an engine out, and makes their i-diffs."""

    engine: Engine | None
    calls: Calls | None
    idiffs: IdiffsOf | None


class Kept(NamedTuple):
    """What a record says of a batch besides its rows, and where its view diffs are kept."""

    said: dict[str, object]
    is_logged: bool
    is_remade: bool


class Batches:
    """Carries out the batches of one graph; the caller is amid a change of it."""

    def __init__(self, live: LiveGraph) -> None:
        self.maintain_only = False
        self.max_view_diffs: int | None = None
        on_missing = live.keeping.owner.options["on_missing"]
        self.skips, self._quarantines = on_missing != "error", on_missing == "quarantine"
        self._live = live
        self._said = self.said(None, remade=False)  # of batches without a position
        self._keyed_of: tuple[View, dict[int, Keyed]] | None = None
        self._calls = Called(None, None, None)

    def batch_of(
        self, entries: list[Entry], origin: Origin | None, *, remade: bool = False
    ) -> Record:
        """Write down what a batch is to do."""
        return Record(
            "batch", self._live.journal.state.seq + 1, self.said(origin, remade=remade), entries
        )

    def said(self, origin: Origin | None, *, remade: bool) -> dict[str, object]:
        """Return what a record says of a batch besides its rows."""
        said = {"skip": self.skips, "quarantine": self._quarantines, **said_of(origin)}
        return said | ({"remade": True} if remade else {})

    @property
    def calls(self) -> Calls | None:
        """Return what carries few rows of the graph out at once, if there is something."""
        live, known = self._live, self._calls
        if known.engine is not live.engine and not has_failed(live.engine):
            idiffs = partial(idiffs_of_few, live.view, self._keyed)
            known = Called(live.engine, live.engine.calls(live.view.tables), idiffs)
            self._calls = known
        most = self.max_view_diffs
        is_refused = most is not None and not is_whole(plain(most))
        return None if is_refused or known.engine is not live.engine else known.calls

    def called(
        self, attempt: Attempt, batch: RowBatch, kept: Kept | None = None
    ) -> tuple[int, ViewDiff] | None:
        """Carry out few rows and log them; None, and nothing is changed: they go by blocks."""
        live, (_, calls, idiffs) = self._live, self._calls
        assert calls is not None and idiffs is not None, "they have read the batch"
        seq = live.journal.state.seq + 1
        is_plain = not self.maintain_only and self.max_view_diffs is None
        diff = calls.carry_out(batch, idiffs, seq, ALL_ROWS if is_plain else self._wanted)
        if diff is None:
            live.engine.undo()
            return None
        attempt.is_done = True
        if kept is None:
            return live.commit(attempt, Record("batch", seq, self._said, rows=batch)), diff
        changes = diff.changes() if kept.is_logged else None
        record = Record("batch", seq, kept.said, changes=changes, rows=batch)
        number = live.commit(attempt, record)
        if kept.is_remade:
            attempt.changes = diff.changes
        return number, diff

    @property
    def _wanted(self) -> Wanted:
        """What is wanted of the view diffs of a batch."""
        if self.maintain_only:
            return Wanted(generate=False, most=None)
        return Wanted(generate=True, most=plain(self.max_view_diffs))

    def tried(self, attempt: Attempt, batch: RowBatch) -> ViewDiff | None:
        """Carry out few rows and take them back; None: they go by blocks."""
        live, (_, calls, idiffs) = self._live, self._calls
        assert calls is not None and idiffs is not None, "they have read the batch"
        diff = calls.carry_out(batch, idiffs, live.journal.state.seq + 1)
        live.engine.undo()
        return diff

    def applied(
        self, attempt: Attempt, record: Record, form: str, *, is_logged: bool
    ) -> tuple[int, ViewDiff]:
        """Carry a batch out and log it, with its view diffs if they may be asked for again."""
        made = "rows" if is_logged or record.is_remade else form  # which subscribers can be told
        if self.makes_deltas(form):
            self._check_subscribers(form)
            made = form
        self._check_size(record.entries, made)
        if form == "rows" and not is_logged and self._logs_ahead:
            number, diff = self._carried_out_logged(attempt, record)
        else:
            refused, diff = self.carried_out(attempt, record.entries, made)
            if made != form == "idiffs" and not self.maintain_only:
                diff.idiffs()  # or it is refused, as without subscribers
            attempt.is_done = True
            self.set_aside(attempt, record, refused)
            changes = diff.changes() if is_logged else None
            number = self._live.commit(attempt, record._replace(changes=changes))
        if record.is_remade:
            attempt.changes = diff.changes
        return number, diff

    def makes_deltas(self, form: str) -> bool:
        """True if what a batch does in this form are the deltas of groups."""
        has_groups = self._live.view.definition.grouping is not None
        return form == "deltas" or (form == "factorised" and has_groups)

    def _check_subscribers(self, form: str) -> None:
        """Refuse deltas where subscribers get rows: a batch is told in one way."""
        live = self._live
        if live.keeping.keep_groups and live.journal.state.wanted_after() is not None:
            raise DiffError(
                f'form="{form}": this graph has subscribers, who get rows; apply with form="rows",'
                " or make the graph with keep_groups=False, whose subscribers get deltas"
            )

    def check_tellable(self) -> None:
        """Refuse a subscriber where the view diffs of batches can be neither rows nor deltas."""
        if not self._live.keeping.keep_groups:
            delta_columns(self._live.view.definition)

    @property
    def _logs_ahead(self) -> bool:
        """True if a batch that is not refused cannot fail any more, and it pays to know."""
        return self._live.journal.store.is_durable and never_fails(self._live.view)

    def set_aside(self, attempt: Attempt, record: Record, refused: Sequence[Refused]) -> None:
        """Quarantine diffs that miss their row, once the batch stands, if that was chosen."""
        if refused and record.said["quarantine"]:
            aside = [set_aside(record.entries, each) for each in refused]
            attempt.quarantined = [*self._live.quarantined, *aside]

    def _check_size(self, entries: Sequence[Entry], form: str) -> None:
        """Refuse a batch that may make more rows of view diffs than `max_view_diffs`."""
        most = plain(self.max_view_diffs)
        if most is not None and not is_whole(most):
            raise ValueError(f"max_view_diffs is a number of rows, found {short_repr(most)}")
        if most is not None and form in ("rows", "net") and not self.maintain_only:
            rows, exact, _ = self._live.engine.fanout(entries, skip=True)
            if rows > most:
                raise LimitError(
                    f"max_view_diffs={most:,}: this batch makes {'' if exact else 'up to '}{rows:,}"
                    " rows of view diffs; nothing was applied: use stream(), or apply less at once"
                )

    def _carried_out_logged(self, attempt: Attempt, record: Record) -> tuple[int, ViewDiff]:
        """Log a batch once it cannot be refused, and carry it out while the disk is at work.

        This is not the only way to the log: a record that holds its view diffs waits for them, a
        view whose outputs may raise an error can fail till the end, and i-diffs are made of a
        batch that is folded first. Those batches are logged afterwards, or else taken back.
        """

        def ready(refused: list[Refused]) -> None:
            self.refuse(record.entries, refused)
            self.set_aside(attempt, record, refused)
            self._live.journal.store.sync(self._live.commit(attempt, record), wait=False)

        diff = self.carried_out(attempt, record.entries, "rows", ready=ready)[1]
        attempt.is_done = True
        assert attempt.number is not None, "it was logged before it was carried out"
        return attempt.number, diff

    def carried_out(
        self, attempt: Attempt, entries: Sequence[Entry], form: str, *, ready: Ready | None = None
    ) -> tuple[list[Refused], ViewDiff]:
        """Carry a batch out and give its view diffs in one form."""
        if form not in ("rows", "net"):
            check_names(f'form="{form}"', pa.schema([*self._live.view.schema, *META]))
        seq = self._live.journal.state.seq + 1
        skip, generate = self.skips, attempt.is_trial or not self.maintain_only
        if self.makes_deltas(form):
            refused, forms = self._deltas(entries, form, generate=generate)
        elif generate and form == "idiffs":
            refused, forms = self._as_idiffs(entries)
        elif generate and form == "factorised":
            found, refused = self._factorised(entries, skip=skip)
            forms = made_factorised(found, self.from_rows(entries, refused))
        elif generate and form == "net" and isinstance(self._live.engine, GroupingEngine):
            folded, refused = self._live.engine.fold(entries, skip=skip)
            forms = made_folded(folded)
        else:
            applied = self._live.engine.apply(entries, skip=skip, generate=generate, ready=ready)
            refused = applied.refused
            idiffs = self.from_rows(entries if generate else [], refused if generate else [])
            forms = made_as_rows(applied.changes, idiffs, applied.net)
        self.refuse(entries, refused)
        return refused, ViewDiff(forms, seq)

    def _deltas(
        self, entries: Sequence[Entry], form: str, *, generate: bool
    ) -> tuple[list[Refused], Forms]:
        """Carry a batch out and give the deltas of groups; none, if view diffs are not wanted."""
        engine, definition = self._live.engine, self._live.view.definition
        if generate and form == "deltas" and isinstance(engine, GroupingEngine):
            deltas, refused = engine.add_up(entries, skip=self.skips)
            return refused, made_as_deltas(deltas)
        if generate and definition.grouping is not None:
            found, refused = engine.factorise(entries, skip=self.skips)
            return refused, made_factorised(found, self.from_rows((), ()))
        columns = delta_columns(definition)  # which a view without groups does not have
        applied = engine.apply(entries, skip=self.skips, generate=False)
        return applied.refused, made_as_deltas(Deltas(columns.schema.empty_table()))

    def _factorised(
        self, entries: Sequence[Entry], *, skip: bool
    ) -> tuple[Factorised, list[Refused]]:
        """Carry a batch out and give its view diffs as nested lists.

        Where a partner has no answer the rows decide: it may go, or never be on a complete path.
        """
        try:
            return self._live.engine.factorise(entries, skip=skip)
        except NoAnswer:
            self._live.engine.undo()
            applied = self._live.engine.apply(entries, skip=skip, generate=True)
            return Factorised({}, applied.changes.table), applied.refused

    def _as_idiffs(self, entries: Sequence[Entry]) -> tuple[list[Refused], Forms]:
        """Carry a batch out with its base rows folded, making only the rows that i-diffs lack."""
        view = self._live.view
        if view.definition.grouping is not None:  # whose rows are folded already, by group
            applied = self._live.engine.apply(entries, skip=self.skips, generate=True)
            idiffs = idiffs_of(view, {}, (), applied.changes.table)
            return applied.refused, made_as_idiffs(idiffs)
        refused = self._live.engine.missing(entries)
        self.refuse(entries, refused)
        parts = split(view.plan, self._keyed, without(entries, refused))
        applied = self._live.engine.apply(
            parts.entries, skip=False, generate=True, silent=parts.silent
        )
        assert not applied.refused, "what a batch removes, its folded diffs remove"
        idiffs = make_idiffs(view.plan, self._keyed, parts.diffs, applied.changes.table)
        return refused, made_as_idiffs(idiffs)

    def from_rows(self, entries: Sequence[Entry], refused: Sequence[Refused]) -> FromRows:
        """Return how a batch's i-diffs are made of its rows, if they are asked for."""
        return partial(idiffs_of, self._live.view, self._keyed, without(entries, refused))

    @property
    def _keyed(self) -> dict[int, Keyed]:
        """The aliases of the graph's view that have i-diffs."""
        view, known = self._live.view, self._keyed_of
        if known is None or known[0] is not view:
            known = self._keyed_of = view, keyed_aliases(view.plan)
        return known[1]

    def refuse(self, entries: Sequence[Entry], refused: Sequence[Refused]) -> None:
        """Raise an error for diffs that miss the row they remove, if they are not left out."""
        if refused and not self.skips:
            raise DiffError(missing_text(entries, refused))


def idiffs_of(
    view: View, keyed: dict[int, Keyed], entries: Sequence[Entry], changes: pa.Table
) -> IDiffs:
    """Make the i-diffs of a batch whose rows were made, if they are asked for."""
    if view.definition.grouping is not None:
        return group_idiffs(view.definition, changes)
    return make_idiffs(view.plan, keyed, split(view.plan, keyed, entries).diffs, changes)


def idiffs_of_few(
    view: View, keyed: dict[int, Keyed], batch: RowBatch, changes: pa.Table
) -> IDiffs:
    """Do so with a batch of few rows, which are entries only then."""
    return idiffs_of(view, keyed, batch.entries(view.tables), changes)
