"""The commands over a graph's folder; each prints what it found, or one line of what is wrong."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from joingraph.api.join_graph import open as open_graph
from joingraph.cli.inspect_folder import inspect, verify
from joingraph.cli.transfer import dump, load


def add(commands: Any) -> None:
    """Add the commands to the parser's."""
    graph = {"path": "the graph's folder"}
    for name, run, about, arguments in (
        ("inspect", run_inspect, "tell what a graph's folder holds", graph),
        ("verify", run_verify, "check every checksum and every invariant of a graph's folder",
         graph),
        ("snapshot", run_snapshot, "write a graph's folder down anew, without its log", graph),
        ("dump", run_dump, "write a graph as Arrow files, for any version",
         graph | {"out": "a new folder for the files"}),
        ("load", run_load, "make a graph's folder of what dump wrote",
         {"files": "the folder that dump made", "path": "a new folder for the graph"}),
    ):  # fmt: skip
        command = commands.add_parser(name, help=about)
        command.set_defaults(run=run)
        for argument, holds in arguments.items():
            command.add_argument(argument, type=Path, help=holds)


def run_inspect(arguments: argparse.Namespace) -> None:
    """Print what a folder holds."""
    print(inspect(arguments.path))


def run_verify(arguments: argparse.Namespace) -> None:
    """Print that all is well, or fail."""
    print(verify(arguments.path))


def run_snapshot(arguments: argparse.Namespace) -> None:
    """Write a snapshot."""
    with open_graph(arguments.path) as graph:
        graph.snapshot()
    print(inspect(arguments.path))


def run_dump(arguments: argparse.Namespace) -> None:
    """Write Arrow files."""
    print(dump(arguments.path, arguments.out))


def run_load(arguments: argparse.Namespace) -> None:
    """Make a folder."""
    load(arguments.files, arguments.path)
    print(verify(arguments.path))
