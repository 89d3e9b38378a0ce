"""SQL's aggregates in their plain form: exact states that rows enter and leave.

    Asked("SUM", (decimal(10,2),), "spark")   ->   an Aggregate: its type, zero, add, result

linear/ holds the aggregates that are sums of products (of x, x*x, [x is not NULL], ...), bags/ the
others, a file for each aggregate or family. registry.py finds these files by itself.
"""
