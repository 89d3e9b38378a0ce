"""The third stage: changes of the join graph become view diffs, or the graph becomes the view.

A generator starts at the changed join tuple and follows vertex values to every other alias; each
complete path is one or more rows of the view. Nothing here changes the graph.
"""
