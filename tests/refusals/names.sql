==== spark
SELECT tweet_id FROM tweet
----
line 1, column 8: tweet has no column "tweet_id"; did you mean "tweetId"?
  SELECT tweet_id FROM tweet
         ^

==== spark
SELECT t.tweet_id FROM tweet t
----
line 1, column 10: t has no column "tweet_id"; did you mean "tweetId"?
  SELECT t.tweet_id FROM tweet t
           ^

==== spark
SELECT tweet.text FROM tweet t
----
line 1, column 8: no table or alias is called "tweet" here; known here: t.
  SELECT tweet.text FROM tweet t
         ^

==== spark
SELECT f.text FROM tweet t, follower f
----
line 1, column 10: f has no column "text"; known here: userId, followerId.
  SELECT f.text FROM tweet t, follower f
           ^

==== spark
SELECT userId FROM tweet, retweet
----
line 1, column 8: column "userId" is ambiguous: it may be tweet.userId or retweet.userId.
  SELECT userId FROM tweet, retweet
         ^

==== spark
SELECT zebra FROM tweet t, follower f
----
line 1, column 8: no table here has a column "zebra"; they are t, f.
  SELECT zebra FROM tweet t, follower f
         ^

==== spark
SELECT usrId FROM tweet t, follower f
----
line 1, column 8: no table here has a column "usrId"; did you mean t.userId or f.userId?
  SELECT usrId FROM tweet t, follower f
         ^

==== spark
SELECT text FROM twet
----
line 1, column 18: no table is declared as "twet"; did you mean "tweet"?
  SELECT text FROM twet
                   ^

==== spark
SELECT text FROM other.tweet
----
line 1, column 18: no table is declared as "other.tweet"; did you mean "tweet"?
  SELECT text FROM other.tweet
                   ^

==== spark
SELECT db.tweet.text FROM tweet
----
line 1, column 11: no table or alias is called "db.tweet" here; write tweet.text.
  SELECT db.tweet.text FROM tweet
            ^

==== spark
SELECT * FROM tweet, retweet
----
line 1, column 8: two columns of the view are called "tweetId"; write SELECT tweet.tweetId, tweet.userId, tweet.text, retweet.tweetId AS retweet_tweetId, retweet.userId AS retweet_userId, retweet.at FROM tweet, retweet;
  SELECT * FROM tweet, retweet
         ^

==== spark
SELECT text, userId AS Text FROM tweet
----
line 1, column 14: two columns of the view are called "Text"; write SELECT text, userId AS Text_2 FROM tweet;
  SELECT text, userId AS Text FROM tweet
               ^

==== spark
SELECT s.userId FROM (SELECT userId AS id FROM tweet) s
----
line 1, column 10: s has no column "userId"; known here: id.
  SELECT s.userId FROM (SELECT userId AS id FROM tweet) s
           ^

==== spark
SELECT s.userId FROM (SELECT t.userId, r.userId FROM tweet t, retweet r) s
----
line 1, column 10: s has 2 columns "userId"; give them different names with AS.
  SELECT s.userId FROM (SELECT t.userId, r.userId FROM tweet t, retweet r) s
           ^

==== spark
SELECT t.text FROM (tweet t JOIN retweet r USING (tweetId)) j
----
line 1, column 8: no table or alias is called "t" here; known here: j.
  SELECT t.text FROM (tweet t JOIN retweet r USING (tweetId)) j
         ^

==== spark
SELECT id FROM (SELECT userId FROM tweet) AS s (id, other)
----
line 1, column 46: 2 names are given to 1 columns; give each its name.
  SELECT id FROM (SELECT userId FROM tweet) AS s (id, other)
                                               ^

==== spark
WITH unused AS (SELECT nope FROM tweet) SELECT text FROM tweet
----
line 1, column 24: tweet has no column "nope"; known here: tweetId, userId, text.
  WITH unused AS (SELECT nope FROM tweet) SELECT text FROM tweet
                         ^

==== spark
WITH r AS (SELECT text FROM r) SELECT text FROM r
----
line 1, column 29: no table is declared as "r".
  WITH r AS (SELECT text FROM r) SELECT text FROM r
                              ^

