"""pipeline.toml: what it may say, and every mistake in it, with its line and what to do.

    name, views, tables, dialect, state, trigger, on_error, engine
    [spark]             settings of its session, over ours
    [sources.<table>]   format, path, operation, …    (joingraph/pipeline/model.py)
    [[sinks]]           kind, path, …

Everything is checked before Spark starts: the file, the views' SQL, the tables they read, the
sources of those, the sinks' columns. Paths are relative to the file.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, NamedTuple

from joingraph.common.errors import JoinGraphError, StoreError
from joingraph.common.names import quoted, suggest
from joingraph.pipeline.model import FILES, FORMATS, ON_ERROR, Source
from joingraph.plan.view import View
from joingraph.sql.text.files import declarations, read_sql

TRIGGER: Final = re.compile(r"available_now|\d+ (milli)?seconds?|\d+ minutes?")
NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,60}")
FILE: Final = "pipeline.toml"
ENGINES: Final = ("auto", "compiled", "reference")
TOP: Final = {
    "name": str,
    "views": list,
    "tables": str,
    "dialect": str,
    "state": str,
    "trigger": str,
    "on_error": str,
    "engine": str,
    "sources": dict,
    "sinks": list,
    "spark": dict,
}
SINKS: Final[Mapping[str, Mapping[str, type]]] = {
    "console": {"rows": int},
    "parquet": {"path": str},
    "delta": {"path": str, "content": str},
    "redis": {"stream": str, "url": str, "form": str, "most": int},
    "timeline": {"prefix": str, "url": str, "subscriber": str, "score": str, "cap": int},
}
NEEDED: Final = {
    "parquet": ("path",),
    "delta": ("path",),
    "redis": ("stream",),
    "timeline": ("prefix", "subscriber", "score"),
}


class Mistake(NamedTuple):
    """One thing that is wrong in a file."""

    file: Path
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.text}"


@dataclass(frozen=True, slots=True)
class Settings:
    """A pipeline as its file describes it."""

    name: str
    views: tuple[View, ...]
    sources: Mapping[str, Source]
    sinks: tuple[Mapping[str, Any], ...]
    state: Path
    trigger: str
    on_error: str
    engine: str
    spark: Mapping[str, str]  # settings of its session


class Document:
    """A TOML file with the lines on which its tables and keys stand."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self.text = path.read_text(encoding="utf-8")
            self.said: dict[str, Any] = tomllib.loads(self.text)
        except FileNotFoundError:
            raise StoreError(f"{path} is not there; joingraph init writes an example") from None
        except IsADirectoryError:
            raise StoreError(f"{path} is a folder; name the file in it: {path / FILE}") from None
        except (OSError, UnicodeDecodeError) as error:
            raise StoreError(f"{path} cannot be read: {error}") from error
        except RecursionError:
            raise StoreError(f"{path} nests too deep to be read; its sections do not") from None
        except tomllib.TOMLDecodeError as error:
            found = re.search(r"line (\d+)", str(error))
            raise StoreError(f"{path}:{found[1] if found else 1}: not TOML: {error}") from error

    def line(self, section: str, key: str = "", number: int = 0) -> int:
        """Find the line of a section, the how-manieth of its name, or of a key in it."""
        here, seen, begins = "", -1, 1
        for place, line in enumerate(self.text.splitlines(), 1):
            if header := re.match(r"\s*\[\[?\s*(.+?)\s*\]?\]\s*(#.*)?$", line):
                here = header[1].replace('"', "").replace("'", "")
                seen += here == section
                if here == section and seen == number:
                    begins = place
            elif here == section and seen in (number, -1):
                name = re.match(r"""\s*["']?([^"'=\s]+)["']?\s*=""", line)
                if name and name[1] == key:
                    return place
        return begins

    def mistake(self, text: str, section: str = "", key: str = "", number: int = 0) -> Mistake:
        """Return what is wrong where."""
        return Mistake(self.path, self.line(section, key, number), text)


def read_settings(path: Path) -> Settings:
    """Read a pipeline's file, or raise with all of its mistakes."""
    document = Document(path)
    views: list[View] = []
    mistakes = list(mistakes_in(document, views))
    if mistakes:
        raise StoreError("\n".join(["the pipeline cannot run:", *map(str, mistakes)]))
    said, home = document.said, path.parent
    return Settings(
        name=said.get("name", path.stem),
        views=tuple(views),
        sources={name: source(name, each, home) for name, each in said["sources"].items()},
        sinks=tuple(sink_fields(each, home) for each in said.get("sinks", [{"kind": "console"}])),
        state=home / said.get("state", "state"),
        trigger=said.get("trigger", "available_now"),
        on_error=said.get("on_error", "stop"),
        engine=said.get("engine", "auto"),
        spark={name: as_spark(value) for name, value in flat(said.get("spark", {}))},
    )


