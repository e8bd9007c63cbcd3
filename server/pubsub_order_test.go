package server

import (
	"strings"
	"testing"
)

// What a call sends to its own client comes before the reply of the next call, though it is no
// reply itself: CLIENT REPLY does not hold it back.
func TestMessagesToTheCallerComeBeforeTheNextReply(t *testing.T) {
	for _, x := range []struct{ calls, want string }{
		{"CLIENT REPLY SKIP|SUBSCRIBE a b|PING", `>["subscribe" "a" (int) 1]|>["subscribe" "b" (int) 2]|PONG`},
		{"CLIENT REPLY SKIP|PSUBSCRIBE p*|PING", `>["psubscribe" "p*" (int) 1]|PONG`},
		{"CLIENT REPLY SKIP|SSUBSCRIBE s|PING", `>["ssubscribe" "s" (int) 1]|PONG`},
		{"SUBSCRIBE a|CLIENT REPLY SKIP|UNSUBSCRIBE a|PING", `>["subscribe" "a" (int) 1]|>["unsubscribe" "a" (int) 0]|PONG`},
		{"CLIENT REPLY SKIP|UNSUBSCRIBE|PING", `>["unsubscribe" (nil) (int) 0]|PONG`},
		{"CLIENT REPLY SKIP|CLIENT REPLY SKIP|SUBSCRIBE a|CLIENT REPLY SKIP|PING|PING", `>["subscribe" "a" (int) 1]|PONG`},
		{"CLIENT REPLY OFF|SUBSCRIBE a|PING|CLIENT REPLY ON|PING", `>["subscribe" "a" (int) 1]|OK|PONG`},
		{"CLIENT REPLY OFF|SUBSCRIBE a|PUBLISH a m|UNSUBSCRIBE a|CLIENT REPLY ON|PING",
			`>["subscribe" "a" (int) 1]|>["message" "a" "m"]|>["unsubscribe" "a" (int) 0]|OK|PONG`},
		{"SUBSCRIBE a|CLIENT REPLY SKIP|PUBLISH a m|PING", `>["subscribe" "a" (int) 1]|>["message" "a" "m"]|PONG`},
		{"SUBSCRIBE a|EVAL return(redis.call('PUBLISH','a','m')) 0|PING", `>["subscribe" "a" (int) 1]|(int) 1|>["message" "a" "m"]|PONG`},
		{"SUBSCRIBE a|MULTI|PUBLISH a m|PING|EXEC|PING", `>["subscribe" "a" (int) 1]|OK|QUEUED|QUEUED|[(int) 1 PONG]|>["message" "a" "m"]|PONG`},
		{"SUBSCRIBE __keyevent@0__:set|SET k v|PING",
			`>["subscribe" "__keyevent@0__:set" (int) 1]|OK|>["message" "__keyevent@0__:set" "k"]|PONG`},
		{"SUBSCRIBE __keyevent@0__:set|CLIENT REPLY SKIP|SET k v|PING",
			`>["subscribe" "__keyevent@0__:set" (int) 1]|>["message" "__keyevent@0__:set" "k"]|PONG`},
		{"CLIENT TRACKING ON|GET k|CLIENT REPLY SKIP|SET k w|PING", `OK|(nil)|>["invalidate" ["k"]]|PONG`},
		{"CLIENT REPLY SKIP|RESET|PING", "PONG"},
		{"CLIENT REPLY OFF|RESET|PING", "RESET|PONG"},
	} {
		r := newRig(t)
		r.dial().want("CONFIG SET notify-keyspace-events KEA", "OK")
		c := r.dial().hello3()
		var pipeline strings.Builder
		for call := range strings.SplitSeq(x.calls, "|") {
			pipeline.WriteString(encode(strings.Fields(call)...))
		}
		c.raw(pipeline.String())
		for want := range strings.SplitSeq(x.want, "|") {
			if got := c.reply(); got != want {
				t.Errorf("%s: got %s, want %s of %s", x.calls, got, want, x.want)
			}
		}
		c.quiet()
	}
}

// The order of the messages of two clients is the same for all of their subscribers, one of
// which is one of the two.
func TestOwnMessagesKeepTheirPlaceAmongOthers(t *testing.T) {
	r := newRig(t)
	other, c := r.dial(), r.dial().hello3()
	c.want("SUBSCRIBE a", `>["subscribe" "a" (int) 1]`)
	for range 100 {
		other.send("PUBLISH", "a", "1")
		if got := other.reply(); got != "(int) 1" {
			t.Fatal(got)
		}
		c.send("EVAL", "return redis.call('PUBLISH', 'a', '2')", "0")
		var seen []string
		for len(seen) < 3 {
			seen = append(seen, c.reply())
		}
		text := strings.Join(seen, " ")
		if strings.Index(text, `"a" "1"`) > strings.Index(text, `"a" "2"`) {
			t.Fatalf("got %s", text)
		}
	}
}
