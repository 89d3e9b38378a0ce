"""Kills and looks: after each kill the folder must hold what was acknowledged, and a bit more.

A life is ended at a random moment: while it opens, applies, snapshots or rotates its log, or while
another process writes its snapshot. The model is a graph in memory that has seen the same batches.
"""

from __future__ import annotations

import os
import random
import select
import signal
import sys
import time
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import joingraph as jg
from tests.bags import bag, fold
from tests.crash.child import Life, live
from tests.crash.feed import batches, view

OPENING_SHARE = 0.3  # of the lives end while the folder is being opened
LIFE_S = 0.2
BESIDE_SHARE, BESIDE_S = 0.05, 3.0  # of the lives have snapshots written by another process
PATIENCE_S = 60.0


class Model:
    """What the view is after each batch, and what each batch did to it."""

    def __init__(self, seed: int) -> None:
        self.graph = jg.JoinGraph(view(), engine="reference")
        self.batches = batches(seed)
        self.views = [bag(())]
        self.diffs = [""]

    def grow(self, number: int) -> None:
        """Apply batches up to a number."""
        for batch in islice(self.batches, max(0, number + 1 - len(self.views))):
            diff = self.graph.apply(batch)
            self.diffs.append(repr(sorted(fold(diff.rows()).items())))
            rows = self.graph.to_arrow().to_pylist()
            self.views.append(bag(tuple(row.values()) for row in rows))


class Seen(NamedTuple):
    """How far the lives had come, as their lines tell; `cut`: snapshots under way at an end."""

    applied: int
    told: int
    acked: int
    saved: int = 0
    cut: int = 0


def kill_once(life: Life, chance: random.Random) -> list[str]:
    """Let a process live for a moment; gives the lines that it told."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.close(reading)
            live(life, writing)
        finally:
            os._exit(1)
    os.close(writing)
    first = "opening" if chance.random() < OPENING_SHARE else "opened"
    longest = BESIDE_S if life.beside is not None else LIFE_S
    text = read_until(reading, first, PATIENCE_S, "")
    seconds = chance.random() * (0.01 if first == "opening" else longest)
    text = read_until(reading, None, seconds, text)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    text = read_until(reading, None, PATIENCE_S, text)
    os.close(reading)
    assert os.WIFSIGNALED(status), f"life {life.number} ended by itself: {text[-2000:]}"
    return text.split("\n")[:-1]


def read_until(pipe: int, word: str | None, seconds: float, text: str) -> str:
    """Read what a child tells until it says a word, its time is up, or it is gone."""
    end = time.monotonic() + seconds
    while word is None or word not in text:
        left = end - time.monotonic()
        if left <= 0 or not select.select([pipe], [], [], left)[0]:
            break
        part = os.read(pipe, 1 << 16)
        if not part:
            break
        text += part.decode()
    return text


def follow(lines: list[str], seen: Seen, model: Model) -> Seen:
    """Check what a life told against the model and the lives before."""
    applied, told, acked, saved, cut = seen
    is_first_told = True
    for kind, _, rest in (line.partition(" ") for line in lines):
        if kind == "opened":
            assert applied <= int(rest), f"batch {applied} was acknowledged, {rest} was found"
            applied = int(rest)
        elif kind == "applied":
            assert int(rest) == applied + 1, f"after {applied} came {rest}"
            applied = int(rest)
        elif kind == "told":
            number, _, rows = rest.partition(" ")
            allowed = range(acked + 1, told + 2) if is_first_told else range(told + 1, told + 2)
            assert int(number) in allowed, f"told {number}, acknowledged {acked}, told {told}"
            model.grow(int(number))
            assert rows == model.diffs[int(number)], f"batch {number} was told otherwise"
            told, is_first_told = int(number), False
        elif kind == "acked":
            acked = int(rest)
        saved += kind == "saved"
    cut += lines.count("saving") - lines.count("saved")
    return Seen(applied, told, acked, saved, cut)


def look(folder: Path, engine: str, seen: Seen, model: Model) -> Seen:
    """Open the folder as it was left, and compare it with the model."""
    with jg.JoinGraph(view(), folder, engine=engine, readonly=True) as graph:
        number = graph.seq
        assert graph.positions() in ({}, {"feed": number})
        assert seen.applied <= number <= seen.applied + 1, f"{seen.applied} became {number}"
        model.grow(number)
        rows = graph.to_arrow().to_pylist()
        assert bag(tuple(row.values()) for row in rows) == model.views[number], number
        graph.check()
    return seen._replace(applied=number)


def run(folder: Path, kills: int, seed: int, engine: str) -> Seen:
    """Kill so many times; gives how far the feed has come."""
    chance, model, seen = random.Random(seed), Model(seed), Seen(0, 0, 0)
    get_ready(engine)
    jg.JoinGraph(view(), folder, engine=engine).close()
    beside = write_beside(folder.with_name("beside"), engine)
    for number in range(kills):
        life = Life(folder, seed, number, beside if chance.random() < BESIDE_SHARE else None)
        seen = follow(kill_once(life, chance), seen, model)
        # The rows tell the same as the arrays.
        seen = look(folder, engine if number % 2 else "reference", seen, model)
    return seen


def get_ready(engine: str) -> None:
    """Load the kernels once for all lives, and let small graphs too have arrays."""
    if engine == "compiled":
        import_module("joingraph.graph.compiled.memory.image").FEWEST_BYTES = 0
        import_module("joingraph.engines.compiled.warm").use_every_kernel()


def write_beside(path: Path, engine: str) -> Path:
    """Write the program that a life runs for its snapshots."""
    root = Path(__file__).parent.parent.parent
    path.write_text(
        f"#!{sys.executable}\nimport sys\nsys.path.insert(0, {str(root)!r})\n"
        "from joingraph.storage import checkpoints\nfrom tests.crash.run import get_ready\n"
        f"get_ready({engine!r})\nsys.exit(checkpoints.main(*sys.argv[3:]))\n"
    )
    path.chmod(0o700)
    return path
