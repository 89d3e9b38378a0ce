"""The plan of a view with outer joins, or one that asks whether rows are there."""
