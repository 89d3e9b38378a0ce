"""The compiled form of outer joins, of EXISTS and IN, and of joins by other conditions."""
