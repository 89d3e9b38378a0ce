"""Whether keys tell the rows of a view apart where aliases may be missing."""

from __future__ import annotations

import pytest

import joingraph as jg
from joingraph.plan.keys.distinct import are_told_apart

TABLES = {
    "tweet": "CREATE TABLE tweet (id INT, author INT, PRIMARY KEY (id))",
    "follower": "CREATE TABLE follower (author INT, fan INT, PRIMARY KEY (author, fan))",
    "photo": "CREATE TABLE photo (id INT, size INT, PRIMARY KEY (id))",
}
CHAIN = "FROM tweet T LEFT JOIN follower F ON F.author = T.author"
PHOTO = "FROM tweet T LEFT JOIN photo P ON P.id = T.id"


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        (f"SELECT T.id, F.fan {CHAIN}", True),
        (f"SELECT T.id {CHAIN}", False),
        (f"SELECT F.author, F.fan {CHAIN}", False),
        (f"SELECT T.author, F.fan {CHAIN}", False),
        (f"SELECT T.id, F.fan {CHAIN.replace('LEFT', 'FULL')}", False),
        (f"SELECT T.id, F.fan {CHAIN.replace('LEFT', 'RIGHT')}", False),
        (f"SELECT F.author, F.fan, T.id {CHAIN.replace('LEFT', 'RIGHT')}", True),
        (f"SELECT T.id, G.fan {CHAIN} LEFT JOIN follower G ON G.author = F.fan", False),
        (f"SELECT T.id, F.fan, G.fan AS g {CHAIN} LEFT JOIN follower G ON G.author = F.fan", True),
        (f"SELECT T.id, P.id AS p, P.size {PHOTO}", True),
        (f"SELECT T.id, P.size {PHOTO}", False),
    ],
)
def test_keys_tell_rows_apart(sql: str, told: bool) -> None:
    names = [name for name in TABLES if f" {name} " in sql]
    view = jg.View(sql, {name: TABLES[name] for name in names})
    assert are_told_apart(view.plan) is told


def test_a_partner_that_no_column_shows_changes_no_row() -> None:
    """The row of NULLs goes as the same row comes, with a key that the near side tells."""
    view = jg.View(f"SELECT T.id, P.size {PHOTO}", {n: TABLES[n] for n in ("tweet", "photo")})
    graph = jg.JoinGraph(view)
    graph.insert("tweet", [(1, 1)])
    assert graph.insert("photo", [(1, None)]).rows() == []
    assert graph.delete("photo", [(1, None)]).rows() == []