def source(name: str, said: Mapping[str, Any], home: Path) -> Source:
    """Read one source; a path of files is relative to the pipeline's file."""
    found = Source(table=name, **said)
    is_files = found.format in FILES and "://" not in found.path
    return replace(found, path=str(home / found.path)) if is_files else found


def sink_fields(said: Mapping[str, Any], home: Path) -> Mapping[str, Any]:
    """Return the fields of one sink; its path is relative to the pipeline's file."""
    return {**said, "path": str(home / said["path"])} if "path" in said else said


def mistakes_in(document: Document, views: list[View]) -> Iterator[Mistake]:
    """Find every mistake of a pipeline's file, and make its views on the way."""
    said = document.said
    yield from wrong_fields(document, said, TOP)
    for name in ("views", "tables", "sources"):
        if name not in said:
            yield document.mistake(f"says no {name}; joingraph init shows them")
    if not NAME.fullmatch(str(said.get("name", "x"))):
        yield document.mistake("name has up to 60 letters, digits, - _ and .", "", "name")
    yield from not_one_of(document, "on_error", ON_ERROR)
    yield from not_one_of(document, "engine", ENGINES)
    if not TRIGGER.fullmatch(str(said.get("trigger", "available_now"))):
        hint = 'trigger is "available_now", or an interval like "1 second"'
        yield document.mistake(f"{hint}, found {said['trigger']!r}", "", "trigger")
    yield from wrong_views(document, views)
    yield from wrong_sources(document, views)
    yield from wrong_sinks(document, views)
    yield from wrong_spark(document)


def not_one_of(document: Document, key: str, known: Iterable[str]) -> Iterator[Mistake]:
    """Find a choice that is not there."""
    found = document.said.get(key)
    if found is not None and found not in known:
        text = f"{key} is one of {', '.join(known)}, found {found!r}"
        yield document.mistake(text, "", key)


def wrong_fields(
    document: Document,
    said: Mapping[str, Any],
    known: Mapping[str, type],
    *,
    section: str = "",
    number: int = 0,
) -> Iterator[Mistake]:
    """Find fields that are not known, or not of their type."""
    for key, value in said.items():
        if key not in known:
            near = suggest(key, known)
            hint = f"; did you mean {quoted(near)}?" if near else f"; it has {', '.join(known)}"
            yield document.mistake(f"no field {quoted(key)}{hint}", section, key, number)
        elif not isinstance(value, known[key]):
            names = {str: "a text", list: "a list", dict: "a section", int: "a number"}
            names[bool] = "true or false"
            text = f"{key} is {names[known[key]]}, found {value!r:.60}"
            yield document.mistake(text, section, key, number)


def wrong_views(document: Document, made: list[View]) -> Iterator[Mistake]:
    """Make the views that a file names, and find what is wrong with their SQL, file by file."""
    said, home = document.said, document.path.parent
    listed, tables = said.get("views", []), said.get("tables")
    if not (isinstance(listed, list) and isinstance(tables, str)):
        return
    dialect, declared = str(said.get("dialect", "spark")), dict[str, str]()
    for name in (tables, *map(str, listed)):
        try:
            text = read_sql(home / name)
            if declared:
                made.append(View(text, declared, dialect))
                continue
            declared = declarations(text, dialect)
            if not declared:
                yield Mistake(home / name, 1, "declares no table; write CREATE TABLE name (...)")
        except JoinGraphError as error:
            yield in_sql(home, name, tables, str(error))
        except OSError as error:
            key = "views" if declared else "tables"
            yield document.mistake(f"{error.filename}: {error.strerror}", "", key)
        if not declared:
            return


def in_sql(home: Path, name: str, tables: str, text: str) -> Mistake:
    """Return what is wrong in a file of SQL; the place that a message begins with is its line."""
    if text.startswith('table "'):  # a view is the first to look at its tables' columns
        return Mistake(home / tables, 1, text)
    place = re.match(r"line (\d+), column \d+: ", text)
    return Mistake(home / name, int(place[1]) if place else 1, text)


def wrong_spark(document: Document) -> Iterator[Mistake]:
    """Find settings of Spark that are none."""
    said = document.said.get("spark", {})
    for name, value in flat(said) if isinstance(said, dict) else ():
        if not isinstance(value, (str, int, float)):
            text = f"{name} is a text, a number, true or false, found {value!r:.60}"
            yield document.mistake(text, "spark", name.removeprefix("spark."))


