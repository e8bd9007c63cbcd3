package waits

import (
	"strconv"
	"strings"
)

// numbers writes integers in an order that is none.
func numbers(c *Client, i int) { c.Arg(strconv.Itoa(i * 7919 % 1_000_003)) }

var genericCases = []Case{
	{Command: "SORT", What: "numbers", Before: built(1, numbers, "RPUSH", Key), Call: call("SORT", Key)},
	{Command: "SORT", What: "numbers to store", Before: built(1, numbers, "RPUSH", Key), Call: call("SORT", Key, "STORE", "other")},
	{Command: "SORT_RO", What: "words", Before: aSet, Call: call("SORT_RO", Key, "ALPHA")},
	{Command: "SORT_RO", What: "numbers by keys, ten found", Before: built(1, numbers, "RPUSH", Key), Call: call("SORT_RO", Key, "BY", "*", "LIMIT", "0", "10", "GET", "other_*")},
	{Command: "DEL", What: "keys", Before: someKeys, Call: many(1, key, []string{"DEL"})},
	{Command: "DEL", What: "list", Before: aList, Call: call("DEL", Key)},
	{Command: "DEL", What: "schedule", Before: aSchedule, Call: call("DEL", Key)},
	{Command: "DEL", What: "value", Bytes: true, Before: text(Key), Call: call("DEL", Key)},
	{Command: "UNLINK", What: "keys", Before: someKeys, Call: many(1, key, []string{"UNLINK"})},
	{Command: "UNLINK", What: "hash", Before: aHash, Call: call("UNLINK", Key)},
	{Command: "EXISTS", What: "keys", Before: someKeys, Call: many(1, key, []string{"EXISTS"})},
	{Command: "TYPE", What: "key", Bytes: true, Call: refused(sized(nil, "TYPE"))},
	{Command: "TOUCH", What: "keys", Before: someKeys, Call: many(1, key, []string{"TOUCH"})},
	{Command: "RENAME", What: "list", Before: aList, Call: call("RENAME", Key, "other")},
	{Command: "RENAME", What: "schedule", Before: aSchedule, Call: call("RENAME", Key, "other")},
	{Command: "RENAME", What: "value", Bytes: true, Before: text(Key), Call: call("RENAME", Key, "other")},
	{Command: "RENAMENX", What: "hash", Before: aHash, Call: call("RENAMENX", Key, "other")},
	{Command: "COPY", What: "list", Before: aList, Call: call("COPY", Key, "other")},
	{Command: "COPY", What: "hash", Before: aHash, Call: call("COPY", Key, "other")},
	{Command: "COPY", What: "schedule", Before: aSchedule, Call: call("COPY", Key, "other")},
	{Command: "COPY", What: "value", Bytes: true, Before: text(Key), Call: call("COPY", Key, "other")},
	{Command: "MOVE", What: "list", Before: aList, Call: call("MOVE", Key, "1")},
	{Command: "MOVE", What: "schedule", Before: aSchedule, Call: call("MOVE", Key, "1")},
	{Command: "KEYS", What: "keys", Before: someKeys, Call: call("KEYS", "*")},
	{Command: "KEYS", What: "keys, pattern of many stars", Before: someKeys,
		Call: call("KEYS", strings.Repeat("*e", 20)+"b")},
	{Command: "BLESS SCAN", What: "keys", Before: someKeys, Call: call("BLESS", "SCAN", "0", "NO-EVICT", "COUNT", "1000000000")},
	{Command: "SCAN", What: "keys", Before: someKeys, Call: call("SCAN", "0", "COUNT", "1000000000")},
	{Command: "RANDOMKEY", What: "keys", Before: someKeys, Call: call("RANDOMKEY")},
	{Command: "EXPIRE", What: "list that goes", Before: aList, Call: call("EXPIRE", Key, "-1")},
	{Command: "PEXPIRE", What: "list that expires", Before: aList, Call: call("PEXPIRE", Key, "1")},
	{Command: "EXPIREAT", What: "schedule that goes", Before: aSchedule, Call: call("EXPIREAT", Key, "1")},
	{Command: "PEXPIREAT", What: "value that goes", Bytes: true, Before: text(Key), Call: call("PEXPIREAT", Key, "1")},
	{Command: "EXPIRETIME", What: "key", Bytes: true, Call: refused(sized(nil, "EXPIRETIME"))},
	{Command: "PEXPIRETIME", What: "key", Bytes: true, Call: refused(sized(nil, "PEXPIRETIME"))},
	{Command: "TTL", What: "key", Bytes: true, Call: refused(sized(nil, "TTL"))},
	{Command: "PTTL", What: "key", Bytes: true, Call: refused(sized(nil, "PTTL"))},
	{Command: "PERSIST", What: "key", Bytes: true, Call: refused(sized(nil, "PERSIST"))},
	{Command: "OBJECT ENCODING", What: "list", Before: aList, Call: call("OBJECT", "ENCODING", Key)},
	{Command: "OBJECT FREQ", What: "list", Before: aList, Call: refused(call("OBJECT", "FREQ", Key))},
	{Command: "OBJECT IDLETIME", What: "list", Before: aList, Call: call("OBJECT", "IDLETIME", Key)},
	{Command: "OBJECT REFCOUNT", What: "list", Before: aList, Call: call("OBJECT", "REFCOUNT", Key)},
	{Command: "DUMP", What: "list", Before: aList, Call: call("DUMP", Key)},
	{Command: "DUMP", What: "hash", Before: aHash, Call: call("DUMP", Key)},
	{Command: "DUMP", What: "schedule", Before: aSchedule, Call: call("DUMP", Key)},
	{Command: "DUMP", What: "value", Bytes: true, Before: text(Key), Call: call("DUMP", Key)},
	{Command: "RESTORE", What: "list", Before: then(aList, dumped), Call: restored},
	{Command: "RESTORE", What: "hash", Before: then(aHash, dumped), Call: restored},
	{Command: "RESTORE", What: "schedule", Before: then(aSchedule, dumped), Call: restored},
	{Command: "RESTORE", What: "value", Bytes: true, Before: then(halfText, dumped), Call: restored},
	{Command: "WAITAOF", What: "keys just written", Call: then(someKeys, call("WAITAOF", "1", "0", "0"))},
}

