==== spark
SELECT text FROM tweet RIGHT SEMI JOIN retweet ON tweet.tweetId = retweet.tweetId
----
line 1, column 24: RIGHT SEMI JOIN is not taken: a semi or anti join keeps rows of the table before it; write the tables the other way round, with SEMI JOIN.
  SELECT text FROM tweet RIGHT SEMI JOIN retweet ON tweet.tweetId = retweet.tweetId
                         ^

==== spark
SELECT text, at FROM tweet LEFT SEMI JOIN retweet ON tweet.tweetId = retweet.tweetId
----
line 1, column 14: tweet has no column "at"; known here: tweetId, userId, text.
  SELECT text, at FROM tweet LEFT SEMI JOIN retweet ON tweet.tweetId = retweet.tweetId
               ^

==== duckdb
SELECT text FROM tweet SEMI JOIN retweet ON tweet.tweetId IN (SELECT userId FROM follower)
----
line 1, column 59: IN (SELECT ...) in ON of SEMI JOIN is not taken: which rows have partners would depend on the rows of one more table; join a subquery whose WHERE asks it, or ask it in WHERE.
  ext FROM tweet SEMI JOIN retweet ON tweet.tweetId IN (SELECT userId FROM follower)
                                                    ^

==== spark
SELECT text FROM tweet t LEFT JOIN retweet r ON r.tweetId = t.tweetId AND EXISTS (SELECT 1 FROM follower f WHERE f.userId = r.userId)
----
line 1, column 75: EXISTS (SELECT ...) in ON of LEFT JOIN is not taken: which rows have partners would depend on the rows of one more table; join a subquery whose WHERE asks it, or ask it in WHERE.
   LEFT JOIN retweet r ON r.tweetId = t.tweetId AND EXISTS (SELECT 1 FROM follower f WHERE f.userId =
                                                    ^

==== spark
SELECT text FROM tweet t FULL JOIN retweet r ON r.tweetId NOT IN (SELECT userId FROM follower)
----
line 1, column 63: IN (SELECT ...) in ON of FULL JOIN is not taken: which rows have partners would depend on the rows of one more table; join a subquery whose WHERE asks it, or ask it in WHERE.
  FROM tweet t FULL JOIN retweet r ON r.tweetId NOT IN (SELECT userId FROM follower)
                                                    ^

==== spark
SELECT userId FROM tweet GROUP BY userId HAVING EXISTS (SELECT 1 FROM follower)
----
line 1, column 49: EXISTS (SELECT ...) in HAVING is not taken: it would be asked of groups, and the join knows rows; keep a view of the groups, and ask it there.
  SELECT userId FROM tweet GROUP BY userId HAVING EXISTS (SELECT 1 FROM follower)
                                                  ^

==== spark
SELECT userId, COUNT(*) AS n FROM tweet GROUP BY userId, EXISTS (SELECT 1 FROM follower)
----
line 1, column 58: EXISTS (SELECT ...) is not taken: this is computed of one row, and a subquery reads a table; write it in WHERE, in ON of an inner join, or in the SELECT list.
  userId, COUNT(*) AS n FROM tweet GROUP BY userId, EXISTS (SELECT 1 FROM follower)
                                                    ^

==== spark
SELECT userId, EXISTS (SELECT 1 FROM follower) AS e FROM tweet GROUP BY userId
----
line 1, column 1: EXISTS(SELECT 1 FROM follower) is neither grouped nor aggregated; add it to GROUP BY, or write MIN(EXISTS(SELECT 1 FROM follower)).
  SELECT userId, EXISTS (SELECT 1 FROM follower) AS e FROM tweet GROUP BY userId
  ^

==== spark
SELECT text FROM tweet ORDER BY EXISTS (SELECT 1 FROM follower)
----
line 1, column 33: EXISTS (SELECT ...) is not taken: this is computed of one row, and a subquery reads a table; write it in WHERE, in ON of an inner join, or in the SELECT list.
  SELECT text FROM tweet ORDER BY EXISTS (SELECT 1 FROM follower)
                                  ^

==== spark
SELECT text FROM tweet WHERE EXISTS (SELECT userId FROM follower GROUP BY userId HAVING COUNT(*) > 3)
----
line 1, column 45: a subquery that groups is not taken: it groups the rows of a part of the view; keep a view of it, and join that.
  SELECT text FROM tweet WHERE EXISTS (SELECT userId FROM follower GROUP BY userId HAVING COUNT(*) > 3
                                              ^

==== spark
SELECT text FROM tweet WHERE EXISTS (SELECT COUNT(*) FROM follower)
----
line 1, column 45: a subquery that groups is not taken: it groups the rows of a part of the view; keep a view of it, and join that.
  SELECT text FROM tweet WHERE EXISTS (SELECT COUNT(*) FROM follower)
                                              ^

==== spark
SELECT text FROM tweet WHERE userId IN (SELECT MAX(userId) FROM follower)
----
line 1, column 48: a subquery that groups is not taken: it groups the rows of a part of the view; keep a view of it, and join that.
  SELECT text FROM tweet WHERE userId IN (SELECT MAX(userId) FROM follower)
                                                 ^

==== spark
SELECT text FROM tweet WHERE userId IN (SELECT userId FROM follower LIMIT 3)
----
line 1, column 69: LIMIT is not taken: which rows remain would depend on the order of diffs; a limit belongs to reading: scan(order_by=..., limit=...).
  weet WHERE userId IN (SELECT userId FROM follower LIMIT 3)
                                                    ^

==== spark
SELECT text FROM tweet WHERE EXISTS (SELECT 1 FROM follower LIMIT 0)
----
line 1, column 61: LIMIT is not taken: which rows remain would depend on the order of diffs; a limit belongs to reading: scan(order_by=..., limit=...).
  t FROM tweet WHERE EXISTS (SELECT 1 FROM follower LIMIT 0)
                                                    ^

==== spark
SELECT text FROM tweet WHERE EXISTS (SELECT 1 FROM follower LIMIT 1 OFFSET 2)
----
line 1, column 69: OFFSET is not taken: which rows remain would depend on the order of diffs; a limit belongs to reading: scan(order_by=..., limit=...).
  weet WHERE EXISTS (SELECT 1 FROM follower LIMIT 1 OFFSET 2)
                                                    ^

==== duckdb
SELECT text FROM tweet WHERE EXISTS ((SELECT 1 FROM follower) LIMIT 1)
----
line 1, column 30: EXISTS of something other than a subquery is not taken: it looks into no declared table; write a SELECT in the parentheses, or IN (1, 2).
  SELECT text FROM tweet WHERE EXISTS ((SELECT 1 FROM follower) LIMIT 1)
                               ^

==== duckdb
SELECT text FROM tweet WHERE userId IN (SELECT DISTINCT ON (userId) followerId FROM follower)
----
line 1, column 48: DISTINCT ON is not taken: which row remains depends on an order; GROUP BY it, and write MIN_BY(...).
  SELECT text FROM tweet WHERE userId IN (SELECT DISTINCT ON (userId) followerId FROM follower)
                                                 ^

==== spark
SELECT text FROM tweet WHERE EXISTS (SELECT 1 FROM follower UNION SELECT 1 FROM retweet)
----
line 1, column 61: UNION is not taken: a view is one SELECT over joined tables; ask each side by itself, and combine the answers.
  t FROM tweet WHERE EXISTS (SELECT 1 FROM follower UNION SELECT 1 FROM retweet)
                                                    ^

==== spark
SELECT text FROM tweet WHERE EXISTS (SELECT 1)
----
line 1, column 45: a SELECT without FROM is not taken: no diff would ever change it; name a table.
  SELECT text FROM tweet WHERE EXISTS (SELECT 1)
                                              ^

==== spark
SELECT text FROM tweet WHERE EXISTS (SELECT nosuch FROM follower)
----
line 1, column 45: follower has no column "nosuch"; known here: userId, followerId.
  SELECT text FROM tweet WHERE EXISTS (SELECT nosuch FROM follower)
                                              ^

==== spark
SELECT text FROM tweet WHERE EXISTS (SELECT (SELECT 1 FROM retweet) FROM follower)
----
line 1, column 46: SELECT in an expression is not taken: it needs a value when there is no partner, and an error when there are two; put it into FROM and JOIN it.
  SELECT text FROM tweet WHERE EXISTS (SELECT (SELECT 1 FROM retweet) FROM follower)
                                               ^

==== spark
SELECT text FROM tweet WHERE EXISTS (SELECT 1 FROM follower WHERE followerId = nosuch)
----
line 1, column 80: follower has no column "nosuch"; known here: userId, followerId.
  EXISTS (SELECT 1 FROM follower WHERE followerId = nosuch)
                                                    ^

==== spark
SELECT text FROM tweet t WHERE EXISTS (SELECT 1 FROM follower f WHERE f.userId = t.nosuch)
----
line 1, column 84: t has no column "nosuch"; known here: tweetId, userId, text.
  ISTS (SELECT 1 FROM follower f WHERE f.userId = t.nosuch)
                                                    ^

==== spark
SELECT text FROM tweet WHERE userId IN (SELECT userId, followerId FROM follower)
----
line 1, column 30: the subquery of IN (SELECT ...) has 2 columns, and is compared with 1; list as many.
  SELECT text FROM tweet WHERE userId IN (SELECT userId, followerId FROM follower)
                               ^

==== spark
SELECT text FROM tweet WHERE (userId, tweetId) IN (SELECT userId FROM follower)
----
line 1, column 31: the subquery of IN (SELECT ...) has 1 columns, and is compared with 2; list as many.
  SELECT text FROM tweet WHERE (userId, tweetId) IN (SELECT userId FROM follower)
                                ^

==== postgres
SELECT text FROM tweet WHERE (userId, tweetId) < ANY (SELECT userId, followerId FROM follower)
----
line 1, column 31: a list of columns before ANY (SELECT ...) is not taken: which of two lists of columns is less differs by dialect; write EXISTS.
  SELECT text FROM tweet WHERE (userId, tweetId) < ANY (SELECT userId, followerId FROM follower)
                                ^

==== spark
SELECT text FROM tweet WHERE text IN (SELECT userId FROM follower WHERE userId = 7) AND text > 3
----
line 1, column 89: text > 3 is not taken: STRING and INT have no common type; write CAST(… AS …).
  SELECT userId FROM follower WHERE userId = 7) AND text > 3
                                                    ^

==== postgres
SELECT text FROM tweet WHERE text IN (SELECT userId FROM follower)
----
line 1, column 30: text = userId is not taken: STRING and BIGINT have no common type; write CAST(… AS …).
  SELECT text FROM tweet WHERE text IN (SELECT userId FROM follower)
                               ^

==== spark
SELECT text FROM tweet t WHERE EXISTS (SELECT 1 FROM follower f WHERE EXISTS (SELECT 1 FROM retweet r WHERE r.tweetId = t.tweetId))
----
line 1, column 121: t.tweetId is not taken: it is a column of a query two levels further out; make one subquery of the two, by a join.
  EXISTS (SELECT 1 FROM retweet r WHERE r.tweetId = t.tweetId))
                                                    ^

