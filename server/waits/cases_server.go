package waits

import "strconv"

var connectionCases = []Case{
	{Command: "PING", What: "message", Bytes: true, Call: sized(nil, "PING")},
	{Command: "ECHO", What: "message", Bytes: true, Call: sized(nil, "ECHO")},
	{Command: "AUTH", What: "password", Bytes: true, Call: refused(sized(nil, "AUTH", "default"))},
	{Command: "CLIENT SETNAME", What: "name", Bytes: true, Call: sized(nil, "CLIENT", "SETNAME")},
	{Command: "CLIENT SETINFO", What: "version", Bytes: true, Call: sized(nil, "CLIENT", "SETINFO", "LIB-VER")},
	{Command: "CLIENT TRACKING", What: "prefix", Bytes: true, Call: refused(sized(nil, "CLIENT", "TRACKING", "ON", "BCAST", "PREFIX"))},
	{Command: "CLIENT LIST", What: "identifiers", Call: many(1, number, []string{"CLIENT", "LIST", "ID"})},
	{Command: "CLIENT LIST", What: "a hundredth as many clients", Before: clients, Call: call("CLIENT", "LIST")},
	{Command: "CLIENT KILL", What: "a hundredth as many clients", Before: clients,
		Call: call("CLIENT", "KILL", "TYPE", "pubsub")},
}

// number writes a positive number.
func number(c *Client, i int) { c.Arg(strconv.Itoa(i + 1)) }

// refused drops the error of a call that has to be refused, or is while a snapshot is
// being written.
func refused(f func(*Client, int)) func(*Client, int) {
	return func(c *Client, n int) {
		before := c.err
		f(c, n)
		c.err = before
	}
}

// clients connects n/100 of them, which listen to a channel each.
func clients(c *Client, n int) {
	for range n / 100 {
		c.Another().Do("SUBSCRIBE", Key)
	}
}

var transactionCases = []Case{
	{Command: "EXEC", What: "calls", Before: then(call("MULTI"), queued), Call: call("EXEC")},
	{Command: "EXEC", What: "watched keys", Before: then(many(1, key, []string{"WATCH"}), call("MULTI")), Call: call("EXEC")},
	{Command: "DISCARD", What: "calls", Before: then(many(1, key, []string{"WATCH"}), call("MULTI"), queued), Call: call("DISCARD")},
	{Command: "WATCH", What: "keys", Call: many(1, key, []string{"WATCH"})},
	{Command: "WATCH", What: "keys that change", Call: then(many(1, key, []string{"WATCH"}), someKeys)},
	{Command: "UNWATCH", What: "keys", Before: many(1, key, []string{"WATCH"}), Call: call("UNWATCH")},
}

var queued = pipelined(func(c *Client, i int) { c.Send("SET", name(i), "value") })

var pubsubCases = []Case{
	{Command: "SUBSCRIBE", What: "channels", Call: replies(key, "SUBSCRIBE")},
	{Command: "UNSUBSCRIBE", What: "channels", Before: replies(key, "SUBSCRIBE"), Call: replies(key, "UNSUBSCRIBE")},
	{Command: "PSUBSCRIBE", What: "patterns", Call: replies(key, "PSUBSCRIBE")},
	{Command: "PUNSUBSCRIBE", What: "patterns", Before: replies(key, "PSUBSCRIBE"), Call: leaving("PUNSUBSCRIBE")},
	{Command: "SSUBSCRIBE", What: "channels", Call: replies(key, "SSUBSCRIBE")},
	{Command: "SUNSUBSCRIBE", What: "channels", Before: replies(key, "SSUBSCRIBE"), Call: leaving("SUNSUBSCRIBE")},
	{Command: "PUBLISH", What: "patterns", Before: elsewhere(replies(key, "PSUBSCRIBE")), Call: call("PUBLISH", Key, "message")},
	{Command: "PUBLISH", What: "a hundredth as many subscribers", Before: clients, Call: call("PUBLISH", Key, "message")},
	{Command: "PUBLISH", What: "message", Bytes: true, Call: sized(nil, "PUBLISH", Key)},
	{Command: "SPUBLISH", What: "message", Bytes: true, Call: sized(nil, "SPUBLISH", Key)},
	{Command: "PUBSUB CHANNELS", What: "channels", Before: elsewhere(replies(key, "SUBSCRIBE")), Call: call("PUBSUB", "CHANNELS")},
	{Command: "PUBSUB NUMSUB", What: "channels", Call: many(1, key, []string{"PUBSUB", "NUMSUB"})},
	{Command: "PUBSUB SHARDCHANNELS", What: "channels", Before: elsewhere(replies(key, "SSUBSCRIBE")), Call: call("PUBSUB", "SHARDCHANNELS")},
	{Command: "PUBSUB SHARDNUMSUB", What: "channels", Call: many(1, key, []string{"PUBSUB", "SHARDNUMSUB"})},
}

