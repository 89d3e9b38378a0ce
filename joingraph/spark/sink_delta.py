"""The sink of Delta tables: view diffs appended, or the view itself kept by MERGE.

    diffs   columns of the view, _change_type, _count, _seq, _diff     appended, a batch a commit
    view    columns of the view, _count                                a row once, with its count

Where base rows were updated or deleted whose key the view has, MERGE goes by i-diffs; of a view
that groups, by the groups' keys (joingraph/pipeline/sinks/merge.py). Delta remembers the last
(sink, batch) that a table took, in the commit itself, and passes over one that comes again.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from operator import and_
from pathlib import Path
from typing import Any, Final, cast

import pyarrow as pa
from delta.tables import DeltaTable
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from joingraph.common.errors import StoreError
from joingraph.pipeline.sinks.contract import EXACTLY_ONCE
from joingraph.pipeline.sinks.merge import DELETE, GROUP, ROW, UPDATE, merge_of, rows_over_nothing
from joingraph.plan.view import View
from joingraph.spark.filters import spark_name
from joingraph.spark.types import CHANGE, spark_schema, widened
from joingraph.view_diffs.view_diff import ViewDiff

CONTENTS: Final = ("diffs", "view")
TURN: Final = "spark.databricks.delta.write"


class Delta:
    """Writes view diffs, or the view, to a Delta table at a path."""

    guarantee = EXACTLY_ONCE
    delta = True  # the session must know Delta

    def __init__(self, path: str, *, content: str = "diffs", name: str = "joingraph") -> None:
        if content not in CONTENTS:
            raise StoreError(f"a Delta sink holds {content!r}; choose {' or '.join(CONTENTS)}")
        self.path = path if "://" in path else str(Path(path).absolute())
        self.content, self.name = content, name

    def open(self, view: View) -> None:
        """Make the table, if it is not there."""
        found = SparkSession.getActiveSession()
        assert found is not None, "a pipeline has its session before its sinks"
        self.spark, self.view, self.columns = found, view, view.schema.names
        own = CHANGE if self.content == "diffs" else [pa.field("_count", pa.int64())]
        schema = spark_schema(pa.schema([*view.schema, *own]))
        made = DeltaTable.createIfNotExists(found).location(self.path).addColumns(schema)
        # Delta keeps a change feed of the view; of view diffs it could not, they are one already.
        feed = str(self.content == "view").lower()
        self.table = made.property("delta.enableChangeDataFeed", feed).execute()
        if self.content == "view" and not self.last():
            self.append(rows_over_nothing(view), 0)

    def last(self) -> int:
        """Return the number of the last batch that a commit of the table names."""
        spark = cast(Any, self.spark)  # Delta's log has no face in Python
        log = spark._jvm.org.apache.spark.sql.delta.DeltaLog
        found = log.forTableWithSnapshot(spark._jsparkSession, self.path)
        named = found._2().transactions()
        return int(named.apply(self.name)) if named.contains(self.name) else 0

    def write(self, diff: ViewDiff) -> None:
        """Write a batch; Delta passes over one it has."""
        if not len(diff):
            return
        if self.content == "diffs":
            self.append(diff.to_arrow(positions=True), diff.seq)
        else:
            self.merge(diff)

    def append(self, rows: pa.Table, seq: int) -> None:
        """Add rows under the number of their batch."""
        if len(rows):
            writer = self.frame(rows).write.format("delta").mode("append")
            writer.option("txnAppId", self.name).option("txnVersion", seq).save(self.path)

    def frame(self, rows: pa.Table) -> DataFrame:
        """Return rows as Spark's; left to itself it takes timestamps for those of a time zone."""
        return self.spark.createDataFrame(widened(rows), spark_schema(rows.schema))

    def merge(self, diff: ViewDiff) -> None:
        """Bring the view up to date by its i-diffs, or by rows that come, go, and count."""
        found = merge_of(diff, self.view.definition)
        if not len(found.rows):
            return
        rows = self.frame(found.rows)
        is_row, left = new("_op") == ROW, old("_count") + new("_count")
        rest = [name for name in self.columns if name not in found.key]
        same = reduce(and_, map(same_value, found.key), F.lit(True))
        if rest:
            same &= reduce(and_, map(same_value, rest), is_row) | ~is_row
        merge = self.table.alias("old").merge(rows.alias("new"), same)
        merge = merge.whenMatchedDelete((new("_op") == DELETE) | is_row & (left == 0))
        if found.values:
            sets = new("_op").isin(UPDATE, GROUP)
            merge = merge.whenMatchedUpdate(sets, assignments(found.values))
        merge = merge.whenMatchedUpdate(is_row, {"_count": left})
        comes = new("_op").isin(ROW, GROUP)
        merge = merge.whenNotMatchedInsert(comes, assignments([*self.columns, "_count"]))
        self.spark.conf.set(f"{TURN}.txnAppId", self.name)
        self.spark.conf.set(f"{TURN}.txnVersion", str(diff.seq))
        try:
            merge.execute()
        finally:
            self.spark.conf.unset(f"{TURN}.txnAppId")
            self.spark.conf.unset(f"{TURN}.txnVersion")

    def close(self) -> None:
        """Nothing is open."""


def old(name: str) -> Column:
    """Return a column of the table."""
    return F.col(f"old.{spark_name(name)}")


def new(name: str) -> Column:
    """Return a column of what comes."""
    return F.col(f"new.{spark_name(name)}")


def assignments(names: Iterable[str]) -> dict[str, str | Column]:
    """Return the columns with what comes for each."""
    return {spark_name(name): new(name) for name in names}


def same_value(name: str) -> Column:
    """Compare a column, NULL with NULL."""
    return old(name).eqNullSafe(new(name))
