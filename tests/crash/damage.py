"""Damages folders at random: each opens to what was true after some batch, or is refused by name.

python -m tests.crash.damage --cases 10000 --seed 1
"""

from __future__ import annotations

import argparse
import logging
import random
import shutil
import tempfile
from collections import Counter
from itertools import islice
from pathlib import Path

import joingraph as jg
from joingraph.storage.disk import log
from tests import ENGINES
from tests.bags import bag
from tests.crash.feed import batches, view
from tests.crash.record import add_option, record
from tests.crash.run import get_ready

BATCHES = 30
SEGMENT_BYTES = 6_000
VIEW = view()


def healthy(folder: Path, seed: int, engine: str = "reference") -> list[Counter[str]]:
    """Make a folder with snapshots and several segments; gives the view after each batch."""
    before, log.SEGMENT_BYTES = log.SEGMENT_BYTES, SEGMENT_BYTES
    views = [bag(())]
    with jg.JoinGraph(VIEW, folder, engine=engine) as graph:
        graph.subscribe("slow")
        for number, batch in enumerate(islice(batches(seed), BATCHES), 1):
            graph.apply(batch, source="feed", position=number)
            views.append(rows_of(graph))
            if number == BATCHES // 2:
                graph.snapshot()
    log.SEGMENT_BYTES = before
    return views


def rows_of(graph: jg.JoinGraph) -> Counter[str]:
    """Read the view as a bag."""
    return bag(tuple(row.values()) for row in graph.to_arrow().to_pylist())


def damage(folder: Path, chance: random.Random) -> str:
    """Do one bad thing to a folder; gives what it was."""
    files = sorted(path for path in folder.iterdir() if path.name != "lock")
    snapshots = [path for path in files if path.name.startswith("snapshot")]
    path, other = chance.choice([*files, *snapshots * len(files)]), chance.choice(files)
    data = bytearray(path.read_bytes())
    match chance.choice(["flip", "flip", "flip", "cut", "lose", "swap", "zero", "grow"]):
        case "flip":
            at = chance.randrange(len(data))
            data[at] ^= 1 << chance.randrange(8)
            path.write_bytes(data)
            return f"bit {at} of {path.name}"
        case "cut":
            length = chance.randrange(len(data))
            path.write_bytes(data[:length])
            return f"{path.name} cut to {length}"
        case "lose":
            path.unlink()
            return f"{path.name} lost"
        case "swap":
            path.write_bytes(other.read_bytes())
            other.write_bytes(data)
            return f"{path.name} and {other.name} swapped"
        case "zero":
            at = chance.randrange(len(data))
            data[at : at + 512] = bytes(len(data[at : at + 512]))
            path.write_bytes(data)
            return f"zeros at {at} of {path.name}"
        case _:
            path.write_bytes(data + chance.randbytes(chance.randrange(1, 200)))
            return f"{path.name} grown"


def look(folder: Path, views: list[Counter[str]], engine: str, *, readonly: bool) -> str:
    """Open a damaged folder; gives how it went, or raises if an answer is wrong."""
    try:
        graph = jg.JoinGraph(VIEW, folder, engine=engine, readonly=readonly)
    except jg.StoreError as error:
        assert str(folder) in str(error) or "record" in str(error), error
        return "refused"
    with graph:
        number = int(str(graph.positions().get("feed", 0)))
        assert rows_of(graph) == views[number], f"after batch {number}"
        assert graph.seq == number
        graph.check()
        if not readonly:
            for diff in graph.subscribe("slow"):
                assert diff.seq <= number
    return "whole" if number == len(views) - 1 else "prefix"


def run(scratch: Path, cases: int, seed: int, engine: str) -> Counter[str]:
    """Damage so many folders; gives how many opened and how many were refused."""
    chance, found = random.Random(seed), Counter[str]()
    good, bad = scratch / "good", scratch / "bad"
    get_ready(engine)
    views = healthy(good, seed, engine)
    for case in range(cases):
        shutil.copytree(good, bad)
        done = [damage(bad, chance) for _ in range(chance.choice([1, 1, 1, 2]))]
        try:
            reading = look(bad, views, engine, readonly=True)
            writing = look(bad, views, engine, readonly=False)
            assert reading == writing, (reading, writing)
        except Exception as error:
            raise AssertionError(f"case {case} of seed {seed}: {done}: {error!r}") from error
        found[writing] += 1
        shutil.rmtree(bad)
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    add_option(parser)
    arguments = parser.parse_args()
    logging.disable()
    for form in ENGINES:
        with tempfile.TemporaryDirectory() as scratch_folder:
            share = arguments.cases // len(ENGINES)
            seen = run(Path(scratch_folder), share, arguments.seed, form)
            told = f"{share} damaged folders ({form}): {dict(seen)}; no wrong answer"
            print(told, flush=True)
            record(arguments.save, [told])
