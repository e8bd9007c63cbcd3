package waits

import (
	"strconv"
	"strings"
)

// aDocument has an array of n objects, as much in numbers, and a long string.
var aDocument = then(
	call("JSON.SET", Key, "$", `{"l":[],"o":{},"s":"text","t":true}`),
	built(1, func(c *Client, i int) { c.Arg(`{"n":` + strconv.Itoa(i) + `,"t":[true],"s":"text"}`) }, "JSON.ARRAPPEND", Key, "$.l"),
	func(c *Client, n int) {
		c.Do("JSON.SET", Key, "$.o", `{"name-0":1`+joined(n, func(i int) string { return `,"name-` + strconv.Itoa(i+1) + `":1` })+"}")
	})

func joined(n int, part func(i int) string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(part(i))
	}
	return b.String()
}

// aText is the text of an array of n numbers.
func aText(n int) string {
	return "[1" + joined(n-1, func(i int) string { return "," + strconv.Itoa(i) }) + "]"
}

var jsonCases = []Case{
	{Command: "JSON.SET", What: "elements", Call: func(c *Client, n int) { c.Do("JSON.SET", Key, "$", aText(n)) }},
	{Command: "JSON.SET", What: "matches", Before: aDocument, Call: call("JSON.SET", Key, "$.l[*].n", "7")},
	{Command: "JSON.MSET", What: "triplets of one key", Before: aDocument,
		Call: many(3, func(c *Client, i int) { c.Arg(Key); c.Arg("$.l[" + strconv.Itoa(i) + "].n"); c.Arg("7") }, []string{"JSON.MSET"})},
	{Command: "JSON.MSET", What: "new members of one key", Before: aDocument,
		Call: many(3, func(c *Client, i int) { c.Arg(Key); c.Arg("$.o.new-" + strconv.Itoa(i)); c.Arg("7") }, []string{"JSON.MSET"})},
	{Command: "JSON.MERGE", What: "new members", Before: aDocument, Call: func(c *Client, n int) {
		c.Do("JSON.MERGE", Key, "$.o", `{"new":2`+joined(n, func(i int) string { return `,"new-` + strconv.Itoa(i) + `":2` })+"}")
	}},
	{Command: "JSON.MERGE", What: "members", Before: aDocument, Call: func(c *Client, n int) {
		c.Do("JSON.MERGE", Key, "$.o", `{"new":2`+joined(n, func(i int) string { return `,"name-` + strconv.Itoa(i) + `":2` })+"}")
	}},
	{Command: "JSON.GET", What: "document", Before: aDocument, Call: call("JSON.GET", Key)},
	{Command: "JSON.GET", What: "filter", Before: aDocument, Call: call("JSON.GET", Key, `$.l[?(@.n>5&&@.s=~"^t.*t$")].n`)},
	{Command: "JSON.MGET", What: "keys", Before: aDocument, Call: many(1, key, []string{"JSON.MGET"}, "$.s")},
	{Command: "JSON.DEL", What: "matches", Before: aDocument, Call: call("JSON.DEL", Key, "$.l[::2]")},
	{Command: "JSON.DEL", What: "elements", Before: func(c *Client, n int) { c.Do("JSON.SET", Key, "$", aText(n)) }, Call: call("JSON.DEL", Key, "$[::2]")},
	{Command: "JSON.FORGET", What: "document", Before: aDocument, Call: call("JSON.FORGET", Key)},
	{Command: "JSON.CLEAR", What: "matches", Before: aDocument, Call: call("JSON.CLEAR", Key, "$.l[*].n")},
	{Command: "JSON.TYPE", What: "matches", Before: aDocument, Call: call("JSON.TYPE", Key, "$..*")},
	{Command: "JSON.RESP", What: "document", Before: aDocument, Call: call("JSON.RESP", Key)},
	{Command: "JSON.DEBUG", What: "matches", Before: aDocument, Call: call("JSON.DEBUG", "MEMORY", Key, "$..*")},
	{Command: "JSON.NUMINCRBY", What: "matches", Before: aDocument, Call: call("JSON.NUMINCRBY", Key, "$.l[*].n", "1")},
	{Command: "JSON.NUMINCRBY", What: "integers", Before: func(c *Client, n int) { c.Do("JSON.SET", Key, "$", aText(n)) }, Call: call("JSON.NUMINCRBY", Key, "$[*]", "100000")},
	{Command: "JSON.NUMMULTBY", What: "matches", Before: aDocument, Call: call("JSON.NUMMULTBY", Key, "$.o.*", "2")},
	{Command: "JSON.NUMPOWBY", What: "matches", Before: aDocument, Call: call("JSON.NUMPOWBY", Key, "$.o.*", "2")},
	{Command: "JSON.TOGGLE", What: "matches", Before: aDocument, Call: call("JSON.TOGGLE", Key, "$.l[*].t[0]")},
	{Command: "JSON.STRAPPEND", What: "matches", Before: aDocument, Call: call("JSON.STRAPPEND", Key, "$.l[*].s", `"x"`)},
	{Command: "JSON.STRLEN", What: "matches", Before: aDocument, Call: call("JSON.STRLEN", Key, "$.l[*].s")},
	{Command: "JSON.ARRAPPEND", What: "elements", Before: aDocument, Call: many(1, words("1"), []string{"JSON.ARRAPPEND", Key, "$.l"})},
	{Command: "JSON.ARRINDEX", What: "array", Before: aDocument, Call: call("JSON.ARRINDEX", Key, "$.l", `{"n":-1}`)},
	{Command: "JSON.ARRINSERT", What: "elements", Before: aDocument, Call: many(1, words("1"), []string{"JSON.ARRINSERT", Key, "$.l", "0"})},
	{Command: "JSON.ARRLEN", What: "matches", Before: aDocument, Call: call("JSON.ARRLEN", Key, "$..t")},
	{Command: "JSON.ARRPOP", What: "matches", Before: aDocument, Call: call("JSON.ARRPOP", Key, "$.l[*].t")},
	{Command: "JSON.ARRTRIM", What: "elements", Before: aDocument, Call: call("JSON.ARRTRIM", Key, "$.l", "1", "1")},
	{Command: "JSON.OBJKEYS", What: "names", Before: aDocument, Call: call("JSON.OBJKEYS", Key, "$.o")},
	{Command: "JSON.OBJLEN", What: "matches", Before: aDocument, Call: call("JSON.OBJLEN", Key, "$.l[*]")},
}
