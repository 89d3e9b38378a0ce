"""Makes a pipeline of views, sources and sinks.

pipeline(view, sources={"tweet": {"format": "parquet", "path": "data/tweet"}}, sink=print)
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from joingraph.common.errors import StoreError, ViewError
from joingraph.common.names import did_you_mean, quoted
from joingraph.pipeline.micro_batch import Driver, Line
from joingraph.pipeline.model import FILES, FORMATS, ON_ERROR, Source
from joingraph.pipeline.open_graph import Options, open_outbox
from joingraph.pipeline.report.status import Status
from joingraph.pipeline.settings import NAME
from joingraph.pipeline.sinks.contract import Call, Memory, Sink
from joingraph.plan.view import View
from joingraph.spark.environment.session import session
from joingraph.spark.feed import one_stream
from joingraph.spark.filters import pruned
from joingraph.spark.run import AVAILABLE_NOW, Pipeline, Plan
from joingraph.spark.sources.open import open_source
from joingraph.tables.table import Table

MODES = ("auto", "local")
Sinks = Sink | Callable[..., object] | Mapping[str, Any] | Iterable[Any] | None


def pipeline(
    views: View | Iterable[View],
    *,
    sources: Mapping[str, object],
    sink: Sinks = None,
    mode: str = "auto",
    trigger: str = AVAILABLE_NOW,
    name: str = "joingraph",
    path: str | Path | None = None,
    on_error: str = "stop",
    engine: str = "auto",
    durability: str = "fsync",
    spark: SparkSession | None = None,
) -> Pipeline:
    """Make a pipeline: the diffs of the sources go into the views' graphs, view diffs to sinks.

    `sources`: for each base table a streaming DataFrame, or a dict with `format`, `path` and the
    other fields of joingraph.pipeline.model.Source. `sink`: one or several, for all views, or a
    dict of them by view. `trigger`: "available_now" does what is there and ends; or an interval.
    `path`: the folder of graphs, checkpoint, dead letters and status; with it, a pipeline goes on
    where it stood.
    """
    check_options(mode, on_error, name)
    place = Path(path).absolute() if path is not None else None
    kept, tables = narrowed_views([views] if isinstance(views, View) else list(views))
    specified = read_sources(sources, tables)
    options = Options(place, engine, durability)
    lines = [make_line(view, specified, name_sinks(view, sink), options) for view in kept]
    all_sinks = [sink for each in lines for sink in each.sinks.values()]
    spark = spark or session(delta=needs_delta(specified.values(), all_sinks))
    opened = {
        table: open_source(spark, source, tables[table], sources[table])
        for table, source in specified.items()
    }
    stream = one_stream(opened, specified, tables, [each.outbox.graph.view for each in lines])
    home = place or Path(tempfile.mkdtemp(prefix="joingraph-"))
    plan = Plan(name, stream, home / "checkpoint", trigger)
    dead = home / "dead_letters" if on_error == "dead_letter" else None
    return Pipeline(plan, Driver(specified, tables, lines, dead), Status(home / "status.json"))


def narrowed_views(views: list[View]) -> tuple[list[View], dict[str, Table]]:
    """Leave out the columns that no view reads, and make the views over what is left."""
    if len({view.name for view in views}) < len(views) or not views:
        raise ViewError("a pipeline takes one view or more, each with a name of its own")
    kept = [pruned(view) for view in views]
    tables = tables_read(kept)
    return [View(view.sql, tables, view.dialect) for view in kept], tables


def check_options(mode: str, on_error: str, name: str) -> None:
    """Refuse options that are not known."""
    if mode not in MODES:
        raise StoreError(f"mode={mode!r} is not there; the graph runs in the driver: mode='local'")
    if on_error not in ON_ERROR:
        raise StoreError(f"on_error={on_error!r} is not known; choose one of {', '.join(ON_ERROR)}")
    if not NAME.fullmatch(name):
        raise StoreError(f"name={name!r}: a pipeline's name is up to 60 letters, digits, - _ and .")


def tables_read(views: Iterable[View]) -> dict[str, Table]:
    """Return every base table with the columns that any of the views reads."""
    found: dict[str, Table] = {}
    for view in views:
        used = {alias.table for alias in view.definition.aliases}
        for table in (each for each in view.tables.values() if each.name in used):
            other = found.get(table.name, table)
            found[table.name] = with_columns_of(other, table)
    return found


def with_columns_of(one: Table, other: Table) -> Table:
    """Put the columns of two declarations of a table together."""
    schema = one.schema
    for field in other.schema:
        at = schema.get_field_index(field.name)
        if at < 0:
            schema = schema.append(field)
        elif schema.field(at) != field:
            raise ViewError(
                f"{one.name}.{field.name} is {schema.field(at).type} in one view and {field.type} "
                "in another; declare it alike"
            )
    return Table(one.name, schema, one.key or other.key)


def read_sources(sources: Mapping[str, object], tables: Mapping[str, Table]) -> dict[str, Source]:
    """Read what each source is."""
    found: dict[str, Source] = {}
    for name, described in sources.items():
        if name not in tables:
            near = did_you_mean(name, tables)
            raise StoreError(f"sources: no view reads a table {quoted(name)}{near}")
        found[name] = source_of(name, described)
        if found[name].by_key and not tables[name].key:
            raise StoreError(
                f'sources: {name} has before = "key" and declares no key; add PRIMARY KEY (...)'
            )
    missing = [name for name in tables if name not in found]
    if missing:
        raise StoreError(f"sources: nothing is said of the table {', '.join(missing)}")
    return found


def source_of(name: str, described: Any) -> Source:
    """Read one source."""
    if isinstance(described, Source):
        return replace(described, table=name)
    if isinstance(described, DataFrame):
        return Source(name, "dataframe")
    if not isinstance(described, Mapping):
        raise StoreError(
            f"sources: {name} is a streaming DataFrame or a dict with `format` and `path`, found "
            f"{type(described).__name__}"
        )
    known = {field.name for field in fields(Source)} - {"table"}
    for key in described:
        if key not in known:
            near = did_you_mean(str(key), known, f"; it has {', '.join(known)}")
            raise StoreError(f"sources: {name} has no field {key!r}{near}")
    if described.get("format") not in FORMATS:
        raise StoreError(
            f"sources: {name} has the format {described.get('format')!r}; choose one of "
            f"{', '.join(FORMATS)}"
        )
    found = Source(table=name, **described)
    is_local = found.format in FILES and "://" not in found.path
    # Spark's process may have begun in another folder than the one we are in.
    return replace(found, path=str(Path(found.path).absolute())) if is_local else found


def name_sinks(view: View, sink: Sinks) -> dict[str, Sink]:
    """Return the sinks of a view, each under a name."""
    if isinstance(sink, Mapping):
        sink = sink.get(view.name)
    if sink is None:
        found: list[Any] = [Memory()]
    elif isinstance(sink, Iterable):
        found = list(sink)
    else:
        found = [sink]
    sinks = [each if hasattr(each, "guarantee") else Call(each) for each in found]
    return {f"{view.name}.{number}.{type(s).__name__}": s for number, s in enumerate(sinks)}


def needs_delta(sources: Iterable[Source], sinks: Iterable[Sink]) -> bool:
    """True if any source or sink is a Delta table."""
    return any(each.format == "delta" for each in sources) or any(
        getattr(sink, "delta", False) for sink in sinks
    )


def make_line(
    view: View, sources: Mapping[str, Source], sinks: Mapping[str, Sink], options: Options
) -> Line:
    """Make a view's graph, with its outbox and sinks."""
    used = {alias.table for alias in view.definition.aliases}
    keyed = sorted(name for name in used if sources[name].by_key)
    # A row known by its key alone may never have passed the filter, and then it is not missed.
    missing = "skip" if keyed else "error"
    by_row = any(getattr(sink, "by_row", False) for sink in sinks.values())
    options = options._replace(on_missing=missing, key_index=keyed, by_row=by_row)
    return Line(open_outbox(view, options, list(sinks)), sinks)
