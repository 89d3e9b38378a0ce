"""View diffs as bags: what the suite needs to compare what comes out with what should.

A row is named by its repr, so that 1, 1.0, True and DECIMAL '1' differ, -0.0 is not 0.0, and
NaN equals itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from joingraph.view_diffs.view_diff import ViewRow

Row = tuple[object, ...]
Change = ViewRow
Pair = tuple[Row | None, Row | None, int]

SIGNS = {"insert": 1, "delete": -1, "update_preimage": -1, "update_postimage": 1}


def bag(rows: Iterable[Row]) -> Counter[str]:
    """Count rows by what they are, whatever their order."""
    return Counter(map(repr, rows))


def pairs(changes: Sequence[Change]) -> list[Pair]:
    """Read view diffs as (pre, post, count), None for the side an insert or a delete lacks.

    An update's images must be adjacent, pre before post, with one count.
    """
    found: list[Pair] = []
    rest = iter(changes)
    for kind, row, count in rest:
        assert count >= 1, f"{kind} {row} has count {count}"
        if kind == "insert":
            found.append((None, row, count))
        elif kind == "delete":
            found.append((row, None, count))
        else:
            post = next(rest, None)
            assert kind == "update_preimage", f"a post-image without its pre-image: {row}"
            assert post is not None and post[0] == "update_postimage", f"no post-image of {row}"
            assert post[2] == count, f"{count} times {row} became {post[2]} times {post[1]}"
            found.append((row, post[1], count))
    return found


def fold(changes: Iterable[Change]) -> Counter[str]:
    """Add up view diffs: each row with how many more of it there are, no zeros."""
    sums: Counter[str] = Counter()
    for kind, row, count in changes:
        sums[repr(row)] += SIGNS[kind] * count
    return Counter({row: count for row, count in sums.items() if count})


def shift(rows: Counter[str], changes: Counter[str]) -> Counter[str]:
    """Apply folded view diffs to a view; no row may be taken away that is not there."""
    moved = Counter(rows)
    for row, count in changes.items():
        moved[row] += count
        assert moved[row] >= 0, f"{row} is taken away more often than it is in the view"
        if not moved[row]:
            del moved[row]
    return moved


def difference(found: Counter[str], expected: Counter[str]) -> str:
    """Say which rows are too many and which are missing; empty when the bags are equal."""
    if found == expected:
        return ""
    extra, missing = found - expected, expected - found
    lines = [f"  too many: {row} *{count}" for row, count in sorted(extra.items())[:10]]
    lines += [f"  missing:  {row} *{count}" for row, count in sorted(missing.items())[:10]]
    return "\n".join(lines)
