"""The second stage, compiled: ops change the graph."""