var serverCases = []Case{
	{Command: "INFO", What: "sections", Call: many(1, words("all"), []string{"INFO"})},
	{Command: "MONITOR", What: "keys of a call", Before: elsewhere(call("MONITOR")), Call: many(2, keyPair, []string{"MSET"})},
	{Command: "LOLWUT", What: "picture", Call: nth("LOLWUT", "VERSION", "5", "#", "#", "#")},
	{Command: "COMMAND INFO", What: "names", Call: many(1, words("get"), []string{"COMMAND", "INFO"})},
	{Command: "COMMAND DOCS", What: "names", Call: many(1, words("get"), []string{"COMMAND", "DOCS"})},
	{Command: "COMMAND LIST", What: "pattern", Bytes: true, Call: sized(nil, "COMMAND", "LIST", "FILTERBY", "PATTERN")},
	{Command: "COMMAND GETKEYS", What: "keys", Call: many(2, keyPair, []string{"COMMAND", "GETKEYS", "MSET"})},
	{Command: "COMMAND GETKEYSANDFLAGS", What: "keys", Call: many(2, keyPair, []string{"COMMAND", "GETKEYSANDFLAGS", "MSET"})},
	{Command: "CONFIG GET", What: "patterns", Call: many(1, words("*max*"), []string{"CONFIG", "GET"})},
	{Command: "CONFIG SET", What: "directives", Call: refused(many(2, words("timeout", "0"), []string{"CONFIG", "SET"}))},
	{Command: "SAVE", What: "keys", Before: someKeys, Call: refused(call("SAVE"))},
	{Command: "BGSAVE", What: "keys", Before: someKeys, Call: refused(call("BGSAVE"))},
	{Command: "VIGIL.SNAPSHOT CREATE", What: "keys", Before: someKeys, Call: refused(call("VIGIL.SNAPSHOT", "CREATE"))},
	{Command: "SLOWLOG GET", What: "entries", Before: slowCalls, Call: then(call("SLOWLOG", "GET", "-1"), slowEnd)},
	{Command: "SLOWLOG RESET", What: "entries", Before: slowCalls, Call: then(call("SLOWLOG", "RESET"), slowEnd)},
	{Command: "MEMORY USAGE", What: "list", Before: aList, Call: call("MEMORY", "USAGE", Key, "SAMPLES", "0")},
	{Command: "MEMORY PURGE", What: "keys", Before: someKeys, Call: call("MEMORY", "PURGE")},
	{Command: "LATENCY HISTORY", What: "event", Bytes: true, Call: refused(sized(nil, "LATENCY", "HISTORY"))},
	{Command: "LATENCY GRAPH", What: "event", Bytes: true, Call: refused(sized(nil, "LATENCY", "GRAPH"))},
	{Command: "LATENCY HISTOGRAM", What: "commands", Call: many(1, key, []string{"LATENCY", "HISTOGRAM"})},
	{Command: "LATENCY RESET", What: "events", Call: many(1, key, []string{"LATENCY", "RESET"})},
	{Command: "ACL CAT", What: "category", Bytes: true, Call: refused(sized(nil, "ACL", "CAT"))},
	{Command: "ACL SETUSER", What: "rules", Call: refused(many(1, words("+get"), []string{"ACL", "SETUSER", Key, "on"}))},
	{Command: "ACL SETUSER", What: "rule", Bytes: true, Call: refused(sized(nil, "ACL", "SETUSER", Key))},
	{Command: "ACL DELUSER", What: "names", Call: many(1, key, []string{"ACL", "DELUSER"})},
	{Command: "ACL GETUSER", What: "name", Bytes: true, Call: refused(sized(nil, "ACL", "GETUSER"))},
	{Command: "ACL DRYRUN", What: "arguments", Call: many(1, key, []string{"ACL", "DRYRUN", "default", "DEL"})},
	{Command: "ACL LIST", What: "patterns", Before: aUser, Call: then(call("ACL", "LIST"), noUser)},
	{Command: "ACL USERS", What: "patterns", Before: aUser, Call: then(call("ACL", "USERS"), noUser)},
	{Command: "ACL LOG", What: "count", Bytes: true, Call: refused(sized(nil, "ACL", "LOG"))},
	{Command: "DBSIZE", What: "keys", Before: someKeys, Call: call("DBSIZE")},
	{Command: "FLUSHDB", What: "keys", Before: someKeys, Call: call("FLUSHDB")},
	{Command: "FLUSHDB", What: "watched keys", Before: then(someKeys, many(1, key, []string{"WATCH"})), Call: call("FLUSHDB")},
	{Command: "FLUSHALL", What: "keys", Before: someKeys, Call: call("FLUSHALL")},
	{Command: "FLUSHALL", What: "keys waited for", Before: then(someKeys, elsewhere(waiting)), Call: call("FLUSHALL")},
	{Command: "SWAPDB", What: "keys", Before: someKeys, Call: call("SWAPDB", "0", "1")},
	{Command: "SWAPDB", What: "keys waited for", Before: elsewhere(waiting), Call: call("SWAPDB", "0", "1")},
}

// aUser makes a user with n channels, or as many as there may be.
func aUser(c *Client, n int) {
	channel := func(c *Client, i int) { c.Arg("&" + element(i)) }
	many(1, channel, []string{"ACL", "SETUSER", Key})(c, min(n, 10000))
}

// noUser removes the user of aUser.
var noUser = call("ACL", "DELUSER", Key)

// waiting waits for n keys and does not read the reply.
func waiting(c *Client, n int) {
	c.Array(n + 2)
	c.Arg("BLPOP")
	for i := range n {
		c.Arg("wanted:" + element(i))
	}
	c.Arg("0")
	c.Receive(0)
	c.settle()
}

var (
	slowCalls = then(call("CONFIG", "SET", "slowlog-log-slower-than", "0", "slowlog-max-len", "1000000"),
		pipelined(func(c *Client, i int) { c.Send("TYPE", Key) }))
	slowEnd = call("CONFIG", "SET", "slowlog-log-slower-than", "10000", "slowlog-max-len", "128")
)
