package server

import (
	"bufio"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/vigildb/vigil/server/resp"
)

// accessCase is one call of testdata/users.txt.
type accessCase struct {
	rules, refused string
	argv           [][]byte
}

func loadAccessCases(t *testing.T) (cases []accessCase) {
	t.Helper()
	text, err := os.ReadFile("testdata/users.txt")
	if err != nil {
		t.Fatal(err)
	}
	rules := ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\n")
		switch {
		case line == "" || line[0] == '#':
		case line[0] != ' ':
			rules = line
		default:
			refused, call, _ := strings.Cut(strings.TrimSpace(line), " ")
			argv, ok := resp.SplitWords([]byte(call), nil)
			if !ok {
				t.Fatalf("cannot split %q", line)
			}
			cases = append(cases, accessCase{rules, refused, argv})
		}
	}
	return cases
}

// refusedWords tell from a reply what was refused, in the words of Redis 7.0 and of later
// versions.
var refusedWords = []struct{ words, what string }{
	{"permissions to run", "command"}, {"can't run this command", "command"},
	{"access one of the keys", "key"}, {"at least one of the keys", "key"}, {"access a key", "key"},
	{"access one of the channels", "channel"}, {"publish to the channel", "channel"}, {"access a channel", "channel"},
	{"' key", "key"}, {"' channel", "channel"}, {"insufficient ACL", "sort"},
}

func refusedBy(reply *node) string {
	for _, x := range refusedWords {
		if strings.Contains(reply.text, x.words) {
			return x.what
		}
	}
	return "ok"
}

// accessClient makes calls of a table.
type accessClient struct {
	*scriptClient
	t *testing.T
}

func (c *accessClient) do(argv ...[]byte) *node {
	c.t.Helper()
	if err := c.send(argv); err != nil {
		c.t.Fatalf("%q: %v", argv, err)
	}
	got, err := c.receive()
	if err != nil {
		c.t.Fatalf("%q: %v", argv, err)
	}
	return got
}

func (c *accessClient) say(call string) *node {
	argv, _ := resp.SplitWords([]byte(call), nil)
	return c.do(argv...)
}

// runAccessCases makes every call as it is, inside MULTI, from a script, and has ACL
// DRYRUN judge it. The user may begin a transaction and a script besides.
func runAccessCases(t *testing.T, dial func() (net.Conn, error)) {
	connect := func() *accessClient {
		nc, err := dial()
		if err != nil {
			t.Fatal(err)
		}
		return &accessClient{&scriptClient{nc: nc, r: bufio.NewReader(nc)}, t}
	}
	control := connect()
	defer control.nc.Close()
	cases := loadAccessCases(t)
	if len(cases) < 200 {
		t.Fatalf("%d cases, want 200 or more", len(cases))
	}
	for _, x := range cases {
		check := func(how string, reply *node, also ...string) {
			t.Helper()
			for _, fine := range also {
				if strings.Contains(reply.text, fine) {
					return
				}
			}
			if got := refusedBy(reply); got != x.refused {
				t.Errorf("%s: %q %s: refused is %s, want %s (%s)", x.rules, x.argv, how, got, x.refused, reply.text)
			}
		}
		for _, rules := range []string{x.rules, x.rules + " (+multi +discard +eval)"} {
			if got := control.say("ACL SETUSER u reset " + rules); got.text != "OK" {
				t.Fatalf("%s: %s", rules, got.text)
			}
			c := connect()
			c.say("AUTH u x")
			if rules == x.rules {
				check("at once", c.do(x.argv...))
				if x.refused != "sort" {
					check("in ACL DRYRUN", control.do(append([][]byte{[]byte("ACL"), []byte("DRYRUN"), []byte("u")}, x.argv...)...))
				}
				c.nc.Close()
				continue
			}
			c.say("MULTI")
			if x.refused != "sort" && string(x.argv[0]) != "EXEC" {
				check("inside MULTI", c.do(x.argv...), "inside MULTI is not allowed", "not allowed inside a transaction")
			}
			c.say("DISCARD")
			script := [][]byte{[]byte("EVAL"), []byte("local r = redis.pcall(unpack(ARGV)); return type(r) == 'table' and r.err or 'fine'"), []byte("0")}
			if word := strings.ToUpper(string(x.argv[0])); word != "HELLO" {
				check("from a script", c.do(append(script, x.argv...)...), "not allowed from script")
			}
			c.nc.Close()
		}
	}
	control.say("ACL DELUSER u")
}

func TestUsersMayDoWhatTheTableSays(t *testing.T) {
	r := newRig(t)
	runAccessCases(t, r.srv.Dial)
}

// TestConformanceRedisOfUsers runs the table against a real Redis. It does nothing without
// VIGIL_REDIS_ADDR.
func TestConformanceRedisOfUsers(t *testing.T) {
	addr := os.Getenv("VIGIL_REDIS_ADDR")
	if addr == "" {
		return
	}
	network := "tcp"
	if path, ok := strings.CutPrefix(addr, "unix:"); ok {
		network, addr = "unix", path
	}
	runAccessCases(t, func() (net.Conn, error) { return net.Dial(network, addr) })
}