// halfText is text of half the size: what RESTORE takes is a little longer than
// the value.
func halfText(c *Client, n int) { text(Key)(c, n/2) }

func dumped(c *Client, _ int) {
	c.Keep("DUMP", Key)
	payload := string(c.text)
	c.Do("DEL", Key)
	c.text = []byte(payload)
}

func restored(c *Client, _ int) { c.Do("RESTORE", Key, "0", string(c.text)) }

var stringCases = []Case{
	{Command: "GET", What: "value", Bytes: true, Before: text(Key), Call: call("GET", Key)},
	{Command: "MGET", What: "keys", Before: someKeys, Call: many(1, key, []string{"MGET"})},
	{Command: "STRLEN", What: "value", Bytes: true, Before: text(Key), Call: call("STRLEN", Key)},
	{Command: "GETRANGE", What: "value", Bytes: true, Before: text(Key), Call: call("GETRANGE", Key, "0", "-1")},
	{Command: "SUBSTR", What: "value", Bytes: true, Before: text(Key), Call: call("SUBSTR", Key, "0", "-1")},
	{Command: "LCS", What: "values of a tenth as many bytes", Before: tenths, Call: call("LCS", Key, "other")},
	{Command: "SET", What: "value", Bytes: true, Call: sized(nil, "SET", Key)},
	{Command: "SET", What: "value that is overwritten", Bytes: true, Before: text(Key), Call: call("SET", Key, "x")},
	{Command: "SETNX", What: "value", Bytes: true, Call: sized(nil, "SETNX", Key)},
	{Command: "SETEX", What: "value", Bytes: true, Call: sized(nil, "SETEX", Key, "100")},
	{Command: "PSETEX", What: "value", Bytes: true, Call: sized(nil, "PSETEX", Key, "100000")},
	{Command: "GETSET", What: "value", Bytes: true, Before: text(Key), Call: call("GETSET", Key, "x")},
	{Command: "GETDEL", What: "value", Bytes: true, Before: text(Key), Call: call("GETDEL", Key)},
	{Command: "DELIFEQ", What: "value", Bytes: true, Before: text(Key), Call: sized(nil, "DELIFEQ", Key)},
	{Command: "DELEX", What: "value", Bytes: true, Before: text(Key), Call: call("DELEX", Key, "IFDEQ", "0123456789abcdef")},
	{Command: "DIGEST", What: "value", Bytes: true, Before: text(Key), Call: call("DIGEST", Key)},
	{Command: "MSETEX", What: "keys", Call: func(c *Client, n int) { many(2, keyPair, []string{"MSETEX", strconv.Itoa(n)})(c, n) }},
	{Command: "GETEX", What: "value", Bytes: true, Before: text(Key), Call: call("GETEX", Key, "EX", "100")},
	{Command: "MSET", What: "keys", Call: many(2, keyPair, []string{"MSET"})},
	{Command: "MSETNX", What: "keys", Call: many(2, keyPair, []string{"MSETNX"})},
	{Command: "APPEND", What: "value", Bytes: true, Before: text(Key), Call: call("APPEND", Key, "x")},
	{Command: "SETRANGE", What: "value", Bytes: true, Call: text(Key)},
	{Command: "SETRANGE", What: "value that is patched", Bytes: true, Before: text(Key), Call: call("SETRANGE", Key, "10", "x")},
	{Command: "INCR", What: "key", Bytes: true, Call: refused(sized(nil, "INCR"))},
	{Command: "DECR", What: "key", Bytes: true, Call: refused(sized(nil, "DECR"))},
	{Command: "INCRBY", What: "number", Bytes: true, Call: refused(sized(nil, "INCRBY", Key))},
	{Command: "DECRBY", What: "number", Bytes: true, Call: refused(sized(nil, "DECRBY", Key))},
	{Command: "INCRBYFLOAT", What: "number", Bytes: true, Call: refused(sized(nil, "INCRBYFLOAT", Key))},
	{Command: "INCREX", What: "number", Bytes: true, Call: refused(sized(nil, "INCREX", Key, "BYFLOAT"))},
}

