"""Scalar SQL -> typed expressions; expressions/functions/ evaluates them, by the same names."""
