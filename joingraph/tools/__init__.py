"""What an operator runs on a graph's folder: inspect, verify, snapshot, dump, load."""
