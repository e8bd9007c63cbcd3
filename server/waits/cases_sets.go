package waits

import "strconv"

// timedSet is a set whose members all expire.
var timedSet = then(aSet, counted(mixed, []string{"SEXPIRE", Key, "1000", "MEMBERS"}))

var setCases = []Case{
	{Command: "SADD", What: "members", Call: many(1, mixed, []string{"SADD", Key})},
	{Command: "SADD", What: "a word to integers", Before: built(1, func(c *Client, i int) { c.Arg(strconv.Itoa(i)) }, "SADD", Key),
		Call: call("SADD", Key, "word")},
	{Command: "SREM", What: "members", Before: aSet, Call: many(1, mixed, []string{"SREM", Key})},
	{Command: "SMOVE", What: "set", Before: aSet, Call: call("SMOVE", Key, "other", "0")},
	{Command: "SISMEMBER", What: "set", Before: aSet, Call: call("SISMEMBER", Key, "0")},
	{Command: "SMISMEMBER", What: "members", Before: aSet, Call: many(1, mixed, []string{"SMISMEMBER", Key})},
	{Command: "SCARD", What: "set", Before: aSet, Call: call("SCARD", Key)},
	{Command: "SMEMBERS", What: "members", Before: aSet, Call: call("SMEMBERS", Key)},
	{Command: "SSCAN", What: "members", Before: aSet, Call: call("SSCAN", Key, "0", "COUNT", "1000000000")},
	{Command: "SPOP", What: "half of the members", Before: aSet, Call: nth("SPOP", Key, "#/2")},
	{Command: "SPOP", What: "members", Before: aSet, Call: nth("SPOP", Key, "#")},
	{Command: "SRANDMEMBER", What: "half of the members", Before: aSet, Call: nth("SRANDMEMBER", Key, "#/2")},
	{Command: "SRANDMEMBER", What: "members drawn", Before: aSet, Call: nth("SRANDMEMBER", Key, "-#")},
	{Command: "SRANDMEMBER", What: "of few members, ten times as many drawn", Before: call("SADD", Key, "a", "1"),
		Call: func(c *Client, n int) { c.Do("SRANDMEMBER", Key, strconv.Itoa(-10*n)) }},
	{Command: "SINTER", What: "members", Before: twoSets, Call: call("SINTER", Key, "other")},
	{Command: "SINTER", What: "keys", Before: aSet, Call: many(1, words(Key), []string{"SINTER"})},
	{Command: "SUNION", What: "keys", Before: aSet, Call: many(1, words(Key), []string{"SUNION"})},
	{Command: "SDIFF", What: "keys", Before: aSet, Call: many(1, words(Key), []string{"SDIFF"})},
	{Command: "SUNIONCARD", What: "members", Before: twoSets, Call: call("SUNIONCARD", "2", Key, "other")},
	{Command: "SDIFFCARD", What: "members", Before: twoSets, Call: call("SDIFFCARD", "2", Key, "other")},
	{Command: "SEXPIRE", What: "members", Before: aSet, Call: counted(mixed, []string{"SEXPIRE", Key, "1000", "MEMBERS"})},
	{Command: "SEXPIRE", What: "members that go", Before: aSet, Call: counted(mixed, []string{"SEXPIRE", Key, "0", "MEMBERS"})},
	{Command: "SPEXPIRE", What: "members", Before: aSet, Call: counted(mixed, []string{"SPEXPIRE", Key, "1000000", "MEMBERS"})},
	{Command: "SEXPIREAT", What: "members", Before: aSet, Call: counted(mixed, []string{"SEXPIREAT", Key, "9999999999", "MEMBERS"})},
	{Command: "SPEXPIREAT", What: "members", Before: aSet, Call: counted(mixed, []string{"SPEXPIREAT", Key, "9999999999999", "MEMBERS"})},
	{Command: "STTL", What: "members", Before: timedSet, Call: counted(mixed, []string{"STTL", Key, "MEMBERS"})},
	{Command: "SPTTL", What: "members", Before: timedSet, Call: counted(mixed, []string{"SPTTL", Key, "MEMBERS"})},
	{Command: "SEXPIRETIME", What: "members", Before: timedSet, Call: counted(mixed, []string{"SEXPIRETIME", Key, "MEMBERS"})},
	{Command: "SPEXPIRETIME", What: "members", Before: timedSet, Call: counted(mixed, []string{"SPEXPIRETIME", Key, "MEMBERS"})},
	{Command: "SADDEX", What: "members", Before: aSet, Call: counted(mixed, []string{"SADDEX", Key, "EX", "1000", "MEMBERS"})},
	{Command: "SADDEX", What: "members that go", Before: aSet, Call: counted(mixed, []string{"SADDEX", Key, "EX", "0", "MEMBERS"})},
	{Command: "SPERSIST", What: "members", Before: timedSet, Call: counted(mixed, []string{"SPERSIST", Key, "MEMBERS"})},
	{Command: "SINTERCARD", What: "members", Before: twoSets, Call: call("SINTERCARD", "2", Key, "other")},
	{Command: "SINTERSTORE", What: "members", Before: twoSets, Call: call("SINTERSTORE", "third", Key, "other")},
	{Command: "SUNION", What: "members", Before: twoSets, Call: call("SUNION", Key, "other")},
	{Command: "SUNIONSTORE", What: "members", Before: twoSets, Call: call("SUNIONSTORE", "third", Key, "other")},
	{Command: "SDIFF", What: "members", Before: twoSets, Call: call("SDIFF", Key, "nosuch")},
	{Command: "SDIFFSTORE", What: "members", Before: twoSets, Call: call("SDIFFSTORE", "third", Key, "nosuch")},
}
