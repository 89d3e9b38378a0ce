"""Makes the pipeline that a file describes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from joingraph.common.errors import StoreError
from joingraph.pipeline.settings import Settings
from joingraph.pipeline.sinks.console import Console
from joingraph.pipeline.sinks.contract import Sink
from joingraph.pipeline.sinks.parquet import Parquet
from joingraph.pipeline.sinks.redis import RedisStream, Timeline
from joingraph.plan.view import View
from joingraph.spark.build import pipeline
from joingraph.spark.environment.session import session
from joingraph.spark.run import Pipeline
from joingraph.spark.sink_delta import Delta


def from_settings(settings: Settings) -> Pipeline:
    """Make a pipeline, ready to start."""
    sinks = {view.name: sinks_of(view, settings) for view in settings.views}
    return pipeline(
        settings.views,
        sources=settings.sources,
        sink=sinks,
        trigger=settings.trigger,
        name=settings.name,
        path=settings.state,
        on_error=settings.on_error,
        engine=settings.engine,
        spark=session(settings.spark, delta=needs_delta(settings)) if settings.spark else None,
    )


def needs_delta(settings: Settings) -> bool:
    """True if a source or sink is a Delta table."""
    kinds = (each["kind"] for each in settings.sinks)
    return "delta" in kinds or any(each.format == "delta" for each in settings.sources.values())


def sinks_of(view: View, settings: Settings) -> list[Sink]:
    """Make the sinks of one view; where there are several views, each has its own place."""
    several = len(settings.views) > 1
    return [
        sink_of(each, f"/{view.name}" if several and "view" not in each else "", view)
        for each in settings.sinks
        if each.get("view", view.name) == view.name
    ]


def sink_of(said: Mapping[str, Any], own: str, view: View) -> Sink:
    """Make one sink."""
    url = said.get("url")
    match said["kind"]:
        case "console":
            return Console(said.get("rows", 15))
        case "parquet":
            return Parquet(said["path"] + own)
        case "delta":
            return Delta(said["path"] + own, content=said.get("content", "diffs"), name=view.name)
        case "redis":
            form, most = said.get("form", "arrow"), said.get("most")
            return RedisStream(said["stream"] + own, url, form=form, most=most)
        case "timeline":
            subscriber, score = said["subscriber"], said["score"]
            cap, prefix = said.get("cap", 100), said["prefix"] + own
            return Timeline(prefix, url, subscriber=subscriber, score=score, cap=cap)
        case other:
            raise StoreError(f"there is no sink of kind {other!r}")
