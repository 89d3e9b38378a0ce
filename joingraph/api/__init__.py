"""What people hold: the graph of a view, parts of a view, subscriptions."""