==== spark
SELECT text FROM tweet t WHERE EXISTS (WITH q AS (SELECT 1 FROM retweet r WHERE r.tweetId = t.tweetId) SELECT 1 FROM follower f WHERE EXISTS (SELECT 1 FROM q))
----
line 1, column 150: this subquery is not taken: it reads a column of a query two levels further out; make one subquery of the two, by a join.
  Id) SELECT 1 FROM follower f WHERE EXISTS (SELECT 1 FROM q))
                                                    ^

==== spark
SELECT text FROM tweet t WHERE EXISTS (SELECT 1 FROM follower f LEFT JOIN retweet r ON r.tweetId = t.tweetId)
----
line 1, column 47: a column of the query around, in an outer or semi join of a subquery is not taken: which of its rows have partners would depend on the row that asks; ask it of an inner join.
  SELECT text FROM tweet t WHERE EXISTS (SELECT 1 FROM follower f LEFT JOIN retweet r ON r.tweetId = t
                                                ^

==== spark
SELECT text FROM tweet t JOIN (SELECT 1 AS one FROM retweet r WHERE r.tweetId = t.tweetId) s ON TRUE
----
line 1, column 81: no table or alias is called "t" here; known here: r.
  (SELECT 1 AS one FROM retweet r WHERE r.tweetId = t.tweetId) s ON TRUE
                                                    ^

==== spark
SELECT text FROM tweet WHERE userId = (SELECT MAX(userId) FROM follower)
----
line 1, column 40: SELECT in an expression is not taken: it needs a value when there is no partner, and an error when there are two; put it into FROM and JOIN it.
  SELECT text FROM tweet WHERE userId = (SELECT MAX(userId) FROM follower)
                                         ^

==== spark
SELECT text, (SELECT MAX(userId) FROM follower) AS m FROM tweet
----
line 1, column 15: SELECT in an expression is not taken: it needs a value when there is no partner, and an error when there are two; put it into FROM and JOIN it.
  SELECT text, (SELECT MAX(userId) FROM follower) AS m FROM tweet
                ^

==== sqlite
SELECT text FROM tweet WHERE userId IN follower
----
line 1, column 37: IN of something other than a subquery is not taken: it looks into no declared table; write a SELECT in the parentheses, or IN (1, 2).
  SELECT text FROM tweet WHERE userId IN follower
                                      ^

==== postgres
SELECT text FROM tweet WHERE userId = ANY (SELECT userId FROM follower) = TRUE
----
line 1, column 30: userId = ANY (SELECT userId FROM follower) = TRUE is not taken: dialects group such tests differently; add parentheses.
  SELECT text FROM tweet WHERE userId = ANY (SELECT userId FROM follower) = TRUE
                               ^

==== duckdb
SELECT text FROM tweet WHERE userId = ANY([1, 2])
----
line 1, column 39: ANY of something other than a subquery is not taken: it looks into no declared table; write a SELECT in the parentheses, or IN (1, 2).
  SELECT text FROM tweet WHERE userId = ANY([1, 2])
                                        ^
