"""Interrupts a call: at its n-th step, or by a timer's signal."""

from __future__ import annotations

import _imp
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import CodeType, FrameType

import joingraph as jg


class Interrupted(BaseException):
    """What a signal handler raises, as KeyboardInterrupt is."""


class TimedOut(Exception):
    """What another one raises."""


RAISED = (
    *(Interrupted, TimedOut, OSError, TimeoutError),
    *(jg.StoreError, jg.DiffError, jg.LimitError),  # of another graph
)


@contextmanager
def untraced() -> Iterator[None]:
    """Suspend the measurement of coverage around calls that are interrupted.

    An exception between the two steps in which it takes its lock would leave the lock held for
    good, and the suite waiting for it.
    """
    tracer = sys.gettrace()
    sys.settrace(None)
    try:
        yield
    finally:
        sys.settrace(tracer)


class Steps:
    """Counts the steps of a call, and raises at some of them.

    A step is a place where Python looks for signals: a function that begins, or one of C that has
    ended. `since` is the code of a function from whose beginning on they are counted.
    """

    def __init__(
        self, at: Sequence[int], error: type[BaseException], since: CodeType | None
    ) -> None:
        self.at, self.taken, self.error, self.since = list(at), 0, error, since

    def __call__(self, frame: FrameType, event: str, given: object) -> None:
        """Take one step."""
        if self.since is frame.f_code:
            self.since = None
        if self.since is None and event in ("call", "c_return"):
            self.taken += 1
            if self.at and self.taken > self.at[0]:
                del self.at[0]
                raise self.error


def release_imports() -> None:
    """Release Python's lock of imports, if an exception came just as it was taken.

    Python leaves it held then: the next thread that imports something, as numba's compiler does,
    would wait for good.
    """
    with suppress(RuntimeError):  # it is not held, or by another thread
        while True:
            _imp.release_lock()


@untraced()
def stepped(
    do: Callable[[], object],
    at: Sequence[int],
    error: type[BaseException] = Interrupted,
    since: CodeType | None = None,
) -> tuple[int, float]:
    """Interrupt a call at some of its steps; gives how often, and how many steps it took."""
    steps = Steps(sorted(at), error, since)
    try:
        sys.setprofile(steps)
        do()
    except (Interrupted, jg.JoinGraphError):
        pass
    except Exception:
        if len(at) == len(steps.at):
            raise  # else a library has made another error of the interrupt
    finally:
        sys.setprofile(None)
        release_imports()
    return len(at) - len(steps.at), max(steps.taken, 100)


@untraced()
def signalled(
    do: Callable[[], object], at: float, more: int, error: type[BaseException]
) -> tuple[int, float]:
    """Interrupt a call by a timer's signals; gives how often, and how long it took."""
    came, is_over = 0, False

    def handle(*_: object) -> None:
        nonlocal came
        if not is_over:
            came += 1
            if came == 1 + more:
                signal.setitimer(signal.ITIMER_REAL, 0)
            raise error

    before, began = signal.signal(signal.SIGALRM, handle), time.perf_counter()
    try:
        try:
            signal.setitimer(signal.ITIMER_REAL, at, 5e-5 if at else 0)
            do()
        finally:
            is_over = True  # before Python looks for signals again
    except (Interrupted, jg.JoinGraphError):
        pass
    except Exception:
        if not came:
            raise  # else a library has made another error of the interrupt
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        release_imports()
    return came, max(time.perf_counter() - began, 1e-4)
