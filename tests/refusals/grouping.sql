==== duckdb
SELECT userId, text, count(*) FROM tweet GROUP BY userId
----
line 1, column 16: text is neither grouped nor aggregated; add it to GROUP BY, or write MIN(text).
  SELECT userId, text, count(*) FROM tweet GROUP BY userId
                 ^

==== spark
SELECT * FROM tweet GROUP BY userId
----
line 1, column 8: tweetId is neither grouped nor aggregated; add it to GROUP BY, or write MIN(tweetId).
  SELECT * FROM tweet GROUP BY userId
         ^

==== spark
SELECT userId FROM tweet GROUP BY 2
----
line 1, column 35: GROUP BY 2: the SELECT list ends at 1.
  SELECT userId FROM tweet GROUP BY 2
                                    ^

==== spark
SELECT count(*) FROM tweet GROUP BY 1
----
line 1, column 8: "COUNT(*)" is an aggregate; group by a column.
  SELECT count(*) FROM tweet GROUP BY 1
         ^

==== spark
SELECT max(count(*)) FROM tweet
----
line 1, column 12: an aggregate in an aggregate has no meaning; use one of them.
  SELECT max(count(*)) FROM tweet
             ^

==== duckdb
SELECT userId, count(*) FROM tweet GROUP BY ROLLUP (userId)
----
line 1, column 36: GROUP BY ROLLUP is not taken: each of these groupings is a view of its own; make a view of each.
  SELECT userId, count(*) FROM tweet GROUP BY ROLLUP (userId)
                                     ^

==== spark
SELECT userId, count(*) FROM tweet GROUP BY userId WITH CUBE
----
line 1, column 36: GROUP BY CUBE is not taken: each of these groupings is a view of its own; make a view of each.
  SELECT userId, count(*) FROM tweet GROUP BY userId WITH CUBE
                                     ^

==== postgres
SELECT userId, count(*) FROM tweet GROUP BY GROUPING SETS ((userId), ())
----
line 1, column 36: GROUP BY GROUPING SETS is not taken: each of these groupings is a view of its own; make a view of each.
  SELECT userId, count(*) FROM tweet GROUP BY GROUPING SETS ((userId), ())
                                     ^

==== duckdb
SELECT DISTINCT count(*) FROM tweet GROUP BY userId
----
line 1, column 8: DISTINCT over groups is not taken: two groups may show one row; add what is grouped by to the SELECT list.
  SELECT DISTINCT count(*) FROM tweet GROUP BY userId
         ^

==== postgres
SELECT userId, count(*) AS n FROM tweet GROUP BY userId HAVING n > 1
----
line 1, column 64: tweet has no column "n"; known here: tweetId, userId, text.
  , count(*) AS n FROM tweet GROUP BY userId HAVING n > 1
                                                    ^

==== duckdb
SELECT userId FROM tweet GROUP BY userId HAVING max(text)
----
line 1, column 42: HAVING must be BOOLEAN, and this is STRING.
  SELECT userId FROM tweet GROUP BY userId HAVING max(text)
                                           ^

==== duckdb
SELECT sum(tweetId) FILTER (WHERE text) FROM tweet
----
line 1, column 21: FILTER takes a condition, and this is STRING.
  SELECT sum(tweetId) FILTER (WHERE text) FROM tweet
                      ^

==== duckdb
SELECT string_agg(text, text ORDER BY text) FROM tweet
----
line 1, column 8: STRING_AGG takes a constant here, and this is text.
  SELECT string_agg(text, text ORDER BY text) FROM tweet
         ^

==== duckdb
SELECT string_agg(text, ',') FROM tweet
----
line 1, column 8: string_agg() is not taken: without ORDER BY its result is not a function of the rows; put ORDER BY inside STRING_AGG.
  SELECT string_agg(text, ',') FROM tweet
         ^

==== duckdb
SELECT first(text), any_value(text) FROM tweet
----
line 1, column 8: first() is not taken: its result depends on the order in which rows come; write MIN_BY(x, y), or MIN(x).
  SELECT first(text), any_value(text) FROM tweet
         ^

==== spark
SELECT approx_count_distinct(userId) FROM tweet
----
line 1, column 8: approx_count_distinct() is not taken: it estimates, and this view can be exact; write COUNT(DISTINCT x).
  SELECT approx_count_distinct(userId) FROM tweet
         ^

==== duckdb
SELECT sum(text) FROM tweet
----
line 1, column 8: SUM of STRING is not taken: duckdb does not define it there, or its meaning is not certain; CAST the argument to a number type that the dialect adds.
  SELECT sum(text) FROM tweet
         ^

==== duckdb
SELECT kurtosis(userId) FROM tweet
----
line 1, column 8: kurtosis() is not taken: it is not supported; compute it from the view's rows.
  SELECT kurtosis(userId) FROM tweet
         ^

==== duckdb
SELECT max(userId, 3) FROM tweet
----
line 1, column 12: COUNT is not taken in MAX.
  SELECT max(userId, 3) FROM tweet
             ^

==== duckdb
SELECT f.userId FROM follower f WHERE f.userId = (SELECT max(userId) FROM tweet)
----
line 1, column 51: SELECT in an expression is not taken: it needs a value when there is no partner, and an error when there are two; put it into FROM and JOIN it.
  SELECT f.userId FROM follower f WHERE f.userId = (SELECT max(userId) FROM tweet)
                                                    ^

==== postgres
SELECT avg(userId) FROM tweet
----
line 1, column 8: AVG of BIGINT is not taken: Postgres chooses the digits of this NUMERIC by the values; write AVG(CAST(x AS DOUBLE PRECISION)).
  SELECT avg(userId) FROM tweet
         ^

==== duckdb
SELECT tweetId % count(*) FROM tweet GROUP BY userId
----
line 1, column 8: tweetId is neither grouped nor aggregated; add it to GROUP BY, or write MIN(tweetId).
  SELECT tweetId % count(*) FROM tweet GROUP BY userId
         ^
