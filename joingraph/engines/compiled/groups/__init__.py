"""Groups kept of a view's joined rows, by column."""
