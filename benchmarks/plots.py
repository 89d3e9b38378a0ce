"""Draws the figures of docs/benchmarks.md from result files: `python -m benchmarks.plots`.

    results/*.jsonl      ->  figures/fanout.svg, figures/lookahead.svg
    results/groups.json  ->  figures/touched.svg, figures/extremes.svg     (benchmarks/groups.py)

All runs of a figure are of one machine, the one that was measured last; of several files with the
same settings the newest counts, by its median, as in the tables. A figure without runs is not
drawn. Every figure names the machine, the commit and the date.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from benchmarks.harness.record import Run, parse
from benchmarks.harness.runner import middle
from benchmarks.workloads.catalogue import FANOUTS, JOINS
from benchmarks.workloads.model import FOLLOWER_CHAINS, RETWEET_DEPTHS

HERE = Path(__file__).parent
COLOURS = {
    "joingraph": "#d62728",
    "hand": "#1f77b4",
    "dd": "#2ca02c",
    "dd_delta": "#98df8a",
    "dbsp": "#9467bd",
    "maps": "#17becf",
    "views": "#9edae5",
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
AXES = {  # figures of points: what is across, and what is up
    "touched": ("view rows a diff", "groups touched a diff"),
    "extremes": ("values in the group", "µs a delete and an insert"),
}
STYLES = {"reference": ":", "unprefetched": "--"}
Points = Sequence[tuple[float, float]]
Runs = Mapping[tuple[str, str], list[Run]]  # (mode, workload) -> a run of each system


class Panel(NamedTuple):
    """One pair of axes: a point for each workload, a line for each system."""

    title: str
    mode: str
    places: Mapping[str, float]  # workload -> x
    across: str
    by_lookahead: bool  # us a diff of each look-ahead, or diffs/s of each system

    @property
    def up(self) -> str:
        """What is drawn."""
        return "µs a diff" if self.by_lookahead else "diffs/s"

    def lines(self, runs: Runs) -> Mapping[str, list[Run]]:
        """Return the runs to draw, by the system they are of."""
        systems: dict[str, list[Run]] = {}
        for workload in self.places:
            for run in runs.get((self.mode, workload), []):
                chosen = run.lookahead not in (None, "auto")
                if chosen == self.by_lookahead and run.diffs_per_s:
                    systems.setdefault(run.name, []).append(run)
        return dict(sorted(systems.items()))


def fanout() -> list[Panel]:
    """Speed against fan-out: one by one, in batches, and for maintenance only."""
    places = {f"fanout_{count}": float(count) for count in FANOUTS}
    titles = {"each": "diff by diff", "batch": "batches of 1,000", "warehouse": "maintenance only"}
    return [
        Panel(title, mode, places, "view rows a diff", by_lookahead=False)
        for mode, title in titles.items()
    ]


def lookahead() -> list[Panel]:
    """Time against the number of joins: fan-out growing, fan-out falling."""
    panels: list[Panel] = []
    for name, fanouts in (("chainF", FOLLOWER_CHAINS), ("chainR", RETWEET_DEPTHS)):
        places = {f"{name}_{joins}": float(joins) for joins in JOINS}
        title = f"{name}: {', '.join(map(str, fanouts))} view rows a diff"
        panels.append(Panel(title, "each", places, "joins", by_lookahead=True))
    return panels


def read_runs(folder: Path) -> tuple[Runs, str]:
    """Read the results of the machine that the newest are from; name also where they are from."""
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


def draw(panels: Sequence[Panel], runs: Runs) -> Figure | None:
    """Draw panels side by side, on logarithmic axes, with one legend below."""
    panels = [panel for panel in panels if panel.lines(runs)]
    if not panels:
        return None
    figure = plt.figure(figsize=(4.5 * len(panels), 4), layout="constrained")
    grid = figure.subplots(1, len(panels), squeeze=False, sharey=True)
    labels: dict[str, Line2D] = {}
    for axes, panel in zip(grid[0], panels, strict=True):
        for name, found in panel.lines(runs).items():
            labels[name] = draw_line(axes, panel, found)
        axes.set(title=panel.title, xlabel=panel.across, ylabel=panel.up, yscale="log")
        if panel.by_lookahead:
            axes.set_xticks(list(panel.places.values()))
        else:
            axes.set_xscale("log")
        axes.grid(alpha=0.3)
    figure.legend(labels.values(), labels, loc="outside lower center", ncols=len(panels) + 1)
    return figure


def draw_line(axes: Axes, panel: Panel, found: Sequence[Run]) -> Line2D:
    """Draw one system's points and connect them."""
    speeds = sorted((panel.places[run.workload], run.diffs_per_s or 0.0) for run in found)
    points = [(x, 1e6 / speed if panel.by_lookahead else speed) for x, speed in speeds]
    mark, colour = MODES.get(found[0].lookahead or "", ("o", COLOURS[found[0].system]))
    style = STYLES.get(found[0].engine or "", "-")
    [line] = axes.plot(*zip(*points, strict=True), marker=mark, ls=style, color=colour)
    return line


def read_points(path: Path) -> tuple[dict[str, dict[str, Points]], str]:
    """Read the lines of each figure by name; name also where they are from."""
    found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {"lines": []}
    figures: dict[str, dict[str, Points]] = {}
    for line in found["lines"]:
        figures.setdefault(line["figure"], {})[line["name"]] = line["points"]
    return figures, ", ".join(str(found.get(name)) for name in ("machine", "commit", "date"))


def draw_points(name: str, lines: Mapping[str, Points]) -> Figure:
    """Draw lines of points; both axes are logarithmic, but for what is below one."""
    figure = plt.figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    for label, points in lines.items():
        axes.plot(*zip(*points, strict=True), marker="o", label=label)
    across, up = AXES[name]
    axes.set(xlabel=across, ylabel=up, xscale="log")
    axes.set_yscale("symlog", linthresh=1)
    axes.set_ylim(bottom=-0.1)
    axes.grid(alpha=0.3)
    figure.legend(loc="outside lower center", ncols=2)
    return figure


def write(figure: Figure, path: Path, origin: str) -> None:
    """Write a figure with its origin; the same results give the same file: no date of drawing."""
    figure.suptitle(origin, fontsize=6, color="grey", x=0.01, ha="left")
    figure.savefig(path, metadata={"Date": None})
    print(path)


def main() -> None:
    """Draw the figures of one folder of results into another folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, default=HERE / "results")
    parser.add_argument("--figures", type=Path, default=HERE / "figures")
    arguments = parser.parse_args()
    mpl.use("agg")
    # The same results give the same file: no random ids.
    mpl.rcParams["svg.hashsalt"] = "joingraph"
    runs, origin = read_runs(arguments.results)
    arguments.figures.mkdir(parents=True, exist_ok=True)
    for name, panels in (("fanout", fanout()), ("lookahead", lookahead())):
        figure = draw(panels, runs)
        if figure is None:
            print(f"{name}: no runs in {arguments.results}")
        else:
            write(figure, arguments.figures / f"{name}.svg", origin)
    figures, origin = read_points(arguments.results / "groups.json")
    for name, lines in figures.items():
        write(draw_points(name, lines), arguments.figures / f"{name}.svg", origin)


if __name__ == "__main__":
    main()
