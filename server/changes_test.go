package server

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/vigildb/vigil/structures/testscale"
)

// consumer reads changes, and keeps its position.
type consumer struct {
	c  *testClient
	at string
}

// consumer begins one at the end of the stream.
func (r *rig) consumer() *consumer {
	c := r.dial()
	return &consumer{c, strings.Trim(c.do("VIGIL.CHANGES", "NOW"), `"`)}
}

var changesReply = regexp.MustCompile(`^\["position" "([0-9a-f]{40}-\d+-\d+)" "behind" \(int\) (\d+) "changes" (.*)\]$`)

// take takes a reply, and returns the changes.
func (o *consumer) take(reply string) string {
	o.c.t.Helper()
	words := changesReply.FindStringSubmatch(reply)
	if words == nil {
		o.c.t.Fatalf("VIGIL.CHANGES: %s", reply)
	}
	o.at = words[1]
	return words[3]
}

func (o *consumer) want(changes string, options ...string) {
	o.c.t.Helper()
	if got := o.take(o.c.do(append([]string{"VIGIL.CHANGES", "FROM", o.at}, options...)...)); got != changes {
		o.c.t.Errorf("got  %s\nwant %s", got, changes)
	}
}

// A consumer gets each change as a command, behind its position only, in order and by filter; transactions are not divided.
func TestConsumerGetsChangesBehindItsPosition(t *testing.T) {
	r := newRig(t)
	c := r.dial()
	c.want("SET before 1", "OK")
	o := r.consumer()
	begin := o.at
	o.want("[]")
	c.want("SET a:1 v PX 100000", "OK")
	c.want("PUBLISH news x", "(int) 0")
	c.want("RPUSH b:1 x y", "(int) 2")
	o.want(fmt.Sprintf(`[[(int) 0 ["SET" "a:1" "v" "PXAT" "%d"]] [(int) 0 ["RPUSH" "b:1" "x" "y"]]]`, r.clock.Now().UnixMilli()+100000))
	o.want("[]")
	for _, call := range []string{"MULTI", "SET a:1 w", "SADD b:2 m", "EXEC", "SELECT 3", "SET a:1 u", "DEL a:1", "FLUSHDB", "XADD a:2 1-1 f v", "XGROUP CREATE a:2 g 0", "SWAPDB 3 4", "GET a:1"} {
		c.do(strings.Fields(call)...)
	}
	middle := o.at
	const multi = `[(int) 0 ["SET" "a:1" "w"]] [(int) 0 ["SADD" "b:2" "m"]]`
	const flush, swap = `[(int) 3 ["FLUSHDB"]]`, `[(int) 3 ["SWAPDB" "3" "4"]]`
	o.want("["+multi+"]", "COUNT", "1")
	o.want(`[[(int) 3 ["SET" "a:1" "u"]]]`, "COUNT", "1")
	o.want(`[[(int) 3 ["DEL" "a:1"]] `+flush+"]", "COUNT", "2")
	o.want(`[[(int) 3 ["XADD" "a:2" "1-1" "f" "v"]] [(int) 3 ["XGROUP" "CREATE" "a:2" "g" "0-0" "MKSTREAM" "ENTRIESREAD" "-1"]] `+swap+"]", "COUNT", "100")
	o.want("[]", "COUNT", "1", "PREFIX", "none")
	for _, options := range [][2]string{
		{"PREFIX b: DB 0", `[[(int) 0 ["SADD" "b:2" "m"]]]`},
		{"PREFIX b: PREFIX nosuch", `[[(int) 0 ["SADD" "b:2" "m"]] ` + flush + " " + swap + "]"},
		{"DB 4", "[" + swap + "]"},
		{"DB 5", "[]"},
		{"KEYS DB 3", `[[(int) 3 ["DEL" "a:1"]] ` + flush + ` [(int) 3 ["XGROUP" "a:2"]] ` + swap + "]"},
	} {
		o.at = middle
		o.want(options[1], strings.Fields(options[0])...)
	}
	o.at = begin
	o.want(fmt.Sprintf(`[[(int) 0 ["SET" "a:1" "v" "PXAT" "%d"]]]`, r.clock.Now().UnixMilli()+100000), "COUNT", "1")
	c.want("JSON.SET doc $ {}", "OK")
	c.want("SELECT 0", "OK")
	o.at = strings.Trim(o.c.do("VIGIL.CHANGES", "NOW"), `"`)
	c.want("JSON.SET doc $ {}", "OK")
	c.want("DEL doc", "(int) 1")
	o.want(`[[(int) 0 ["CHANGED" "doc"]] [(int) 0 ["DEL" "doc"]]]`) // not as the replicas, which have no documents
}

// A consumer that waits is woken by a change that it asks for, and by no other; what it has passed over it does not get again.
func TestConsumerWaitsForChanges(t *testing.T) {
	r := newRig(t)
	c := r.dial()
	o := r.consumer()
	o.c.send("VIGIL.CHANGES", "FROM", o.at, "BLOCK", "0", "PREFIX", "a")
	r.blocked(1)
	c.want("SET b 1", "OK")
	r.blocked(1)
	c.want("SET a 1", "OK")
	if got := o.take(o.c.reply()); got != `[[(int) 0 ["SET" "a" "1"]]]` {
		t.Error(got)
	}
	o.c.send("VIGIL.CHANGES", "FROM", o.at, "BLOCK", "5000", "PREFIX", "a")
	r.blocked(1)
	c.want("SET b 2", "OK")
	r.clock.advance(5 * time.Second)
	if got := o.take(o.c.reply()); got != "[]" {
		t.Error(got)
	}
	o.want(`[]`)
	for _, end := range []string{"CLIENT UNBLOCK %s", "CLIENT UNBLOCK %s ERROR"} {
		id := strings.TrimPrefix(o.c.do("CLIENT", "ID"), "(int) ")
		o.c.send("VIGIL.CHANGES", "FROM", o.at, "BLOCK", "0")
		r.blocked(1)
		c.want(fmt.Sprintf(end, id), "(int) 1")
		if got := o.c.reply(); strings.HasSuffix(end, "ERROR") != strings.HasPrefix(got, "(error) UNBLOCKED") {
			t.Errorf("%s: %s", end, got)
		}
	}
	o.c.send("VIGIL.CHANGES", "FROM", o.at, "BLOCK", "0")
	r.blocked(1)
	o.c.nc.Close()
	r.connected(1)
	c.want("SET a 2", "OK")
}

