package server

import (
	"strings"
	"testing"
)

// The store keeps a long value where it was received: what comes behind it in the
// same bytes is not lost, and what is received later does not change it.
func TestLongValueStaysWhatItWas(t *testing.T) {
	eachTransport(t, func(t *testing.T, r *rig, dial func() *testClient) {
		c, other := dial(), dial()
		value := strings.Repeat("v", 300_000)
		for round := range 3 {
			c.raw(encode("SET", "k", value, "GET") + encode("SETRANGE", "k", "1", "x") + encode("STRLEN", "k") + encode("PING", "behind"))
			if round == 0 {
				c.next("(nil)")
			} else {
				c.next(`"vx` + value[2:] + `"`)
			}
			for _, want := range []string{"(int) 300000", "(int) 300000", `"behind"`} {
				c.next(want)
			}
			c.do("SET", "other", strings.Repeat("w", 300_000))
			other.want("GETRANGE k 0 3", `"vxvv"`)
			other.want("GETRANGE k 299998 -1", `"vv"`)
		}
		// A part of the next call lies behind the value when that is taken over.
		value = value[:75_000]
		behind := encode("SET", "l", strings.Repeat("w", 20_000))
		c.raw(encode("SET", "k", value) + behind[:5_000])
		c.next("OK")
		c.raw(behind[5_000:])
		c.next("OK")
		other.want("GET k", `"`+value+`"`)
	})
}

// The slow log tells of a value that is in other hands by then.
func TestSlowLogShowsTheBeginningOfALongValue(t *testing.T) {
	r := newRig(t)
	c := r.dial()
	r.config("slowlog-log-slower-than", "0")
	c.want("SET k "+strings.Repeat("v", 200_000), "OK")
	entry := c.do("SLOWLOG", "GET", "1")
	if want := strings.Repeat("v", 128) + "... (199872 more bytes)"; !strings.Contains(entry, want) {
		t.Errorf("SLOWLOG GET: got %.300s, want %s", entry, want)
	}
}

func TestKeysAreOfAMebibyteAtMost(t *testing.T) {
	const refused = "(error) ERR key is longer than 1 MiB"
	r := newRig(t)
	c := r.dial()
	fits, long := strings.Repeat("k", 1<<20), strings.Repeat("k", 1<<20+1)
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"INCR", fits}, "(int) 1"},
		{[]string{"INCR", long}, refused},
		{[]string{"GET", long}, refused},
		{[]string{"MSET", "a", "1", long, "2"}, refused},
		{[]string{"GET", "a"}, "(nil)"},
		{[]string{"LMPOP", "1", long, "LEFT"}, refused},
		{[]string{"SET", "a", long}, "OK"}, // not a key
		{[]string{"MULTI"}, "OK"},
		{[]string{"DEL", long}, refused},
		{[]string{"EXEC"}, "(error) EXECABORT Transaction discarded because of previous errors."},
	} {
		if got := c.do(tt.args...); got != tt.want {
			t.Errorf("%.60s: got %.80s, want %s", strings.Join(tt.args, " "), got, tt.want)
		}
	}
}
