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
    for name, run, told in (
        ("inspect", run_inspect, "tell what a graph's folder holds"),
        ("verify", run_verify, "check every checksum and every invariant of a graph's folder"),
        ("snapshot", run_snapshot, "write a graph's folder down anew, without its log"),
    ):
        command = commands.add_parser(name, help=told)
        command.add_argument("path", type=Path, help="the graph's folder")
        command.set_defaults(run=run)
    dumped = commands.add_parser("dump", help="write a graph as Arrow files, for any version")
    dumped.add_argument("path", type=Path, help="the graph's folder")
    dumped.add_argument("out", type=Path, help="a new folder for the files")
    dumped.set_defaults(run=run_dump)
    loaded = commands.add_parser("load", help="make a graph's folder of what dump wrote")
    loaded.add_argument("files", type=Path, help="the folder that dump made")
    loaded.add_argument("path", type=Path, help="a new folder for the graph")
    loaded.set_defaults(run=run_load)


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