def flat(said: Mapping[str, Any], prefix: str = "spark.") -> Iterator[tuple[str, Any]]:
    """Name the settings of a section as Spark does; TOML takes a dot for a section in it.

    >>> dict(flat({"jars": "a.jar", "sql": {"shuffle": {"partitions": 4}}}))
    {'spark.jars': 'a.jar', 'spark.sql.shuffle.partitions': 4}
    """
    for key, value in said.items():
        if isinstance(value, dict):
            yield from flat(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def as_spark(value: object) -> str:
    """Write a setting's value as Spark reads it.

    >>> as_spark(True), as_spark(4)
    ('true', '4')
    """
    return str(value).lower() if isinstance(value, bool) else str(value)


def wrong_sources(document: Document, views: Iterable[View]) -> Iterator[Mistake]:
    """Find the mistakes of the sources."""
    views = list(views)
    tables = {name: table for view in views for name, table in view.tables.items()}
    used = {alias.table for view in views for alias in view.definition.aliases}
    sources = document.said.get("sources", {})
    sources = sources if isinstance(sources, dict) else {}
    for name in sorted(used - set(sources)):
        text = f"nothing is said of the table {quoted(name)}; add [sources.{name}]"
        yield document.mistake(text, "sources")
    for name, each in sources.items():
        section = f"sources.{name}"
        if not isinstance(each, dict):
            yield document.mistake(f"{section} is a section", section)
            continue
        if views and name not in used:
            near = suggest(name, used)
            hint = f"; did you mean {quoted(near)}?" if near else "; take it out"
            yield document.mistake(f"no view reads a table {quoted(name)}{hint}", section)
        yield from wrong_source(document, section, each)
        if each.get("before") == "key" and name in tables and not tables[name].key:
            text = f'before = "key" and {name} declares no key; add PRIMARY KEY (...)'
            yield document.mistake(text, section, "before")


def wrong_source(document: Document, section: str, said: Mapping[str, Any]) -> Iterator[Mistake]:
    """Find the mistakes of one source."""
    known: dict[str, type] = dict.fromkeys(("format", "path", "operation", "before"), str)
    known |= {"debezium": bool, "words": dict, "options": dict}
    yield from wrong_fields(document, said, known, section=section)
    if said.get("format") not in FORMATS:
        text = f"format is one of {', '.join(FORMATS)}, found {said.get('format')!r}"
        yield document.mistake(text, section, "format")
    if not said.get("path"):
        yield document.mistake("path says where it is, and there is none", section)
    if said.get("before") not in (None, "full", "key"):
        yield document.mistake('before is "full" or "key"', section, "before")
    place = document.path.parent / str(said.get("path"))
    if said.get("format") in FILES and "://" not in str(place) and not is_folder(place):
        yield document.mistake(f"{place} is no folder; make it first", section, "path")


def is_folder(place: Path) -> bool:
    """True for a folder that is there; what no folder could be called is none."""
    try:
        return place.is_dir()
    except OSError:
        return False


def wrong_sinks(document: Document, views: Iterable[View]) -> Iterator[Mistake]:
    """Find the mistakes of the sinks."""
    views = list(views)
    sinks = document.said.get("sinks", [])
    for number, each in enumerate(sinks if isinstance(sinks, list) else []):
        if not isinstance(each, dict) or each.get("kind") not in SINKS:
            found = each.get("kind") if isinstance(each, dict) else each
            text = f"kind is one of {', '.join(SINKS)}, found {found!r}"
            yield document.mistake(text, "sinks", "kind", number)
            continue
        kind = str(each["kind"])
        known = {"kind": str, "view": str, **SINKS[kind]}
        yield from wrong_fields(document, each, known, section="sinks", number=number)
        for needed in NEEDED.get(kind, ()):
            if needed not in each:
                text = f"a sink of kind {kind} says its {needed}"
                yield document.mistake(text, "sinks", "kind", number)
        if each.get("view") not in (None, *(view.name for view in views)):
            text = f"there is no view {quoted(str(each['view']))}"
            yield document.mistake(text, "sinks", "view", number)
        yield from wrong_columns(document, each, views, number)


def wrong_columns(
    document: Document, sink: Mapping[str, Any], views: Iterable[View], number: int
) -> Iterator[Mistake]:
    """Find columns of a timeline that its views do not have."""
    for key in ("subscriber", "score") if sink["kind"] == "timeline" else ():
        for view in views:
            name = str(sink.get(key))
            if sink.get("view", view.name) == view.name and name not in view.schema.names:
                near = suggest(name, view.schema.names)
                hint = f"; did you mean {quoted(near)}?" if near else ""
                text = f"{view.name} has no column {quoted(name)}{hint}"
                yield document.mistake(text, "sinks", key, number)
