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
line 1, column 8: MAX of several values is not taken: lists of the best are not supported; write it of one value.
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

==== duckdb
SELECT last(text) FROM tweet
----
line 1, column 8: last() is not taken: its result depends on the order in which rows come; write MAX_BY(x, y), or MAX(x).
  SELECT last(text) FROM tweet
         ^

==== postgres
SELECT any_value(text) FROM tweet
----
line 1, column 8: any_value() is not taken: its result depends on the order in which rows come; write MIN(x) or MAX(x).
  SELECT any_value(text) FROM tweet
         ^

==== duckdb
SELECT mode(userId) FROM tweet
----
line 1, column 8: mode() is not taken: several values may be the most frequent; count by value in a view of its own.
  SELECT mode(userId) FROM tweet
         ^

==== duckdb
SELECT array_agg(text) FROM tweet
----
line 1, column 8: array_agg() is not taken: without ORDER BY its result is not a function of the rows; write array_agg(x ORDER BY x).
  SELECT array_agg(text) FROM tweet
         ^

==== spark
SELECT collect_list(text) FROM tweet
----
line 1, column 8: collect_list() is not taken: without ORDER BY its result is not a function of the rows; write sort_array(array_agg(x)).
  SELECT collect_list(text) FROM tweet
         ^

==== spark
SELECT array_agg(text) FROM tweet
----
line 1, column 8: array_agg() is not taken: without ORDER BY its result is not a function of the rows; write sort_array(array_agg(x)).
  SELECT array_agg(text) FROM tweet
         ^

==== spark
SELECT array_agg(text ORDER BY userId) FROM tweet
----
line 1, column 8: ORDER BY in ARRAY_AGG is not taken: Spark has none there; write sort_array(array_agg(x)).
  SELECT array_agg(text ORDER BY userId) FROM tweet
         ^

==== duckdb
SELECT approx_quantile(userId, 0.5) FROM tweet
----
line 1, column 8: approx_quantile() is not taken: it estimates, and this view can be exact; write PERCENTILE_CONT(q) WITHIN GROUP (ORDER BY x).
  SELECT approx_quantile(userId, 0.5) FROM tweet
         ^

==== spark
SELECT approx_percentile(userId, 0.5) FROM tweet
----
line 1, column 26: approx_quantile() is not taken: it estimates, and this view can be exact; write PERCENTILE_CONT(q) WITHIN GROUP (ORDER BY x).
  SELECT approx_percentile(userId, 0.5) FROM tweet
                           ^

==== spark
SELECT userId FROM tweet WHERE count(*) > 1 GROUP BY userId
----
line 1, column 32: count() is not taken: it sums up many rows, and this is asked of each row; write it in the SELECT list or in HAVING.
  SELECT userId FROM tweet WHERE count(*) > 1 GROUP BY userId
                                 ^

==== spark
SELECT count(*) FROM tweet t JOIN follower f ON t.userId = f.userId AND max(f.followerId) > 1
----
line 1, column 73: max() is not taken: it sums up many rows, and this is asked of each row; write it in the SELECT list or in HAVING.
  weet t JOIN follower f ON t.userId = f.userId AND max(f.followerId) > 1
                                                    ^

==== duckdb
SELECT userId, sum(tweetId) OVER (PARTITION BY userId) FROM tweet
----
line 1, column 16: sum() OVER (...) is not taken: it looks at other rows of the view; read the view and apply it there.
  SELECT userId, sum(tweetId) OVER (PARTITION BY userId) FROM tweet
                 ^

==== duckdb
SELECT userId, count(*) OVER () FROM tweet GROUP BY userId
----
line 1, column 16: count() OVER (...) is not taken: it looks at other rows of the view; read the view and apply it there.
  SELECT userId, count(*) OVER () FROM tweet GROUP BY userId
                 ^

==== duckdb
SELECT DISTINCT ON (userId) userId, text FROM tweet
----
line 1, column 8: DISTINCT ON is not taken: which row remains depends on an order; GROUP BY it, and write MIN_BY(...).
  SELECT DISTINCT ON (userId) userId, text FROM tweet
         ^

==== duckdb
SELECT product(userId) FROM tweet
----
line 1, column 8: product() is not taken: it is not supported; compute it from the view's rows.
  SELECT product(userId) FROM tweet
         ^

==== duckdb
SELECT entropy(userId) FROM tweet
----
line 1, column 8: entropy() is not taken: it is not supported; compute it from the view's rows.
  SELECT entropy(userId) FROM tweet
         ^

==== spark
SELECT skewness(userId) FROM tweet
----
line 1, column 8: skewness() is not taken: it is not supported; compute it from the view's rows.
  SELECT skewness(userId) FROM tweet
         ^

==== duckdb
SELECT mad(userId) FROM tweet
----
line 1, column 8: mad() is not taken: it is not supported; compute it from the view's rows.
  SELECT mad(userId) FROM tweet
         ^

==== duckdb
SELECT geomean(userId) FROM tweet
----
line 1, column 8: geomean() is not taken: it is not supported; compute it from the view's rows.
  SELECT geomean(userId) FROM tweet
         ^

