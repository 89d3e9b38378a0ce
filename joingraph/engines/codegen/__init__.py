"""Writes, compiles and installs a view's own kernels."""
