"""Reads of the plain graph: the view whole or in part, counts, why and why not."""
