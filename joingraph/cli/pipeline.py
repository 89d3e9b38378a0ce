"""The commands of pipelines: init, check, run, status, doctor.

Only `run` imports Spark; all others run without it.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

from joingraph import spark
from joingraph.cli.doctor import examine, report
from joingraph.common.errors import StoreError
from joingraph.pipeline.example import FILES
from joingraph.pipeline.report.eta import Backlog, Estimate
from joingraph.pipeline.report.status import read_status
from joingraph.pipeline.settings import read_settings

FILE = Path("pipeline.toml")


def add(found: Any) -> None:
    """Describe the commands."""
    begun = found.add_parser("init", help="write an example pipeline that runs as it is")
    begun.add_argument(
        "folder", type=Path, nargs="?", default=Path(), help="where to (default: here)"
    )
    begun.set_defaults(run=run_init)

    for name, run, text in (
        ("check", run_check, "find every mistake of a pipeline before Spark starts"),
        ("run", run_run, "run a pipeline: diffs in, view diffs out"),
        ("status", run_status, "tell how far a pipeline is, and how fast"),
    ):
        command = found.add_parser(name, help=text)
        command.add_argument(
            "file", type=Path, nargs="?", default=FILE, help="its settings (default: %(default)s)"
        )
        command.set_defaults(run=run)
        if name == "run":
            command.add_argument("--seconds", type=float, help="stop after so long")

    examined = found.add_parser("doctor", help="tell what pipelines need and this machine has")
    examined.set_defaults(run=run_doctor)


def run_init(arguments: argparse.Namespace) -> None:
    """Write the example; nothing that is there is touched."""
    folder: Path = arguments.folder
    there = [name for name in FILES if (folder / name).exists()]
    if there:
        raise StoreError(f"{folder / there[0]} is there already; choose another folder")
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    place = folder / FILE
    print(f"{place} is an example that runs:\n  joingraph check {place}\n  joingraph run {place}")


def run_check(arguments: argparse.Namespace) -> None:
    """Read the settings, and say what they describe."""
    settings = read_settings(arguments.file)
    for view in settings.views:
        print(f"view    {view.name}: {', '.join(view.schema.names)}")
    for name, source in settings.sources.items():
        print(f"source  {name}: {source.format} {source.path}")
    for sink in settings.sinks:
        print(f"sink    {sink['kind']}")
    print(f"{arguments.file} is right")


def run_run(arguments: argparse.Namespace) -> None:
    """Run a pipeline until everything is done, for so many seconds, or until Ctrl-C."""
    settings = read_settings(arguments.file)
    pipeline = spark.from_settings(settings)
    for line in pipeline.driver.lines:
        for name, sink in line.sinks.items():
            print(f"{name}: {sink.guarantee}")
    if sys.stderr.isatty():
        pipeline.on_progress = lambda _: print_estimate(pipeline.backlog)
    pipeline.start()
    try:
        pipeline.wait(arguments.seconds)
    except KeyboardInterrupt:
        print("stopping after this micro-batch", file=sys.stderr)
    finally:
        pipeline.stop()
    print(shown(pipeline.status.figures))


def print_estimate(backlog: Backlog | None) -> None:
    """Print how far a run is, on one line that overwrites itself."""
    estimate = backlog and backlog.estimate()
    if estimate:
        print(f"\r{estimate}\x1b[K", end="", file=sys.stderr, flush=True)


def run_status(arguments: argparse.Namespace) -> None:
    """Print the status that a pipeline has written."""
    settings = read_settings(arguments.file)
    print(shown(read_status(settings.state / "status.json")))


def run_doctor(arguments: argparse.Namespace) -> None:
    """Print what was found; exit code 2 where something is missing that is needed."""
    findings = list(examine())
    print(report(findings))
    missing = [each.what for each in findings if each.mend and each.needed]
    if missing:
        raise StoreError(f"pipelines cannot run: {', '.join(missing)}")


def shown(figures: dict[str, Any]) -> str:
    """Write a status as lines."""
    ago = max(0.0, time.time() - float(figures.get("updated", 0)))
    lines = [f"{figures.get('pipeline')}: {figures.get('state')}, as of {ago:,.0f} s ago"]
    lines.append(
        f"micro-batches: {figures.get('batches', 0):,}, diffs in: {figures.get('diffs', 0):,}, "
        f"view diffs out: {figures.get('view_diffs', 0):,}, "
        f"dead letters: {figures.get('dead_letters', 0):,}"
    )
    if "batch_ms" in figures:
        lines.append(
            f"{figures['diffs_per_s']:,.0f} diffs/s lately; the last micro-batch took "
            f"{figures['batch_ms']:,} ms, {figures['own_ms']:,} of them ours"
        )
    if figures.get("backlog"):
        lines.append(str(Estimate(**figures["backlog"])))
    for table, count in figures.get("by_table", {}).items():
        lines.append(f"  {table}: {count:,} diffs{standing(figures, table)}")
    if figures.get("error"):
        lines.append(f"failed: {figures['error']}")
    return "\n".join(lines)


def standing(figures: dict[str, Any], table: str) -> str:
    """Write where a source stands."""
    source = figures.get("sources", {}).get(table)
    if source is None:
        return ""
    lag_s = source["lag_s"]
    lag = "" if lag_s is None else f", applied {lag_s:,.1f} s after it was written"
    return f", at {source['place']}{lag}"
