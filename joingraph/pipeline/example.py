"""What `joingraph init` writes: a pipeline with its view, its tables and a little data."""

from __future__ import annotations

from typing import Final

SETTINGS: Final = """\
# A pipeline of joingraph. Every line after a # is a comment; what is commented out shows what
# else there is. Paths are relative to this file.

name = "timeline"
views = ["timeline.sql"]        # one SELECT or CREATE VIEW a file
tables = "tables.sql"           # CREATE TABLE of every base table
# dialect = "spark"             # of the SQL: spark, duckdb, postgres, sqlite
state = "state"                 # the graph, the checkpoint, dead letters and the status
trigger = "available_now"       # do what is there, then end; or an interval: "1 second"
on_error = "dead_letter"        # put records aside that cannot be read; or "stop"
# spark = { master = "local[2]", driver.memory = "4g" }     # its settings, without "spark."

[sources.follower]
format = "csv"                  # csv, json, parquet: files that appear in a folder
path = "data/follower"

[sources.tweet]
format = "json"
path = "data/tweet"
operation = "op"                # insert, delete, update_preimage, update_postimage, or i, d, …
# words = { added = "insert", removed = "delete" }      # what the source calls them
# before = "key"                # "update" and "delete" name the old row by its PRIMARY KEY

# [sources.tweet]
# format = "delta"              # the change feed of a Delta table
# path = "/data/tweet"

# [sources.tweet]
# format = "redis"              # entries of a Redis stream
# path = "tweets"
# debezium = true               # each record is an envelope of Debezium; for kafka and json, too
# before = "key"
# options = { url = "redis://localhost:6379" }

# [sources.tweet]
# format = "kafka"              # a topic; its jars go above: spark = { jars = "a.jar,b.jar" }
# path = "tweets"
# options = { "kafka.bootstrap.servers" = "localhost:9092" }

[[sinks]]
kind = "console"

[[sinks]]
kind = "parquet"                # a file a batch
path = "out"

# [[sinks]]
# kind = "delta"
# path = "/data/timeline"
# content = "view"              # the view itself, by MERGE; or "diffs"

# [[sinks]]
# kind = "redis"                # an entry a batch, as Arrow; form = "fields" for one a row
# stream = "timeline"
# url = "redis://localhost:6379"

# [[sinks]]
# kind = "timeline"             # a sorted set a subscriber: ZREVRANGE home:7 0 -1
# prefix = "home"
# subscriber = "followerId"
# score = "tweetId"
# cap = 100
# url = "redis://localhost:6379"
"""

FILES: Final = {
    "pipeline.toml": SETTINGS,
    "timeline.sql": (
        "CREATE VIEW timeline AS\n"
        "SELECT F.followerId, T.tweetId, T.text\n"
        "FROM follower F JOIN tweet T ON F.userId = T.userId\n"
    ),
    "tables.sql": (
        "CREATE TABLE follower (userId BIGINT, followerId BIGINT);\n"
        "CREATE TABLE tweet (userId BIGINT, tweetId BIGINT, text STRING, PRIMARY KEY (tweetId));\n"
    ),
    "data/follower/1.csv": "userId,followerId\n1,7\n1,8\n2,7\n",
    "data/tweet/1.json": (
        '{"op": "insert", "userId": 1, "tweetId": 100, "text": "hello"}\n'
        '{"op": "insert", "userId": 2, "tweetId": 101, "text": "good morning"}\n'
        '{"op": "insert", "userId": "x", "tweetId": 102, "text": "this one cannot be read"}\n'
        '{"op": "delete", "userId": 2, "tweetId": 101, "text": "good morning"}\n'
    ),
}
