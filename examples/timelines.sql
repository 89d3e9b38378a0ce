-- What each subscriber sees: tweets of the people they follow, once somebody repeats them.
SELECT F.followerId, T.text, R.userId AS retweeter
FROM follower F
JOIN tweet T ON T.userId = F.userId
JOIN retweet R ON R.retweetTweetId = T.tweetId
WHERE R.userId <> F.followerId
