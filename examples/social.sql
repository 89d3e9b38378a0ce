-- A social network: who follows whom, who tweets, who repeats a tweet.
CREATE TABLE follower (userId BIGINT, followerId BIGINT, PRIMARY KEY (userId, followerId));
CREATE TABLE tweet (userId BIGINT, tweetId BIGINT, text STRING, PRIMARY KEY (tweetId));
CREATE TABLE retweet (userId BIGINT, tweetId BIGINT, retweetTweetId BIGINT, PRIMARY KEY (tweetId));
