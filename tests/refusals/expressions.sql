==== spark
SELECT collect_list(text) FROM tweet
----
line 1, column 8: collect_list() is not taken: without ORDER BY its result is not a function of the rows; write sort_array(array_agg(x)).
  SELECT collect_list(text) FROM tweet
         ^

==== spark
SELECT text FROM tweet WHERE count(*) > 3
----
line 1, column 30: count() is not taken: it sums up many rows, and this is asked of each row; write it in the SELECT list or in HAVING.
  SELECT text FROM tweet WHERE count(*) > 3
                               ^

==== spark
SELECT text, row_number() OVER (ORDER BY text) FROM tweet
----
line 1, column 14: row_number() OVER (...) is not taken: it looks at other rows of the view; read the view and apply it there.
  SELECT text, row_number() OVER (ORDER BY text) FROM tweet
               ^

==== spark
SELECT text, sum(userId) OVER (PARTITION BY text) FROM tweet
----
line 1, column 14: sum() OVER (...) is not taken: it looks at other rows of the view; read the view and apply it there.
  SELECT text, sum(userId) OVER (PARTITION BY text) FROM tweet
               ^

==== spark
SELECT (SELECT max(at) FROM retweet) AS last FROM tweet
----
line 1, column 9: SELECT in an expression is not taken: it needs a value when there is no partner, and an error when there are two; put it into FROM and JOIN it.
  SELECT (SELECT max(at) FROM retweet) AS last FROM tweet
          ^

==== spark
SELECT text FROM tweet WHERE userId = (SELECT 3)
----
line 1, column 40: SELECT in an expression is not taken: it needs a value when there is no partner, and an error when there are two; put it into FROM and JOIN it.
  SELECT text FROM tweet WHERE userId = (SELECT 3)
                                         ^

==== spark
SELECT text FROM tweet WHERE userId = ?
----
line 1, column 39: ? (a parameter) is not taken: a parameter's value is not known when the view is made; write the constant, or JOIN a table of parameters.
  SELECT text FROM tweet WHERE userId = ?
                                        ^

==== spark
SELECT text FROM tweet WHERE userId = :user
----
line 1, column 39: :user (a parameter) is not taken: a parameter's value is not known when the view is made; write the constant, or JOIN a table of parameters.
  SELECT text FROM tweet WHERE userId = :user
                                        ^

==== postgres
SELECT text FROM tweet WHERE userId = $1
----
line 1, column 40: the parameter 1 is not taken: a parameter's value is not known when the view is made; write the constant, or JOIN a table of parameters.
  SELECT text FROM tweet WHERE userId = $1
                                         ^

==== spark
SELECT rand() FROM tweet
----
line 1, column 8: rand() is not taken: a view must be a function of its tables, and this changes with no diff; store the value in a column of a table.
  SELECT rand() FROM tweet
         ^

==== spark
SELECT uuid() FROM tweet
----
line 1, column 8: uuid() is not taken: a view must be a function of its tables, and this changes with no diff; store the value in a column of a table.
  SELECT uuid() FROM tweet
         ^

==== spark
SELECT text FROM retweet JOIN tweet USING (tweetId)
WHERE at > current_timestamp
----
line 2, column 12: current_timestamp() is not taken: a view must be a function of its tables, and this changes with no diff; store the value in a column of a table.
  WHERE at > current_timestamp
             ^

==== spark
SELECT text FROM retweet JOIN tweet USING (tweetId) WHERE at > current_date
----
line 1, column 64: current_date() is not taken: a view must be a function of its tables, and this changes with no diff; store the value in a column of a table.
  ROM retweet JOIN tweet USING (tweetId) WHERE at > current_date
                                                    ^

==== duckdb
SELECT now() FROM tweet
----
line 1, column 8: now() is not taken: a view must be a function of its tables, and this changes with no diff; store the value in a column of a table.
  SELECT now() FROM tweet
         ^

==== spark
SELECT monotonically_increasing_id() FROM tweet
----
line 1, column 8: monotonically_increasing_id() is not taken: a view must be a function of its tables, and this changes with no diff; store the value in a column of a table.
  SELECT monotonically_increasing_id() FROM tweet
         ^

