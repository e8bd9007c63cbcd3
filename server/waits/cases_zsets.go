package waits

import "strconv"

// scored is a member behind its score.
func scored(c *Client, i int) { c.Arg(strconv.Itoa(i * 7919 % 1_000_003)); one(c, i) }

var (
	aSortedSet     = built(2, scored, "ZADD", Key)
	evenScores     = built(2, func(c *Client, i int) { c.Arg("0"); one(c, i) }, "ZADD", Key)
	twoSortedSets  = then(aSortedSet, built(2, scored, "ZADD", "other"))
	someSortedSets = pipelined(func(c *Client, i int) { c.Send("ZADD", name(i), "1", element(i)) })
)

var zsetCases = []Case{
	{Command: "ZADD", What: "members", Call: many(2, scored, []string{"ZADD", Key})},
	{Command: "ZADD", What: "member", Bytes: true, Call: sized(nil, "ZADD", Key, "1")},
	{Command: "ZADD", What: "members that move", Before: evenScores, Call: many(2, scored, []string{"ZADD", Key, "XX", "CH"})},
	{Command: "ZINCRBY", What: "sorted set", Before: aSortedSet, Call: nth("ZINCRBY", Key, "1000", "last")},
	{Command: "ZCARD", What: "sorted set", Before: aSortedSet, Call: call("ZCARD", Key)},
	{Command: "ZSCORE", What: "sorted set", Before: aSortedSet, Call: nth("ZSCORE", Key, "last")},
	{Command: "ZMSCORE", What: "members", Before: aSortedSet, Call: many(1, one, []string{"ZMSCORE", Key})},
	{Command: "ZRANK", What: "sorted set", Before: aSortedSet, Call: nth("ZRANK", Key, "last", "WITHSCORE")},
	{Command: "ZREVRANK", What: "sorted set", Before: aSortedSet, Call: nth("ZREVRANK", Key, "last", "WITHSCORE")},
	{Command: "ZCOUNT", What: "sorted set", Before: aSortedSet, Call: call("ZCOUNT", Key, "1000", "+inf")},
	{Command: "ZLEXCOUNT", What: "sorted set", Before: evenScores, Call: call("ZLEXCOUNT", Key, "[element:5", "+")},
	{Command: "ZRANGE", What: "members", Before: aSortedSet, Call: call("ZRANGE", Key, "0", "-1", "WITHSCORES")},
	{Command: "ZRANGESTORE", What: "members", Before: aSortedSet, Call: call("ZRANGESTORE", "other", Key, "0", "-1")},
	{Command: "ZREVRANGE", What: "members", Before: aSortedSet, Call: call("ZREVRANGE", Key, "0", "-1", "WITHSCORES")},
	{Command: "ZRANGEBYSCORE", What: "members", Before: aSortedSet, Call: call("ZRANGEBYSCORE", Key, "-inf", "+inf")},
	{Command: "ZREVRANGEBYSCORE", What: "members", Before: aSortedSet, Call: call("ZREVRANGEBYSCORE", Key, "+inf", "-inf")},
	{Command: "ZRANGEBYLEX", What: "members", Before: evenScores, Call: call("ZRANGEBYLEX", Key, "-", "+")},
	{Command: "ZREVRANGEBYLEX", What: "members", Before: evenScores, Call: call("ZREVRANGEBYLEX", Key, "+", "-")},
	{Command: "ZREM", What: "members", Before: aSortedSet, Call: many(1, one, []string{"ZREM", Key})},
	{Command: "ZREMRANGEBYRANK", What: "members", Before: aSortedSet, Call: call("ZREMRANGEBYRANK", Key, "1", "-1")},
	{Command: "ZREMRANGEBYSCORE", What: "members", Before: aSortedSet, Call: call("ZREMRANGEBYSCORE", Key, "1", "+inf")},
	{Command: "ZREMRANGEBYLEX", What: "members", Before: evenScores, Call: call("ZREMRANGEBYLEX", Key, "[element:1", "+")},
	{Command: "ZPOPMIN", What: "members", Before: aSortedSet, Call: nth("ZPOPMIN", Key, "#")},
	{Command: "ZPOPMAX", What: "members", Before: aSortedSet, Call: nth("ZPOPMAX", Key, "#")},
	{Command: "ZMPOP", What: "members", Before: aSortedSet, Call: nth("ZMPOP", "1", Key, "MIN", "COUNT", "#")},
	{Command: "ZMPOP", What: "keys", Call: counted(key, []string{"ZMPOP"}, "MIN")},
	{Command: "BZPOPMIN", What: "keys", Call: many(1, key, []string{"BZPOPMIN"}, "0.01")},
	{Command: "BZPOPMAX", What: "keys", Call: many(1, key, []string{"BZPOPMAX"}, "0.01")},
	{Command: "BZMPOP", What: "keys", Call: counted(key, []string{"BZMPOP", "0.01"}, "MIN")},
	{Command: "BZMPOP", What: "members", Before: aSortedSet, Call: nth("BZMPOP", "0.01", "1", Key, "MAX", "COUNT", "#")},
	{Command: "ZUNION", What: "members of two sorted sets", Before: twoSortedSets, Call: call("ZUNION", "2", Key, "other", "WITHSCORES")},
	{Command: "ZUNION", What: "keys", Before: someSortedSets, Call: counted(key, []string{"ZUNION"})},
	{Command: "ZUNIONSTORE", What: "members of two sorted sets", Before: twoSortedSets, Call: call("ZUNIONSTORE", "to", "2", Key, "other")},
	{Command: "ZINTER", What: "members of two sorted sets", Before: twoSortedSets, Call: call("ZINTER", "2", Key, "other")},
	{Command: "ZINTERSTORE", What: "members of two sorted sets", Before: twoSortedSets, Call: call("ZINTERSTORE", "to", "2", Key, "other")},
	{Command: "ZINTERCARD", What: "members of two sorted sets", Before: twoSortedSets, Call: call("ZINTERCARD", "2", Key, "other")},
	{Command: "ZDIFF", What: "members of two sorted sets", Before: twoSortedSets, Call: call("ZDIFF", "2", Key, "nosuch")},
	{Command: "ZDIFFSTORE", What: "members of two sorted sets", Before: twoSortedSets, Call: call("ZDIFFSTORE", "to", "2", Key, "nosuch")},
	{Command: "ZRANDMEMBER", What: "members", Before: aSortedSet, Call: nth("ZRANDMEMBER", Key, "#", "WITHSCORES")},
	{Command: "ZRANDMEMBER", What: "members drawn", Before: aSortedSet, Call: nth("ZRANDMEMBER", Key, "-#", "WITHSCORES")},
	{Command: "ZRANDMEMBER", What: "of few members, ten times as many drawn", Before: call("ZADD", Key, "1", "a", "2", "b"),
		Call: func(c *Client, n int) { c.Do("ZRANDMEMBER", Key, strconv.Itoa(-10*n), "WITHSCORES") }},
	{Command: "ZSCAN", What: "members", Before: aSortedSet, Call: call("ZSCAN", Key, "0", "COUNT", "1000000000")},
}
