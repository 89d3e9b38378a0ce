"""The memory of the compiled graph: address space, its regions, blocks of view rows."""
