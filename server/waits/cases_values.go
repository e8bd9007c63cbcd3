package waits

import "strconv"

var listCases = []Case{
	{Command: "LPUSH", What: "elements", Call: many(1, one, []string{"LPUSH", Key})},
	{Command: "RPUSH", What: "elements", Call: many(1, one, []string{"RPUSH", Key})},
	{Command: "RPUSH", What: "element", Bytes: true, Call: sized(nil, "RPUSH", Key)},
	{Command: "LPUSHX", What: "elements", Before: call("LPUSH", Key, "x"), Call: many(1, one, []string{"LPUSHX", Key})},
	{Command: "RPUSHX", What: "elements", Before: call("LPUSH", Key, "x"), Call: many(1, one, []string{"RPUSHX", Key})},
	{Command: "LPOP", What: "elements", Before: aList, Call: nth("LPOP", Key, "#")},
	{Command: "RPOP", What: "elements", Before: aList, Call: nth("RPOP", Key, "#")},
	{Command: "LMPOP", What: "elements", Before: aList, Call: nth("LMPOP", "1", Key, "LEFT", "COUNT", "#")},
	{Command: "LMPOP", What: "keys", Call: counted(key, []string{"LMPOP"}, "LEFT")},
	{Command: "BLPOP", What: "keys", Call: many(1, key, []string{"BLPOP"}, "0.01")},
	{Command: "BLPOP", What: "keys, and then leaves", Call: elsewhere(waiting)},
	{Command: "BRPOP", What: "keys", Call: many(1, key, []string{"BRPOP"}, "0.01")},
	{Command: "BLMPOP", What: "keys", Call: counted(key, []string{"BLMPOP", "0.01"}, "LEFT")},
	{Command: "BLMPOP", What: "elements", Before: aList, Call: nth("BLMPOP", "0.01", "1", Key, "LEFT", "COUNT", "#")},
	{Command: "LMOVE", What: "list", Before: aList, Call: call("LMOVE", Key, "other", "LEFT", "RIGHT")},
	{Command: "LMOVEM", What: "elements", Before: aList, Call: nth("LMOVEM", Key, "other", "LEFT", "RIGHT", "COUNT", "#", "BULK")},
	{Command: "BLMOVEM", What: "elements", Before: aList, Call: nth("BLMOVEM", Key, "other", "LEFT", "RIGHT", "1", "EXACTLY", "#", "OBO")},
	{Command: "RPOPLPUSH", What: "list", Before: aList, Call: call("RPOPLPUSH", Key, "other")},
	{Command: "BLMOVE", What: "list", Before: aList, Call: call("BLMOVE", Key, "other", "LEFT", "RIGHT", "1")},
	{Command: "BRPOPLPUSH", What: "list", Before: aList, Call: call("BRPOPLPUSH", Key, "other", "1")},
	{Command: "LLEN", What: "list", Before: aList, Call: call("LLEN", Key)},
	{Command: "LINDEX", What: "list", Before: aList, Call: nth("LINDEX", Key, "#/2")},
	{Command: "LRANGE", What: "elements", Before: aList, Call: call("LRANGE", Key, "0", "-1")},
	{Command: "LPOS", What: "list", Before: aList, Call: nth("LPOS", Key, "last")},
	{Command: "LPOS", What: "elements found", Before: built(1, words("same"), "RPUSH", Key), Call: call("LPOS", Key, "same", "COUNT", "0")},
	{Command: "LSET", What: "list", Before: aList, Call: nth("LSET", Key, "#/2", "other")},
	{Command: "LINSERT", What: "list", Before: aList, Call: nth("LINSERT", Key, "AFTER", "last", "other")},
	{Command: "LREM", What: "elements", Before: built(2, words("same", "other"), "RPUSH", Key), Call: call("LREM", Key, "0", "same")},
	{Command: "LTRIM", What: "elements", Before: aList, Call: nth("LTRIM", Key, "#/2", "#/2")},
}

