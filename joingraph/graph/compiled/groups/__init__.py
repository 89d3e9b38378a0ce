"""Groups in flat memory: where they lie, how wide sums are, ordered bags."""
