==== spark
SELECT (text FROM tweet
----
line 1, column 14: not spark SQL: Expecting ).
  SELECT (text FROM tweet
               ^

==== spark
SELECT 'text FROM tweet
----
line 1, column 8: not spark SQL: Missing ' to close this.
  SELECT 'text FROM tweet
         ^

==== spark
SELECT `text FROM tweet
----
line 1, column 8: not spark SQL: Missing ` to close this.
  SELECT `text FROM tweet
         ^

==== spark
SELECT text FROM
----
line 1, column 13: not spark SQL: Expected table name but got the end of the text.
  SELECT text FROM
              ^

==== spark
SELECT text tweet FROM tweet WHERE text AND
----
line 1, column 41: not spark SQL: Required keyword: 'expression' missing for And.
  SELECT text tweet FROM tweet WHERE text AND
                                          ^

==== spark
SELEC text FROM tweet
----
line 1, column 1: "SELEC" begins neither a SELECT nor a CREATE statement; no other is taken.
  SELEC text FROM tweet
  ^

==== spark
SELECT text
FROM tweet
WHERE (userId = 1
----
line 3, column 17: not spark SQL: Expecting ).
  WHERE (userId = 1
                  ^

==== spark
SELECT text FROM tweet t JOIN
----
line 1, column 26: not spark SQL: Expected table name but got the end of the text.
  SELECT text FROM tweet t JOIN
                           ^

==== spark
text
----
line 1, column 1: "text" begins neither a SELECT nor a CREATE statement; no other is taken.
  text
  ^

==== spark
SELECT café, 😀 FROM tweet WHERE
----
line 1, column 27: not spark SQL: Required keyword: 'this' missing for Where.
  SELECT café, 😀 FROM tweet WHERE
                            ^

==== spark
SELECT text /* FROM tweet
----
line 1, column 13: not spark SQL: this comment has no end.
  SELECT text /* FROM tweet
              ^

==== spark
SELECT text FROM tweet JOIN retweet ON WHERE userId = 1
----
line 1, column 37: ON has no condition.
  SELECT text FROM tweet JOIN retweet ON WHERE userId = 1
                                      ^

==== spark
SELECT text FROM tweet JOIN retweet USING ()
----
line 1, column 37: USING names no columns.
  SELECT text FROM tweet JOIN retweet USING ()
                                      ^

==== spark
SELECT text FROM tweet $ t
----
line 1, column 18: @t is no name.
  SELECT text FROM tweet $ t
                   ^

==== spark
SELECT text:part FROM tweet
----
line 1, column 12: :part is no name.
  SELECT text:part FROM tweet
             ^

==== spark
SELECT 0x FROM tweet
----
line 1, column 8: tweet has no column "0x"; known here: tweetId, userId, text.
  SELECT 0x FROM tweet
         ^

==== duckdb
SELECT 1e3.text FROM tweet
----
line 1, column 8: 1e3. is not taken: not a number.
  SELECT 1e3.text FROM tweet
         ^
