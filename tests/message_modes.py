"""Random views that group over outer joins, EXISTS and IN, told by messages in the compiled form.

    NUMBA_DISABLE_JIT=1 python -m tests.message_modes FIRST END     with kernels of their own

Without numba's compiler a view's own kernels are run at once, as the text that they are.
"""

from __future__ import annotations

import sys
from random import Random

import joingraph as jg
from tests.test_groups import TABLES
from tests.test_messages import BESTS, USES, assert_same

# Joins, the tables that stand in every row, those that may be missing, and those that are read.
SOURCES = (
    ("f LEFT JOIN t ON f.a = t.a", "f", "t", "f t"),
    ("t RIGHT JOIN f ON f.a = t.a", "f", "t", "f t"),
    ("f LEFT JOIN t ON f.a = t.a LEFT JOIN r ON r.id = t.id", "f", "t r", "f t r"),
    ("f JOIN t ON f.a = t.a LEFT JOIN r ON r.id = t.id", "f t", "r", "f t r"),
    ("t LEFT JOIN r ON r.id = t.id LEFT JOIN f ON f.a = t.a", "t", "r f", "f t r"),
    ("f LEFT JOIN (t JOIN r ON r.id = t.id) ON f.a = t.a", "f", "t r", "f t r"),
    ("f LEFT JOIN (t LEFT JOIN r ON r.id = t.id) ON f.a = t.a", "f", "t r", "f t r"),
    ("f LEFT JOIN t ON f.a = t.a LEFT JOIN r ON r.id = f.a", "f", "t r", "f t r"),
    ("f LEFT JOIN t ON f.a = t.a WHERE NOT EXISTS (SELECT 1 FROM r WHERE r.id = f.a)",
     "f", "t", "f t r"),
    ("t LEFT JOIN t u ON t.a = u.id", "t", "u", "t"),
    ("t LEFT JOIN t u ON t.a = u.a AND t.id = u.s", "t", "u", "t"),
    ("f LEFT JOIN t ON f.a = t.a AND f.w > 0 AND t.s > 3", "f", "t", "f t"),
    ("f LEFT JOIN r ON TRUE", "f", "r", "f r"),
    ("f SEMI JOIN t ON f.a = t.a", "f", "", "f t"),
    ("f ANTI JOIN t ON f.a = t.a", "f", "", "f t"),
    ("f SEMI JOIN (t JOIN r ON r.id = t.id) ON f.a = t.a", "f", "", "f t r"),
    ("f ANTI JOIN (t LEFT JOIN r ON r.id = t.id) ON f.a = t.a", "f", "", "f t r"),
    ("f ANTI JOIN (t ANTI JOIN r ON r.id = t.id) ON f.a = t.a", "f", "", "f t r"),
    ("f LEFT JOIN (t SEMI JOIN r ON r.id = t.id) ON f.a = t.a", "f", "t", "f t r"),
    ("f LEFT JOIN (t ANTI JOIN r ON r.id = t.id) ON f.a = t.a", "f", "t", "f t r"),
    ("t LEFT JOIN f ON f.a = t.a WHERE EXISTS (SELECT 1 FROM r WHERE r.id = t.id)",
     "t", "f", "f t r"),
    ("f JOIN t ON f.a = t.a WHERE NOT EXISTS (SELECT 1 FROM r WHERE r.id = t.id)",
     "f t", "", "f t r"),
    ("t WHERE t.id NOT IN (SELECT r.id FROM r WHERE r.n > 1)", "t", "", "t r"),
)  # fmt: skip
# Of values of the table that names the groups.
BAGS = ("COUNT(DISTINCT {0})", "MEDIAN({0})", "MAX_BY({0}, {0})", "ARRAY_AGG({0} ORDER BY {0})")
KEYS = {
    "f": ("f.fan", "f.a", "f.w"),
    "t": ("t.txt", "t.a", "t.id", "t.a + 1", "t.d"),
    "u": ("u.txt", "u.d", "u.id"),
    "r": ("r.n", "r.id"),
}
ARGUMENTS = {
    "f": ("f.a", "f.w", "f.w + 1"),
    "t": ("t.s", "t.d", "t.s + 1", "t.id", "t.a", "t.x"),
    "u": ("u.s", "u.d", "u.s + 1", "u.id"),
    "r": ("r.n", "r.id"),
}


