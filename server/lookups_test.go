package server

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/server/resp"
)

// lookupCase is a call of testdata/lookups.txt, and the lookups that it counts: with its
// keys, without them, and with keys of another type.
type lookupCase struct {
	argv []string
	want [3]string
}

// readLookups reads testdata/lookups.txt.
func readLookups(t *testing.T) (setup [][]string, cases []lookupCase) {
	t.Helper()
	text, err := os.ReadFile("testdata/lookups.txt")
	if err != nil {
		t.Fatal(err)
	}
	words := func(line string) (argv []string) {
		split, ok := resp.SplitWords([]byte(line), nil)
		if !ok {
			t.Fatalf("cannot split %q", line)
		}
		for _, w := range split {
			argv = append(argv, string(w))
		}
		return argv
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#':
		case line[0] == '>':
			setup = append(setup, words(line[1:]))
		default:
			w := words(line)
			cases = append(cases, lookupCase{argv: w[3:], want: [3]string(w[:3])})
		}
	}
	return setup, cases
}

// call is the call of a column: with keys that exist, that are missing, or of another type.
func (x *lookupCase) call(column int) []string {
	argv, keys := make([]string, len(x.argv)), 0
	for i, w := range x.argv {
		key, isKey := strings.CutPrefix(w, "@")
		switch {
		case !isKey:
		case column == 1:
			keys++
			key = fmt.Sprint("nosuch", keys)
		case column == 2 && strings.HasPrefix(key, "list"):
			key = "str"
		case column == 2:
			key = "list"
		}
		argv[i] = key
	}
	return argv
}

// lookedUp returns what run adds to keyspace_hits and keyspace_misses.
func (r *rig) lookedUp(run func()) string {
	st := &r.srv.stats
	hits, misses := st.hits.Load(), st.misses.Load()
	run()
	return fmt.Sprintf("%d/%d", st.hits.Load()-hits, st.misses.Load()-misses)
}

// uncounted are commands whose keys are not in testdata/lookups.txt, and why.
var uncounted = map[string]string{
	"migrate":      "it needs another server",
	"clusterscan":  "its argument is a cursor, which names a slot and no key",
	"watch":        "it looks at no value; see TestWatchedKeysAreNoLookups",
	"spublish":     "a channel is no key",
	"ssubscribe":   "a channel is no key",
	"sunsubscribe": "a channel is no key",
}

func TestLookupsAreCountedAsRedisCountsThem(t *testing.T) {
	r := newRig(t)
	c := r.dial()
	setup, cases := readLookups(t)
	seen := map[*commands.Command]bool{}
	for _, x := range cases {
		var args [][]byte
		for _, w := range x.call(0) {
			args = append(args, []byte(w))
		}
		row, _ := r.srv.table.Lookup(args)
		if row == nil {
			t.Errorf("%s: unknown", x.argv)
			continue
		}
		seen[row] = true
		for column, want := range x.want {
			argv := x.call(column)
			fresh := func() {
				c.do("FLUSHALL")
				for _, line := range setup {
					if got := c.do(line...); strings.HasPrefix(got, "(error)") {
						t.Fatalf("%s: %s", line, got)
					}
				}
			}
			fresh()
			if got := r.lookedUp(func() {
				c.do("MULTI")
				c.do(argv...)
				c.do("EXEC")
			}); got != want {
				t.Errorf("%s in a transaction: got %s, want %s", argv, got, want)
			}
			if row.Is(commands.NoScript) || row.Is(commands.RunsScripts) {
				continue
			}
			fresh()
			if got := r.lookedUp(func() {
				c.do(append([]string{"EVAL", "return redis.pcall(unpack(ARGV))", "0"}, argv...)...)
			}); got != want {
				t.Errorf("%s in a script: got %s, want %s", argv, got, want)
			}
		}
	}
	own := map[string]bool{}
	for _, group := range ownFamilies {
		own[group] = true
	}
	for _, row := range r.srv.table.All() {
		if len(row.Keys) > 0 && !seen[row] && uncounted[row.FullName()] == "" && !own[row.GroupName()] {
			t.Errorf("testdata/lookups.txt lacks %s: want a line with its lookups, or in uncounted the reason why it has none", row.FullName())
		}
	}
}

