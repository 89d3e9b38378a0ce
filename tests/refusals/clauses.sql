==== postgres
SELECT DISTINCT ON (userId) text FROM tweet
----
line 1, column 8: DISTINCT ON is not taken: which row remains depends on an order; GROUP BY it, and write MIN_BY(...).
  SELECT DISTINCT ON (userId) text FROM tweet
         ^

==== spark
SELECT s.text FROM (SELECT text FROM tweet ORDER BY text) s
----
line 1, column 44: ORDER BY is not taken: a part of a view is a bag of rows; write it at the view's end, or read by scan(order_by=..., limit=...).
  SELECT s.text FROM (SELECT text FROM tweet ORDER BY text) s
                                             ^

==== spark
SELECT text FROM tweet SORT BY text
----
line 1, column 24: SORT BY is not taken: a view's rows are in no partitions; write ORDER BY at the view's end.
  SELECT text FROM tweet SORT BY text
                         ^

==== spark
SELECT text FROM tweet CLUSTER BY text
----
line 1, column 24: CLUSTER BY is not taken: a view's rows are in no partitions; write ORDER BY at the view's end.
  SELECT text FROM tweet CLUSTER BY text
                         ^

==== spark
SELECT text FROM tweet DISTRIBUTE BY text
----
line 1, column 24: DISTRIBUTE BY is not taken: a view's rows are in no partitions; write ORDER BY at the view's end.
  SELECT text FROM tweet DISTRIBUTE BY text
                         ^

==== spark
SELECT text FROM tweet
ORDER BY text
LIMIT 3
----
line 3, column 1: LIMIT is not taken: which rows remain would depend on the order of diffs; a limit belongs to reading: scan(order_by=..., limit=...).
  LIMIT 3
  ^

==== spark
SELECT text FROM tweet LIMIT 3
----
line 1, column 24: LIMIT is not taken: which rows remain would depend on the order of diffs; a limit belongs to reading: scan(order_by=..., limit=...).
  SELECT text FROM tweet LIMIT 3
                         ^

==== duckdb
SELECT text FROM tweet OFFSET 3
----
line 1, column 24: OFFSET is not taken: which rows remain would depend on the order of diffs; a limit belongs to reading: scan(order_by=..., limit=...).
  SELECT text FROM tweet OFFSET 3
                         ^

==== postgres
SELECT text FROM tweet FETCH FIRST 3 ROWS ONLY
----
line 1, column 24: FETCH is not taken: which rows remain would depend on the order of diffs; a limit belongs to reading: scan(order_by=..., limit=...).
  SELECT text FROM tweet FETCH FIRST 3 ROWS ONLY
                         ^

==== spark
SELECT userId FROM tweet HAVING userId > 3
----
line 1, column 8: userId is neither grouped nor aggregated; add it to GROUP BY, or write MIN(userId).
  SELECT userId FROM tweet HAVING userId > 3
         ^

==== spark
SELECT userId FROM tweet QUALIFY row_number() OVER (PARTITION BY userId ORDER BY text) = 1
----
line 1, column 26: QUALIFY is not taken: it looks at other rows of the view; apply it to a scan.
  SELECT userId FROM tweet QUALIFY row_number() OVER (PARTITION BY userId ORDER BY text) = 1
                           ^

==== spark
SELECT sum(userId) OVER w FROM tweet WINDOW w AS (PARTITION BY text)
----
line 1, column 38: WINDOW is not taken: it looks at other rows of the view; apply it to a scan.
  SELECT sum(userId) OVER w FROM tweet WINDOW w AS (PARTITION BY text)
                                       ^

==== postgres
SELECT text FROM tweet FOR UPDATE
----
line 1, column 24: FOR UPDATE is not taken: a view reads and locks nothing; leave it out.
  SELECT text FROM tweet FOR UPDATE
                         ^

