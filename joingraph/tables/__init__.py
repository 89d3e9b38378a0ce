"""Declared base tables, and rows on their way in: callers' rows -> batches of columns."""
