"""The reservation that holds one owner's regions: as large as they need, moved when they need more.

    small     every region has FIRST_BYTES                  a graph begins so: thousands of them fit
    roomy     a region has eight times what it needs        the next moves copy little
    most      every region has all that it may ever need    a large graph: it moves never again

Kernels hold addresses while they run and test no bounds: so an owner says before a batch what its
regions will need at most, and only then they move. Where address space is short (`ulimit -v`), a
region is as large as it needs.

    become  ->  before, regions        both are held till the owner has copied the one to the other
    settle  ->          regions

So a move that an exception interrupts is done anew, from where the owner still has it all.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

from joingraph.common.errors import LimitError
from joingraph.graph.compiled.memory.reserved import Region, reserve_together, reserved

FIRST_BYTES = 32 << 10
FEWEST_OPS = 64  # that room is made for
ROOMY = 8
SMALL_GRAPH_BYTES = 8 << 20  # it is copied within a few milliseconds
MOST_RESERVED_BYTES = 64 << 40  # of 128 TiB that a process has; beyond, graphs have what they need


class Held(NamedTuple):
    """Regions, how many bytes they hold, and those before if they are still to be copied."""

    regions: list[Region]
    sizes: list[int]
    before: list[Region]


class Regions:
    """Regions side by side, each of which may hold `most` bytes."""

    def __init__(self, most: Sequence[int]) -> None:
        self.most = list(most)
        first = [FIRST_BYTES] * len(most)
        self._held = Held(reserve_together(first), first, [])
        self._allowed = self._owed = 0  # ops that surely have room; the last batch's

    @property
    def regions(self) -> list[Region]:
        """The regions there are."""
        return self._held.regions

    @property
    def sizes(self) -> list[int]:
        """How many bytes they hold."""
        return self._held.sizes

    @property
    def before(self) -> list[Region]:
        """Those that still have what is to be copied."""
        return self._held.before

    def settle(self) -> None:
        """Let go of the regions before: all was copied."""
        self._held = self._held._replace(before=[])

    def covers(self, ops: int) -> bool:
        """Count so many ops if there surely is room for them, and for taking them back."""
        if self._allowed < 2 * ops:
            return False
        self._allowed -= 2 * ops
        self._owed = ops
        return True

    def prepare(self, ops: int, needed: Callable[[int], list[int]]) -> None:
        """Make room for so many ops and for taking them back; there may be regions `before` then.

        How much is needed is asked for many ops at once, so that most batches only count.
        """
        self._allowed -= 2 * ops
        if self._allowed < 0:
            least, soon = 2 * ops + self._owed, max(8 * ops, FEWEST_OPS) + self._owed
            needs = needed(soon)
            if not self.hold(needs):
                self.enlarge(needs, needed(least))
            self._allowed = (soon if self.hold(needs) else least) - least
        self._owed = ops

    def hold(self, needs: Sequence[int]) -> bool:
        """True if so many bytes have room."""
        return all(need <= size for need, size in zip(needs, self.sizes, strict=True))

    def enlarge(self, needs: Sequence[int], least: Sequence[int]) -> None:
        """Reserve anew, for what is needed soon or at least now."""
        for sizes in self._choices(needs, least):
            with suppress(LimitError):
                self.become(sizes)
                return
        self.become(self._grown(least, 1))

    def resemble(self, sizes: list[int], needs: Sequence[int]) -> None:
        """Reserve empty regions of such sizes if they can be had, or else as large as needed."""
        self._allowed = 0
        if sizes != self.sizes and sum(sizes) + reserved[0] < MOST_RESERVED_BYTES:
            with suppress(LimitError):
                self.become(sizes)
        if not self.hold(needs):
            self.enlarge(needs, needs)

    def become(self, sizes: Sequence[int]) -> None:
        """Reserve regions of such sizes; those before are held till `settle`."""
        fresh, held = reserve_together(sizes), self._held
        self._held = Held(fresh, list(sizes), held.before or held.regions)

    def copy(self, used: Sequence[tuple[int, int]]) -> None:
        """Copy what the regions before hold: of each, from which byte on and how many."""
        for old, new, (start, size) in zip(self.before, self.regions, used, strict=True):
            ctypes.memmove(new.address + start, old.address + start, size)

    def _choices(self, needs: Sequence[int], least: Sequence[int]) -> Iterator[list[int]]:
        if sum(needs) > SMALL_GRAPH_BYTES and reserved[0] + sum(self.most) < MOST_RESERVED_BYTES:
            yield [max(pair) for pair in zip(self.most, needs, strict=True)]
        yield self._grown(needs, ROOMY)
        yield self._grown(least, ROOMY)
        yield self._grown(needs, 1)

    def _grown(self, needs: Sequence[int], times: int) -> list[int]:
        """Return the sizes where those too small become so many times as large as needed."""
        return [
            size if need <= size else 1 << (times * need - 1).bit_length()
            for need, size in zip(needs, self.sizes, strict=True)
        ]
