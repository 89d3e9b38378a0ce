"""Sources of base diffs as streaming DataFrames."""
