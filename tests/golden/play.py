"""Plays a script on one form of the graph in one look-ahead mode, and says what each step gave.

After every step, besides what the script expects: the rows of all batches so far, added up, are
what `scan` reads and `count` counts, a batch's `rows` fold to its `net`, and `check` passes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import groupby

import pyarrow as pa

import joingraph as jg
from joingraph.view_diffs.factorised import Factorised
from joingraph.view_diffs.view_diff import ViewDiff
from tests.bags import Change, Row, bag, difference, fold, pairs, shift
from tests.golden.dump import dump
from tests.golden.literals import Reader, render_row, tokens
from tests.golden.script import Script, Step, unquoted

Entry = tuple[str, str, list[Row]] | tuple[str, str, list[Row], list[Row]]


def play(script: Script, engine: str, lookahead: str) -> list[list[str]]:
    """Run every step in order, in the mode that is asked for or the script's only one."""
    player = Player(script, engine, lookahead)
    return [player.step(step) for step in script.steps]


class Player:
    """A graph being driven by a script, and what its view should be by now."""

    def __init__(self, script: Script, engine: str, lookahead: str) -> None:
        view = jg.View(script.view, tables=script.tables, dialect=script.settings["dialect"])
        self.schemas = {name: table.schema for name, table in view.tables.items()}
        self.form, keeps = script.settings["form"], script.settings["keep_groups"] == "on"
        on_missing, only = script.settings["on_missing"], script.settings["lookahead"]
        lookahead = lookahead if only == "all" else only
        self.graph = jg.JoinGraph(
            view, engine=engine, lookahead=lookahead, on_missing=on_missing, keep_groups=keeps
        )
        self.rows: Counter[str] = bag(self.scan())
        self.last: ViewDiff | None = None

    def step(self, step: Step) -> list[str]:
        """Run one step and check what must hold after any."""
        try:
            lines = self.run(step)
        except jg.JoinGraphError as error:
            lines = [f"! {type(error).__name__}: {line}" for line in str(error).splitlines()]
        found = self.scan()
        assert not (wrong := difference(bag(found), self.rows)), f"line {step.line}:\n{wrong}"
        assert self.graph.count() == len(found)
        self.graph.check()
        return lines

    def run(self, step: Step) -> list[str]:
        """Do what a step says and give its lines."""
        match step.verb:
            case "load":
                return self.load(step)
            case "insert" | "delete" | "update" | "batch":
                return self.batch(step)
            case "net":
                assert self.last is not None
                if self.form == "deltas":
                    deltas = self.last.deltas()
                    return delta_lines(deltas.net(), len(deltas.key))
                return change_lines(self.last.net()) or ["nothing"]
            case "factorised":
                assert self.last is not None
                return group_lines(self.last.factorised())
            case "scan":
                return row_lines(self.scan())
            case "count":
                return [str(self.graph.count())]
            case "graph":
                return dump(self.graph)
            case "quarantine":
                return quarantine_lines(self.graph)
            case "maintain_only":
                self.graph.maintain_only = step.words[1] == "on"
                return []
        raise ValueError(f"line {step.line}: there is no step {step.verb!r}")

    def load(self, step: Step) -> list[str]:
        """Load one or several tables in bulk."""
        rows: dict[str, list[Row]] = {}
        for entry in step.entries:
            table, *rest = list(tokens(entry.removeprefix("load ")))
            rows.setdefault(unquoted(table), []).extend(Reader(rest).rows())
        self.graph.load({table: self.arrow(table, some) for table, some in rows.items()})
        self.rows = bag(self.scan())
        return []

    def arrow(self, table: str, rows: list[Row]) -> pa.Table:
        """Put rows in an Arrow table of the declared types."""
        schema = self.schemas[table]
        columns = zip(*rows, strict=True) if rows else [[] for _ in schema]
        arrays = [pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)]
        return pa.Table.from_arrays(arrays, schema=schema)

    def batch(self, step: Step) -> list[str]:
        """Apply one batch; its rows and its net must say the same."""
        empty = step.command == ["> batch"]
        entries = [] if empty else [read_entry(entry) for entry in step.entries]
        diff = self.last = self.graph.apply(entries, form=self.form)
        if self.form == "deltas":
            self.rows = bag(self.scan())
            deltas = diff.deltas()
            return delta_lines(deltas.table.drop_columns("_diff"), len(deltas.key))
        rows = diff.rows()
        assert len(diff) == len(rows)
        folded = fold(rows)
        assert folded == fold(diff.net()), f"line {step.line}: rows and net differ"
        assert all(kind in ("insert", "delete") for kind, _, _ in diff.net())
        self.rows = shift(self.rows, folded)
        if self.graph.maintain_only:
            assert not rows
            self.rows = bag(self.scan())
        return [line for part in by_diff(diff) for line in change_lines(part)] or ["nothing"]

    def scan(self) -> list[Row]:
        """Read the whole view."""
        table = self.graph.to_arrow()
        assert table.schema == self.graph.view.schema
        rows = rows_of(table)
        assert bag(rows_of(self.graph.scan().read_all())) == bag(rows)
        return rows


