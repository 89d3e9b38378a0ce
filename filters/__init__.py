"""The first stage: diffs of base tables become diffs that matter to the view.

A row is dropped where an alias' conditions fail or a join attribute is NULL; what stays is split
into its join attributes and its projected attributes. Each image of an update is judged alone, so
an update may leave as an insert, as a delete, or not at all.
"""
