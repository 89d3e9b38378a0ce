"""Is an installed joingraph whole? Run by .ci/run outside the checkout, against the wheel.

It checks that only joingraph came with the wheel and that a view is kept fresh by it.
"""

from __future__ import annotations

import os
from importlib.metadata import files
from pathlib import Path

import joingraph as jg


def tops_of_the_wheel() -> set[str]:
    """Name the folders that the wheel put into site-packages."""
    return {file.parts[0] for file in files("joingraph") or [] if file.parts[0] != ".."}


def timelines() -> list[tuple[str, tuple[object, ...], int]]:
    """Keep one small view and return its diffs for one tweet."""
    view = jg.View(
        "SELECT F.followerId, T.tweetId FROM follower F JOIN tweet T ON F.userId = T.userId",
        tables={
            "follower": "CREATE TABLE follower (userId BIGINT, followerId BIGINT)",
            "tweet": "CREATE TABLE tweet (userId BIGINT, tweetId BIGINT)",
        },
    )
    graph = jg.JoinGraph(view)
    graph.insert("follower", [(1, 7), (1, 8), (2, 9)])
    return sorted(graph.insert("tweet", [(1, 100)]).rows())


if __name__ == "__main__":
    home = Path(jg.__file__).resolve()
    assert not home.is_relative_to(Path(os.environ["CHECKOUT"]).resolve()), home
    tops = tops_of_the_wheel()
    assert tops == {"joingraph", f"joingraph-{jg.__version__}.dist-info"}, tops
    assert timelines() == [("insert", (7, 100), 1), ("insert", (8, 100), 1)]
    print(f"joingraph {jg.__version__} from {home.parent} is whole")
