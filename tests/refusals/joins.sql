==== spark
SELECT tweet.text FROM tweet
OUTER JOIN retweet ON tweet.tweetId = retweet.tweetId
----
line 2, column 1: OUTER JOIN is LEFT, RIGHT or FULL; write which.
  OUTER JOIN retweet ON tweet.tweetId = retweet.tweetId
  ^

==== duckdb
SELECT text FROM tweet ASOF LEFT JOIN retweet ON tweet.tweetId >= retweet.tweetId
----
line 1, column 24: ASOF LEFT JOIN is not taken: which partner is nearest depends on the other rows; join on a range.
  SELECT text FROM tweet ASOF LEFT JOIN retweet ON tweet.tweetId >= retweet.tweetId
                         ^

==== spark
SELECT tweet.text FROM tweet LEFT JOIN retweet ON nosuch = 1
----
line 1, column 51: no table here has a column "nosuch"; they are tweet, retweet.
  SELECT tweet.text FROM tweet LEFT JOIN retweet ON nosuch = 1
                                                    ^

==== spark
SELECT text FROM tweet FULL JOIN retweet USING (text)
----
line 1, column 49: retweet has no column "text"; known here: tweetId, userId, at.
  SELECT text FROM tweet FULL JOIN retweet USING (text)
                                                  ^

==== duckdb
SELECT text FROM tweet, follower LEFT JOIN retweet
----
line 1, column 34: LEFT JOIN has no condition; write ON, USING or ON TRUE.
  SELECT text FROM tweet, follower LEFT JOIN retweet
                                   ^

==== postgres
SELECT text FROM tweet FULL JOIN retweet CROSS JOIN follower
----
line 1, column 24: FULL JOIN has no condition; write ON, USING or ON TRUE.
  SELECT text FROM tweet FULL JOIN retweet CROSS JOIN follower
                         ^

==== duckdb
SELECT userId FROM tweet FULL JOIN retweet USING (tweetId)
----
line 1, column 8: column "userId" is ambiguous: it may be tweet.userId or retweet.userId.
  SELECT userId FROM tweet FULL JOIN retweet USING (tweetId)
         ^

==== spark
SELECT text FROM tweet NATURAL LEFT JOIN retweet ON TRUE
----
line 1, column 24: NATURAL JOIN with a condition is not taken: NATURAL is one; put it into WHERE.
  SELECT text FROM tweet NATURAL LEFT JOIN retweet ON TRUE
                         ^

==== duckdb
SELECT text FROM tweet ASOF JOIN retweet ON tweet.tweetId >= retweet.tweetId
----
line 1, column 24: ASOF JOIN is not taken: which partner is nearest depends on the other rows; join on a range.
  SELECT text FROM tweet ASOF JOIN retweet ON tweet.tweetId >= retweet.tweetId
                         ^

==== duckdb
SELECT text FROM tweet POSITIONAL JOIN retweet
----
line 1, column 24: POSITIONAL JOIN is not taken: rows have no position; join on a column.
  SELECT text FROM tweet POSITIONAL JOIN retweet
                         ^

==== spark
SELECT text FROM tweet, LATERAL (SELECT at FROM retweet) r
----
line 1, column 25: LATERAL is not taken: its rows come from no table's diffs; declare a table and load() its rows.
  SELECT text FROM tweet, LATERAL (SELECT at FROM retweet) r
                          ^

==== spark
SELECT text FROM tweet LATERAL VIEW explode(split(text, ' ')) words AS word
----
line 1, column 24: LATERAL is not taken: it makes rows of each row of the tables before it; explode the rows in the table's source, or JOIN a table of them.
  SELECT text FROM tweet LATERAL VIEW explode(split(text, ' ')) words AS word
                         ^

==== postgres
SELECT text FROM tweet CROSS JOIN LATERAL (SELECT at FROM retweet) r
----
line 1, column 35: LATERAL is not taken: its rows come from no table's diffs; declare a table and load() its rows.
  SELECT text FROM tweet CROSS JOIN LATERAL (SELECT at FROM retweet) r
                                    ^

==== postgres
SELECT text FROM tweet, UNNEST(ARRAY[1, 2]) AS n
----
line 1, column 25: UNNEST is not taken: its rows come from no table's diffs; declare a table and load() its rows.
  SELECT text FROM tweet, UNNEST(ARRAY[1, 2]) AS n
                          ^

