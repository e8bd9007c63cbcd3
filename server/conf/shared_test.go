package conf

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// A directive that is shared can be set at any time, works, and is short: its value is in records and in memory.
func TestSharedDirectivesCanBeSet(t *testing.T) {
	n := 0
	for _, r := range New().rows {
		if r.flags&shared == 0 || r.name == "replicaof" { // which REPLICAOF sets
			continue
		}
		n++
		if r.flags != shared || r.effect != works || r.kind.title == "text" {
			t.Errorf("%s: flags %b, effect %d, %s", r.name, r.flags, r.effect, r.kind.title)
		}
		v, err := r.parse(value{}, r.def, false)
		if again, e := r.parse(value{}, v.text, false); err != nil || e != nil || again.text != v.text {
			t.Errorf("%s: %q becomes %q, %v, %v", r.name, v.text, again.text, err, e)
		}
	}
	if n < 15 {
		t.Errorf("%d shared directives", n)
	}
	c := New()
	for name, want := range map[string]bool{"TIMEOUT": true, "hash-max-ziplist-entries": true, "maxmemory": false, "requirepass": false, "nosuch": false, "": false} {
		if got := c.Shared(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// shown returns some values in one text.
func shown(c *Config, names ...string) string {
	var out []string
	for _, p := range c.Get(names, glob) {
		out = append(out, p.Value)
	}
	return strings.Join(out, " ")
}

func TestSetHasSharedDirectivesKept(t *testing.T) {
	c := New()
	var kept []Pair
	var refuses error
	caller := Caller{Share: true, Keep: func(shared []Pair) error {
		kept = shared
		return refuses
	}}
	var told, checks int
	c.Watch(func(*Settings) { told++ })
	c.Check(func(old, new *Settings) error { checks++; return nil }, "port")
	set := func(c *Config, caller Caller, words ...string) {
		t.Helper()
		if err := c.Set(caller, pairsOf(words...)); err != nil {
			t.Fatal(err)
		}
	}
	set(c, caller, "HASH-MAX-ZIPLIST-VALUE", "1kb", "port", "1", "timeout", "0")
	if want := []Pair{{"hash-max-listpack-value", "1024"}, {"timeout", "0"}}; !slices.Equal(kept, want) {
		t.Errorf("kept %v, want %v", kept, want)
	}
	refuses = errors.New("full")
	before := shown(c, "timeout", "port", "hash-max-listpack-value")
	if err := c.Set(caller, pairsOf("timeout", "9", "port", "2", "hash-max-listpack-value", "3")); err != refuses {
		t.Errorf("got %v", err)
	}
	if got := shown(c, "timeout", "port", "hash-max-listpack-value"); got != before || told != 1 || checks != 3 {
		t.Errorf("after a refusal %s, %d told, %d checks", got, told, checks)
	}
	refuses = nil
	caller.Share = false
	set(c, caller, "busy-reply-threshold", "9")
	if len(kept) != 0 {
		t.Errorf("kept %v of one that does not share", kept)
	}
	// Only what was shared has a value beneath.
	c.Take(nil, nil, func(name string, err error) { t.Errorf("%s: %v", name, err) })
	if got := shown(c, "timeout", "port", "hash-max-listpack-value", "busy-reply-threshold"); got != "0 1 64 9" {
		t.Errorf("in the end %s", got)
	}
}

func TestTakenValuesLieAboveTheMembersOwn(t *testing.T) {
	c := New()
	var told []string
	c.Watch(func(s *Settings) { told = append(told, fmt.Sprint(s.Timeout.Seconds())) }, "timeout")
	all := 0
	c.Watch(func(s *Settings) { all++ })
	if err := c.Set(Caller{}, pairsOf("timeout", "7")); err != nil {
		t.Fatal(err)
	}
	bad := map[string]bool{}
	take := func(values map[string]string, changed []string, timeout string, wrong ...string) {
		t.Helper()
		clear(bad)
		c.Take(values, changed, func(name string, err error) { bad[name] = true })
		got := shown(c, "timeout")
		if s := fmt.Sprint(c.Settings().Timeout.Seconds()); got != timeout || s != timeout {
			t.Errorf("timeout is %s, in force %s, want %s", got, s, timeout)
		}
		if !slices.Equal(slices.Sorted(maps.Keys(bad)), wrong) {
			t.Errorf("refused %v, want %v", bad, wrong)
		}
	}
	values := map[string]string{"timeout": "70"}
	take(values, []string{"timeout"}, "70")
	take(values, []string{"timeout"}, "70")
	take(map[string]string{"timeout": "71"}, []string{"lua-memory-limit"}, "70") // not that one
	take(map[string]string{"timeout": "later"}, []string{"timeout"}, "7", "timeout")
	take(map[string]string{"timeout": "72"}, nil, "72")
	take(map[string]string{"lua-memory-limit": "2097152", "port": "1", "Timeout": "73", "nosuch": "1", "hash-max-ziplist-value": "5"},
		nil, "7", "Timeout", "hash-max-ziplist-value", "nosuch", "port")
	take(map[string]string{}, []string{"nosuch", "port"}, "7") // gone, whatever it was
	if got := shown(c, "port", "lua-memory-limit"); got != "6379 2097152" {
		t.Errorf("got %s", got)
	}
	if got := c.Overruled(); !slices.Equal(got, []string{"lua-memory-limit"}) {
		t.Errorf("the group has %v", got)
	}
	take(map[string]string{}, nil, "7")
	if got := strings.Join(told, " "); got != "7 70 7 72 7" || all != 6 || len(c.Overruled()) != 0 {
		t.Errorf("told %s, of all %d times; the group has %v", got, all, c.Overruled())
	}
}

// A member takes shared directives as they are: no hook can refuse one.
func TestSharedDirectivesCannotBeChecked(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a check was registered")
		}
	}()
	New().Check(func(old, new *Settings) error { return nil }, "port", "timeout")
}

// Whatever a store has as the configuration of a group, a member takes it or keeps its own, and shows what is in force.
func FuzzTakeConfiguration(f *testing.F) {
	f.Add("timeout", "5", "maxmemory-policy", "allkeys-lru", true)
	f.Add("TIMEOUT", "5", "notify-keyspace-events", "K\x00", false)
	f.Add("hash-max-listpack-value", "99999999999999999999gb", "", "", true)
	f.Fuzz(func(t *testing.T, a, v, b, w string, whole bool) {
		c := New()
		own := c.Get([]string{"*"}, glob)
		values := map[string]string{a: v, b: w}
		changed := []string{a, b, a}
		if whole {
			changed = nil
		}
		bad := 0
		c.Take(values, changed, func(string, error) { bad++ })
		for _, p := range c.Get([]string{"*"}, glob) {
			row, _ := c.lookup(p.Name)
			if _, there := values[c.rows[row].name]; !slices.Contains(own, p) && (!there || c.rows[row].flags&shared == 0) {
				t.Errorf("%s is %q of %q", p.Name, p.Value, values)
			}
		}
		twice := Caller{Share: true, Keep: func(shared []Pair) error { return nil }}
		if err := c.Set(twice, pairsOf("timeout", "77")); err != nil || shown(c, "timeout") != "77" {
			t.Errorf("afterwards: %v", err)
		}
		c.Take(nil, nil, func(string, error) { t.Error("nothing is taken") })
		if got := c.Get([]string{"*"}, glob); !slices.Equal(got, own) {
			t.Errorf("given back: %v, want %v", got, own)
		}
	})
}
