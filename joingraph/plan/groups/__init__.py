"""How the groups of a view are kept: who tells whom what, and which bags hold what is not told."""