// tenths makes two strings of n/10 bytes, which differ.
func tenths(c *Client, n int) {
	c.Do("SET", Key, strings.Repeat("abcdefg", n/70))
	c.Do("SET", "other", strings.Repeat("hbadcfeg", n/80))
}

var bitmapCases = []Case{
	{Command: "SETBIT", What: "value", Bytes: true, Call: func(c *Client, n int) { c.Do("SETBIT", Key, strconv.Itoa(8*n-1), "1") }},
	{Command: "GETBIT", What: "value", Bytes: true, Before: text(Key), Call: call("GETBIT", Key, "100")},
	{Command: "BITCOUNT", What: "value", Bytes: true, Before: text(Key), Call: call("BITCOUNT", Key)},
	{Command: "BITRANGEINTARRAY", What: "value", Bytes: true, Before: text(Key), Call: call("BITRANGEINTARRAY", Key, "0", "-1", "LIMIT", "10")},
	{Command: "BITPOS", What: "value", Bytes: true, Before: text(Key), Call: call("BITPOS", Key, "1")},
	{Command: "BITOP", What: "value", Bytes: true, Before: text(Key), Call: call("BITOP", "NOT", "other", Key)},
	{Command: "BITOP", What: "keys", Before: someKeys, Call: many(1, key, []string{"BITOP", "XOR", "other"})},
	{Command: "BITFIELD", What: "subcommands", Call: many(4, words("SET", "u8", "#1000", "7"), []string{"BITFIELD", Key})},
	{Command: "BITFIELD_RO", What: "subcommands", Call: many(3, words("GET", "u8", "#1000"), []string{"BITFIELD_RO", Key})},
}