==== duckdb
SELECT t.text FROM tweet t, retweet r JOIN follower f ON t.userId = f.userId
----
line 1, column 58: no table or alias is called "t" here; known here: r, f.
  t.text FROM tweet t, retweet r JOIN follower f ON t.userId = f.userId
                                                    ^

==== spark
SELECT nope.* FROM tweet
----
line 1, column 8: no table or alias is called "nope" here; known here: tweet.
  SELECT nope.* FROM tweet
         ^

==== spark
SELECT text AS a, a AS b FROM tweet
----
line 1, column 19: tweet has no column "a"; known here: tweetId, userId, text.
  SELECT text AS a, a AS b FROM tweet
                    ^

==== spark
SELECT nope FROM (SELECT text FROM tweet)
----
line 1, column 8: subquery has no column "nope"; known here: text.
  SELECT nope FROM (SELECT text FROM tweet)
         ^

==== spark
SELECT nope FROM (SELECT text FROM tweet), tweet t
----
line 1, column 8: no table here has a column "nope"; they are subquery, t.
  SELECT nope FROM (SELECT text FROM tweet), tweet t
         ^

==== spark
CREATE VIEW v AS
SELECT t.text, -- first
  r.*, t.*
FROM tweet t JOIN retweet r USING (tweetId) WHERE t.text <> 'a  b';
----
line 2, column 8: two columns of the view are called "tweetId"; write CREATE VIEW v AS SELECT t.text, r.tweetId, r.userId, r.at, t.tweetId AS t_tweetId, t.userId AS t_userId, t.text AS t_text FROM tweet t JOIN retweet r USING (tweetId) WHERE t.text <> 'a  b';
  SELECT t.text, -- first
         ^

==== duckdb
WITH c AS (SELECT userId AS "a b" FROM tweet) (SELECT c.*, x."a b" FROM c, c AS x)
----
line 1, column 60: two columns of the view are called "a b"; write WITH c AS (SELECT userId AS "a b" FROM tweet) (SELECT c."a b", x."a b" AS "x_a b" FROM c, c AS x);
   (SELECT userId AS "a b" FROM tweet) (SELECT c.*, x."a b" FROM c, c AS x)
                                                    ^

==== postgres
SELECT tweetId + 1 AS x, userId IS DISTINCT FROM 3 AS X, userId + 1 AS x FROM tweet
----
line 1, column 58: two columns of the view are called "X"; write SELECT tweetId + 1 AS x, userId IS DISTINCT FROM 3 AS X_2, userId + 1 AS x_3 FROM tweet;
  tweetId + 1 AS x, userId IS DISTINCT FROM 3 AS X, userId + 1 AS x FROM tweet
                                                    ^

==== spark
SELECT * FROM tweet a, tweet b, (SELECT userId AS a_userId FROM tweet) c
----
line 1, column 8: two columns of the view are called "tweetId"; write SELECT a.tweetId, a.userId, a.text, b.tweetId AS b_tweetId, b.userId AS b_userId, b.text AS b_text, c.a_userId FROM tweet a, tweet b, (SELECT userId AS a_userId FROM tweet) c;
  SELECT * FROM tweet a, tweet b, (SELECT userId AS a_userId FROM tweet) c
         ^

==== spark
SELECT s.* FROM (SELECT t.userId, r.userId FROM tweet t, retweet r) s
----
line 1, column 8: two columns of the view are called "userId"; list the columns and rename one with AS.
  SELECT s.* FROM (SELECT t.userId, r.userId FROM tweet t, retweet r) s
         ^

==== duckdb
FROM tweet, retweet
----
line 1, column 1: two columns of the view are called "tweetId"; list the columns and rename one with AS.
  FROM tweet, retweet
  ^

==== spark
CREATE VIEW v (a, A) AS SELECT tweetId, userId FROM tweet
----
line 1, column 32: two columns of the view are called "A"; give each its own.
  CREATE VIEW v (a, A) AS SELECT tweetId, userId FROM tweet
                                 ^
