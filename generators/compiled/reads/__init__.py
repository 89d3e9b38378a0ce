"""Reads of the compiled graph, column by column: conditions, order, limit, counts."""
