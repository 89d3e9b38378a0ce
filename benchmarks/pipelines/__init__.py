"""Pipelines on Spark beside PySpark written by hand: three systems, and their comparison."""
