"""A topic of a real Kafka broker as a source, where one is given.

    JOINGRAPH_KAFKA=127.0.0.1:9092
    JOINGRAPH_KAFKA_JARS=/a/folder

The jars are those of spark-sql-kafka-0-10_2.13 and of what it needs. They must be there when a
session starts, so this runs in a process of its own, from a file of settings.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from uuid import uuid4

import pytest

BROKER, JARS = os.environ.get("JOINGRAPH_KAFKA"), os.environ.get("JOINGRAPH_KAFKA_JARS")
pytestmark = pytest.mark.skipif(
    not (BROKER and JARS), reason="JOINGRAPH_KAFKA and JOINGRAPH_KAFKA_JARS name no broker and jars"
)

SETTINGS = """
views = ["view.sql"]
tables = "tables.sql"
on_error = "dead_letter"
sources.tweet = {{ format = "kafka", path = "{topic}", operation = "op", options = {options} }}
sinks = [{{ kind = "parquet", path = "out" }}]
spark = {{ master = "local[2]", jars = "{jars}", sql.shuffle.partitions = 1 }}
"""

PROGRAM = """
import json, shutil, sys
from pathlib import Path
import joingraph as jg
from joingraph.pipeline.settings import read_settings

home, broker, topic = Path(sys.argv[1]), *sys.argv[2:]

def run(*records):
    pipeline = jg.spark.from_settings(read_settings(home / "pipeline.toml"))
    spark = pipeline.plan.stream.sparkSession
    assert spark.conf.get("spark.sql.shuffle.partitions") == "1"
    if records:
        rows = spark.createDataFrame([(each,) for each in records], "value STRING").coalesce(1)
        writer = rows.write.format("kafka").option("kafka.bootstrap.servers", broker)
        writer.option("topic", topic).save()
    pipeline.run()
    dead = sum(len(path.read_text().splitlines()) for path in home.rglob("*.jsonl"))
    print(json.dumps([pipeline.graph.to_arrow().to_pylist(), pipeline.graph.seq, dead]))
    pipeline.close()

def record(op, id, text):
    return json.dumps({"op": op, "id": id, "text": text})

run(record("insert", 1, "a"), record("i", 2, None), "{oops", record("i", "x", "b"), None, "")
run(record("delete", 1, "a"))
shutil.rmtree(home / "state" / "checkpoint")
run(record("insert", 3, "c"))
"""


def test_a_topic_is_read_once_also_after_a_lost_checkpoint(tmp_path: Path) -> None:
    assert BROKER and JARS
    topic, jars = f"tweet-{uuid4()}", ",".join(map(str, sorted(Path(JARS).glob("*.jar"))))
    (tmp_path / "view.sql").write_text("CREATE VIEW v AS SELECT id, text FROM tweet")
    (tmp_path / "tables.sql").write_text("CREATE TABLE tweet (id BIGINT, text STRING)")
    options = f'{{ "kafka.bootstrap.servers" = "{BROKER}" }}'
    settings = SETTINGS.format(topic=topic, options=options, jars=jars)
    (tmp_path / "pipeline.toml").write_text(settings)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path), BROKER, topic],
        stdout=subprocess.PIPE, text=True, check=True, timeout=300,
    )  # fmt: skip
    one, two, three = ({"id": id, "text": text} for id, text in ((1, "a"), (2, None), (3, "c")))
    first, second, third = map(json.loads, done.stdout.splitlines())
    assert (sorted(first[0], key=str), *first[1:]) == ([one, two], 1, 4)
    assert second == [[two], 2, 4]
    # All records come again, those that cannot be read are put aside again, and one is new.
    assert (sorted(third[0], key=str), *third[1:]) == ([two, three], 3, 8)
