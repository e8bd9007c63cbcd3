package server

import (
	"strings"
	"testing"
	"time"
)

// A web page can make a browser send a POST to a port of the loopback: nothing behind the
// first word of HTTP is run, and what was run before it is answered.
func TestWordsOfHTTPEndTheConnection(t *testing.T) {
	ping := encode("PING")
	tests := []struct {
		name, input string
		replies     []string
	}{
		{"a request", "POST / HTTP/1.1\r\nHost: localhost\r\n\r\nSET k v\r\n", nil},
		{"a request of GET", "GET / HTTP/1.1\r\nHost: localhost\r\nSET k v\r\n", []string{"(error) ERR wrong number of arguments for 'get' command"}},
		{"lines that end in LF", "post / HTTP/1.1\nSET k v\n", nil},
		{"any case", "hOsT: localhost\r\nSET k v\r\n", nil},
		{"no arguments", "POST\r\nSET k v\r\n", nil},
		{"blanks and quotes", "  \"pOsT\" x\r\nSET k v\r\n", nil},
		{"an array", encode("POST", "/") + encode("SET", "k", "v"), nil},
		{"an array of one", encode("host:") + encode("SET", "k", "v"), nil},
		{"a zero byte", encode("POST\x00x") + encode("SET", "k", "v"), nil},
		{"behind calls", ping + encode("SET", "before", "1") + encode("POST") + encode("SET", "k", "v"), []string{"PONG", "OK"}},
		{"behind many calls", strings.Repeat(ping, 40) + encode("POST") + encode("SET", "k", "v"), repeated("PONG", 40)},
		{"in MULTI", encode("MULTI") + encode("SET", "k", "v") + "POST\r\n" + encode("EXEC") + encode("SET", "k", "v"), []string{"OK", "QUEUED"}},
		{"while subscribed", encode("SUBSCRIBE", "c") + "POST\r\n" + encode("PUBLISH", "c", "m"), []string{`["subscribe" "c" (int) 1]`}},
		{"with replies off", encode("CLIENT", "REPLY", "OFF") + "POST\r\n" + encode("SET", "k", "v"), nil},
		{"behind a wait", encode("BLPOP", "q", "0") + "POST\r\n" + encode("SET", "k", "v"), []string{`["q" "x"]`}},
	}
	eachTransport(t, func(t *testing.T, r *rig, dial func() *testClient) {
		p := dial()
		for _, tt := range tests {
			c := dial()
			c.raw(tt.input)
			if tt.name == "behind a wait" {
				r.blocked(1)
				p.want("RPUSH q x", "(int) 1")
			}
			for _, want := range tt.replies {
				if got := c.reply(); got != want {
					t.Errorf("%s: got %s, want %s", tt.name, got, want)
				}
			}
			c.ended()
			if got := p.do("EXISTS", "k"); got != "(int) 0" {
				t.Fatalf("%s: what came behind was run", tt.name)
			}
		}
		p.want("EXISTS before", "(int) 1")
		// These words are no words of HTTP.
		for _, name := range []string{"POSTS", "HOST", "HOST:x", "PUT", "APOST"} {
			c := dial()
			c.want(name, "(error) ERR unknown command '"+name+"', with args beginning with:")
			c.quiet()
		}
		// A script that calls one cannot have been sent by a page that does not know the protocol.
		p.eval("return redis.pcall('POST').err", `"ERR Unknown Redis command called from script"`)
	})
}

func repeated(s string, n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = s
	}
	return list
}

func TestWordsOfHTTPEndTheConnectionBeforeAuth(t *testing.T) {
	r := newRig(t)
	p := r.dial()
	p.want("CONFIG SET requirepass secret", "OK")
	c := r.dial()
	c.raw("POST / HTTP/1.1\r\nAUTH secret\r\nSET k v\r\n")
	c.ended()
	c = r.dial()
	c.raw(encode("GET", "k") + "Host: x\r\n" + encode("AUTH", "secret") + encode("SET", "k", "v"))
	c.next("(error) NOAUTH Authentication required.")
	c.ended()
	p.want("EXISTS k", "(int) 0")
}

func TestWordsOfHTTPAreLoggedOnceAMinute(t *testing.T) {
	r := newRig(t)
	logged := func() (n int) {
		for _, line := range r.log.all() {
			if strings.HasPrefix(line, "Possible SECURITY ATTACK detected") {
				n++
			}
		}
		return n
	}
	for i, want := range []int{1, 1, 1, 2, 2} {
		c := r.dial()
		c.raw("POST / HTTP/1.1\r\n")
		c.ended()
		if got := logged(); got != want {
			t.Errorf("after request %d: %d lines, want %d", i+1, got, want)
		}
		r.clock.advance(20 * time.Second)
	}
}
