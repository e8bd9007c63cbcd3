package waits

import "strconv"

// entryID names the i-th entry of a stream.
func entryID(i int) string { return strconv.Itoa(i+1) + "-1" }

func id(c *Client, i int) { c.Arg(entryID(i)) }

// aStream is a stream of n entries, to a tenth of them with fields of their own.
var aStream = pipelined(func(c *Client, i int) {
	field := "field"
	if i%10 == 0 {
		field = element(i)
	}
	c.Send("XADD", Key, entryID(i), field, "value:"+strconv.Itoa(i))
})

// aGroup is a stream with a group to which nothing was delivered, and pendingGroup one
// to which all of it was.
var (
	aGroup       = then(aStream, call("XGROUP", "CREATE", Key, "g", "0"))
	pendingGroup = then(aGroup, call("XREADGROUP", "GROUP", "g", "c", "STREAMS", Key, ">"))
)

// manyConsumers is a group with n consumers, each of which has an entry.
var manyConsumers = then(aGroup, pipelined(func(c *Client, i int) {
	c.Send("XREADGROUP", "GROUP", "g", element(i), "COUNT", "1", "STREAMS", Key, ">")
}))

// manyGroups is a stream with n groups.
var manyGroups = then(call("XADD", Key, "1-1", "f", "v"), pipelined(func(c *Client, i int) {
	c.Send("XGROUP", "CREATE", Key, element(i), "0")
}))

// scattered leaves of the pending entries those that are far from each other.
var scattered = then(pendingGroup, func(c *Client, n int) {
	pipelined(func(c *Client, i int) {
		if i%100 == 0 {
			c.Send("PING")
			return
		}
		c.Send("XACK", Key, "g", entryID(i))
	})(c, n)
})

// holed is a stream whose entries are all deleted but the first of each hundred.
var holed = then(aStream, func(c *Client, n int) {
	pipelined(func(c *Client, i int) {
		if i%100 == 0 {
			c.Send("PING")
			return
		}
		c.Send("XDEL", Key, entryID(i))
	})(c, n)
})

// manyNames is a stream to which each of many producers has added an entry.
var manyNames = pipelined(func(c *Client, i int) { c.Send("XADD", Key, "IDMP", element(i), "1", "*", "f", "v") })

