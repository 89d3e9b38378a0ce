"""Which base rows a view names, by which keys: for i-diffs, and for an index of keys."""
