package window

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/vigildb/vigil/structures/types"
)

// oneOfEach makes a key of each type, under the name of the type.
func oneOfEach(r *rig) {
	for _, line := range []string{"SET string hello", "RPUSH list one two three", "SADD set red green", "ZADD zset 1.5 low 9 high", "HSET hash field value",
		"XADD stream 1-1 name robin", "BF.ADD MBbloom-- x", "CF.ADD MBbloomCF x", "CMS.INITBYDIM CMSk-TYPE 10 2", "TOPK.RESERVE TopK-TYPE 3",
		"TDIGEST.CREATE TDIS-TYPE", "JSON.SET ReJSON-RL $ {\"a\":1}", "SCHED.CREATE schedule SEED 1", "PLACE.CREATE placement SEED 1"} {
		r.must(line)
	}
}

func TestLookShowsValuesOfEveryType(t *testing.T) {
	r := newRig(t)
	oneOfEach(r)
	r.must("EXPIRE string 1000")
	shown := map[string][]string{
		"string": {"<pre>hello</pre>", "in 17 min", "embstr", "5 <small>bytes"}, "list": {"<code>three</code>", "3 <small>elements"},
		"set": {"<code>red</code>", "2 <small>members"}, "zset": {"<code>low</code></td><td><code>1.5</code>", "2 <small>members"},
		"hash": {"<code>field</code></td><td><code>value</code>"}, "stream": {"<code>1-1</code></td><td><code>name robin</code>", "1 <small>entries"},
		"MBbloom--": {"Capacity"}, "MBbloomCF": {"Number of buckets"}, "CMSk-TYPE": {"<code>width</code></td><td><code>10</code>"}, "TopK-TYPE": {"<code>k</code>"},
		"TDIS-TYPE": {"Compression"}, "ReJSON-RL": {"&#34;a&#34;:1"}, "schedule": {"policy", "schedules?db=0"}, "placement": {"strategy", "placement?db=0"},
	}
	for _, typ := range types.All() {
		texts := shown[typ.Name]
		if texts == nil {
			t.Errorf("%s: want a key of the type in oneOfEach, what its page shows in shown, and what reads it in look.go", typ.Name)
			continue
		}
		page := r.get("/key?key=" + url.QueryEscape(typ.Name))
		wants(t, "a key of type "+typ.Name, page, append(texts, "<dt>Type</dt>", html.EscapeString(typ.Name))...)
		if strings.Contains(page, "are not shown here") || strings.Contains(page, "The server says") {
			t.Errorf("%s: %s", typ.Name, page)
		}
	}
	wants(t, "a key that is not there", r.get("/key?key=nosuch"), "There is no such key.")
	wants(t, "no key", r.get("/key"), "Name a key.")
}

// goOn follows the links of a look to the end and returns what the pages show, one after the other.
func goOn(t *testing.T, r *rig, path string) (all []string) {
	t.Helper()
	next := regexp.MustCompile(`<a href="([^"]*)">Go on</a>`)
	for range 100 {
		page := r.get(path)
		all = append(all, page)
		m := next.FindStringSubmatch(page)
		if m == nil {
			return all
		}
		path = "/" + html.UnescapeString(m[1])
	}
	t.Fatalf("%s has no end", path)
	return nil
}

func TestLookGoesThroughLargeValues(t *testing.T) {
	r := newRig(t)
	const n = 1000
	r.many(n, func(i int) call { return call{"RPUSH", "list", fmt.Sprintf("element-%04d", i)} })
	r.many(n, func(i int) call { return call{"SADD", "set", fmt.Sprintf("element-%04d", i)} })
	r.many(n, func(i int) call { return call{"HSET", "hash", fmt.Sprintf("element-%04d", i), "v"} })
	r.many(n, func(i int) call { return call{"ZADD", "zset", fmt.Sprint(i), fmt.Sprintf("element-%04d", i)} })
	r.many(n, func(i int) call {
		return call{"XADD", "stream", fmt.Sprintf("%d-1", i+1), "f", fmt.Sprintf("element-%04d", i)}
	})
	r.do("SET", "string", strings.Repeat("0123456789abcdef", 300))
	for _, key := range []string{"list", "set", "hash", "zset", "stream"} {
		pages := goOn(t, r, "/key?key="+key)
		seen := map[string]bool{}
		for _, page := range pages {
			for _, m := range regexp.MustCompile(`element-\d{4}`).FindAllString(page, -1) {
				seen[m] = true
			}
			if got := strings.Count(page, "<tr>"); got > 10*lookElements {
				t.Errorf("%s: a page has %d lines", key, got)
			}
		}
		if len(seen) != n || len(pages) < 5 {
			t.Errorf("%s: %d of %d elements on %d pages", key, len(seen), n, len(pages))
		}
		if last := pages[len(pages)-1]; key != "stream" && !strings.Contains(last, "element-") { // a stream does not say that there is no more
			t.Errorf("%s: the last page has nothing", key)
		}
	}
	if pages := goOn(t, r, "/key?key=string"); len(pages) != 5 {
		t.Errorf("4800 bytes of a string are on %d pages, want 5", len(pages))
	}
}

