"""Aggregates that need the values themselves, with their counts: in a heap or a bag."""
