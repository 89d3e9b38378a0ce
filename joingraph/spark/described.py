"""Makes the pipeline that a file describes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import chain
from typing import Any, Final

from joingraph.common.errors import StoreError
from joingraph.pipeline.settings import NEEDED, Settings
from joingraph.pipeline.sinks.console import Console
from joingraph.pipeline.sinks.contract import Sink
from joingraph.pipeline.sinks.parquet import Parquet
from joingraph.pipeline.sinks.redis import RedisStream, Timeline
from joingraph.plan.view import View
from joingraph.spark.build import needs_delta, pipeline
from joingraph.spark.environment.session import session
from joingraph.spark.run import Pipeline
from joingraph.spark.sink_delta import Delta

SINKS: Final[Mapping[str, Callable[..., Sink]]] = {
    "console": Console,
    "parquet": Parquet,
    "delta": Delta,
    "redis": RedisStream,
    "timeline": Timeline,
}


def from_settings(settings: Settings) -> Pipeline:
    """Make a pipeline, ready to start."""
    sinks = {view.name: make_sinks(view, settings) for view in settings.views}
    delta = needs_delta(settings.sources.values(), chain.from_iterable(sinks.values()))
    return pipeline(
        settings.views,
        sources=settings.sources,
        sink=sinks,
        trigger=settings.trigger,
        name=settings.name,
        path=settings.state,
        on_error=settings.on_error,
        engine=settings.engine,
        spark=session(settings.spark, delta=delta) if settings.spark else None,
    )


def make_sinks(view: View, settings: Settings) -> list[Sink]:
    """Make the sinks of one view; where there are several views, each has its own place."""
    several = len(settings.views) > 1
    return [
        make_sink(each, f"/{view.name}" if several and "view" not in each else "", view)
        for each in settings.sinks
        if each.get("view", view.name) == view.name
    ]


def make_sink(fields: Mapping[str, Any], own: str, view: View) -> Sink:
    """Make one sink; `own` is put behind its place."""
    kind = fields["kind"]
    if kind not in SINKS:
        raise StoreError(f"there is no sink of kind {kind!r}")
    options = {name: value for name, value in fields.items() if name not in ("kind", "view")}
    if kind in NEEDED:
        options[NEEDED[kind][0]] += own
    if kind == "delta":
        options["name"] = view.name
    return SINKS[kind](**options)
