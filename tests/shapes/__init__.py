"""Forty-one fixed views that together need every template of the compiled form's kernels.

A template is chosen by an alias' kind (COUNT, LEAF, EDGE, NODE), by how many loops and leaves a
traversal has, by the key's width and by whether weights vary; each view here is named by what it
adds. All are over r(a, b, c, d), numbers with NULLs, and s(k, t), a number and a string.
"""

from __future__ import annotations

TABLES = {
    "r": "CREATE TABLE r (a BIGINT, b BIGINT, c BIGINT, d BIGINT)",
    "s": "CREATE TABLE s (k BIGINT, t STRING)",
}

SHAPES = {
    "one alias": "SELECT a, b FROM r",
    "one alias, filtered": "SELECT a FROM r WHERE b > 2",
    "no column kept": "SELECT 1 AS one FROM r WHERE a = 1",
    "leaf and leaf": "SELECT r.b, s.t FROM r JOIN s ON r.a = s.k",
    "leaf and count": "SELECT r.b FROM r JOIN s ON r.a = s.k",
    "count and count": "SELECT r.a FROM r JOIN s ON r.a = s.k",
    "nothing but counts": "SELECT 1 AS one FROM r JOIN s ON r.a = s.k",
    "wide leaf": "SELECT r.b, r.c, r.d, s.t FROM r JOIN s ON r.a = s.k",
    "three leaves at one vertex": "SELECT x.b, y.b AS yb, z.b AS zb FROM r x, r y, r z"
    " WHERE x.a = y.a AND y.a = z.a",
    "four leaves at one vertex": "SELECT x.b, y.b AS yb, z.b AS zb, s.t FROM r x, r y, r z, s"
    " WHERE x.a = y.a AND y.a = z.a AND z.a = s.k",
    "key of two words": "SELECT x.c, y.d FROM r x JOIN r y ON x.a = y.a AND x.b = y.b",
    "key of three words": "SELECT x.d, y.d AS yd FROM r x, r y"
    " WHERE x.a = y.a AND x.b = y.b AND x.c = y.c",
    "key of a string": "SELECT x.k, y.k AS yk FROM s x JOIN s y ON x.t = y.t",
    "edge between leaves": "SELECT x.c, z.d FROM r x, r y, r z WHERE x.a = y.a AND y.b = z.b",
    "edge between counts": "SELECT y.a, y.b FROM r x, r y, r z WHERE x.a = y.a AND y.b = z.b",
    "edge beside a count": "SELECT x.c FROM r x, r y, r z WHERE x.a = y.a AND y.b = z.b",
    "node of two links": "SELECT x.c, y.d, z.d AS zd FROM r x, r y, r z"
    " WHERE x.a = y.a AND y.b = z.b",
    "node of two links, wide": "SELECT x.b, y.c, y.d FROM r x, r y, s"
    " WHERE x.a = y.a AND y.b = s.k",
    "node of three links": "SELECT x.b, s.t, z.d FROM r x, r y, r z, s"
    " WHERE x.a = y.a AND y.b = s.k AND y.c = z.c",
    "node of three links and a column": "SELECT x.b, y.d, s.t FROM r x, r y, r z, s"
    " WHERE x.a = y.a AND y.b = s.k AND y.c = z.c",
    "node of four links": "SELECT p.b, q.b AS qb, u.b AS ub, s.t FROM r y, r p, r q, r u, s"
    " WHERE y.a = p.a AND y.b = q.a AND y.c = u.a AND y.d = s.k",
    "chain of two edges": "SELECT x.c, s.t FROM r x, r y, r z, s"
    " WHERE x.a = y.a AND y.b = z.a AND z.b = s.k",
    "chain of three edges": "SELECT v.a, w.a AS wa, x.a AS xa, y.b FROM r v, r w, r x, r y"
    " WHERE v.b = w.a AND w.b = x.a AND x.b = y.a",
    "chain of four": "SELECT v.a, w.a AS wa, x.a AS xa, y.a AS ya, s.t FROM r v, r w, r x, r y, s"
    " WHERE v.b = w.a AND w.b = x.a AND x.b = y.a AND y.b = s.k",
    "chain of nodes": "SELECT v.c, w.c AS wc, x.c AS xc FROM r v, r w, r x, r y"
    " WHERE v.b = w.a AND w.b = x.a AND x.b = y.a",
    "counts on a chain": "SELECT v.a FROM r v, r w, r x, s"
    " WHERE v.b = w.a AND w.b = x.a AND x.b = s.k",
    "node that nothing reads": "SELECT x.c FROM r x, r y, r z, s"
    " WHERE x.a = y.a AND y.b = z.b AND y.c = s.k",
    "edge and leaf at one vertex": "SELECT x.c, y.c AS yc, z.d FROM r x, r y, r z, r w"
    " WHERE x.a = y.a AND y.a = z.a AND z.b = w.b",
    "two edges at one vertex": "SELECT x.c, s.t, z.d FROM r x, r y, r w, r z, s"
    " WHERE x.a = y.a AND y.b = w.b AND w.a = z.a AND x.a = s.k",
    "three edges at one vertex": "SELECT p.c, q.c AS qc, u.c AS uc"
    " FROM r x, r y, r z, r p, r q, r u"
    " WHERE x.a = y.a AND y.a = z.a AND x.b = p.a AND y.b = q.a AND z.b = u.a",
    "product": "SELECT r.a, s.t FROM r, s",
    "product with a join": "SELECT x.b, y.b AS yb, s.t FROM r x JOIN r y ON x.a = y.a CROSS JOIN s",
    "product of counts": "SELECT s.t FROM r x, s, r y",
    "self-join of both columns": "SELECT x.a, y.b FROM r x JOIN r y ON x.b = y.a",
    "self-join with filters": "SELECT x.a, y.b FROM r x JOIN r y ON x.b = y.a"
    " WHERE x.c = 1 AND y.c = 2",
    "two attributes of one alias": "SELECT x.c, y.d FROM r x JOIN r y ON x.a = y.a AND x.a = x.b",
    "residual predicate": "SELECT x.b, y.b AS yb FROM r x JOIN r y ON x.a = y.a WHERE x.c < y.c",
    "residual on a chain": "SELECT x.c, z.d FROM r x, r y, r z"
    " WHERE x.a = y.a AND y.b = z.b AND x.c <> z.c",
    "triangle": "SELECT x.a, y.a AS ya, z.a AS za FROM r x, r y, r z"
    " WHERE x.b = y.a AND y.b = z.a AND z.b = x.a",
    "expression over two": "SELECT x.b + y.b AS total FROM r x JOIN r y ON x.a = y.a",
    "strings made of two": "SELECT concat(x.t, y.t) AS both FROM s x JOIN s y ON x.k = y.k",
    "longer than loops go": "SELECT r1.c, r14.c AS last FROM "
    + ", ".join(f"r r{i}" for i in range(1, 16))
    + " WHERE "
    + " AND ".join(f"r{i}.b = r{i + 1}.a" for i in range(1, 15)),
}
