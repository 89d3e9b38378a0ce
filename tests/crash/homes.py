"""Damages caches of compiled kernels at random: the graph works all the same.

    python -m tests.crash.homes --cases 100 --seed 1 --save benchmarks/results/crash.json

Each case is a copy of the cache of one small view, some of whose files are cut short, zeroed,
flipped, emptied or of another program. A process that opens the graph must end well, and with the
view diffs that are expected.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.crash.record import add_option, record

ROOT = Path(__file__).parent.parent.parent
DAMAGES = ("cut", "zero", "foreign", "empty", "flip")
SCRIPT = """
import joingraph as jg
view = jg.View(
    "SELECT F.fan, T.id FROM follower F JOIN tweet T ON F.author = T.author",
    {"follower": "CREATE TABLE follower (author STRING, fan STRING)",
     "tweet": "CREATE TABLE tweet (author STRING, id BIGINT)"},
)
graph = jg.JoinGraph(view, engine="compiled")
graph.insert("follower", [("ann", "bob")])
graph.compile()
print(graph.insert("tweet", [("ann", 2)]).rows())
"""
EXPECTED = "[('insert', ('bob', 2), 1)]\n"


def damage(path: Path, how: str, place: int = 100) -> None:
    """Damage a file in one way."""
    data = bytearray(path.read_bytes())
    if how == "flip" and data:
        data[place % len(data)] ^= 4
    spoiled = {
        "cut": data[: len(data) // 2],
        "zero": bytes(len(data)),
        "foreign": b"\xff\xfe\x80",
        "empty": b"",
        "flip": bytes(data),
    }
    path.write_bytes(spoiled[how])


def run(home: Path) -> str:
    """Open the graph in a process; gives what is wrong, if anything is."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(home), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    return "" if (done.returncode, done.stdout) == (0, EXPECTED) else done.stderr or done.stdout


def main() -> None:
    """Damage so many caches."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    add_option(parser)
    args = parser.parse_args()
    chance = random.Random(args.seed)
    with tempfile.TemporaryDirectory() as folder:
        whole = Path(folder) / "whole"
        assert not run(whole), "an empty cache is filled"
        for case in range(args.cases):
            home = Path(folder) / "home"
            shutil.copytree(whole, home)
            files = sorted(each for each in home.rglob("*") if each.is_file())
            for path in chance.sample(files, chance.randint(1, len(files))):
                damage(path, chance.choice(DAMAGES), chance.randrange(1 << 20))
            wrong = run(home)
            assert not wrong, f"seed {args.seed}, case {case}: {wrong}"
            shutil.rmtree(home)
    found = f"{args.cases} damaged caches, seed {args.seed}: the graph worked in all"
    print(found)
    record(args.save, [found])


if __name__ == "__main__":
    main()
