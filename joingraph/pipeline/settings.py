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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, NamedTuple

from joingraph.common.errors import JoinGraphError, StoreError
from joingraph.common.names import did_you_mean, quoted
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
SOURCE: Final[Mapping[str, type]] = {
    **dict.fromkeys(("format", "path", "operation", "before"), str),
    "debezium": bool,
    "words": dict,
    "options": dict,
}
SINKS: Final[Mapping[str, Mapping[str, type]]] = {
    "console": {"rows": int},
    "parquet": {"path": str},
    "delta": {"path": str, "content": str},
    "redis": {"stream": str, "url": str, "form": str, "most": int},
    "timeline": {"prefix": str, "url": str, "subscriber": str, "score": str, "cap": int},
}
NEEDED: Final = {  # the first of them is the sink's place
    "parquet": ("path",),
    "delta": ("path",),
    "redis": ("stream",),
    "timeline": ("prefix", "subscriber", "score"),
}
TYPES: Final = {
    str: "a text",
    list: "a list",
    dict: "a section",
    int: "a number",
    bool: "true or false",
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
            self.fields: dict[str, Any] = tomllib.loads(self.text)
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
        """Return the line of a section, the how-manieth of its name, or of a key in it."""
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


class Section(NamedTuple):
    """A section of a file, the how-manieth of its name, and its fields; no name: the top."""

    document: Document
    fields: Mapping[str, Any]
    name: str = ""
    number: int = 0

    def mistake(self, text: str, key: str = "") -> Mistake:
        """Return what is wrong, with the line of the section or of a key in it."""
        line = self.document.line(self.name, key, self.number)
        return Mistake(self.document.path, line, text)


def read_settings(path: Path) -> Settings:
    """Read a pipeline's file, or raise with all of its mistakes."""
    document = Document(path)
    views: list[View] = []
    mistakes = list(mistakes_in(document, views))
    if mistakes:
        raise StoreError("\n".join(["the pipeline cannot run:", *map(str, mistakes)]))
    fields, home = document.fields, path.parent
    return Settings(
        name=fields.get("name", path.stem),
        views=tuple(views),
        sources={name: source(name, each, home) for name, each in fields["sources"].items()},
        sinks=tuple(sink_fields(each, home) for each in fields.get("sinks", [{"kind": "console"}])),
        state=home / fields.get("state", "state"),
        trigger=fields.get("trigger", "available_now"),
        on_error=fields.get("on_error", "stop"),
        engine=fields.get("engine", "auto"),
        spark={name: as_spark(value) for name, value in spark_settings(fields.get("spark", {}))},
    )


def source(name: str, fields: Mapping[str, Any], home: Path) -> Source:
    """Read one source; a path of files is relative to the pipeline's file."""
    found = Source(table=name, **fields)
    is_files = found.format in FILES and "://" not in found.path
    return replace(found, path=str(home / found.path)) if is_files else found


def sink_fields(fields: Mapping[str, Any], home: Path) -> Mapping[str, Any]:
    """Return the fields of one sink; its path is relative to the pipeline's file."""
    return {**fields, "path": str(home / fields["path"])} if "path" in fields else fields


def mistakes_in(document: Document, views: list[View]) -> Iterator[Mistake]:
    """Yield every mistake of a pipeline's file, and make its views on the way."""
    top = Section(document, document.fields)
    yield from wrong_fields(top, TOP)
    for name in ("views", "tables", "sources"):
        if name not in top.fields:
            yield top.mistake(f"says no {name}; joingraph init shows them")
    if not NAME.fullmatch(str(top.fields.get("name", "x"))):
        yield top.mistake("name has up to 60 letters, digits, - _ and .", "name")
    yield from wrong_choice(top, "on_error", ON_ERROR)
    yield from wrong_choice(top, "engine", ENGINES)
    if not TRIGGER.fullmatch(str(top.fields.get("trigger", "available_now"))):
        rule = 'trigger is "available_now", or an interval like "1 second"'
        yield top.mistake(f"{rule}, found {top.fields['trigger']!r}", "trigger")
    yield from wrong_views(top, views)
    yield from wrong_sources(top, views)
    yield from wrong_sinks(top, views)
    yield from wrong_spark(document)


def wrong_choice(
    section: Section, key: str, known: Iterable[str], *, is_needed: bool = False
) -> Iterator[Mistake]:
    """Yield a mistake if a field is none of the known choices."""
    found = section.fields.get(key)
    if found not in tuple(known) and (is_needed or found is not None):
        yield section.mistake(f"{key} is one of {', '.join(known)}, found {found!r}", key)


def wrong_fields(section: Section, known: Mapping[str, type]) -> Iterator[Mistake]:
    """Yield the fields that are not known, or not of their type."""
    for key, value in section.fields.items():
        if key not in known:
            near = did_you_mean(key, known, f"; it has {', '.join(known)}")
            yield section.mistake(f"no field {quoted(key)}{near}", key)
        elif not isinstance(value, known[key]):
            text = f"{key} is {TYPES[known[key]]}, found {value!r:.60}"
            yield section.mistake(text, key)


def wrong_views(top: Section, made: list[View]) -> Iterator[Mistake]:
    """Make the views that a file names, and yield what is wrong with their SQL, file by file."""
    home = top.document.path.parent
    listed, tables = top.fields.get("views", []), top.fields.get("tables")
    if not (isinstance(listed, list) and isinstance(tables, str)):
        return
    dialect, declared = str(top.fields.get("dialect", "spark")), dict[str, str]()
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
            yield top.mistake(f"{error.filename}: {error.strerror}", key)
        if not declared:
            return


def in_sql(home: Path, name: str, tables: str, text: str) -> Mistake:
    """Return what is wrong in a file of SQL; the place that a message begins with is its line."""
    if text.startswith('table "'):  # a view is the first to look at its tables' columns
        return Mistake(home / tables, 1, text)
    place = re.match(r"line (\d+), column \d+: ", text)
    return Mistake(home / name, int(place[1]) if place else 1, text)


def wrong_spark(document: Document) -> Iterator[Mistake]:
    """Yield what cannot be settings of Spark."""
    section = Section(document, document.fields.get("spark", {}), "spark")
    for name, value in spark_settings(section.fields) if isinstance(section.fields, dict) else ():
        if not isinstance(value, (str, int, float)):
            text = f"{name} is a text, a number, true or false, found {value!r:.60}"
            yield section.mistake(text, name.removeprefix("spark."))


def spark_settings(fields: Mapping[str, Any], prefix: str = "spark.") -> Iterator[tuple[str, Any]]:
    """Yield the settings of a section by Spark's names; TOML reads a dot as a section in it.

    >>> dict(spark_settings({"jars": "a.jar", "sql": {"shuffle": {"partitions": 4}}}))
    {'spark.jars': 'a.jar', 'spark.sql.shuffle.partitions': 4}
    """
    for key, value in fields.items():
        if isinstance(value, dict):
            yield from spark_settings(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def as_spark(value: object) -> str:
    """Write a setting's value as Spark reads it.

    >>> as_spark(True), as_spark(4)
    ('true', '4')
    """
    return str(value).lower() if isinstance(value, bool) else str(value)


def wrong_sources(top: Section, views: Sequence[View]) -> Iterator[Mistake]:
    """Yield the mistakes of the sources."""
    tables = {name: table for view in views for name, table in view.tables.items()}
    used = {alias.table for view in views for alias in view.definition.aliases}
    sources = top.fields.get("sources", {})
    sources = sources if isinstance(sources, dict) else {}
    for name in sorted(used - set(sources)):
        text = f"nothing is said of the table {quoted(name)}; add [sources.{name}]"
        yield Section(top.document, sources, "sources").mistake(text)
    for name, each in sources.items():
        section = Section(top.document, each, f"sources.{name}")
        if not isinstance(each, dict):
            yield section.mistake(f"{section.name} is a section")
            continue
        if views and name not in used:
            near = did_you_mean(name, used, "; take it out")
            yield section.mistake(f"no view reads a table {quoted(name)}{near}")
        yield from wrong_source(section)
        if each.get("before") == "key" and name in tables and not tables[name].key:
            text = f'before = "key" and {name} declares no key; add PRIMARY KEY (...)'
            yield section.mistake(text, "before")


def wrong_source(section: Section) -> Iterator[Mistake]:
    """Yield the mistakes of one source."""
    fields = section.fields
    yield from wrong_fields(section, SOURCE)
    yield from wrong_choice(section, "format", FORMATS, is_needed=True)
    if not fields.get("path"):
        yield section.mistake("path says where it is, and there is none")
    if fields.get("before") not in (None, "full", "key"):
        yield section.mistake('before is "full" or "key"', "before")
    place = section.document.path.parent / str(fields.get("path"))
    if fields.get("format") in FILES and "://" not in str(place) and not is_folder(place):
        yield section.mistake(f"{place} is no folder; make it first", "path")


def is_folder(place: Path) -> bool:
    """True for a folder that is there; false for a name that no folder could have."""
    try:
        return place.is_dir()
    except OSError:
        return False


def wrong_sinks(top: Section, views: Sequence[View]) -> Iterator[Mistake]:
    """Yield the mistakes of the sinks."""
    sinks = top.fields.get("sinks", [])
    for number, each in enumerate(sinks if isinstance(sinks, list) else []):
        section = Section(top.document, each, "sinks", number)
        kind = each.get("kind") if isinstance(each, dict) else each
        if not isinstance(each, dict) or kind not in tuple(SINKS):
            text = f"kind is one of {', '.join(SINKS)}, found {kind!r}"
            yield section.mistake(text, "kind")
            continue
        yield from wrong_fields(section, {"kind": str, "view": str, **SINKS[kind]})
        for needed in NEEDED.get(kind, ()):
            if needed not in each:
                yield section.mistake(f"a sink of kind {kind} says its {needed}", "kind")
        if each.get("view") not in (None, *(view.name for view in views)):
            yield section.mistake(f"there is no view {quoted(str(each['view']))}", "view")
        if kind == "timeline":
            yield from wrong_columns(section, views)


def wrong_columns(section: Section, views: Iterable[View]) -> Iterator[Mistake]:
    """Yield the columns of a timeline that its views do not have."""
    for key in ("subscriber", "score"):
        for view in views:
            name = str(section.fields.get(key))
            is_of_view = section.fields.get("view", view.name) == view.name
            if is_of_view and name not in view.schema.names:
                near = did_you_mean(name, view.schema.names)
                yield section.mistake(f"{view.name} has no column {quoted(name)}{near}", key)
