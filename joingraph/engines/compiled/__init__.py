"""Drives the three stages over the compiled graph."""
