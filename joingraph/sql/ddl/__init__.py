"""CREATE TABLE text, Arrow schemas and Spark schemas -> declared tables."""
