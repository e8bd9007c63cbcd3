package conf

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vigildb/vigil/commands"
)

func get(c *Config, name string) string {
	for _, p := range c.Get([]string{name}, glob) {
		return p.Value
	}
	return "(none)"
}

func TestTableIsSound(t *testing.T) {
	c := New()
	names := make(map[string]bool)
	for _, s := range sections() {
		for _, r := range s.rows {
			for _, name := range []string{r.name, r.alias} {
				if name != "" && (names[name] || name != strings.ToLower(name)) {
					t.Errorf("%s: twice, or not in lower case", name)
				}
				names[name] = true
			}
			if (r.effect == works) && r.set == nil || (r.doc == "") != (s.note != "") || s.note != "" && r.effect == works {
				t.Errorf("%s: a directive that works must have a field, and any of %q a meaning", r.name, s.title)
			}
			if (r.effect == absent) != (r.instead != "") || r.effect == absent && r.set != nil {
				t.Errorf("%s: a directive that is absent must say what to do instead, and set nothing", r.name)
			}
			v, err := r.parse(value{}, r.def, false)
			if err != nil && r.def != "" {
				t.Errorf("%s: default %q: %v", r.name, r.def, err)
			}
			if r.name != "dir" && v.text != r.def {
				t.Errorf("%s: default %q is shown as %q", r.name, r.def, v.text)
			}
		}
	}
	if n := len(c.rows); n < 180 {
		t.Errorf("%d directives, Redis 7.4 has more", n)
	}
}

func TestDefaults(t *testing.T) {
	s := New().Settings()
	dir, _ := os.Getwd()
	for what, ok := range map[string]bool{
		"port":             s.Port == 6379,
		"dir":              s.Dir == dir,
		"maxmemory-policy": s.MaxMemoryPolicy == Spill,
		"bind":             slices.Equal(s.Bind, []string{"127.0.0.1", "-::1"}),
		"save":             len(s.Save) == 0,
		"output limit":     s.OutputLimits[PubSubClient] == OutputLimit{32 << 20, 8 << 20, 60},
		"appendfsync":      s.AppendFsync == FsyncEverySecond,
		"loglevel":         s.LogLevel == LogNotice,
		"supervised":       s.Supervised == SupervisedNo,
		"tcp-keepalive":    s.TCPKeepAlive == 5*time.Minute,
		"protected":        s.ProtectedMode && !s.EnableDebugCommand.Allows(true),
	} {
		if !ok {
			t.Errorf("%s: wrong default in %+v", what, s)
		}
	}
}

func TestSetIsSeenAtOnceAndOldSettingsStay(t *testing.T) {
	c := New()
	old := c.Settings()
	if err := c.Set(Caller{}, pairsOf("maxmemory", "1gb", "notify-keyspace-events", "KEx", "appendfsync", "always")); err != nil {
		t.Fatal(err)
	}
	s := c.Settings()
	if s.MaxMemory != 1<<30 || s.NotifyKeyspaceEvents != commands.EventKeyspace|commands.EventKeyevent|commands.EventExpired || s.AppendFsync != FsyncAlways {
		t.Errorf("after set: %+v", s)
	}
	if old.MaxMemory != 0 || old.NotifyKeyspaceEvents != 0 {
		t.Errorf("old settings changed: %+v", old)
	}
}

func TestHookRefusalUndoesEverything(t *testing.T) {
	c := New()
	var calls []string
	hook := func(name string, refuse func(*Settings) bool) func(old, new *Settings) error {
		return func(old, new *Settings) error {
			calls = append(calls, fmt.Sprintf("%s %d to %d", name, old.Port, new.Port))
			if refuse(new) {
				return errors.New("Unable to listen on this port. Check server logs.")
			}
			return nil
		}
	}
	c.Check(hook("first", func(*Settings) bool { return false }), "port", "bind")
	c.Check(hook("second", func(s *Settings) bool { return s.Port == 1 }), "port")
	c.Watch(func(s *Settings) { calls = append(calls, fmt.Sprint("told ", s.Port)) }, "port", "maxmemory")

	err := c.Set(Caller{}, pairsOf("maxmemory", "5", "port", "1"))
	want := "ERR CONFIG SET failed (possibly related to argument 'port') - Unable to listen on this port. Check server logs."
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if get(c, "port") != "6379" || get(c, "maxmemory") != "0" || c.Settings().Port != 6379 || c.Settings().MaxMemory != 0 {
		t.Error("a refused change is visible")
	}
	if want := "[first 6379 to 1 second 6379 to 1 first 1 to 6379]"; fmt.Sprint(calls) != want {
		t.Errorf("hooks: got %v, want %s", calls, want)
	}
	calls = nil
	if err := c.Set(Caller{}, pairsOf("port", "2")); err != nil {
		t.Fatal(err)
	}
	if err := c.Set(Caller{}, pairsOf("port", "2", "timeout", "3")); err != nil {
		t.Fatal(err)
	}
	if want := "[first 6379 to 2 second 6379 to 2 told 2]"; fmt.Sprint(calls) != want {
		t.Errorf("hooks of a change and of the same value again: got %v, want %s", calls, want)
	}
}

