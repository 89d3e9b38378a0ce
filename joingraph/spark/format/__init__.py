"""The Spark data source `joingraph`: a view, or its view diffs."""