// The commands of vigil's own families count as the others do.
func TestLookupsOfOwnFamiliesAreCounted(t *testing.T) {
	r := newRig(t)
	c := r.dial()
	c.want("BF.ADD f a", "(int) 1")
	c.want("CF.ADD c a", "(int) 1")
	c.want("CMS.INITBYDIM m 10 3", "OK")
	c.want("TOPK.RESERVE k 5", "OK")
	c.want("TDIGEST.CREATE d", "OK")
	c.want("JSON.SET j $ 1", "OK")
	c.want("SCHED.CREATE s ESTIMATOR fixed SEED 1", "OK")
	for _, x := range []struct{ call, want string }{
		{"BF.EXISTS f a", "1/0"}, {"BF.EXISTS nosuch a", "0/1"}, {"BF.INFO nosuch", "0/1"}, {"BF.ADD f b", "0/0"}, {"BF.ADD g a", "0/0"}, {"BF.RESERVE f 0.01 10", "0/0"},
		{"CF.EXISTS c a", "1/0"}, {"CF.EXISTS nosuch a", "0/1"}, {"CF.INFO nosuch", "0/1"}, {"CF.ADD c b", "0/0"}, {"CF.ADD c2 b", "0/0"}, {"CF.RESERVE c 10", "0/0"},
		{"CMS.QUERY m a", "1/0"}, {"CMS.INFO nosuch", "0/1"}, {"CMS.INCRBY m a 1", "0/0"}, {"CMS.MERGE m 1 m", "1/0"},
		{"TOPK.QUERY k a", "1/0"}, {"TOPK.LIST nosuch", "0/1"}, {"TOPK.ADD k a", "0/0"},
		{"TDIGEST.MIN d", "1/0"}, {"TDIGEST.INFO nosuch", "0/1"}, {"TDIGEST.ADD d 1", "0/0"}, {"TDIGEST.MERGE d2 1 d", "1/0"},
		{"BF.MERGE f 1 f", "1/0"}, {"CF.MERGE c 1 c", "1/0"}, {"CF.MERGE c3 1 nosuch", "0/1"},
		{"JSON.GET j", "1/0"}, {"JSON.GET nosuch", "0/1"}, {"JSON.MGET j nosuch f $", "2/1"}, {"JSON.TYPE f", "1/0"}, {"JSON.NUMINCRBY j $ 1", "0/0"}, {"JSON.SET new $ 1", "0/0"},
		{"SCHED.INFO s", "1/0"}, {"SCHED.INFO nosuch", "0/1"}, {"SCHED.CREATE s ESTIMATOR fixed", "0/0"},
		{"PLACE.INFO nosuch", "0/1"}, {"PLACE.CREATE f share", "0/0"},
	} {
		if got := r.lookedUp(func() { c.do(strings.Fields(x.call)...) }); got != x.want {
			t.Errorf("%s: got %s, want %s", x.call, got, x.want)
		}
	}
}

func TestExpiredKeysCountAsMisses(t *testing.T) {
	r := newRig(t)
	c := r.dial()
	c.want("DEBUG SET-ACTIVE-EXPIRE 0", "OK")
	for _, call := range []string{"GET k", "EXISTS k", "TTL k", "TYPE k", "GETEX k", "OBJECT ENCODING k", "COPY k l", "DUMP k", "TOUCH k"} {
		c.want("SET k v PX 10", "OK")
		r.clock.advance(11_000_000)
		if got := r.lookedUp(func() { c.do(strings.Fields(call)...) }); got != "0/1" {
			t.Errorf("%s: got %s, want 0/1", call, got)
		}
	}
}

// A key whose value has left memory is there.
func TestKeysOnDiskCountAsHits(t *testing.T) {
	const keys = 64
	r := newRig(t, onDisk(t.TempDir()), func(o *Options) { o.Config = testConfig(t, "--maxmemory", "1mb", "--maxmemory-policy", "spill") })
	c := r.dial()
	value := strings.Repeat("v", 64<<10)
	exists := []string{"EXISTS"}
	for i := range keys {
		exists = append(exists, fmt.Sprint("k", i))
		c.want("SET "+exists[i+1]+" "+value, "OK")
	}
	r.until("values have left memory", func() bool {
		r.srv.makeRoom()
		return r.srv.store.Stats().Spilled >= keys/2
	})
	if got, want := r.lookedUp(func() { c.do(exists...) }), fmt.Sprintf("%d/0", keys); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if n := r.srv.store.Stats().Faults; n == 0 {
		t.Error("nothing was read from disk")
	}
}

// A field that has expired is missing; its hash was there when it was looked up.
func TestHashesWhoseFieldsHaveExpiredCountAsHits(t *testing.T) {
	r := newRig(t)
	c := r.dial()
	c.want("DEBUG SET-ACTIVE-EXPIRE 0", "OK")
	c.want("HSET h f v", "(int) 1")
	c.want("HPEXPIRE h 10 FIELDS 1 f", "[(int) 1]")
	r.clock.advance(11_000_000)
	for _, want := range []string{"1/0", "0/1"} {
		if got := r.lookedUp(func() { c.want("HGET h f", "(nil)") }); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestWatchedKeysAreNoLookups(t *testing.T) {
	r := newRig(t)
	c := r.dial()
	c.want("SET k v", "OK")
	if got := r.lookedUp(func() {
		c.do("WATCH", "k", "nosuch")
		c.do("MULTI")
		c.do("EXEC")
	}); got != "0/0" {
		t.Errorf("got %s, want 0/0", got)
	}
}

// INFO shows the lookups of the same transaction and script.
func TestLookupsAreShownBeforeTheEndOfATransaction(t *testing.T) {
	r := newRig(t)
	c := r.dial()
	c.want("SET k v", "OK")
	c.do("MULTI")
	c.do("GET", "k")
	c.do("INFO", "stats")
	if got := c.do("EXEC"); !strings.Contains(got, "keyspace_hits:1") {
		t.Errorf("in a transaction: got %s", got)
	}
	if got := c.do("EVAL", "redis.call('GET', 'k'); return redis.call('INFO', 'stats')", "0"); !strings.Contains(got, "keyspace_hits:2") {
		t.Errorf("in a script: got %s", got)
	}
}

// A call that has waited counts when it began to wait, and when it is served.
func TestReadersThatWaitAreCountedWhenTheyAreServed(t *testing.T) {
	r := newRig(t)
	c, d := r.dial(), r.dial()
	c.want("XGROUP CREATE s g 0 MKSTREAM", "OK")
	if got := r.lookedUp(func() {
		d.send("XREADGROUP", "GROUP", "g", "c", "BLOCK", "0", "STREAMS", "s", ">")
		r.blocked(1)
	}); got != "2/0" {
		t.Errorf("when it begins to wait: got %s, want 2/0", got)
	}
	if got := r.lookedUp(func() {
		c.want("XADD s 1-1 f v", `"1-1"`)
		d.reply()
	}); got != "2/0" {
		t.Errorf("when it is served: got %s, want 2/0", got)
	}
}