==== postgres
SELECT text INTO other FROM tweet
----
line 1, column 13: INTO is not taken: a view is no new table; leave it out, and write its diffs to a sink.
  SELECT text INTO other FROM tweet
              ^

==== spark
SELECT /*+ BROADCAST(retweet) */ text FROM tweet JOIN retweet USING (tweetId)
----
line 1, column 12: the hint is not taken: joingraph makes its own plan, which no hint reaches; leave it out.
  SELECT /*+ BROADCAST(retweet) */ text FROM tweet JOIN retweet USING (tweetId)
             ^

==== spark
SELECT text FROM tweet UNION ALL SELECT text FROM tweet
----
line 1, column 24: UNION is not taken: a view is one SELECT over joined tables; make a view of each side, and put their diffs together.
  SELECT text FROM tweet UNION ALL SELECT text FROM tweet
                         ^

==== spark
SELECT text FROM tweet
UNION SELECT text FROM tweet
----
line 2, column 1: UNION is not taken: a view is one SELECT over joined tables; make a view of each side, and put their diffs together.
  UNION SELECT text FROM tweet
  ^

==== spark
SELECT text FROM tweet INTERSECT SELECT text FROM tweet
----
line 1, column 24: INTERSECT is not taken: a view is one SELECT over joined tables; make a view of each side, and put their diffs together.
  SELECT text FROM tweet INTERSECT SELECT text FROM tweet
                         ^

==== spark
SELECT text FROM tweet EXCEPT SELECT text FROM tweet
----
line 1, column 24: EXCEPT is not taken: a view is one SELECT over joined tables; make a view of each side, and put their diffs together.
  SELECT text FROM tweet EXCEPT SELECT text FROM tweet
                         ^

==== spark
SELECT s.text FROM (SELECT text FROM tweet UNION ALL SELECT text FROM tweet) s
----
line 1, column 44: UNION is not taken: a view is one SELECT over joined tables; make a view of each side, and put their diffs together.
  SELECT s.text FROM (SELECT text FROM tweet UNION ALL SELECT text FROM tweet) s
                                             ^

==== spark
SELECT s.text FROM (SELECT DISTINCT text FROM tweet) s
----
line 1, column 37: a subquery that groups is not taken: it groups the rows of a part of the view; keep a view of it, and join that.
  SELECT s.text FROM (SELECT DISTINCT text FROM tweet) s
                                      ^

==== spark
SELECT s.text FROM (SELECT text FROM tweet ORDER BY text LIMIT 3) s
----
line 1, column 58: LIMIT is not taken: which rows remain would depend on the order of diffs; a limit belongs to reading: scan(order_by=..., limit=...).
  s.text FROM (SELECT text FROM tweet ORDER BY text LIMIT 3) s
                                                    ^

==== spark
(SELECT text FROM tweet) LIMIT 3
----
line 1, column 26: LIMIT is not taken: which rows remain would depend on the order of diffs; a limit belongs to reading: scan(order_by=..., limit=...).
  (SELECT text FROM tweet) LIMIT 3
                           ^

==== spark
WITH RECURSIVE r AS (SELECT tweetId FROM tweet) SELECT tweetId FROM r
----
line 1, column 6: RECURSIVE is not taken: it has no bound on the number of joins; write each level as a join.
  WITH RECURSIVE r AS (SELECT tweetId FROM tweet) SELECT tweetId FROM r
       ^

==== spark
WITH r AS (SELECT tweetId FROM tweet), R AS (SELECT userId FROM tweet) SELECT 1 FROM r
----
line 1, column 40: two queries of WITH are called "R".
  WITH r AS (SELECT tweetId FROM tweet), R AS (SELECT userId FROM tweet) SELECT 1 FROM r
                                         ^

==== duckdb
SELECT * EXCLUDE (text) FROM tweet
----
line 1, column 8: * EXCEPT is not taken: a view's columns are settled by name; list the columns.
  SELECT * EXCLUDE (text) FROM tweet
         ^

