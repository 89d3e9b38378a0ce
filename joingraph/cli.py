"""The command `joingraph`: each subcommand is a function that prints and may raise.

Errors that people can mend (bad SQL, a file that is not there) are one line on stderr and exit
code 2; anything else is a fault of ours and keeps its traceback.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

import joingraph as jg
from joingraph import demo
from joingraph.bench.cli import add as add_bench

DEMO_S = 15.0


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code."""
    arguments = commands().parse_args(argv)
    try:
        arguments.run(arguments)
    except jg.JoinGraphError as error:
        print(f"joingraph: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"joingraph: cannot read {error.filename}: {error.strerror}", file=sys.stderr)
        return 2
    return 0


def commands() -> argparse.ArgumentParser:
    """Describe every command and its arguments."""
    parser = argparse.ArgumentParser(
        prog="joingraph", description="Keep SQL join views up to date without storing them."
    )
    parser.add_argument("--version", action="version", version=f"joingraph {jg.__version__}")
    found = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    shown = found.add_parser("demo", help="watch subscribers' timelines being kept fresh")
    shown.add_argument(
        "--seconds", type=positive, default=DEMO_S, help="how long to run (default: %(default)g)"
    )
    shown.set_defaults(run=run_demo)

    explained = found.add_parser("explain", help="print the join graph that a view would have")
    explained.add_argument("view", type=Path, help="a file with the view's SELECT or CREATE VIEW")
    explained.add_argument("tables", type=Path, help="a file with its tables' CREATE TABLE texts")
    explained.add_argument("--dialect", default="spark", help="of the SQL (default: %(default)s)")
    explained.set_defaults(run=run_explain)

    add_bench(found)
    return parser


def positive(text: str) -> float:
    """Read a number of seconds above zero."""
    seconds = float(text)
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not a number of seconds above 0")
    return seconds


def run_demo(arguments: argparse.Namespace) -> None:
    """Show the demo on this terminal."""
    demo.run(arguments.seconds, sys.stdout)


def run_explain(arguments: argparse.Namespace) -> None:
    """Print what is settled when the view is made."""
    sql = arguments.view.read_text(encoding="utf-8")
    tables = declarations(arguments.tables.read_text(encoding="utf-8"), arguments.dialect)
    print(jg.View(sql, tables=tables, dialect=arguments.dialect).explain())


def declarations(text: str, dialect: str) -> dict[str, str]:
    """Cut a file of CREATE TABLE statements into one text for each table.

    >>> declarations("CREATE TABLE a (x INT); CREATE TABLE b (y INT);", "spark")
    {'a': 'CREATE TABLE a (x INT)', 'b': 'CREATE TABLE b (y INT)'}
    """
    found: dict[str, str] = {}
    try:
        for statement in statements(text, dialect):
            table = sqlglot.parse_one(statement, read=dialect).find(exp.Table)
            if table is None:
                raise jg.ViewError(f"not a CREATE TABLE statement: {statement:.80}")
            if table.name in found:
                raise jg.ViewError(f"table {table.name} is declared twice; declare it once")
            found[table.name] = statement
    except (SqlglotError, ValueError) as error:
        raise jg.ViewError(f"the file of CREATE TABLE statements: {error}") from error
    return found


def statements(text: str, dialect: str) -> Iterator[str]:
    """Cut a text at the semicolons between its statements; comments around them are left out."""
    found: list[Token] = []
    for token in [*sqlglot.tokenize(text, read=dialect), Token(TokenType.SEMICOLON, ";")]:
        if token.token_type is not TokenType.SEMICOLON:
            found.append(token)
        elif found:
            yield text[found[0].start : found[-1].end + 1]
            found = []
