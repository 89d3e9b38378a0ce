"""The pipeline on a real Spark, with real Delta files and a real Redis server."""