func TestGuardsOfSet(t *testing.T) {
	c, err := Load([]string{"--enable-protected-configs", "local", "--loglevel", "warning"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, x := range []struct {
		caller Caller
		pair   []string
		want   string
	}{
		{Caller{}, []string{"dir", dir}, "ERR CONFIG SET failed (possibly related to argument 'dir') - can't set protected config"},
		{Caller{Local: true}, []string{"dir", dir}, "ERR CONFIG SET failed (possibly related to argument 'dir') - can't set immutable config"},
		{Caller{}, []string{"dbfilename", "x"}, "ERR CONFIG SET failed (possibly related to argument 'dbfilename') - can't set protected config"},
		{Caller{Local: true}, []string{"dbfilename", "x"}, ""},
		{Caller{Loading: true}, []string{"appendonly", "yes"}, "LOADING Redis is loading the dataset in memory"},
		{Caller{Loading: true}, []string{"maxmemory", "1"}, ""},
		{Caller{}, []string{"logfile", "x"}, "ERR CONFIG SET failed (possibly related to argument 'logfile') - can't set immutable config"},
		{Caller{}, []string{"tls-cluster", "no"}, ""},
		{Caller{}, []string{"tls-cluster", "yes"}, "ERR CONFIG SET failed (possibly related to argument 'tls-cluster') - can't set immutable config"},
		{Caller{}, []string{"tls-cluster", "maybe"}, "ERR CONFIG SET failed (possibly related to argument 'tls-cluster') - can't set immutable config"},
		{Caller{Local: true}, []string{"dbfilename", "a/b"}, "ERR CONFIG SET failed (possibly related to argument 'dbfilename') - dbfilename can't be a path, just a filename"},
		{Caller{}, []string{"hash-max-ziplist-value", "1", "hash-max-listpack-value", "2"}, "ERR CONFIG SET failed (possibly related to argument 'hash-max-listpack-value') - duplicate parameter"},
	} {
		got := ""
		if err := c.Set(x.caller, pairsOf(x.pair...)); err != nil {
			got = err.Error()
		}
		if got != x.want {
			t.Errorf("%+v %v: got %q, want %q", x.caller, x.pair, got, x.want)
		}
	}
	if get(c, "dir") == dir || get(c, "dbfilename") != "x" {
		t.Errorf("dir is %s, dbfilename %s", get(c, "dir"), get(c, "dbfilename"))
	}
}

func TestGetMatchesPatternsOnceAndHidesHidden(t *testing.T) {
	c := New()
	names := func(patterns ...string) string {
		var all []string
		for _, p := range c.Get(patterns, glob) {
			all = append(all, p.Name)
		}
		return strings.Join(all, " ")
	}
	for _, x := range []struct {
		patterns []string
		want     string
	}{
		{[]string{"hash-max-*"}, "hash-max-listpack-entries hash-max-ziplist-entries hash-max-listpack-value hash-max-ziplist-value"},
		{[]string{"slowlog*", "slowlog-max-len", "SLOWLOG-*"}, "slowlog-log-slower-than slowlog-max-len slowlog-entry-max-argc slowlog-entry-max-string-len"},
		{[]string{"watchdog*"}, ""},
		{[]string{"watchdog-period"}, "watchdog-period"},
		{[]string{"nosuch", "port"}, "port"},
		{nil, ""},
	} {
		if got := names(x.patterns...); got != x.want {
			t.Errorf("%v: got %s, want %s", x.patterns, got, x.want)
		}
	}
	if n := len(c.Get([]string{"*"}, glob)); n < 180 {
		t.Errorf("CONFIG GET * gives %d directives", n)
	}
	if !c.Sensitive("REQUIREPASS") || c.Sensitive("port") || c.Sensitive("nosuch") || !c.Known("slaveof") {
		t.Error("Sensitive or Known is wrong")
	}
}

// TestReadersNeverSeeHalfAChange changes two directives together while others
// read. Run with -race.
func TestReadersNeverSeeHalfAChange(t *testing.T) {
	c := New()
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if s := c.Settings(); s.MaxMemory != 0 && s.MaxMemory != s.SlowlogMaxLen {
					t.Errorf("half a change: %d and %d", s.MaxMemory, s.SlowlogMaxLen)
					return
				}
				c.Get([]string{"maxmemory"}, glob)
			}
		})
	}
	for i := 1; i <= 300; i++ {
		n := fmt.Sprint(i)
		if err := c.Set(Caller{}, pairsOf("maxmemory", n, "slowlog-max-len", n)); err != nil {
			t.Fatal(err)
		}
	}
	close(done)
	readers.Wait()
}

func BenchmarkSettings(b *testing.B) {
	c := New()
	b.ReportAllocs()
	var n int64
	for b.Loop() {
		n += c.Settings().MaxMemory
	}
	_ = n
}
