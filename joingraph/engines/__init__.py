"""What drives the three stages over one form of the graph, behind one contract."""