==== spark
SELECT * EXCEPT (text) FROM tweet
----
line 1, column 8: * EXCEPT is not taken: a view's columns are settled by name; list the columns.
  SELECT * EXCEPT (text) FROM tweet
         ^

==== duckdb
SELECT * REPLACE (1 AS text) FROM tweet
----
line 1, column 8: * REPLACE is not taken: a view's columns are settled by name; list the columns.
  SELECT * REPLACE (1 AS text) FROM tweet
         ^

==== spark
SELECT 1
----
line 1, column 8: a SELECT without FROM is not taken: no diff would ever change it; name a table.
  SELECT 1
         ^

==== postgres
SELECT FROM tweet
----
line 1, column 13: this SELECT lists no columns.
  SELECT FROM tweet
              ^

==== duckdb
SELECT text FROM tweet USING SAMPLE 3
----
line 1, column 37: TABLESAMPLE is not taken: which rows are drawn is not a function of the data; write a condition on a column in WHERE.
  SELECT text FROM tweet USING SAMPLE 3
                                      ^

==== spark
SELECT text FROM tweet; SELECT at FROM retweet
----
line 1, column 25: the text holds 2 statements; give one at a time.
  SELECT text FROM tweet; SELECT at FROM retweet
                          ^

==== spark
INSERT INTO tweet VALUES (1, 2, 'x')
----
line 1, column 1: "INSERT" begins neither a SELECT nor a CREATE statement; no other is taken.
  INSERT INTO tweet VALUES (1, 2, 'x')
  ^

==== spark
EXPLAIN SELECT text FROM tweet
----
line 1, column 1: "EXPLAIN" begins neither a SELECT nor a CREATE statement; no other is taken.
  EXPLAIN SELECT text FROM tweet
  ^

==== spark
VALUES (1, 2)
----
line 1, column 1: VALUES is not taken: a view is one SELECT over joined tables.
  VALUES (1, 2)
  ^

==== spark
CREATE TABLE t AS SELECT text FROM tweet
----
line 1, column 1: CREATE TABLE is no view; write CREATE VIEW ... AS SELECT, or SELECT.
  CREATE TABLE t AS SELECT text FROM tweet
  ^

==== spark
CREATE VIEW v
----
line 1, column 1: CREATE VIEW without AS is no view; write CREATE VIEW ... AS SELECT, or SELECT.
  CREATE VIEW v
  ^

==== spark
CREATE VIEW v (a, b) AS SELECT text FROM tweet
----
line 1, column 13: 2 names are given to 1 columns; give each its name.
  CREATE VIEW v (a, b) AS SELECT text FROM tweet
              ^

==== spark
CREATE VIEW v TBLPROPERTIES ('a' = 'b') AS SELECT text FROM tweet
----
line 1, column 13: a='b' is not taken in CREATE VIEW; leave it out.
  CREATE VIEW v TBLPROPERTIES ('a' = 'b') AS SELECT text FROM tweet
              ^

==== postgres
CREATE RECURSIVE VIEW v (a) AS SELECT text FROM tweet
----
line 1, column 1: this CREATE statement is not taken: a view is one SELECT over joined tables.
  CREATE RECURSIVE VIEW v (a) AS SELECT text FROM tweet
  ^

==== spark
SELECT text FROM tweet WINDOW AS (a)
----
line 1, column 24: WINDOW is not taken: it looks at other rows of the view; apply it to a scan.
  SELECT text FROM tweet WINDOW AS (a)
                         ^

==== spark
SELECT text FROM tweet ORDER BY userId
----
line 1, column 24: ORDER BY userId is not taken: a view is read in the order of what it shows; add it to the SELECT list.
  SELECT text FROM tweet ORDER BY userId
                         ^

==== duckdb
SELECT text FROM tweet ORDER BY 2
----
line 1, column 24: ORDER BY 2: the SELECT list ends at 1.
  SELECT text FROM tweet ORDER BY 2
                         ^
