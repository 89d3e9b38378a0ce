"""Replays sqllogictest files: every SELECT that is in the language becomes a view.

records.py   a file -> its records: statements, queries, switches
database.py  SQLite or DuckDB in memory: says what each statement does to the base tables
history.py   base tables as they come, change and go -> batches of diffs, snapshots
texts.py     a query's text -> a view's text (ORDER BY stripped, the file's views as CTEs)
values.py    values as sqllogictest writes them, and whether two results are the same
replay.py    one file: execute, then maintain each view twice and compare
__main__.py  python -m tests.sqllogic FILE... [--dialect sqlite]
"""