const gone = "(error) GONE the changes behind this position are not there any more: take a new one with VIGIL.CHANGES NOW, and scan the keys"

// A consumer whose position is lost is told so: it was too slow, the stream has another name, or something happened that no command tells.
func TestConsumerIsToldThatItsPositionIsGone(t *testing.T) {
	r := newRig(t)
	c := r.dial()
	o := r.consumer()
	c.want("SET k "+strings.Repeat("v", 700_000), "OK")
	c.want("SET k "+strings.Repeat("v", 700_000), "OK")
	o.c.want("VIGIL.CHANGES FROM "+o.at, gone) // repl-backlog-size is 1 MiB
	for _, at := range []string{strings.Repeat("0", 40) + "-0-0", strings.Replace(o.at, "-", "-9999", 1)} {
		o.c.want("VIGIL.CHANGES FROM "+at, gone)
	}
	for _, at := range []string{"x", "", "-0-0", o.at + "-1", strings.Repeat("0", 40) + "--1-0", strings.Repeat("0", 40) + "-1-x", strings.Repeat("0", 40) + "-99999999999999999999-0"} {
		if got := o.c.do("VIGIL.CHANGES", "FROM", at); !strings.HasPrefix(got, "(error) ERR no change begins") {
			t.Errorf("%q: %s", at, got)
		}
	}
	o = r.consumer()
	c.want("SET k v", "OK")
	id, at, _ := strings.Cut(o.at, "-")
	var offset, db int
	if _, err := fmt.Sscanf(at, "%d-%d", &offset, &db); err != nil {
		t.Fatal(err)
	}
	for i := 1; i < len(encode("SET", "k", "v"))-1; i++ { // in the middle of a command
		if got := o.c.do("VIGIL.CHANGES", "FROM", fmt.Sprintf("%s-%d-%d", id, offset+i, db)); !strings.HasPrefix(got, "(error) ERR no change begins") {
			t.Errorf("%d bytes into a command: %s", i, got)
		}
	}
}

// A copy that begins with a scan, and follows the changes by key, is equal in the end, whatever is written meanwhile and however often a
// part is read again.
func TestCopyThatFollowsChangesIsEqual(t *testing.T) {
	const seed = 4
	rng := rand.New(rand.NewPCG(seed, 1))
	r := newRig(t)
	c := r.dial()
	write := func() {
		key, v := fmt.Sprint("k", rng.IntN(30)), fmt.Sprint(rng.IntN(100))
		switch rng.IntN(20) {
		case 0:
			if rng.IntN(10) == 0 {
				c.do("FLUSHALL")
			}
		case 1, 2, 3:
			c.do("DEL", key)
		case 4, 5:
			c.do("RENAME", key, fmt.Sprint("k", rng.IntN(30)))
		case 6:
			c.do("EVAL", "redis.call('SET', KEYS[1], ARGV[1]) redis.call('DEL', KEYS[2])", "2", key, fmt.Sprint("k", rng.IntN(30)), v)
		case 7:
			c.do("PEXPIRE", key, "1")
			r.clock.advance(2 * time.Millisecond)
			c.do("EXISTS", key)
		default:
			c.do("SET", key, v)
		}
	}
	for range 50 {
		write()
	}
	o := r.consumer()
	copied := map[string]string{}
	look := func(key string) {
		if v := c.do("GET", key); v == "(nil)" {
			delete(copied, key)
		} else {
			copied[key] = v
		}
	}
	for i := range 30 { // the scan
		look(fmt.Sprint("k", i))
		write()
	}
	word := regexp.MustCompile(`"([A-Z]+)"(?: "(k\d+)")?\]`)
	followed := 0
	for round := range testscale.Rounds(300) {
		for range rng.IntN(10) {
			write()
		}
		before := o.at
		got := o.take(o.c.do("VIGIL.CHANGES", "FROM", o.at, "KEYS", "COUNT", fmt.Sprint(1+rng.IntN(5))))
		for _, m := range word.FindAllStringSubmatch(got, -1) {
			followed++
			if m[1] == "FLUSHDB" {
				clear(copied)
				continue
			}
			look(m[2])
		}
		if round%7 == 0 {
			o.at = before
		}
	}
	for got := ""; got != "[]"; {
		got = o.take(o.c.do("VIGIL.CHANGES", "FROM", o.at, "KEYS"))
		for _, m := range word.FindAllStringSubmatch(got, -1) {
			if m[1] == "FLUSHDB" {
				clear(copied)
			} else {
				look(m[2])
			}
		}
	}
	n := 0
	for i := range 30 {
		key := fmt.Sprint("k", i)
		v := c.do("GET", key)
		if got, ok := copied[key]; ok != (v != "(nil)") || ok && got != v {
			t.Errorf("seed %d: %s: copied %q, want %s", seed, key, got, v)
		}
		if v != "(nil)" {
			n++
		}
	}
	if n < 5 || followed < 30 {
		t.Errorf("seed %d: %d keys, %d changes", seed, n, followed)
	}
}