var streamCases = []Case{
	{Command: "XADD", What: "fields", Call: many(2, pair, []string{"XADD", Key, "*"})},
	{Command: "XADD", What: "value", Bytes: true, Call: sized(nil, "XADD", Key, "*", "f")},
	{Command: "XADD", What: "entries trimmed", Before: aStream, Call: call("XADD", Key, "MAXLEN", "=", "1", "*", "f", "v")},
	{Command: "XTRIM", What: "entries", Before: aStream, Call: call("XTRIM", Key, "MAXLEN", "0")},
	{Command: "XTRIM", What: "entries by ID", Before: aStream, Call: nth("XTRIM", Key, "MINID", "#/2")},
	{Command: "XRANGE", What: "entries", Before: aStream, Call: call("XRANGE", Key, "-", "+")},
	{Command: "XRANGE", What: "stream", Before: aStream, Call: nth("XRANGE", Key, "#/2", "+", "COUNT", "1")},
	{Command: "XRANGE", What: "entries, most of which are deleted", Before: holed, Call: call("XRANGE", Key, "-", "+")},
	{Command: "XREVRANGE", What: "entries", Before: aStream, Call: call("XREVRANGE", Key, "+", "-")},
	{Command: "XLEN", What: "stream", Before: aStream, Call: call("XLEN", Key)},
	{Command: "XDEL", What: "entries", Before: aStream, Call: many(1, id, []string{"XDEL", Key})},
	{Command: "XSETID", What: "stream", Before: aStream, Call: call("XSETID", Key, "999999999-1")},
	{Command: "XREAD", What: "entries", Before: aStream, Call: call("XREAD", "STREAMS", Key, "0")},
	{Command: "XREAD", What: "keys", Call: keysAndIDs("XREAD", "BLOCK", "10", "STREAMS")},
	{Command: "XREADGROUP", What: "entries", Before: aGroup, Call: call("XREADGROUP", "GROUP", "g", "c", "STREAMS", Key, ">")},
	{Command: "XREADGROUP", What: "entries without acknowledgement", Before: aGroup,
		Call: call("XREADGROUP", "GROUP", "g", "c", "NOACK", "STREAMS", Key, ">")},
	{Command: "XREADGROUP", What: "history", Before: pendingGroup, Call: call("XREADGROUP", "GROUP", "g", "c", "STREAMS", Key, "0")},
	{Command: "XREADGROUP", What: "consumers", Before: manyConsumers, Call: call("XREADGROUP", "GROUP", "g", "new", "STREAMS", Key, ">")},
	{Command: "XREADGROUP", What: "pending entries to claim", Before: pendingGroup,
		Call: call("XREADGROUP", "GROUP", "g", "d", "CLAIM", "0", "STREAMS", Key, ">")},
	{Command: "XREADGROUP", What: "pending entries to claim one of", Before: pendingGroup,
		Call: call("XREADGROUP", "GROUP", "g", "d", "CLAIM", "0", "COUNT", "1", "STREAMS", Key, ">")},
	{Command: "XADD", What: "pending entries", Before: pendingGroup, Call: call("XADD", Key, "MAXLEN", "=", "1", "ACKED", "*", "f", "v")},
	{Command: "XTRIM", What: "pending entries", Before: pendingGroup, Call: call("XTRIM", Key, "MAXLEN", "0", "DELREF")},
	{Command: "XDELEX", What: "pending entries", Before: pendingGroup, Call: numbered([]string{"XDELEX", Key, "DELREF", "IDS"})},
	{Command: "XACKDEL", What: "pending entries", Before: pendingGroup, Call: numbered([]string{"XACKDEL", Key, "g", "IDS"})},
	{Command: "XACK", What: "entries", Before: pendingGroup, Call: many(1, id, []string{"XACK", Key, "g"})},
	{Command: "XNACK", What: "entries", Before: pendingGroup, Call: numbered([]string{"XNACK", Key, "g", "FAIL", "IDS"})},
	{Command: "XADD", What: "names", Before: manyNames, Call: call("XADD", Key, "IDMP", "p", "new", "*", "f", "v")},
	{Command: "XCFGSET", What: "names", Before: manyNames, Call: call("XCFGSET", Key, "IDMP-DURATION", "7")},
	{Command: "XREAD", What: "entries, some of which fit", Before: aStream, Call: call("XREAD", "MAXSIZE", "100000", "STREAMS", Key, "0")},
	{Command: "XPENDING", What: "entries", Before: pendingGroup, Call: nth("XPENDING", Key, "g", "-", "+", "#")},
	{Command: "XPENDING", What: "consumers", Before: manyConsumers, Call: call("XPENDING", Key, "g")},
	{Command: "XPENDING", What: "entries of a consumer", Before: scattered, Call: nth("XPENDING", Key, "g", "-", "+", "#", "c")},
	{Command: "XCLAIM", What: "entries", Before: pendingGroup, Call: many(1, id, []string{"XCLAIM", Key, "g", "d", "0"}, "JUSTID")},
	{Command: "XAUTOCLAIM", What: "entries", Before: pendingGroup, Call: nth("XAUTOCLAIM", Key, "g", "d", "0", "-", "COUNT", "#")},
	{Command: "XGROUP CREATE", What: "groups", Before: manyGroups, Call: call("XGROUP", "CREATE", Key, "another", "0")},
	{Command: "XGROUP SETID", What: "stream", Before: pendingGroup, Call: call("XGROUP", "SETID", Key, "g", "0")},
	{Command: "XGROUP DESTROY", What: "pending entries", Before: pendingGroup, Call: call("XGROUP", "DESTROY", Key, "g")},
	{Command: "XGROUP CREATECONSUMER", What: "consumers", Before: manyConsumers, Call: call("XGROUP", "CREATECONSUMER", Key, "g", "new")},
	{Command: "XGROUP DELCONSUMER", What: "pending entries", Before: pendingGroup, Call: call("XGROUP", "DELCONSUMER", Key, "g", "c")},
	{Command: "XINFO STREAM", What: "consumers", Before: manyConsumers, Call: call("XINFO", "STREAM", Key, "FULL")},
	{Command: "XINFO STREAM", What: "entries", Before: pendingGroup, Call: call("XINFO", "STREAM", Key, "FULL", "COUNT", "0")},
	{Command: "XINFO GROUPS", What: "groups", Before: manyGroups, Call: call("XINFO", "GROUPS", Key)},
	{Command: "XINFO CONSUMERS", What: "consumers", Before: manyConsumers, Call: call("XINFO", "CONSUMERS", Key, "g")},
}

// keysAndIDs makes a call with n keys and as many IDs.
func keysAndIDs(head ...string) func(*Client, int) {
	return func(c *Client, n int) {
		c.Array(len(head) + 2*n)
		for _, a := range head {
			c.Arg(a)
		}
		for i := range n {
			key(c, i)
		}
		for range n {
			c.Arg("$")
		}
		c.Receive(1)
	}
}

// numbered is a call about all entries, before which it gives their number.
func numbered(head []string) func(*Client, int) {
	return func(c *Client, n int) { many(1, id, append(head[:len(head):len(head)], strconv.Itoa(n)))(c, n) }
}