var hashCases = []Case{
	{Command: "HGET", What: "hash", Before: aHash, Call: nth("HGET", Key, "last")},
	{Command: "HMGET", What: "fields", Before: aHash, Call: many(1, one, []string{"HMGET", Key})},
	{Command: "HGETALL", What: "fields", Before: aHash, Call: call("HGETALL", Key)},
	{Command: "HKEYS", What: "fields", Before: aHash, Call: call("HKEYS", Key)},
	{Command: "HVALS", What: "fields", Before: aHash, Call: call("HVALS", Key)},
	{Command: "HLEN", What: "hash", Before: aHash, Call: call("HLEN", Key)},
	{Command: "HEXISTS", What: "hash", Before: aHash, Call: nth("HEXISTS", Key, "last")},
	{Command: "HSTRLEN", What: "hash", Before: aHash, Call: nth("HSTRLEN", Key, "last")},
	{Command: "HSET", What: "fields", Call: many(2, pair, []string{"HSET", Key})},
	{Command: "HMSET", What: "fields", Call: many(2, pair, []string{"HMSET", Key})},
	{Command: "HSETNX", What: "value", Bytes: true, Call: sized(nil, "HSETNX", Key, "field")},
	{Command: "HDEL", What: "fields", Before: aHash, Call: many(1, one, []string{"HDEL", Key})},
	{Command: "HINCRBY", What: "hash", Before: aHash, Call: call("HINCRBY", Key, "counter", "1")},
	{Command: "HINCRBYFLOAT", What: "hash", Before: aHash, Call: call("HINCRBYFLOAT", Key, "counter", "1.5")},
	{Command: "HRANDFIELD", What: "fields", Before: aHash, Call: nth("HRANDFIELD", Key, "#", "WITHVALUES")},
	{Command: "HRANDFIELD", What: "fields drawn", Before: aHash, Call: nth("HRANDFIELD", Key, "-#", "WITHVALUES")},
	{Command: "HRANDFIELD", What: "of few fields, ten times as many drawn", Before: call("HSET", Key, "a", "1", "b", "2"),
		Call: func(c *Client, n int) { c.Do("HRANDFIELD", Key, strconv.Itoa(-10*n), "WITHVALUES") }},
	{Command: "HSCAN", What: "fields", Before: aHash, Call: call("HSCAN", Key, "0", "COUNT", "1000000000")},
}

// expiring makes a hash whose fields all expire.
var expiring = then(aHash, counted(one, []string{"HEXPIRE", Key, "1000", "FIELDS"}))

var hashFieldCases = []Case{
	{Command: "HEXPIRE", What: "fields", Before: aHash, Call: counted(one, []string{"HEXPIRE", Key, "1000", "FIELDS"})},
	{Command: "HEXPIRE", What: "fields that go", Before: aHash, Call: counted(one, []string{"HEXPIRE", Key, "0", "FIELDS"})},
	{Command: "HPEXPIRE", What: "fields", Before: aHash, Call: counted(one, []string{"HPEXPIRE", Key, "1000000", "FIELDS"})},
	{Command: "HPEXPIRE", What: "fields that expire", Before: aHash, Call: then(counted(one, []string{"HPEXPIRE", Key, "1", "FIELDS"}), call("HLEN", Key))},
	{Command: "HEXPIREAT", What: "fields", Before: aHash, Call: counted(one, []string{"HEXPIREAT", Key, "9999999999", "FIELDS"})},
	{Command: "HPEXPIREAT", What: "fields", Before: aHash, Call: counted(one, []string{"HPEXPIREAT", Key, "9999999999999", "FIELDS"})},
	{Command: "HTTL", What: "fields", Before: expiring, Call: counted(one, []string{"HTTL", Key, "FIELDS"})},
	{Command: "HPTTL", What: "fields", Before: expiring, Call: counted(one, []string{"HPTTL", Key, "FIELDS"})},
	{Command: "HEXPIRETIME", What: "fields", Before: expiring, Call: counted(one, []string{"HEXPIRETIME", Key, "FIELDS"})},
	{Command: "HPEXPIRETIME", What: "fields", Before: expiring, Call: counted(one, []string{"HPEXPIRETIME", Key, "FIELDS"})},
	{Command: "HPERSIST", What: "fields", Before: expiring, Call: counted(one, []string{"HPERSIST", Key, "FIELDS"})},
	{Command: "HGETDEL", What: "fields", Before: expiring, Call: counted(one, []string{"HGETDEL", Key, "FIELDS"})},
	{Command: "HGETEX", What: "fields", Before: expiring, Call: counted(one, []string{"HGETEX", Key, "EX", "1000", "FIELDS"})},
	{Command: "HSETEX", What: "fields", Before: expiring, Call: func(c *Client, n int) {
		many(2, pair, []string{"HSETEX", Key, "EX", "1000", "FIELDS", strconv.Itoa(n)})(c, n)
	}},
}

