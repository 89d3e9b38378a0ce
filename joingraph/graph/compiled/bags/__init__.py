"""Bags of values, ordered, of many owners in one tree."""