# Groups of sums alone may be named by a table that is missing in some rows, of these joins.
MISSING = (
    ("f LEFT JOIN t ON f.a = t.a", "t", "f", "f t"),
    ("f LEFT JOIN t ON f.a = t.a LEFT JOIN r ON r.id = t.id", "t", "f r", "f t r"),
    ("f LEFT JOIN t ON f.a = t.a LEFT JOIN r ON r.id = f.a", "r", "f t", "f t r"),
    ("t LEFT JOIN t u ON t.a = u.a", "u", "t", "t"),
    ("f JOIN r ON r.id = f.a LEFT JOIN t ON f.a = t.a", "t", "f r", "f t r"),
    ("f LEFT JOIN t ON f.a = t.a WHERE NOT EXISTS (SELECT 1 FROM r WHERE r.id = f.a)",
     "t", "f", "f t r"),
    ("f FULL JOIN t ON f.a = t.a", "f", "t", "f t"),
    ("f FULL JOIN t ON f.a = t.a", "t", "f", "f t"),
    ("f FULL JOIN t ON f.a = t.a LEFT JOIN r ON r.id = t.id", "f", "t r", "f t r"),
    ("f FULL JOIN t ON f.a = t.a LEFT JOIN r ON r.id = t.id", "t", "f r", "f t r"),
    ("t FULL JOIN t u ON t.a = u.id", "t", "u", "t"),
)  # fmt: skip


def drawn_view(
    chance: Random, source: tuple[str, ...] | None = None
) -> tuple[jg.View, tuple[str, ...]]:
    """Draw a view of sums and best values, grouped by a table in every row; and its tables.

    Of a join that is given, the view is of sums alone.
    """
    joins, always, maybe, tables = source or chance.choice(SOURCES)
    known = KEYS[chance.choice(always.split())]
    read = [*always.split(), *maybe.split() * 2]
    keys, is_set = chance.sample(known, chance.choice((0, 1, 1, 2))), chance.random() < 0.3
    is_set &= source is None

    def argument() -> str:
        return chance.choice(ARGUMENTS[chance.choice(read)])

    uses = [] if keys or is_set else ["COUNT(*)"]
    if chance.random() < 0.2 and source is None:
        uses.append(chance.choice(BAGS).format(chance.choice(ARGUMENTS[known[0][0]])))
    forms = USES if source is not None or (uses and keys) else USES + BESTS
    for _ in range(chance.choice((0, 1, 2, 3)) if keys else 2):
        form = chance.choice(BESTS if is_set and forms != USES else forms)
        use = form.format(argument(), argument())
        # What could fail, and what is best, is filtered by its own table.
        if chance.random() < 0.25 and "+" not in use and form not in BESTS:
            use += f" FILTER (WHERE {argument()} > 1)"
        uses.append(use)
    columns = ", ".join(f"{each} AS c{at}" for at, each in enumerate((*keys, *uses)))
    by = f" GROUP BY {', '.join(keys)}" if keys else ""
    having = " HAVING COUNT(*) > 2" if keys and chance.random() < 0.3 else ""
    sql = f"SELECT {columns} FROM {joins}{by}{having}"
    return jg.View(sql, TABLES, dialect="duckdb"), tuple(tables.split())


def agrees(seed: int, *, own_kernels: bool = False, source: tuple[str, ...] | None = None) -> None:
    """Compare a random view that is told by messages with the plain form."""
    chance = Random(seed)
    view, tables = drawn_view(chance, source)
    graph = jg.JoinGraph(view)
    if own_kernels:
        graph.compile()
    assert_same(chance, graph, tables)


if __name__ == "__main__":
    for seed in range(*map(int, sys.argv[1:])):
        agrees(seed, own_kernels=True)
