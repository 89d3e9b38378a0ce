"""The command `joingraph`: each subcommand is a function that prints and may raise.

Errors that people can mend (bad SQL, a file that is not there) are one line on stderr and exit
code 2; anything else is a fault of ours and keeps its traceback.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from joingraph.cli.folder import add as add_tools
from joingraph.cli.pipeline import add as add_pipeline
from joingraph.common.errors import JoinGraphError
from joingraph.common.version import __version__
from joingraph.demo import demo
from joingraph.plan.view import View
from joingraph.sql.text.files import declarations, read_sql

DEMO_S, SPARK_DEMO_S = 15.0, 60.0


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code."""
    arguments = commands().parse_args(argv)
    try:
        arguments.run(arguments)
    except JoinGraphError as error:
        complain(str(error))
        return 2
    except OSError as error:
        complain(f"cannot read {error.filename}: {error.strerror}")
        return 2
    return 0


def complain(text: str) -> None:
    """Write one line on stderr; what is no Unicode, as in the name of a file, by its numbers."""
    print(f"joingraph: {text.encode(errors='backslashreplace').decode()}", file=sys.stderr)


def commands() -> argparse.ArgumentParser:
    """Describe every command and its arguments."""
    parser = argparse.ArgumentParser(
        prog="joingraph", description="Keep SQL join views up to date without storing them."
    )
    parser.add_argument("--version", action="version", version=f"joingraph {__version__}")
    found = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    shown = found.add_parser("demo", help="watch subscribers' timelines being kept fresh")
    shown.add_argument(
        "--seconds",
        type=positive,
        help=f"how long to run (default: {SPARK_DEMO_S:g}; {DEMO_S:g} without Spark)",
    )
    shown.add_argument(
        "--no-spark", action="store_true", help="feed the graph directly, without Spark"
    )
    shown.set_defaults(run=run_demo)

    explained = found.add_parser("explain", help="print the join graph that a view would have")
    explained.add_argument("view", type=Path, help="a file with the view's SELECT or CREATE VIEW")
    explained.add_argument("tables", type=Path, help="a file with its tables' CREATE TABLE texts")
    explained.add_argument("--dialect", default="spark", help="of the SQL (default: %(default)s)")
    explained.set_defaults(run=run_explain)

    add_pipeline(found)
    add_tools(found)
    return parser


def positive(text: str) -> float:
    """Read a number of seconds above zero."""
    seconds = float(text)
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not a number of seconds above 0")
    return seconds


def run_demo(arguments: argparse.Namespace) -> None:
    """Show the demo on this terminal."""
    if arguments.no_spark or find_spec("pyspark") is None:
        demo.run(arguments.seconds or DEMO_S, sys.stdout)
    else:
        spark_demo = import_module("joingraph.demo.spark")
        spark_demo.run_demo(arguments.seconds or SPARK_DEMO_S, sys.stdout)


def run_explain(arguments: argparse.Namespace) -> None:
    """Print what is settled when the view is made."""
    sql = read_sql(arguments.view)
    tables = declarations(read_sql(arguments.tables), arguments.dialect)
    print(View(sql, tables=tables, dialect=arguments.dialect).explain())
