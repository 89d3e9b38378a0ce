"""Aggregates that are functions of exact integer sums (aggregates/sums.py)."""
