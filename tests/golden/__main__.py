"""python -m tests.golden [--update] [FILE...]: play golden scripts; rewrite what they expect.

After --update, read the difference before it is committed: it is the change of behaviour.
"""

from __future__ import annotations

import argparse
import difflib
import sys
from collections.abc import Sequence
from itertools import product
from pathlib import Path

from tests import ENGINES, LOOKAHEADS
from tests.golden.play import play
from tests.golden.script import SCRIPTS, Script, read


def main(arguments: Sequence[str] | None = None) -> int:
    """Play the scripts named, or all; 1 if one gives what it does not expect."""
    parser = argparse.ArgumentParser(prog="python -m tests.golden", description=__doc__)
    parser.add_argument("files", nargs="*", type=Path, help="scripts; all of them if none is named")
    parser.add_argument("--update", action="store_true", help="write down what comes out now")
    asked = parser.parse_args(arguments)
    wrong = 0
    for path in asked.files or sorted(SCRIPTS.glob("*.txt")):
        script = read(path)
        if asked.update:
            update(script)
        by_text: dict[str, list[str]] = {}
        for engine, lookahead in product(ENGINES, LOOKAHEADS):
            found = differences(script, engine, lookahead)
            by_text.setdefault(found, []).append(f"{engine}/{lookahead}")
        for found, forms in by_text.items():
            if found:
                print(f"{path} ({', '.join(forms)})\n{found}\n")
                wrong = 1
    return wrong


def update(script: Script) -> None:
    """Write into a script's file what the first form of the graph gives."""
    outcome = play(script, ENGINES[0], LOOKAHEADS[0])
    for step, lines in zip(script.steps, outcome, strict=True):
        step.expected = lines
    script.path.write_text(script.text, encoding="utf-8")


def differences(script: Script, engine: str, lookahead: str) -> str:
    """Compare what a script gives with what it expects; empty if they agree."""
    found: list[str] = []
    for step, lines in zip(script.steps, play(script, engine, lookahead), strict=True):
        if lines != step.expected:
            found += [f"line {step.line}: {step.command[0]}"]
            found += list(difflib.ndiff(step.expected, lines))
    return "\n".join(found)


if __name__ == "__main__":
    sys.exit(main())
