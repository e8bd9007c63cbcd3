package json

import (
	"strings"
	"testing"

	"github.com/vigildb/vigil/commands/commandtest"
)

// Indexes beyond the ends of an array, and pairs of surrogates at the ends of their range.
func TestRepliesAtTheEndsOfRanges(t *testing.T) {
	r := commandtest.New(t, Group())
	r.Want("+OK\r\n", "JSON.SET", "k", "$", `{"a":[1,2,3],"b":{"a":[1]},"same":[1,2,3]}`)
	for _, c := range []struct {
		reply string
		call  []string
	}{
		{bulk("[1,2,3]"), []string{"JSON.GET", "k", "$.a[0:5]"}},
		{bulk("[3]"), []string{"JSON.GET", "k", "$.a[-1:3]"}},
		{bulk("[2]"), []string{"JSON.GET", "k", "$.a[-2:-1]"}},
		{"*1\r\n:-1\r\n", []string{"JSON.ARRINDEX", "k", "$.a", "3", "0", "-1"}},
		{"*1\r\n:1\r\n", []string{"JSON.ARRINDEX", "k", "$.a", "2", "0", "-1"}},
		{"*1\r\n:2\r\n", []string{"JSON.ARRINDEX", "k", "$.a", "3", "10"}},
		{"*1\r\n:-1\r\n", []string{"JSON.ARRINDEX", "k", "$.a", "2", "10"}},
		{bulk(`[{"a":[1,2,3],"b":{"a":[1]},"same":[1,2,3]}]`), []string{"JSON.GET", "k", "$"}},
		{bulk("[]"), []string{"JSON.GET", "k", "$[?(@.a<=$.a)]"}},
		{bulk(`[{"a":[1]}]`), []string{"JSON.GET", "k", "$[?(@.a==$.b.a)]"}},
		{bulk("[]"), []string{"JSON.GET", "k", "$[?(@.a>=$.b.a)]"}},
		// The reply for a legacy path is about the match that was changed last: where others move, the deepest ones are changed first.
		{":2\r\n", []string{"JSON.ARRAPPEND", "k", "..a", "9"}},
		{":5\r\n", []string{"JSON.ARRINSERT", "k", "..a", "0", "8"}},
		{":4\r\n", []string{"JSON.ARRTRIM", "k", "..a", "0", "3"}},
		{"+OK\r\n", []string{"JSON.SET", "s", "$", `"\ud800\udc00\udbff\udfff"`}},
		{bulk("[\"\U00010000\U0010ffff\"]"), []string{"JSON.GET", "s", "$"}},
		{"*1\r\n:8\r\n", []string{"JSON.STRLEN", "s", "$"}},
	} {
		r.Want(c.reply, c.call...)
	}
}

// Half a gigabyte is not appended to many strings in one call.
func TestAppendsToManyStringsAreBounded(t *testing.T) {
	r := commandtest.New(t, Group())
	r.Want("+OK\r\n", "JSON.SET", "k", "$", "["+strings.Repeat(`"",`, 9999)+`""]`)
	r.Want("-"+string(errCopies)+"\r\n", "JSON.STRAPPEND", "k", "$[*]", `"`+strings.Repeat("x", 60_000)+`"`)
	r.Want(bulk(`[""]`), "JSON.GET", "k", "$[0]")
}
