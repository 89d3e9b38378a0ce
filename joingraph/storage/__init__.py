"""Where a graph is kept: what was done to it, and how it comes back.

contract.py       what a graph asks of a store; memory.py and disk/ meet it
record.py, state.py, positions.py     what was done, and what is kept besides the graph
journal.py        numbers records, keeps view diffs for subscribers and sources
attempt.py, live_graph.py     a graph and its journal, which agree between two calls
open_graph.py, recovery.py, checkpoints.py     opening, replay, snapshots
"""
