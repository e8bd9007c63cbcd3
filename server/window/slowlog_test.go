package window

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vigildb/vigil/server/internal/report"
)

func TestShapesAreAlikeForCallsThatDoTheSame(t *testing.T) {
	for _, c := range []struct {
		want  string
		calls []string
	}{
		{"GET session:*", []string{"GET session:1", "get session:abc-42", "GET session:7f3a9b2c4d5e6f708192a3b4c5d6e7f8"}},
		{"HSET cart:* *…", []string{"HSET cart:1 a b", "HSET cart:2 a b c d e f"}},
		{"ZRANGE board N… WITHSCORES", []string{"ZRANGE board 0 10 WITHSCORES", "ZRANGE board -5 -1 WITHSCORES"}},
		{"CONFIG GET *", []string{"CONFIG GET maxmemory"}},
		{"SET user:*:name *", []string{"SET user:12:name robin", "SET user:13:name x"}},
		{"SET a:* * EX N", []string{"SET a:1 v EX 100"}},
		{"KEYS user:*", []string{"KEYS user:*", "KEYS user:1"}},
		{"PING", []string{"ping"}},
	} {
		for _, call := range c.calls {
			if got := shapeOf(strings.Fields(call)); got != c.want {
				t.Errorf("%s: got %q, want %q", call, got, c.want)
			}
		}
	}
	if got := shapeOf(nil); got != "" {
		t.Errorf("a call without words: %q", got)
	}
}

func TestShapesHaveCountTotalAndLongest(t *testing.T) {
	now := time.Unix(1e9, 0)
	entry := func(micros float64, ago time.Duration, args ...string) report.SlowEntry {
		return report.SlowEntry{Micros: micros, At: now.Add(-ago), Args: args}
	}
	b := &slowBody{}
	b.group([]report.SlowEntry{entry(10, time.Minute, "GET", "a:1"), entry(5000, time.Hour, "KEYS", "*"), entry(3000, 10*time.Second, "GET", "a:2"),
		entry(500, time.Hour, "GET", "a:3")}, now)
	want := []shapeRow{{Shape: "KEYS *", Count: "1", Total: "5 ms", Mean: "5 ms", Longest: "5 ms", Last: "60 min ago", Width: "100"},
		{Shape: "GET a:*", Count: "3", Total: "3.51 ms", Mean: "1.17 ms", Longest: "3 ms", Last: "10 s ago", Width: "70.2"}}
	if !slices.Equal(b.Shapes, want) {
		t.Errorf("got %+v, want %+v", b.Shapes, want)
	}
}

func FuzzShapesAreShort(f *testing.F) {
	f.Add("GET", "a:1", "v")
	f.Add("\xff", strings.Repeat("a:", 5000), "\x00")
	f.Fuzz(func(t *testing.T, name, key, value string) {
		args := []string{name, key}
		for range 40 {
			args = append(args, value, "N", value)
		}
		if got := shapeOf(args); len(got) > 20*shapeText || strings.ContainsAny(got, "\x00\n") {
			t.Errorf("%q: %d bytes: %q", args[:3], len(got), got)
		}
	})
}

func TestSlowLogIsGroupedByShape(t *testing.T) {
	r := newRig(t, "--slowlog-log-slower-than", "0", "--slowlog-max-len", "1000")
	r.many(200, func(i int) call { return call{"SET", key("user:")(i)[1], "v"} })
	r.must("DEL user:1 user:2")
	page := r.get("/slowlog")
	wants(t, "the page", page, `<code>SET user:* *</code>`, "<td class=\"n\">200</td>", "<code>DEL user:* *</code>", "One by one")
	if strings.Count(page, "<code>SET user:* *</code>") != 1 {
		t.Error("a shape is there twice")
	}
}