==== duckdb
SELECT text FROM tweet, unnest([1, 2]) AS n
----
line 1, column 25: UNNEST is not taken: its rows come from no table's diffs; declare a table and load() its rows.
  SELECT text FROM tweet, unnest([1, 2]) AS n
                          ^

==== spark
SELECT a FROM VALUES (1, 2) AS pairs(a, b)
----
line 1, column 15: VALUES is not taken: its rows come from no table's diffs; declare a table and load() its rows.
  SELECT a FROM VALUES (1, 2) AS pairs(a, b)
                ^

==== postgres
SELECT a FROM (VALUES (1, 2)) AS pairs(a, b)
----
line 1, column 16: VALUES is not taken: its rows come from no table's diffs; declare a table and load() its rows.
  SELECT a FROM (VALUES (1, 2)) AS pairs(a, b)
                 ^

==== spark
SELECT id FROM range(10)
----
line 1, column 16: a table function is not taken: its rows come from no diff; declare a table and load() its rows.
  SELECT id FROM range(10)
                 ^

==== duckdb
SELECT id FROM read_csv('a.csv')
----
line 1, column 16: a table function is not taken: its rows come from no diff; declare a table and load() its rows.
  SELECT id FROM read_csv('a.csv')
                 ^

==== duckdb
SELECT id FROM 'a.csv'
----
line 1, column 16: no table is declared as "a.csv".
  SELECT id FROM 'a.csv'
                 ^

==== spark
SELECT text FROM tweet TABLESAMPLE (10 PERCENT)
----
line 1, column 24: TABLESAMPLE is not taken: which rows are drawn is not a function of the data; write a condition on a column in WHERE.
  SELECT text FROM tweet TABLESAMPLE (10 PERCENT)
                         ^

==== spark
SELECT text FROM tweet VERSION AS OF 3
----
line 1, column 32: AS OF (time travel) is not taken: a view follows its tables as they change; load() the table's old state under a name of its own.
  SELECT text FROM tweet VERSION AS OF 3
                                 ^

==== spark
SELECT text FROM tweet TIMESTAMP AS OF '2020-01-01'
----
line 1, column 34: AS OF (time travel) is not taken: a view follows its tables as they change; load() the table's old state under a name of its own.
  SELECT text FROM tweet TIMESTAMP AS OF '2020-01-01'
                                   ^

==== spark
SELECT * FROM tweet PIVOT (count(text) FOR userId IN (1, 2))
----
line 1, column 21: PIVOT is not taken: its columns depend on the data; read the view and pivot there.
  SELECT * FROM tweet PIVOT (count(text) FOR userId IN (1, 2))
                      ^

==== spark
SELECT * FROM tweet UNPIVOT (v FOR n IN (tweetId, userId))
----
line 1, column 21: UNPIVOT is not taken: its columns depend on the data; read the view and pivot there.
  SELECT * FROM tweet UNPIVOT (v FOR n IN (tweetId, userId))
                      ^

==== spark
SELECT text FROM tweet NATURAL JOIN retweet NATURAL JOIN (SELECT 1 AS one FROM tweet) s
----
line 1, column 45: NATURAL JOIN finds no column that both sides have; use CROSS JOIN.
  SELECT text FROM tweet NATURAL JOIN retweet NATURAL JOIN (SELECT 1 AS one FROM tweet) s
                                              ^

==== postgres
SELECT text FROM ONLY tweet
----
line 1, column 18: ONLY is not taken: tables do not inherit here; leave it out.
  SELECT text FROM ONLY tweet
                   ^

==== spark
SELECT text FROM tweet JOIN tweet ON TRUE
----
line 1, column 29: two tables here are called "tweet"; rename one with AS.
  SELECT text FROM tweet JOIN tweet ON TRUE
                              ^

==== spark
SELECT text FROM tweet JOIN retweet USING (tweetId, TWEETID)
----
line 1, column 53: USING names "TWEETID" twice.
  LECT text FROM tweet JOIN retweet USING (tweetId, TWEETID)
                                                    ^

