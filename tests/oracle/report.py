"""Writes a case as a golden script, with what the judges say it should give."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tests.golden.literals import render_row
from tests.oracle.case import Batch, Case, Entry
from tests.oracle.judges import Model


def script(case: Case) -> str:
    """Write the case; `net` and `scan` are the judges', rows are left to `--update`."""
    lines = [f"dialect: {case.dialect}"]
    lines += [f"{table.create};" for table in case.tables]
    lines += [f"CREATE VIEW v AS\n{case.view.sql};", ""]
    model = Model(case)
    if case.load:
        model.apply(case.load)
        lines += ["> load", *(f"    {load_line(entry)}" for entry in case.load), ""]
    for batch in case.batches:
        lines += batch_lines(batch, model)
    if case.last is not None:
        lines += ["# May overflow:", *entry_lines(case.last.entries)]
    return "\n".join(lines)


def batch_lines(batch: Batch, model: Model) -> Iterator[str]:
    """Write one batch and the view after it."""
    if batch.poison:
        yield "# May leave a group without a value; what is accepted is deleted again:"
        yield from entry_lines(batch.poison)
    if batch.missing is not None:
        yield "# Must be refused:"
        yield from entry_lines(batch.bad_entries)
    yield from entry_lines(batch.entries)
    model.apply(batch.entries)
    yield "# The view is now, by repr:"
    yield from (f"#   {row} *{count}" for row, count in sorted(model.view().items()))
    yield ""


def entry_lines(entries: Iterable[Entry]) -> Iterator[str]:
    """Write the entries of a batch."""
    yield "> batch"
    for entry in entries:
        rows = ", ".join(map(render_row, entry.rows))
        if entry.kind == "update":
            both = zip(entry.rows, entry.post, strict=True)
            rows = ", ".join(f"{render_row(pre)} -> {render_row(post)}" for pre, post in both)
        yield f"    {entry.kind} {entry.table} {rows}".rstrip()


def load_line(entry: Entry) -> str:
    """Write one table of a load."""
    return f"{entry.table} {' '.join(map(render_row, entry.rows))}".rstrip()
