"""What Spark needs of a machine: Java, jars, a session."""