func TestLookIsBounded(t *testing.T) {
	r := newRig(t)
	large := strings.Repeat("x", 9<<20)
	r.do("SET", "string", large)
	r.do("RPUSH", "list", large, large)
	r.do("HSET", "hash", "f", large)
	r.do("JSON.SET", "json", "$", `"`+large+`"`)
	r.do("XADD", "stream", "1-1", "f", large)
	for key, text := range map[string]string{"string": "Bytes 0 to 1023.", "list": "Its elements are large", "hash": "Its elements are large",
		"json": "Documents of more than 1 MiB", "stream": "Its elements are large"} {
		page := r.get("/key?key=" + key)
		wants(t, key, page, text)
		if len(page) > 20_000 {
			t.Errorf("%s: the page has %d bytes", key, len(page))
		}
	}
	// One large element among many small ones: the page says so, and the window goes on.
	r.many(40_000, func(i int) call { return call{"RPUSH", "mixed", "small"} })
	r.do("LSET", "mixed", "0", large)
	r.do("LSET", "mixed", "1", large)
	r.do("LSET", "mixed", "2", large)
	status, page := r.ask(request("/key?key=mixed"))
	tooLong := status == http.StatusOK && strings.Contains(page, "too long to be shown")
	late := status == http.StatusServiceUnavailable && len(page) < 20_000 // on a busy machine so much takes too long
	if !tooLong && !late {
		t.Errorf("a list with large elements in front: status %d, %d bytes", status, len(page))
	}
	poll(t, "the window goes on", func() bool {
		r.later(time.Minute)
		status, page := r.ask(request("/"))
		return status == http.StatusOK && strings.Contains(page, "takes reads and writes")
	})
}

func TestWhatClientsStoredIsEscapedInALook(t *testing.T) {
	r := newRig(t)
	for _, text := range nasty {
		for _, c := range []call{{"SET", text, text}, {"RPUSH", "l" + text, text}, {"HSET", "h" + text, text, text}, {"SADD", "s" + text, text}, {"ZADD", "z" + text, "1", text},
			{"XADD", "x" + text, "*", text, text}, {"JSON.SET", "j" + text, "$", `{"<script>alert(1)</script>":"</pre><script>alert(1)"}`}, {"BF.ADD", "b" + text, text}} {
			r.do(c...)
			page := r.get("/key?key=" + url.QueryEscape(c[1]))
			for _, bad := range unescaped {
				if strings.Contains(page, bad) {
					t.Errorf("%.40q shows %q as it is:\n%s", c, bad, page)
				}
			}
			if !strings.Contains(page, "<dt>Type</dt>") || len(page) > 60_000 {
				t.Errorf("%.40q: %d bytes: %.2000s", c, len(page), page)
			}
		}
	}
	page := r.get("/keys?match=*")
	for _, bad := range unescaped {
		if strings.Contains(page, bad) {
			t.Errorf("the search shows %q as it is", bad)
		}
	}
	// Links lead back to keys that are no text.
	links := regexp.MustCompile(`href="(key\?[^"]*)"`).FindAllStringSubmatch(page, -1)
	if len(links) < 20 {
		t.Fatalf("%d links", len(links))
	}
	for _, l := range links {
		wants(t, l[1], r.get("/"+html.UnescapeString(l[1])), "<dt>Type</dt>")
	}
}
