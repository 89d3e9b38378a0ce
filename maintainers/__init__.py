"""The second stage: diffs that matter become changes of the join graph.

Here alone the graph is changed: join tuples come and go, projected tuples are counted, lists of
vertex values and what look-ahead knows are kept true. A change carries +n or -n, never a total.
"""
