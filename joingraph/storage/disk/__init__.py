"""A graph in a folder: its log, its snapshots, one writer."""
