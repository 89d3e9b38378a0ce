"""The data pipeline on Spark: diffs in, join graph, view diffs out.

    sources -> filters as Spark SQL -> toArrow -> join graph (in the driver) -> outbox -> sinks

Whatever needs pyspark is imported when it is first asked for, so that this package costs nothing
to programs that only import joingraph.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

from joingraph.common.errors import StoreError

if TYPE_CHECKING:
    from joingraph.spark.build import pipeline
    from joingraph.spark.described import from_settings
    from joingraph.spark.environment.session import session
    from joingraph.spark.format.datasource import register
    from joingraph.spark.run import Pipeline


__all__ = ["Pipeline", "from_settings", "pipeline", "register", "session"]

_home_of = {
    "Pipeline": "joingraph.spark.run",
    "from_settings": "joingraph.spark.described",
    "pipeline": "joingraph.spark.build",
    "register": "joingraph.spark.format.datasource",
    "session": "joingraph.spark.environment.session",
}


def __getattr__(name: str) -> object:
    """Import the module that defines a public name, at its first use."""
    if name not in _home_of:
        raise AttributeError(f"module 'joingraph.spark' has no attribute {name!r}")
    if find_spec("pyspark") is None:
        raise StoreError(
            f"joingraph.spark.{name} needs pyspark, which is not installed; "
            "run: pip install 'joingraph[spark]'"
        )
    value: object = getattr(import_module(_home_of[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, the ones not yet imported too."""
    return sorted(set(globals()) | set(__all__))
