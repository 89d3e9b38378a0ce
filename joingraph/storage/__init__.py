"""Where a graph is kept: a folder with a log of what was done and a snapshot of what it made."""
