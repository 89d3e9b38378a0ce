"""What notes and records of groups say: columns of the view, view diffs, deltas."""
