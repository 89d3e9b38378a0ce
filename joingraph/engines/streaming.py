"""A batch whose view diffs are made as they are taken, in blocks of bounded size.

    for block in graph.stream(batch): ...      the graph is in the middle of the batch till the end

What the batch is refused for is found before the first block; nothing can fail after it. So this is
for views of which no output or residual predicate may raise an error; other views' batches are
applied whole, and their rows cut into blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from threading import RLock

import pyarrow as pa

from joingraph.common.closing import Closing
from joingraph.common.errors import StoreError
from joingraph.common.forks import FORKS
from joingraph.expressions.texts import blocks
from joingraph.generators.reads.scan import BLOCK
from joingraph.plan.kept_columns import is_total
from joingraph.plan.view import View


def never_fails(view: View) -> bool:
    """True if nothing that is computed on a path, or of a group, can raise an error."""
    plan = view.plan
    if view.definition.grouping is not None:
        return False
    outputs = [each.value for each in plan.definition.output]
    return all(is_total(plan, each) for each in (*plan.residuals, *outputs))


class Stream(Closing, Iterator[pa.RecordBatch]):
    """The blocks of a batch. Closing it early, or forgetting it, finishes the batch."""

    _is_made = False  # until then there is nothing to close

    def __init__(self, tables: Generator[pa.Table], end: Callable[[], None]) -> None:
        self._tables, self._end = tables, end
        self._blocks: Iterator[pa.RecordBatch] = iter(())
        self._making = RLock()
        FORKS.watch(self._forked, self._making)
        self._is_made = True

    def _forked(self, whole: bool) -> None:
        """Go on in a forked child with a copy of the graph, unless a block was being made."""
        if not whole:
            self._tables, self._end = cut_off(), do_nothing

    def __next__(self) -> pa.RecordBatch:
        try:
            while (block := next(self._blocks, None)) is None:
                with self._making:
                    table = next(self._tables, None)
                if table is None:
                    break
                self._blocks = blocks(table, BLOCK)
        except BaseException:
            self.close()
            raise
        if block is None:
            self._end()
            raise StopIteration
        return block

    def close(self) -> None:
        """Finish the batch without its other blocks."""
        self._blocks = iter(())
        with self._making:
            self._tables.close()
        self._end()

    def __del__(self) -> None:
        if self._is_made:
            self.close()


def do_nothing() -> None:
    """End a stream whose batch was applied before."""


def cut_off() -> Generator[pa.Table]:
    """Refuse the other blocks in a child that was forked while one was made."""
    raise StoreError("a block of this stream was being made when this process was forked")
    yield  # so that this is a generator


def one_table(table: pa.Table) -> Generator[pa.Table]:
    """Yield rows that were made at once."""
    yield table