var sketchCases = []Case{
	{Command: "PFADD", What: "elements", Call: many(1, one, []string{"PFADD", Key})},
	{Command: "PFCOUNT", What: "keys", Before: someSketches, Call: many(1, key, []string{"PFCOUNT"})},
	{Command: "PFMERGE", What: "keys", Before: someSketches, Call: many(1, key, []string{"PFMERGE", "other"})},
	{Command: "PFMERGE", What: "a hundredth as many dense keys", Before: denseSketches,
		Call: func(c *Client, n int) { many(1, key, []string{"PFMERGE", "other"})(c, n/100) }},
	{Command: "PFDEBUG", What: "sketch", Before: built(1, one, "PFADD", Key), Call: call("PFDEBUG", "GETREG", Key)},
	{Command: "BF.RESERVE", What: "capacity", Bytes: true, Call: nth("BF.RESERVE", Key, "0.01", "#")},
	{Command: "BF.ADD", What: "filter", Before: aFilter, Call: call("BF.ADD", Key, "x")},
	{Command: "BF.MADD", What: "items", Call: many(1, one, []string{"BF.MADD", Key})},
	{Command: "BF.INSERT", What: "items", Call: many(1, one, []string{"BF.INSERT", Key, "ITEMS"})},
	{Command: "BF.EXISTS", What: "filter", Before: aFilter, Call: call("BF.EXISTS", Key, "x")},
	{Command: "BF.MEXISTS", What: "items", Before: aFilter, Call: many(1, one, []string{"BF.MEXISTS", Key})},
	{Command: "BF.INFO", What: "filter", Before: aFilter, Call: call("BF.INFO", Key)},
	{Command: "BF.DEBUG", What: "filter", Before: aFilter, Call: call("BF.DEBUG", Key)},
	{Command: "BF.CARD", What: "filter", Before: aFilter, Call: call("BF.CARD", Key)},
	{Command: "BF.SCANDUMP", What: "filter", Bytes: true, Before: nth("BF.RESERVE", Key, "0.01", "#"),
		Call: then(call("BF.SCANDUMP", Key, "0"), call("BF.SCANDUMP", Key, "1"))},
	{Command: "BF.MERGE", What: "filter", Bytes: true, Before: nth("BF.RESERVE", Key, "0.01", "#"), Call: call("BF.MERGE", Key, "1", Key)},
	{Command: "CF.MERGE", What: "filter", Before: aCuckoo, Call: call("CF.MERGE", Key, "1", Key)},
	{Command: "CF.MERGE", What: "slots", Bytes: true, Before: then(loaded(Key), loaded("other")), Call: call("CF.MERGE", Key, "1", "other")},
	{Command: "CF.COMPACT", What: "slots", Bytes: true, Before: loaded(Key), Call: call("CF.COMPACT", Key)},
	{Command: "CF.DEL", What: "slots that are compacted", Bytes: true, Before: then(loaded(Key), call("CF.ADD", Key, "x")), Call: call("CF.DEL", Key, "x")},
	{Command: "COPY", What: "slots", Bytes: true, Before: loaded(Key), Call: call("COPY", Key, "other")},
	{Command: "DUMP", What: "slots", Bytes: true, Before: loaded(Key), Call: call("DUMP", Key)},
	{Command: "RESTORE", What: "slots", Bytes: true, Before: then(loaded(Key), func(c *Client, _ int) { c.Keep("DUMP", Key) }),
		Call: func(c *Client, _ int) { c.Do("RESTORE", Key, "0", string(c.text), "REPLACE") }},
	{Command: "CMS.MERGE", What: "cells of a hundred sketches", Before: aHundredSketches, Call: func(c *Client, n int) {
		many(1, key, []string{"CMS.MERGE", Key, "100"})(c, 100)
	}},
	{Command: "TDIGEST.MERGE", What: "digests, a hundredth as many", Before: someDigests,
		Call: func(c *Client, n int) { many(1, key, []string{"TDIGEST.MERGE", Key, strconv.Itoa(n / 100)})(c, n/100) }},
	{Command: "TOPK.INCRBY", What: "draws, ten thousand times as many", Before: then(call("TOPK.RESERVE", Key, "1", "1", "1", "1"), call("TOPK.INCRBY", Key, "x", "100000")),
		Call: func(c *Client, n int) {
			many(2, func(c *Client, i int) { c.Arg(element(i)); c.Arg("100000") }, []string{"TOPK.INCRBY", Key})(c, min(n/10, 10_000))
		}},
	{Command: "CF.RESERVE", What: "capacity", Bytes: true, Call: nth("CF.RESERVE", Key, "#")},
	{Command: "CF.ADD", What: "filter", Before: aCuckoo, Call: call("CF.ADD", Key, "x")},
	{Command: "CF.ADDNX", What: "filter", Before: aCuckoo, Call: call("CF.ADDNX", Key, "x")},
	{Command: "CF.INSERT", What: "items", Before: call("CF.RESERVE", Key, "2000000"), Call: many(1, one, []string{"CF.INSERT", Key, "ITEMS"})},
	{Command: "CF.INSERTNX", What: "items", Before: call("CF.RESERVE", Key, "2000000"), Call: many(1, one, []string{"CF.INSERTNX", Key, "ITEMS"})},
	{Command: "CF.EXISTS", What: "filter", Before: aCuckoo, Call: call("CF.EXISTS", Key, "x")},
	{Command: "CF.MEXISTS", What: "items", Before: aCuckoo, Call: many(1, one, []string{"CF.MEXISTS", Key})},
	{Command: "CF.DEL", What: "filter", Before: aCuckoo, Call: call("CF.DEL", Key, element(1))},
	{Command: "CF.COUNT", What: "filter", Before: aCuckoo, Call: call("CF.COUNT", Key, "x")},
	{Command: "CF.COMPACT", What: "filter", Before: aCuckoo, Call: call("CF.COMPACT", Key)},
	{Command: "CF.INFO", What: "filter", Before: aCuckoo, Call: call("CF.INFO", Key)},
	{Command: "CF.DEBUG", What: "filter", Before: aCuckoo, Call: call("CF.DEBUG", Key)},
	{Command: "CF.SCANDUMP", What: "filter", Bytes: true, Before: then(nth("CF.RESERVE", Key, "#"), call("CF.ADD", Key, "x")), Call: call("CF.SCANDUMP", Key, "1")},
	{Command: "CF.LOADCHUNK", What: "data", Bytes: true, Call: refused(sized(nil, "CF.LOADCHUNK", Key, "2"))},
	{Command: "CMS.INITBYDIM", What: "width", Call: nth("CMS.INITBYDIM", Key, "#", "10")},
	{Command: "CMS.INITBYPROB", What: "sketch", Call: call("CMS.INITBYPROB", Key, "0.00001", "0.001")},
	{Command: "CMS.INCRBY", What: "items", Before: aSketch, Call: many(2, increment, []string{"CMS.INCRBY", Key})},
	{Command: "CMS.QUERY", What: "items", Before: aSketch, Call: many(1, one, []string{"CMS.QUERY", Key})},
	{Command: "CMS.MERGE", What: "cells", Before: aSketch, Call: call("CMS.MERGE", Key, "1", Key)},
	{Command: "CMS.INFO", What: "sketch", Before: aSketch, Call: call("CMS.INFO", Key)},
	{Command: "TOPK.RESERVE", What: "k", Call: nth("TOPK.RESERVE", Key, "#")},
	{Command: "TOPK.ADD", What: "items", Before: aTop, Call: many(1, one, []string{"TOPK.ADD", Key})},
	{Command: "TOPK.INCRBY", What: "items", Before: aTop, Call: many(2, increment, []string{"TOPK.INCRBY", Key})},
	{Command: "TOPK.QUERY", What: "items", Before: aTop, Call: many(1, one, []string{"TOPK.QUERY", Key})},
	{Command: "TOPK.COUNT", What: "items", Before: aTop, Call: many(1, one, []string{"TOPK.COUNT", Key})},
	{Command: "TOPK.LIST", What: "items", Before: then(aTop, built(1, one, "TOPK.ADD", Key)), Call: call("TOPK.LIST", Key, "WITHCOUNT")},
	{Command: "TOPK.INFO", What: "list", Before: aTop, Call: call("TOPK.INFO", Key)},
	{Command: "TDIGEST.CREATE", What: "compression", Call: nth("TDIGEST.CREATE", Key, "COMPRESSION", "#")},
	{Command: "TDIGEST.RESET", What: "digest", Before: aDigest, Call: call("TDIGEST.RESET", Key)},
	{Command: "TDIGEST.MIN", What: "digest", Before: aDigest, Call: call("TDIGEST.MIN", Key)},
	{Command: "TDIGEST.MAX", What: "digest", Before: aDigest, Call: call("TDIGEST.MAX", Key)},
	{Command: "TDIGEST.QUANTILE", What: "digest", Before: aDigest, Call: call("TDIGEST.QUANTILE", Key, "0.5")},
	{Command: "TDIGEST.CDF", What: "digest", Before: aDigest, Call: call("TDIGEST.CDF", Key, "0.5")},
	{Command: "TDIGEST.RANK", What: "digest", Before: aDigest, Call: call("TDIGEST.RANK", Key, "0.5")},
	{Command: "TDIGEST.REVRANK", What: "digest", Before: aDigest, Call: call("TDIGEST.REVRANK", Key, "0.5")},
	{Command: "TDIGEST.BYRANK", What: "digest", Before: aDigest, Call: call("TDIGEST.BYRANK", Key, "5")},
	{Command: "TDIGEST.BYREVRANK", What: "digest", Before: aDigest, Call: call("TDIGEST.BYREVRANK", Key, "5")},
	{Command: "TDIGEST.TRIMMED_MEAN", What: "digest", Before: aDigest, Call: call("TDIGEST.TRIMMED_MEAN", Key, "0.1", "0.9")},
	{Command: "TDIGEST.INFO", What: "digest", Before: aDigest, Call: call("TDIGEST.INFO", Key)},
	{Command: "TDIGEST.MERGE", What: "digest", Before: aDigest, Call: call("TDIGEST.MERGE", Key, "1", Key)},
	{Command: "TDIGEST.ADD", What: "values", Before: call("TDIGEST.CREATE", Key), Call: many(1, number, []string{"TDIGEST.ADD", Key})},
	{Command: "BF.LOADCHUNK", What: "data", Bytes: true, Call: refused(sized(nil, "BF.LOADCHUNK", Key, "2"))},
}

// someSketches makes n HyperLogLogs of one element.
var someSketches = pipelined(func(c *Client, i int) { c.Send("PFADD", name(i), element(i)) })

// aHundredSketches makes a hundred of n cells each.
func aHundredSketches(c *Client, n int) {
	for i := range 100 {
		c.Do("CMS.INITBYDIM", name(i), strconv.Itoa(max(1, n/10)), "10")
		many(2, increment, []string{"CMS.INCRBY", name(i)})(c, 1000)
	}
}

// someDigests makes n/100 of a thousand values.
func someDigests(c *Client, n int) {
	c.Do("TDIGEST.CREATE", Key, "COMPRESSION", "1000")
	many(1, number, []string{"TDIGEST.ADD", Key})(c, 1000)
	for i := 1; i < n/100; i++ {
		c.Do("COPY", Key, name(i))
	}
}

// denseSketches makes n/100 in the form that writes out every register.
func denseSketches(c *Client, n int) {
	built(1, one, "PFADD", Key)(c, 20_000)
	for i := 1; i < n/100; i++ {
		c.Do("COPY", Key, name(i))
	}
}
