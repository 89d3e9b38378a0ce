"""Carries batches out and logs them: the part of JoinGraph behind `apply`, `what_if` and `stream`.

checked entries -> engine -> view diffs in one form -> record in the log
                              or: record first, where nothing can fail any more
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import pyarrow as pa

from joingraph.api.journaled import Journaled
from joingraph.api.subscription import is_whole
from joingraph.common.errors import DiffError, LimitError
from joingraph.common.names import short_repr
from joingraph.engines.contract import Ready
from joingraph.engines.missing_rows import missing_text, set_aside
from joingraph.expressions.evaluate import NoAnswer
from joingraph.filters.keyed import split
from joingraph.plan.keyed import Keyed, keyed_aliases
from joingraph.storage.attempt import Attempt
from joingraph.storage.open_graph import Keeping
from joingraph.storage.record import Record
from joingraph.tables.batch import Entry, Refused, without
from joingraph.view_diffs.factorised import Factorised
from joingraph.view_diffs.formats import FromRows, made_as_idiffs, made_as_rows, made_factorised
from joingraph.view_diffs.idiffs import make_idiffs
from joingraph.view_diffs.view_diff import META, Forms, ViewDiff, check_names


class Batches(Journaled):
    """A graph with a history to which batches are applied."""

    def __init__(self, keeping: Keeping, on_missing: str) -> None:
        super().__init__(keeping)
        self.maintain_only = False
        self.max_view_diffs: int | None = None
        self._on_missing = on_missing

    def _batch_of(
        self, entries: list[Entry], source: str | None, position: object, *, remade: bool = False
    ) -> Record:
        """Write down what a batch is to do."""
        said: dict[str, object] = {
            "skip": self._on_missing != "error",
            "quarantine": self._on_missing == "quarantine",
            "source": source,
            "position": position,
        }
        said |= {"remade": True} if remade else {}
        return Record("batch", self._journal.state.seq + 1, said, entries)

    def _applied(
        self, attempt: Attempt, record: Record, form: str, *, is_logged: bool
    ) -> tuple[int, ViewDiff]:
        """Carry a batch out and log it, with its view diffs if somebody may ask for them again."""
        self._check_size(record.entries, form)
        if form == "rows" and not is_logged and self._logs_ahead():
            number, diff = self._carried_out_logged(attempt, record)
        else:
            refused, diff = self._carried_out(record.entries, form)
            attempt.is_done = True
            self._set_aside(attempt, record, refused)
            changes = diff.changes() if is_logged else None
            number = self._commit(attempt, record._replace(changes=changes))
        if record.is_remade:
            attempt.changes = diff.changes
        return number, diff

    def _set_aside(self, attempt: Attempt, record: Record, refused: Sequence[Refused]) -> None:
        """Quarantine diffs that miss their row, once the batch stands, if that was chosen."""
        if refused and record.said["quarantine"]:
            aside = [set_aside(record.entries, each) for each in refused]
            attempt.quarantined = [*self._quarantined, *aside]

    def _check_size(self, entries: Sequence[Entry], form: str) -> None:
        """Refuse a batch that may make more rows of view diffs than `max_view_diffs`."""
        most = self.max_view_diffs
        if most is not None and not is_whole(most):
            raise ValueError(f"max_view_diffs is a number of rows, found {short_repr(most)}")
        if most is not None and form == "rows" and not self.maintain_only:
            rows, exact, _ = self._engine.fanout(entries, skip=True)
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
            self._refuse(record.entries, refused)
            self._set_aside(attempt, record, refused)
            self._journal.store.sync(self._commit(attempt, record), wait=False)

        diff = self._carried_out(record.entries, "rows", ready=ready)[1]
        attempt.is_done = True
        assert attempt.number is not None, "it was logged before it was carried out"
        return attempt.number, diff

    def _carried_out(
        self,
        entries: Sequence[Entry],
        form: str,
        *,
        is_trial: bool = False,
        ready: Ready | None = None,
    ) -> tuple[list[Refused], ViewDiff]:
        """Carry a batch out and give its view diffs in one form."""
        if form != "rows":
            check_names(f'form="{form}"', pa.schema([*self.view.schema, *META]))
        seq = self._journal.state.seq + 1
        skip, generate = self._on_missing != "error", is_trial or not self.maintain_only
        if generate and form == "idiffs":
            refused, forms = self._as_idiffs(entries)
        elif generate and form == "factorised":
            found, refused = self._factorised(entries, skip=skip)
            forms = made_factorised(found, self._from_rows(entries, refused))
        else:
            applied = self._engine.apply(entries, skip=skip, generate=generate, ready=ready)
            refused = applied.refused
            told = self._from_rows(entries if generate else [], refused if generate else [])
            forms = made_as_rows(applied.changes, told, applied.net)
        self._refuse(entries, refused)
        return refused, ViewDiff(forms, seq)

    def _factorised(
        self, entries: Sequence[Entry], *, skip: bool
    ) -> tuple[Factorised, list[Refused]]:
        """Carry a batch out and give its view diffs as nested lists.

        Where a partner has no answer the rows decide: it may go, or never be on a complete path.
        """
        try:
            return self._engine.factorise(entries, skip=skip)
        except NoAnswer:
            self._engine.undo()
            applied = self._engine.apply(entries, skip=skip, generate=True)
            return Factorised({}, applied.changes.table), applied.refused

    def _as_idiffs(self, entries: Sequence[Entry]) -> tuple[list[Refused], Forms]:
        """Carry a batch out with its base rows folded, making only the rows that i-diffs lack."""
        refused = self._engine.missing(entries)
        self._refuse(entries, refused)
        parts = split(self.view.plan, self._keyed, without(entries, refused))
        applied = self._engine.apply(parts.entries, skip=False, generate=True, silent=parts.silent)
        assert not applied.refused, "what a batch removes, its folded diffs remove"
        idiffs = make_idiffs(self.view.plan, self._keyed, parts.diffs, applied.changes.table)
        return refused, made_as_idiffs(idiffs)

    def _from_rows(self, entries: Sequence[Entry], refused: Sequence[Refused]) -> FromRows:
        """Say how a batch's i-diffs are made of its rows, if somebody asks for them."""
        left = without(entries, refused)
        plan, keyed = self.view.plan, self._keyed
        return lambda changes: make_idiffs(plan, keyed, split(plan, keyed, left).diffs, changes)

    @cached_property
    def _keyed(self) -> dict[int, Keyed]:
        return keyed_aliases(self.view.plan)

    def _refuse(self, entries: Sequence[Entry], refused: Sequence[Refused]) -> None:
        """Raise an error for diffs that miss the row they remove, if they are not left out."""
        if refused and self._on_missing == "error":
            raise DiffError(missing_text(entries, refused))