==== spark
SELECT current_user() FROM tweet
----
line 1, column 8: current_user() is not taken: a view must be a function of its tables, and this changes with no diff; store the value in a column of a table.
  SELECT current_user() FROM tweet
         ^

==== spark
SELECT explode(text) FROM tweet
----
line 1, column 8: explode() is not taken: it makes several rows of one; explode the rows in the table's source.
  SELECT explode(text) FROM tweet
         ^

==== spark
SELECT text FROM tweet WHERE userId
----
line 1, column 30: a condition must be BOOLEAN, and this is BIGINT; compare it with something.
  SELECT text FROM tweet WHERE userId
                               ^

==== spark
SELECT text FROM tweet WHERE userId + 1
----
line 1, column 30: a condition must be BOOLEAN, and this is BIGINT; compare it with something.
  SELECT text FROM tweet WHERE userId + 1
                               ^

==== spark
SELECT NULL AS nothing FROM tweet
----
line 1, column 16: column "nothing" has no type; write CAST(NULL AS ...).
  SELECT NULL AS nothing FROM tweet
                 ^

==== spark
SELECT text FROM tweet WHERE text COLLATE UTF8_LCASE = 'a'
----
line 1, column 30: text COLLATE UTF8_LCASE is not taken: strings compare byte by byte; compare LOWER(…).
  SELECT text FROM tweet WHERE text COLLATE UTF8_LCASE = 'a'
                               ^

==== spark
SELECT newid() AS id FROM tweet
----
line 1, column 8: newid() is not taken: a view must be a function of its tables, and this changes with no diff; store the value in a column of a table.
  SELECT newid() AS id FROM tweet
         ^

==== postgres
SELECT text FROM tweet JOIN retweet r USING (tweetId) WHERE r.at + INTERVAL '1 day 04:05' > r.at
----
line 1, column 68: INTERVAL '1 day 04:05' is not taken: an interval is a whole number of one unit, such as INTERVAL '90' MINUTE.
  tweet JOIN retweet r USING (tweetId) WHERE r.at + INTERVAL '1 day 04:05' > r.at
                                                    ^

==== duckdb
SELECT text FROM tweet JOIN retweet r USING (tweetId) WHERE r.at + INTERVAL '1 day ago' < r.at
----
line 1, column 68: INTERVAL '1 day ago' is not taken: an interval is a whole number of one unit, such as INTERVAL '90' MINUTE.
  tweet JOIN retweet r USING (tweetId) WHERE r.at + INTERVAL '1 day ago' < r.at
                                                    ^

==== postgres
SELECT r.at + INTERVAL '1' DAY TO HOUR AS late FROM retweet r
----
line 1, column 15: INTERVAL '1' DAY TO HOUR is not taken: an interval is a whole constant of YEAR, MONTH, WEEK, DAY, HOUR, MINUTE, SECOND.
  SELECT r.at + INTERVAL '1' DAY TO HOUR AS late FROM retweet r
                ^

==== postgres
SELECT r.at + INTERVAL '²' DAY AS late FROM retweet r
----
line 1, column 15: INTERVAL '²' is not taken: an interval is a whole number of one unit, such as INTERVAL '90' MINUTE.
  SELECT r.at + INTERVAL '²' DAY AS late FROM retweet r
                ^

==== postgres
SELECT r.at + INTERVAL '99999999999999999999' DAY AS late FROM retweet r
----
line 1, column 15: INTERVAL '99999999999999999999' DAY is not taken: an interval is a whole constant of YEAR, MONTH, WEEK, DAY, HOUR, MINUTE, SECOND.
  SELECT r.at + INTERVAL '99999999999999999999' DAY AS late FROM retweet r
                ^

==== duckdb
SELECT r.at + INTERVAL 999999999999 WEEK AS late FROM retweet r
----
line 1, column 8: r.at + INTERVAL '999999999999' WEEK is not taken: the interval is too long.
  SELECT r.at + INTERVAL 999999999999 WEEK AS late FROM retweet r
         ^
