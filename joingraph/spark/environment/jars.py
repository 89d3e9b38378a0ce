"""Finds the jars that Spark needs for Delta, and fetches them once where they are not there.

    JOINGRAPH_DELTA_JARS (paths, or a folder)  ->  our cache  ->  Maven Central, once

A jar is kept only if its SHA-1 is the one written here, so what a mirror hands out is checked.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from joingraph.common.atomic_file import write_shared
from joingraph.common.errors import StoreError

MAVEN = "https://repo1.maven.org/maven2"
DELTA = {
    "io/delta/delta-spark_4.2_2.13/4.4.0/delta-spark_4.2_2.13-4.4.0.jar": (
        "c2ab26421b8de44a2161b5e0b7da7954049f1ca1"
    ),
    "io/delta/delta-storage/4.4.0/delta-storage-4.4.0.jar": (
        "a068e489ce20d7f79bc4ca2d3392f12adbb69ddd"
    ),
}
ANSWER_S = 120


def find_delta(cache: Path) -> list[Path]:
    """Return Delta's jars if they are on this machine, else an empty list."""
    if setting := os.environ.get("JOINGRAPH_DELTA_JARS"):
        return named_jars(setting)
    kept = [cache / "jars" / Path(name).name for name in DELTA]
    return kept if all(path.exists() for path in kept) else []


def named_jars(setting: str) -> list[Path]:
    """Return what JOINGRAPH_DELTA_JARS names: jars, or a folder of them."""
    paths = [Path(each) for each in setting.split(os.pathsep)]
    found = [jar for path in paths for jar in (sorted(path.glob("*.jar")) if path.is_dir()
             else [path])]  # fmt: skip
    for jar in found:
        if not jar.is_file():
            raise StoreError(f"JOINGRAPH_DELTA_JARS names {jar}, which is not there")
    return found


def fetch_delta(cache: Path) -> list[Path]:
    """Return Delta's jars, fetching them if this machine does not have them yet."""
    return find_delta(cache) or [fetch(name, cache / "jars") for name in DELTA]


def fetch(name: str, folder: Path) -> Path:
    """Fetch one jar, check it, and keep it."""
    site = os.environ.get("JOINGRAPH_MAVEN", MAVEN).rstrip("/")
    kept = folder / Path(name).name
    if kept.exists():
        return kept
    try:
        with urlopen(f"{site}/{name}", timeout=ANSWER_S) as answer:
            jar: bytes = answer.read()
    except (URLError, OSError) as error:
        raise StoreError(
            f"Delta needs {kept.name}, and {site} does not hand it out ({error}); put the jars "
            "into a folder and name it in JOINGRAPH_DELTA_JARS, or name a mirror of Maven "
            "Central in JOINGRAPH_MAVEN"
        ) from error
    found = hashlib.sha1(jar, usedforsecurity=False).hexdigest()
    if found != DELTA[name]:
        raise StoreError(
            f"{site}/{name} is not the jar we know: its SHA-1 is {found}, not {DELTA[name]}"
        )
    folder.mkdir(parents=True, exist_ok=True)
    write_shared(kept, jar)
    return kept
