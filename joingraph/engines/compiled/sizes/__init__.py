"""How many bytes a graph takes, and what a batch may add to them."""
