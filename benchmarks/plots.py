"""Draws the figures of docs/benchmarks.md from result files: `python -m benchmarks.plots`.

    results/*.jsonl  ->  figures/{fanout,joins,lookahead,kinds,scan,memory}.svg

All runs of a figure are of one machine, the one that was measured last; of several files with the
same settings the newest counts, by its median, as in the tables. A figure without runs is not
drawn. Every figure names the machine, the commit and the date.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from benchmarks.harness.record import MIB, Run, parse
from benchmarks.harness.runner import middle
from benchmarks.workloads.catalogue import FANOUTS, JOINS, KINDS
from benchmarks.workloads.model import FOLLOWER_CHAINS, RETWEET_DEPTHS

HERE = Path(__file__).parent
COLOURS = {
    "joingraph": "#d62728",
    "hand": "#1f77b4",
    "dd": "#2ca02c",
    "dd_delta": "#98df8a",
    "dbsp": "#9467bd",
    "divm": "#8c564b",
    "ojt": "#e377c2",
    "duckdb": "#bcbd22",
    "duckdb_indexed": "#dbdb8d",
    "sqlite": "#7f7f7f",
}
MODES = {
    "none": ("v", "#ff7f0e"),
    "local": ("s", "#2ca02c"),
    "global": ("D", "#1f77b4"),
    "exact": ("P", "#9467bd"),
}
STYLES = {"reference": ":", "unprefetched": "--"}
Value = Callable[[Run], float | None]
Runs = Mapping[tuple[str, str], list[Run]]  # (mode, workload) -> best run of each system


@dataclass(frozen=True)
class Panel:
    """One pair of axes: a point for each workload, a line for each system."""

    title: str
    mode: str
    places: Mapping[str, float]  # workload -> x
    across: str
    up: str
    value: Value
    shows: Callable[[Run], bool]


def read_runs(folder: Path) -> tuple[Runs, str]:
    """Read the results of the machine that the newest are from; tell also where those come from."""
    files = [path.read_text().splitlines() for path in sorted(folder.glob("*.jsonl"))]
    last = json.loads(files[-1][-1]) if files else {}
    newest: dict[tuple[str, str, str], Run] = {}
    for lines in files:
        runs = [parse(line) for line in lines if json.loads(line).get("machine") == last["machine"]]
        done = (run for run in runs if run.status == "ok")
        newest |= {(run.mode, run.workload, run.name): run for run in middle(done)}
    found: dict[tuple[str, str], list[Run]] = {}
    for run in newest.values():
        found.setdefault((run.mode, run.workload), []).append(run)
    return found, ", ".join(str(last.get(name)) for name in ("machine", "commit", "date"))


def diffs_per_s(run: Run) -> float | None:
    """How fast diffs were applied."""
    return run.diffs_per_s


def us_per_diff(run: Run) -> float | None:
    """How long a diff took."""
    return 1e6 / run.diffs_per_s if run.diffs_per_s else None


def peak_mib(run: Run) -> float | None:
    """How much memory the process had at most."""
    return run.peak_rss_mib


def graph_mib(run: Run) -> float | None:
    """How much memory the join graph takes of that; rivals do not tell."""
    return run.bytes / MIB if run.bytes else None


def as_chosen(run: Run) -> bool:
    """True if a run is a rival's, or ours with the look-ahead that joingraph chose."""
    return run.lookahead in (None, "auto")


def by_lookahead(run: Run) -> bool:
    """True if a run is one of ours with a look-ahead that was asked for."""
    return run.lookahead in MODES


def fanout() -> list[Panel]:
    """Speed against fan-out: one by one, in batches, and for maintenance only."""
    places = {f"fanout_{count}": float(count) for count in FANOUTS}
    titles = {"each": "diff by diff", "batch": "batches of 1,000", "warehouse": "maintenance only"}
    return [
        Panel(title, mode, places, "view rows a diff", "diffs/s", diffs_per_s, as_chosen)
        for mode, title in titles.items()
    ]


def joins(value: Value, up: str, shows: Callable[[Run], bool]) -> list[Panel]:
    """Speed against the number of joins: fan-out growing, fan-out falling."""
    panels: list[Panel] = []
    for name, fanouts in (("chainF", FOLLOWER_CHAINS), ("chainR", RETWEET_DEPTHS)):
        places = {f"{name}_{joins}": float(joins) for joins in JOINS}
        title = f"{name}: {', '.join(map(str, fanouts))} view rows a diff"
        panels.append(Panel(title, "each", places, "joins", up, value, shows))
    return panels


def memory(runs: Runs) -> list[Panel]:
    """Memory against the size of the view, as fan-out grows and as joins are added."""
    panels: list[Panel] = []
    for name, title in (("fanout", "more followers"), ("chainF", "more joins")):
        places = {
            workload: float(run.view_tuples)
            for (mode, workload), found in runs.items()
            for run in found
            if mode == "warehouse" and workload.startswith(name) and run.view_tuples
        }
        across = "rows of the view"
        for up, value in (("MiB, process at its peak", peak_mib), ("MiB, join graph", graph_mib)):
            panels.append(Panel(title, "each", places, across, up, value, as_chosen))
    return panels