def rows_of(table: pa.Table) -> list[Row]:
    """List a table's rows as Python values."""
    columns = [column.to_pylist() for column in table.columns]
    return list(zip(*columns, strict=True))


def read_entry(text: str) -> Entry:
    """Read one entry of a batch."""
    kind, table, *rest = tokens(text)
    table = unquoted(table)
    reader = Reader(rest)
    if kind != "update":
        return (kind, table, list(reader.rows()))
    pre: list[Row] = []
    post: list[Row] = []
    while reader.rest:
        old = reader.row()
        assert reader.take("->"), f"an update is `row -> row`, found {text}"
        new = reader.row()
        times = reader.times()
        pre += [old] * times
        post += [new] * times
        reader.take(",")
    return (kind, table, pre, post)


def by_diff(diff: ViewDiff) -> list[list[Change]]:
    """Cut the rows of a batch where the next base diff's begin; those must be in order."""
    numbers = diff.to_arrow(positions=True)["_diff"].to_pylist()
    assert numbers == sorted(numbers)
    rows = zip(numbers, diff.rows(), strict=True)
    return [[row for _, row in part] for _, part in groupby(rows, key=lambda each: each[0])]


def change_lines(changes: list[Change]) -> list[str]:
    """Write one base diff's view diffs one a line: deletes, updates, inserts, each sorted."""
    counts: Counter[str] = Counter()
    for pre, post, count in pairs(changes):
        if pre is None:
            assert post is not None
            counts["+ " + render_row(post)] += count
        elif post is None:
            counts["- " + render_row(pre)] += count
        else:
            counts[f"~ {render_row(pre)} -> {render_row(post)}"] += count
    return sorted(counted(counts), key=lambda line: ("-~+".index(line[0]), line))


def delta_lines(table: pa.Table, width: int) -> list[str]:
    """Write deltas one a line: the group, and the columns that change."""
    lines = []
    for row in table.to_pylist():
        columns = list(row.items())
        shown = [f"{name}: {change:+}" for name, change in columns[width:] if change]
        lines.append(" | ".join([render_row(tuple(v for _, v in columns[:width])), *shown]))
    return lines or ["nothing"]


def group_lines(found: Factorised) -> list[str]:
    """Write factorised deltas one a line: the columns that change, and the groups of each."""
    lines = []
    for row in found.tables["groups"].drop_columns("_diff").to_pylist():
        groups = [render_row(tuple(each.values())) for each in row.pop("_groups")]
        shown = [f"{name}: {change:+}" for name, change in row.items() if change]
        lines.append(f"{' | '.join(shown)} -> {' '.join(groups)}")
    return lines or ["nothing"]


def row_lines(rows: list[Row]) -> list[str]:
    """Write the view's rows one a line, equal ones counted together, sorted."""
    return list(counted(Counter(map(render_row, rows)))) or ["nothing"]


def counted(lines: Counter[str]) -> Iterator[str]:
    """Write each line once with its multiplicity."""
    for line, count in sorted(lines.items()):
        yield line if count == 1 else f"{line} *{count}"


def quarantine_lines(graph: jg.JoinGraph) -> list[str]:
    """Write the diffs put aside so far, in the order they came."""
    lines = []
    for each in graph.quarantined():
        rows = [render_row(tuple(row.values())) for row in (each.pre, each.post) if row is not None]
        lines.append(f"{each.operation} {each.table} {' -> '.join(rows)}")
    return lines or ["nothing"]
