"""Keep timelines fresh: who should see which tweet, now that it was repeated?

Run it with `python examples/timelines.py`.
"""

from __future__ import annotations

import joingraph as jg

TABLES = {
    "follower": "CREATE TABLE follower (userId BIGINT, followerId BIGINT)",
    "tweet": "CREATE TABLE tweet (userId BIGINT, tweetId BIGINT, text STRING)",
    "retweet": "CREATE TABLE retweet (userId BIGINT, tweetId BIGINT, retweetTweetId BIGINT)",
}
SQL = """
SELECT F.followerId, T.text, R.userId AS retweeter
FROM follower F
JOIN tweet T ON T.userId = F.userId
JOIN retweet R ON R.retweetTweetId = T.tweetId
WHERE R.userId <> F.followerId
"""
ANN, BOB, CLEO, DAN = 1, 2, 3, 4


def show(what: str, diff: jg.ViewDiff) -> None:
    """Print what a diff of a base table did to the view."""
    print(what)
    for change, row, count in diff.rows():
        print(f"    {change} {row} x{count}")


def main() -> None:
    """Follow one tweet from its writing to its deletion."""
    graph = jg.JoinGraph(jg.View(SQL, tables=TABLES))
    graph.load({"follower": [(ANN, BOB), (ANN, CLEO)]})
    show("Ann tweets", graph.insert("tweet", [(ANN, 100, "hello")]))
    show("Dan repeats it", graph.insert("retweet", [(DAN, 101, 100)]))
    show("Bob repeats it", graph.insert("retweet", [(BOB, 102, 100)]))
    show("Cleo unfollows Ann", graph.delete("follower", [(ANN, CLEO)]))
    show(
        "Ann mends her tweet",
        graph.update("tweet", [(ANN, 100, "hello")], [(ANN, 100, "hello!")]),
    )
    show("Ann takes it back", graph.delete("tweet", [(ANN, 100, "hello!")]))


if __name__ == "__main__":
    main()
