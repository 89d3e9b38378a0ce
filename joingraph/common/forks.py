"""Forks: a child process gets a copy of each graph as of the fork, to be read and never written.

    fork()  ->  before     take the locks of graphs, log and compiler: no thread is amid a change
                parent     release them
                child      release them, renew those that could not be had, and tell the owners

fork() copies the memory and one thread. A lock that another thread holds would be held in the child
for good, and what that thread was changing would stay half changed; so a fork waits for it, for
WAIT_S at most. Then the fork goes on, and the owner is told that its copy is not whole.
"""

from __future__ import annotations

import concurrent.futures.thread
import logging
import os
import sys
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from functools import cached_property
from random import uniform
from threading import RLock
from time import monotonic
from typing import Any, NamedTuple, cast
from weakref import ref

WAIT_S = 10.0  # for all locks together; a batch may take longer
FIRST_TRY_S, LAST_TRY_S = 0.02, 0.5  # for a lock while others are held

# Python takes locks of its own at a fork, the last to register first. A thread waits for theirs
# while it holds one of ours, never the other way round: so ours have to be registered later.
REGISTERED_BEFORE = concurrent.futures.thread, logging

OnFork = Callable[[bool], None]  # in the child: true if no lock was held by a call under way


class Watched(NamedTuple):
    """An owner of locks, its method to call in the child, and the locks."""

    owner: ref[object]
    on_fork: Callable[[object, bool], None]
    locks: tuple[RLock, ...]


class Forks:
    """The locks that a fork takes, and the owners it tells in the child."""

    def __init__(self) -> None:
        self.process = os.getpid()  # to ask the system each time would cost as much as a lock
        self._forking = RLock()  # one fork at a time
        self._watched: dict[int, Watched] = {}  # by the owner's address
        self._held: list[RLock] = []
        self._inside: set[RLock] = set()  # of them, held already by the thread that forks
        self._properties: list[Any] = []
        self._modules = 0  # loaded when they were listed
        os.register_at_fork(
            before=self._take, after_in_parent=self._release, after_in_child=self._begin_child
        )

    def watch(self, on_fork: OnFork, *locks: RLock) -> None:
        """Take locks at each fork, and call a method in the child, as long as its object lives."""
        method: Any = on_fork
        owner, place = method.__self__, id(method.__self__)
        reference = ref(owner, lambda _: self._watched.pop(place, None))
        self._watched[place] = Watched(reference, method.__func__, locks)

    def _take(self) -> None:
        """Take all locks; after an exception (Ctrl-C) none, and the fork goes on."""
        self._forking.acquire()
        self._held = [self._forking]
        if self._modules != len(sys.modules):
            self._properties, self._modules = locked_properties(), len(sys.modules)
        wanted = {lock for each in list(self._watched.values()) for lock in each.locks}
        self._inside = {lock for lock in wanted if is_owned(lock)}
        self._held += take(wanted, monotonic() + WAIT_S)

    def _release(self) -> None:
        """Release all locks, the one on forks last."""
        held, self._held = self._held, []
        release_all(held)

    def _begin_child(self) -> None:
        """Free every lock that another thread held, and tell the owners."""
        self.process = os.getpid()
        free, watched = set(self._held) - self._inside, list(self._watched.values())
        self._release()
        for lock in {lock for each in watched for lock in each.locks} - free:
            if not is_owned(lock):
                cast(Any, lock)._at_fork_reinit()
        for each in self._properties:
            each.lock = RLock()
        with ExitStack() as calls:  # each is called, whichever raises
            for each in watched:
                if (owner := each.owner()) is not None:
                    calls.callback(each.on_fork, owner, free.issuperset(each.locks))


def take(wanted: Iterable[RLock], until: float) -> list[RLock]:
    """Take locks that others take in any order; returns those that could be had in time.

    Others may hold one of them and wait for the next. So only the first lock is waited for with no
    other held; where a later one is not free soon, all are released and that one comes first.
    """
    order, patience = list(wanted), FIRST_TRY_S
    while True:
        held: list[RLock] = []
        try:
            at = first_refused(order, held, patience, until)
        except BaseException:
            release_all(held)
            raise
        if at == len(order):
            return held
        release_all(held)
        blocked = order.pop(at)
        if monotonic() < until:
            order.insert(0, blocked)
        # Two who back off in step would meet again and again.
        patience = min(2 * patience, LAST_TRY_S) * uniform(0.5, 1)


def first_refused(order: list[RLock], held: list[RLock], patience: float, until: float) -> int:
    """Take locks in order up to one that is not free in time; returns its place, or the length."""
    for at, lock in enumerate(order):
        left = max(0.0, until - monotonic())
        if not lock.acquire(timeout=min(patience, left) if at else left):
            return at
        held.append(lock)
    return len(order)


def release_all(held: list[RLock]) -> None:
    """Release locks in reverse order."""
    for lock in reversed(held):
        lock.release()


def is_owned(lock: RLock) -> bool:
    """True if the calling thread holds a lock."""
    return bool(cast(Any, lock)._is_owned())


def locked_properties() -> list[Any]:
    """List the cached properties that have a lock: in Python 3.11, one for all objects of a class.

    A long computation holds it, of view diffs for instance, while others may fork.
    """
    modules = [module for name, module in list(sys.modules.items()) if name.startswith("joingraph")]
    names = [each for module in modules for each in list(vars(module).values())]
    classes = [each for each in names if isinstance(each, type)]
    found = [value for each in classes for value in list(vars(each).values())]
    return [each for each in found if isinstance(each, cached_property) and hasattr(each, "lock")]


def refused_in_child(call: str, parent: int) -> str:
    """Return why a call is refused in a child that was forked amid another one on the graph."""
    return (
        f"{call} is not possible in process {FORKS.process}: process {parent} was in the middle of"
        f" a call on this graph when it forked, and still after {WAIT_S:g} s; fork between two"
        " calls, or open the graph's folder here with joingraph.open(path, readonly=True)"
    )


FORKS = Forks()
