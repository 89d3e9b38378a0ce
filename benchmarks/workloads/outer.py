"""Workloads of outer joins, EXISTS and NOT EXISTS: the others' views, a last alias apart.

    left_chainF_3      T.tweetId, F1.followerId, F2.followerId: F2 by LEFT JOIN
    exists_q3          F.followerId, T.tweetId of tweets that have a retweet
    not_exists_q3      of those that have none
    chainF_3_deletes   what chainF_3 inserts was loaded, and goes; chainF_3_updates: its ids change

The chains are measured beside the inner joins, by the time a view row takes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.workloads.views import JoinView, follower_chain, q2, q3, retweet_chain

LEFT, EXISTS, NOT_EXISTS = "LEFT JOIN", "EXISTS", "NOT EXISTS"
LEFT_JOINS = (2, 3, 5)
KEPT_ID = 4 * 10**8  # what an update adds to an id


@dataclass(frozen=True)
class OuterView(JoinView):
    """An equijoin whose last alias may be missing, or is only asked for.

    `key` names what changes of the view: for each table of the diffs, the column that holds it.
    """

    mode: str = LEFT
    key: str = "T.tweetId"
    changed: Mapping[str, str] = field(default_factory=dict)

    def sql(self) -> str:
        """Write the view as a SELECT, aliases in order, each joined to an earlier one."""
        select = ", ".join(f"{alias}.{name} AS {alias}_{name}" for alias, name in self.output)
        first, *others = self.aliases
        *inner, last = others
        text = f"SELECT {select} FROM {self.aliases[first]} {first}"
        reached = [first]
        for alias in inner:
            text += f" JOIN {self.aliases[alias]} {alias} ON {self.condition(alias, reached)}"
            reached.append(alias)
        condition, table = self.condition(last, reached), self.aliases[last]
        if self.mode == LEFT:
            return f"{text} LEFT JOIN {table} {last} ON {condition}"
        return f"{text} WHERE {self.mode} (SELECT 1 FROM {table} {last} WHERE {condition})"

    def condition(self, alias: str, reached: list[str]) -> str:
        """Write the equalities by which an alias is joined to those before it."""
        return " AND ".join(
            text
            for text, ends in zip(self.equalities, self.joins, strict=True)
            if alias in (names := {end.alias for end in ends}) and names - {alias} <= {*reached}
        )


def left(view: JoinView, key: str, changed: Mapping[str, str]) -> OuterView:
    """Let the last alias of a view be missing."""
    parts = (view.aliases, view.equalities, view.columns)
    return OuterView(*parts, mode=LEFT, key=key, changed=changed)


def asked(view: JoinView, mode: str) -> OuterView:
    """Only ask for the last alias of a view."""
    columns = tuple(each for each in view.columns if not each.startswith("R."))
    changed = {"tweet": "tweetId", "retweet": "retweetTweetId"}
    return OuterView(view.aliases, view.equalities, columns, mode=mode, changed=changed)


CHAINS: Mapping[str, JoinView] = {
    **{f"chainF_{joins}": follower_chain(joins) for joins in LEFT_JOINS},
    **{f"chainR_{joins}": retweet_chain(joins) for joins in LEFT_JOINS},
}
CHANGED = {"chainF": ("T.tweetId", {"tweet": "tweetId"}),
           "chainR": ("F.followerId", {"follower": "followerId"})}  # fmt: skip
LEFT_CHAINS: Mapping[str, OuterView] = {
    f"left_{name}": left(view, *CHANGED[name[:6]]) for name, view in CHAINS.items()
}
ASKED: Mapping[str, OuterView] = {
    f"{prefix}_{name}": asked(view, mode)
    for prefix, mode in (("exists", EXISTS), ("not_exists", NOT_EXISTS))
    for name, view in (("q2", q2()), ("q3", q3()))
}
LEFT_Q3 = left(q3(), "T.tweetId", {"tweet": "tweetId", "retweet": "retweetTweetId"})


def changed_ids(table: str, rows: pa.Table) -> pa.Table:
    """Return the rows with other ids, which no join reads."""
    name = {"tweet": "tweetId", "follower": "followerId"}[table]
    place = rows.column_names.index(name)
    return rows.set_column(place, name, pc.add(rows[name], KEPT_ID))
