"""Writes the kernels of views that group."""