def draw_lines(panels: Sequence[Panel], runs: Runs) -> Figure | None:
    """Draw panels side by side, on logarithmic axes, with one legend below."""
    panels = [panel for panel in panels if by_system(panel, runs)]
    if not panels:
        return None
    size = (4.5 * len(panels), 4)
    alike = len({panel.up for panel in panels}) == 1
    figure = plt.figure(figsize=size, layout="constrained")
    grid = figure.subplots(1, len(panels), squeeze=False, sharey=alike)
    labels: dict[str, Line2D] = {}
    for axes, panel in zip(grid[0], panels, strict=True):
        for name, found in sorted(by_system(panel, runs).items()):
            for line in draw_line(axes, panel, found):
                labels[name] = line
        axes.set(title=panel.title, xlabel=panel.across, ylabel=panel.up, yscale="log")
        if panel.across == "joins":
            axes.set_xticks(list(panel.places.values()))
        else:
            axes.set_xscale("log")
        axes.grid(alpha=0.3)
    figure.legend(labels.values(), labels, loc="outside lower center", ncols=len(panels) + 1)
    return figure


def by_system(panel: Panel, runs: Runs) -> dict[str, list[Run]]:
    """Sort the runs of a panel by the system they are of."""
    systems: dict[str, list[Run]] = {}
    for workload in panel.places:
        for run in runs.get((panel.mode, workload), []):
            if panel.shows(run) and panel.value(run):
                systems.setdefault(run.name, []).append(run)
    return systems


def draw_line(axes: Axes, panel: Panel, found: Sequence[Run]) -> list[Line2D]:
    """Draw one system's points and connect them."""
    points = sorted((panel.places[run.workload], panel.value(run) or 0.0) for run in found)
    mark, colour = MODES.get(found[0].lookahead or "", ("o", COLOURS[found[0].system]))
    style = STYLES.get(found[0].engine or "", "-")
    lines: list[Line2D] = axes.plot(*zip(*points, strict=True), marker=mark, ls=style, color=colour)
    return lines


def draw_kinds(runs: Runs) -> Figure | None:
    """Draw time per diff for each kind of modification."""
    heights = {
        f"{query}\n{kind}": us
        for query in ("q1", "q2", "q3")
        for kind in KINDS
        for run in runs.get(("kinds", f"{query}_{kind}"), [])
        if run.system == "joingraph" and (us := us_per_diff(run))
    }
    return draw_bars(heights, "µs a diff", "Insert and delete of projected and join tuples")


def draw_scan(runs: Runs) -> Figure | None:
    """Draw how fast the view is read, beside a copy of as many bytes."""
    heights: dict[str, float] = {}
    for (mode, workload), found in sorted(runs.items()):
        for run in found:
            if mode == "scan" and run.tuples and run.seconds and run.copy_s:
                heights[f"{workload}\nscan"] = run.tuples / run.seconds / 1e6
                heights[f"{workload}\ncopy"] = run.tuples / run.copy_s / 1e6
    return draw_bars(heights, "million rows/s", "Reading the view; copying its bytes")


def draw_bars(heights: Mapping[str, float], up: str, title: str) -> Figure | None:
    """Draw a bar for each label."""
    if not heights:
        return None
    figure = plt.figure(figsize=(max(4.0, 0.7 * len(heights)), 4), layout="constrained")
    axes = figure.subplots()
    axes.bar(list(heights), list(heights.values()), color=COLOURS["joingraph"])
    axes.set(ylabel=up, title=title)
    axes.grid(axis="y", alpha=0.3)
    return figure


def figures(runs: Runs) -> Iterable[tuple[str, Figure | None]]:
    """Draw everything for which there are runs."""
    yield "fanout", draw_lines(fanout(), runs)
    yield "joins", draw_lines(joins(diffs_per_s, "diffs/s", as_chosen), runs)
    yield "lookahead", draw_lines(joins(us_per_diff, "µs a diff", by_lookahead), runs)
    yield "kinds", draw_kinds(runs)
    yield "scan", draw_scan(runs)
    yield "memory", draw_lines(memory(runs), runs)


def main() -> None:
    """Draw the figures of one folder of results into another folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, default=HERE / "results")
    parser.add_argument("--figures", type=Path, default=HERE / "figures")
    parser.add_argument("--format", default="svg", choices=("svg", "png"))
    arguments = parser.parse_args()
    mpl.use("agg")
    # The same results give the same file: no random ids, no date of drawing.
    mpl.rcParams["svg.hashsalt"] = "joingraph"
    runs, origin = read_runs(arguments.results)
    arguments.figures.mkdir(parents=True, exist_ok=True)
    for name, figure in figures(runs):
        if figure is None:
            print(f"{name}: no runs in {arguments.results}")
            continue
        figure.suptitle(origin, fontsize=6, color="grey", x=0.01, ha="left")
        path = arguments.figures / f"{name}.{arguments.format}"
        metadata = {"Date": None} if arguments.format == "svg" else None
        figure.savefig(path, metadata=metadata)
        print(path)


if __name__ == "__main__":
    main()
