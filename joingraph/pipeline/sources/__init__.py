"""Sources of base diffs that need no Spark."""