==== duckdb
SELECT count(userId, text) FROM tweet
----
line 1, column 8: COUNT of several columns is not taken: duckdb counts the values of one expression; concatenate them, or count each.
  SELECT count(userId, text) FROM tweet
         ^

==== postgres
SELECT count(DISTINCT userId, text) FROM tweet
----
line 1, column 8: COUNT of several columns is not taken: postgres counts the values of one expression; concatenate them, or count each.
  SELECT count(DISTINCT userId, text) FROM tweet
         ^

==== spark
SELECT bit_and(userId) FROM tweet
----
line 1, column 8: bit_and() is not taken: it is not supported; read the rows, or write BOOL_AND and BOOL_OR of the bits.
  SELECT bit_and(userId) FROM tweet
         ^

==== duckdb
SELECT bit_or(userId) FROM tweet
----
line 1, column 8: bit_or() is not taken: it is not supported; read the rows, or write BOOL_AND and BOOL_OR of the bits.
  SELECT bit_or(userId) FROM tweet
         ^

==== postgres
SELECT bit_xor(userId) FROM tweet
----
line 1, column 8: bit_xor() is not taken: it is not supported; read the rows, or write BOOL_AND and BOOL_OR of the bits.
  SELECT bit_xor(userId) FROM tweet
         ^

==== duckdb
SELECT histogram(userId) FROM tweet
----
line 1, column 8: histogram() is not taken: nested values are not supported; group by the key in a view of its own.
  SELECT histogram(userId) FROM tweet
         ^

==== spark
SELECT map_agg(userId, text) FROM tweet
----
line 1, column 8: map_agg() is not taken: nested values are not supported; group by the key in a view of its own.
  SELECT map_agg(userId, text) FROM tweet
         ^

==== postgres
SELECT json_agg(text) FROM tweet
----
line 1, column 8: json_agg() is not taken: nested values are not supported; group by the key in a view of its own.
  SELECT json_agg(text) FROM tweet
         ^

==== postgres
SELECT json_object_agg(text, userId) FROM tweet
----
line 1, column 8: json_object_agg() is not taken: nested values are not supported; group by the key in a view of its own.
  SELECT json_object_agg(text, userId) FROM tweet
         ^

==== sqlite
SELECT json_group_array(text) FROM tweet
----
line 1, column 8: json_group_array() is not taken: nested values are not supported; group by the key in a view of its own.
  SELECT json_group_array(text) FROM tweet
         ^

==== spark
SELECT userId, grouping(userId) FROM tweet GROUP BY userId
----
line 1, column 16: grouping() is not taken: it belongs to GROUPING SETS; make a view for each set.
  SELECT userId, grouping(userId) FROM tweet GROUP BY userId
                 ^

==== duckdb
SELECT min_by(text, userId, 2) FROM tweet
----
line 1, column 8: MIN_BY of several values is not taken: lists of the best are not supported; write it of one value.
  SELECT min_by(text, userId, 2) FROM tweet
         ^

==== spark
SELECT try_sum(userId) FROM tweet
----
line 1, column 8: try_sum() is not taken: its result is NULL where the sum does not fit; CAST x to a wider DECIMAL.
  SELECT try_sum(userId) FROM tweet
         ^

==== spark
SELECT try_avg(userId) FROM tweet
----
line 1, column 8: try_avg() is not taken: its result is NULL where the sum does not fit; CAST x to a wider DECIMAL.
  SELECT try_avg(userId) FROM tweet
         ^

==== spark
SELECT sum(userId > 3) FROM tweet
----
line 1, column 8: SUM of BOOLEAN is not taken: spark does not add BOOLEANs; count the rows: COUNT(*) FILTER (WHERE ...).
  SELECT sum(userId > 3) FROM tweet
         ^

==== postgres
SELECT sum(userId > 3) FROM tweet
----
line 1, column 8: SUM of BOOLEAN is not taken: postgres does not add BOOLEANs; count the rows: COUNT(*) FILTER (WHERE ...).
  SELECT sum(userId > 3) FROM tweet
         ^

==== spark
SELECT q.n FROM (SELECT userId, count(*) AS n FROM tweet GROUP BY userId) q JOIN follower f ON f.userId = q.userId
----
line 1, column 25: a subquery that groups is not taken: it groups the rows of a part of the view; keep a view of it, and join that.
  SELECT q.n FROM (SELECT userId, count(*) AS n FROM tweet GROUP BY userId) q JOIN follower f ON f.use
                          ^

==== duckdb
SELECT q.userId FROM (SELECT DISTINCT userId FROM tweet) q JOIN follower f ON f.userId = q.userId
----
line 1, column 39: a subquery that groups is not taken: it groups the rows of a part of the view; keep a view of it, and join that.
  SELECT q.userId FROM (SELECT DISTINCT userId FROM tweet) q JOIN follower f ON f.userId = q.userId
                                        ^

==== spark
WITH q AS (SELECT max(tweetId) AS m FROM tweet) SELECT q.m FROM q JOIN follower f ON f.userId = q.m
----
line 1, column 19: a subquery that groups is not taken: it groups the rows of a part of the view; keep a view of it, and join that.
  WITH q AS (SELECT max(tweetId) AS m FROM tweet) SELECT q.m FROM q JOIN follower f ON f.userId = q.m
                    ^
