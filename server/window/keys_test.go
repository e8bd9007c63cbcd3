package window

import (
	"fmt"
	"html"
	"regexp"
	"strings"
	"testing"
)

func TestSearchFindsKeysPageByPage(t *testing.T) {
	r := newRig(t)
	const n = 500
	r.many(20_000, key("other:"))
	r.many(n, func(i int) call { return call{"SET", fmt.Sprintf("user:%04d", i), "v"} })
	r.must("EXPIRE user:0007 1000")
	seen := map[string]bool{}
	pages := goOn(t, r, "/keys?match=user:*")
	for _, page := range pages {
		for _, m := range regexp.MustCompile(`user:\d{4}`).FindAllString(page, -1) {
			seen[m] = true
		}
	}
	if len(seen) != n || len(pages) < 3 {
		t.Errorf("%d of %d keys on %d pages", len(seen), n, len(pages))
	}
	wants(t, "the last page", pages[len(pages)-1], "That is all.")
	wants(t, "the first page", pages[0], "value=\"user:*\"", "About ")
	wants(t, "nothing", r.get("/keys?match=nosuch*"), "No such key is among those that were looked at.")
	wants(t, "a long pattern", r.get("/keys?match="+strings.Repeat("a", 201)), "A pattern has 200 bytes at most.")
	wants(t, "a database that is not there", r.get("/keys?db=99&match=*"), "The server says:")
}

// TestASearchIsBounded looks for what is not there in a store of many keys.
func TestASearchIsBounded(t *testing.T) {
	r := newRig(t)
	r.many(100_000, key("k:"))
	before := r.calls("scan")
	page := r.get("/keys?match=nosuch")
	wants(t, "the page", page, "Go on")
	if n := r.calls("scan") - before; n > searchSteps+500 {
		t.Errorf("a page of a search took %v calls of SCAN", n)
	}
}

func TestLargestKeysAreFound(t *testing.T) {
	r := newRig(t)
	r.many(30_000, key("k:"))
	for i := range 30 {
		r.do("SET", fmt.Sprintf("large:%02d", i), strings.Repeat("x", 40_000+20_000*i))
	}
	r.client.Ask(answerTime, 3, call{"SET", "elsewhere", strings.Repeat("x", 2_000_000)})
	var page string
	poll(t, "the search of all keys is over", func() bool {
		page = r.get("/keys")
		return strings.Contains(page, "As of the last search of all keys.")
	})
	_, page, _ = strings.Cut(page, "<h2>Largest</h2>")
	page, _, _ = strings.Cut(page, "</section>")
	got := regexp.MustCompile(`<code>([^<]*)</code>`).FindAllStringSubmatch(page, -1)
	if len(got) != maxLargest || html.UnescapeString(got[0][1]) != "elsewhere (db3)" || got[1][1] != "large:29" || got[19][1] != "large:11" {
		t.Errorf("the largest keys: %v", got)
	}
}

func TestHottestKeysAreThoseOfHotkeys(t *testing.T) {
	r := newRig(t)
	r.must("SET k v")
	wants(t, "before", r.get("/keys"), "Not counted now.")
	r.must("HOTKEYS START METRICS 2 CPU NET")
	for range 100 {
		r.must("SET hot:1 v")
	}
	r.must("SET cold:1 v")
	_, page, _ := strings.Cut(r.get("/keys"), "<h2>Hottest</h2>")
	wants(t, "while counting", page, "By time", "By network", "<code>hot:1</code>", "and going on")
	// One call may take longer than a hundred where the machine is busy: the
	// bytes are what tells which key is used most.
	_, page, _ = strings.Cut(page, "By network")
	hot, cold := strings.Index(page, "<code>hot:1</code>"), strings.Index(page, "<code>cold:1</code>")
	if hot < 0 || cold < hot {
		t.Errorf("the key that is used most is at %d of the page, the other one at %d", hot, cold)
	}
	r.must("HOTKEYS STOP")
	wants(t, "afterwards", r.get("/keys"), "until it was ended")
}

func TestTypesOfALargeStoreAreCounted(t *testing.T) {
	r := newRig(t)
	r.many(9000, key("k:"))
	r.many(1000, func(i int) call { return call{"SADD", fmt.Sprint("s:", i), "a"} })
	r.many(7, func(i int) call { return call{"RPUSH", fmt.Sprint("l:", i), "a"} })
	r.many(50, func(i int) call { return call{"XADD", fmt.Sprint("x:", i), "*", "f", "v"} })
	f, err := r.w.source.Current()
	if err != nil {
		t.Fatal(err)
	}
	s, err := r.w.sampled(f)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	total := 0.0
	for _, g := range s.Types {
		got[g.Name] = g.Keys
		total += g.Share
	}
	if !s.Counted || got["strings"] != 9000 || got["sets"] != 1000 || got["lists"] != 7 {
		t.Errorf("counted: %v, %v", s.Counted, got)
	}
	if total < 0.98 || total > 1.001 {
		t.Errorf("the shares add up to %v", total)
	}
	wants(t, "the page", r.get("/keys"), "All keys were counted; memory is estimated from", "<td>lists</td>")
}
