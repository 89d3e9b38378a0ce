"""The third stage, compiled: paths through the graph become columns of the view."""