==== spark
SELECT text FROM tweet JOIN retweet USING (text)
----
line 1, column 44: retweet has no column "text"; known here: tweetId, userId, at.
  SELECT text FROM tweet JOIN retweet USING (text)
                                             ^

==== spark
SELECT tweet.text, r.at FROM tweet JOIN follower ON follower.userId = tweet.userId
LEFT JOIN retweet r ON r.tweetId = tweet.tweetId
  AND r.userId < follower.followerId
----
line 3, column 7: r.userId < follower.followerId: the join reads several tables of one side; keep a view of that side, and join that.
    AND r.userId < follower.followerId
        ^

==== duckdb
SELECT t.text, r.at FROM tweet t
LEFT JOIN (retweet r JOIN follower f ON f.userId = r.userId AND f.followerId < r.tweetId) ON r.tweetId = t.tweetId
----
line 2, column 65: f.followerId < r.tweetId: it is asked of rows of one side of the join; keep a view of that side, and join that.
  weet r JOIN follower f ON f.userId = r.userId AND f.followerId < r.tweetId) ON r.tweetId = t.tweetId
                                                    ^

==== duckdb
SELECT t.text FROM tweet t
WHERE NOT EXISTS (SELECT 1 FROM retweet r JOIN follower f ON f.userId = r.userId
  WHERE r.tweetId = t.tweetId AND f.followerId <> r.tweetId)
----
line 3, column 35: exists.f.followerId <> exists.r.tweetId: it is asked of rows of one side of the join; keep a view of that side, and join that.
    WHERE r.tweetId = t.tweetId AND f.followerId <> r.tweetId)
                                    ^

==== spark
SELECT t.text, r.at, f.followerId FROM tweet t LEFT JOIN retweet r ON r.tweetId = t.tweetId
LEFT JOIN follower f ON COALESCE(r.userId, 0) = f.userId
----
line 2, column 25: coalesce(r.userId, 0): it may hold where its table has no row; keep a view of that side, and join that.
  LEFT JOIN follower f ON COALESCE(r.userId, 0) = f.userId
                          ^

==== spark
SELECT t.text, r.at, f.followerId FROM tweet t FULL JOIN retweet r ON r.tweetId = t.tweetId
JOIN follower f ON TRUE
----
line 1, column 71: a FULL JOIN below an inner join has no table in every row; keep a view of that side, and join that.
   f.followerId FROM tweet t FULL JOIN retweet r ON r.tweetId = t.tweetId
                                                    ^

==== spark
SELECT t.text, r.at, f.followerId FROM (tweet t FULL JOIN retweet r ON r.tweetId = t.tweetId)
LEFT JOIN follower f ON TRUE
----
line 1, column 72: a FULL JOIN below an outer one has no table in every row; keep a view of that side, and join that.
  f.followerId FROM (tweet t FULL JOIN retweet r ON r.tweetId = t.tweetId)
                                                    ^

==== duckdb
SELECT t.text, r.at FROM tweet t
LEFT JOIN (retweet r JOIN follower f ON f.userId = r.userId JOIN tweet u ON u.userId = f.followerId AND u.tweetId = r.tweetId) ON r.tweetId = t.tweetId
----
line 2, column 77: f.followerId = u.userId: its joins close a cycle on a side of an outer join, EXISTS or IN; keep a view of that side, and join that.
  follower f ON f.userId = r.userId JOIN tweet u ON u.userId = f.followerId AND u.tweetId = r.tweetId)
                                                    ^

==== duckdb
SELECT t.text, r.at FROM tweet t JOIN follower f USING (userId)
LEFT JOIN retweet r ON r.userId = f.followerId AND r.tweetId IS NOT DISTINCT FROM t.tweetId
----
line 2, column 24: f.followerId: the join reads several tables of one side; keep a view of that side, and join that.
  LEFT JOIN retweet r ON r.userId = f.followerId AND r.tweetId IS NOT DISTINCT FROM t.tweetId
                         ^

==== duckdb
SELECT userId, r.at FROM (tweet t FULL JOIN follower f USING (userId)) LEFT JOIN retweet r USING (userId)
----
line 1, column 82: coalesce(t.userId, f.userId) = r.userId: the join reads several tables of one side; keep a view of that side, and join that.
   t FULL JOIN follower f USING (userId)) LEFT JOIN retweet r USING (userId)
                                                    ^
