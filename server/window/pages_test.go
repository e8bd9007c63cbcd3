package window

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vigildb/vigil/server/internal/door"

	"github.com/vigildb/vigil/server/internal/report"
)

func TestOverviewShowsTheServer(t *testing.T) {
	r := busyRig(t)
	page := r.get("/")
	wants(t, "overview", page, "takes reads and writes", "in memory only", "Commands a second", "Time of a command",
		"sched.next", "<td>db0</td>", "1 schedule<", "1 placement map<", "The server is in memory only.", "of 100 MiB", "strings", "<svg")
}

func TestSchedulePageShowsRatesCostAndWhatComes(t *testing.T) {
	r := newRig(t)
	r.must("SCHED.CREATE feeds SEED 1 ESTIMATOR fixed")
	r.must("SCHED.ADD feeds fast RATE 9 slow RATE 1")
	var page string
	poll(t, "the cost is there", func() bool {
		page = r.get("/schedules")
		return strings.Contains(page, "times the bound")
	})
	wants(t, "schedules", page, "<h2>feeds</h2>", "index", "On average ", "items wait to be found", "What comes next", "Estimated rates")
	if fast, slow := strings.Index(page, "<td>fast</td>"), strings.Index(page, "<td>slow</td>"); fast < 0 || fast > slow {
		t.Error("the node with the higher index does not come first")
	}
	poll(t, "two costs make a line", func() bool { return strings.Contains(r.get("/schedules"), `class="line second"`) })
	r.must("SCHED.CREATE news POLICY whittle SEED 1")
	r.must("SCHED.ADD news a DECAY 0.5 ARRIVAL 1 b DECAY 0.1 ARRIVAL 2")
	poll(t, "the reward is there", func() bool {
		return strings.Contains(r.get("/schedules?db=0&key=news"), "no policy can earn more than")
	})
	wants(t, "a schedule without nodes", func() string {
		r.must("SCHED.CREATE empty SEED 1")
		return r.get("/schedules?key=empty")
	}(), "Without nodes it costs nothing.", "There are no nodes.")
}

func TestSchedulePageFiltersAndShowsLeases(t *testing.T) {
	r := newRig(t)
	r.must("SCHED.CREATE feeds SEED 1 LEASE 600000")
	r.must("SCHED.CREATE news SEED 1")
	r.many(300, func(i int) call { return call{"SCHED.ADD", "feeds", fmt.Sprintf("site-%03d", i), "RATE", "0.00012345"} })
	r.must("SCHED.ADD feeds [odd*] RATE 5")
	r.must("SCHED.NEXT feeds COUNT 3")
	page := r.get("/schedules?name=FEE")
	wants(t, "names of schedules", page, `key=feeds`, `value="FEE"`)
	if strings.Contains(page, "key=news") {
		t.Error("a schedule of another name is listed")
	}
	wants(t, "no such name", r.get("/schedules?name=nosuch"), "None of the schedules has such a name.")
	page = r.get("/schedules?key=feeds&node=site-04")
	wants(t, "names of nodes", page, "<td>site-041</td>", "of 10 that match", "0.000123")
	_, rates, _ := strings.Cut(page, "<h2>Estimated rates</h2>")
	if strings.Contains(rates, "<td>site-051</td>") {
		t.Error("a node of another name is listed")
	}
	wants(t, "a name with stars", r.get("/schedules?key=feeds&node=[odd*"), "<td>[odd*]</td>", "of 1 that match")
	wants(t, "no such node", r.get("/schedules?key=feeds&node=nosuch"), "No node has such a name.")
	page = r.get("/schedules?key=feeds")
	_, leased, _ := strings.Cut(page, "<h2>Leased</h2>")
	leased, _, _ = strings.Cut(leased, "</section>")
	if n := strings.Count(leased, "<tr><td>"); n != 3 || !strings.Contains(leased, "10 min") {
		t.Errorf("%d leased nodes, want 3: %s", n, leased)
	}
}

func TestPlacementPageDrawsAChange(t *testing.T) {
	r := newRig(t)
	r.must("PLACE.CREATE m SEED 1")
	r.must("PLACE.SET m a 1 b 1 DOMAIN rack c 2")
	wants(t, "the map", r.get("/placement"), "<h2>m</h2>", "sieve-abs", "50 %", "in rack")
	page := r.get("/placement?db=0&key=m&change=set&unit=d&capacity=4")
	wants(t, "a unit that joins", page, "50 % of the objects would move; 50 % is the least", "0 % → 50 %", "50 % → 25 %", "25 % → 12.5 %",
		`class="gains"`, `class="loses"`, "<td>c</td><td>d</td>")
	wants(t, "a unit that leaves", r.get("/placement?db=0&key=m&change=del&unit=c"), "50 % → 0 %", "25 % → 50 %")
	wants(t, "a unit that is not there", r.get("/placement?db=0&key=m&change=del&unit=x"), "no such unit")
	wants(t, "a capacity that is none", r.get("/placement?db=0&key=m&change=set&unit=x&capacity=lots"), "capacity must be a number")
	if got := r.do("PLACE.INFO", "m").Pairs()["version"].Int(); got != 1 {
		t.Errorf("the map is at version %d, want 1: previews changed it", got)
	}
}

func TestKeysPageKnowsSessionsAndPrefixes(t *testing.T) {
	r := newRig(t)
	r.many(30, key("total-pages:"))
	r.many(30, key("user:"))
	r.many(10, key("plain"))
	r.must("BF.ADD page-bloom:1 /home")
	page := r.get("/keys")
	wants(t, "keys", page, "All 71 keys were looked at", "<code>total-pages:</code>", "<code>user:</code>", "<i>no colon</i>",
		"<code>total-pages:*</code>", "<code>page-bloom:*</code>", "Bloom filters")
	if regexp.MustCompile(`user:\*`).MatchString(page) {
		t.Error("keys of others are among the sessions")
	}
}

func TestSampleEstimatesALargeStore(t *testing.T) {
	r := newRig(t)
	const each = 20_000
	r.many(each, key("a:"))
	r.many(each/4, key("b:"))
	r.get("/")
	f, err := r.w.source.Current()
	if err != nil {
		t.Fatal(err)
	}
	s, err := r.w.sampled(f)
	if err != nil {
		t.Fatal(err)
	}
	if s.Whole || s.Looked < sampleKeys || s.Looked > 2*sampleKeys {
		t.Errorf("looked at %d keys (all: %v), want about %d", s.Looked, s.Whole, sampleKeys)
	}
	for i, want := range map[int]float64{0: each, 1: each / 4} {
		if g := s.Prefixes[i]; g.Keys < want*0.7 || g.Keys > want*1.3 {
			t.Errorf("%s: about %v keys, want %v", g.Name, g.Keys, want)
		}
	}
	memory := f.Number("used_memory")
	if got := s.Types[0].Bytes; got < memory*0.5 || got > memory*2 {
		t.Errorf("strings take about %v bytes, want about %v", got, memory)
	}
}

// calls counts calls of a command.
func (r *rig) calls(name string) float64 {
	r.t.Helper()
	r.later(report.FiguresAge)
	f, err := r.w.source.Current()
	if err != nil {
		r.t.Fatal(err)
	}
	for _, c := range f.Commands {
		if c.Name == name {
			return c.Calls
		}
	}
	return 0
}

// TestALookDoesABoundedAmountOfWork counts what one look at each page asks, in a store
// of many keys, a large schedule and a large map.
func TestALookDoesABoundedAmountOfWork(t *testing.T) {
	r := newRig(t)
	r.many(100_000, key("k:"))
	r.must("SCHED.CREATE big SEED 1")
	r.many(300, func(i int) call {
		c := call{"SCHED.ADD", "big"}
		for j := range 100 {
			c = append(c, fmt.Sprintf("node-%d-%d", i, j))
		}
		return c
	})
	r.must("PLACE.CREATE wide STRATEGY rendezvous SEED 1")
	r.many(30, func(i int) call {
		c := call{"PLACE.SET", "wide"}
		for j := range 100 {
			c = append(c, fmt.Sprintf("unit-%d-%d", i, j), "1")
		}
		return c
	})
	before := map[string]float64{"scan": r.calls("scan"), "sched.node": 0}
	page := r.get("/schedules?key=big")
	wants(t, "a large schedule", page, "30k", "With more than 20k nodes the cost is not found out here", "the highest of 200 nodes out of 30k")
	if n := r.calls("sched.node"); n > rateNodes+comingShown+100 {
		t.Errorf("%v nodes were asked for, want %d at most", n, rateNodes+comingShown)
	}
	if n := r.calls("sched.cost"); n != 0 {
		t.Errorf("SCHED.COST was asked %v times", n)
	}
	if n := strings.Count(page, "<tr>"); n > 150 {
		t.Errorf("the page has %d lines", n)
	}
	page = r.get("/placement?key=wide&unit=new&capacity=1")
	wants(t, "a large map", page, "2.96k more units hold", "are not previewed here")
	if n := strings.Count(page, "<tr>"); n > 150 {
		t.Errorf("the page has %d lines", n)
	}
	looks := 0
	for _, path := range []string{"/", "/keys", "/metrics"} {
		r.get(path)
		looks++
	}
	// A step of the search takes 10 ms, one call of it at the least; the sample some.
	if n := r.calls("scan") - before["scan"]; n > float64(5*(2*100_000/stepKeys)) || n < 1 {
		t.Errorf("%d looks took %v calls of SCAN", looks, n)
	}
	if n := r.calls("keys"); n != 0 {
		t.Error("KEYS was called")
	}
	for range 50 { // within a moment figures are shared
		r.later(10 * time.Millisecond)
		r.ask(request("/metrics"))
	}
	if n := r.calls("slowlog|len"); n > 30 { // which is asked for with INFO, and by nobody else
		t.Errorf("the figures were asked for %v times", n)
	}
}

// TestSearchFindsAScheduleAmongMany looks until the pass is over.
func TestSearchFindsAScheduleAmongMany(t *testing.T) {
	r := newRig(t)
	r.many(50_000, key("k:"))
	r.must("SCHED.CREATE needle SEED 1")
	r.must("PLACE.CREATE pin SEED 1")
	poll(t, "both are found", func() bool {
		page := r.get("/")
		return strings.Contains(page, "1 schedule<") && strings.Contains(page, "1 placement map<")
	})
	poll(t, "the pass is over", func() bool { return !strings.Contains(r.get("/"), "The search for") })
	r.must("DEL needle")
	poll(t, "the next pass forgets what is gone", func() bool { return strings.Contains(r.get("/"), "0 schedules<") })
}

// Texts that mean something in HTML, in its attributes, in addresses and in scripts.
var nasty = []string{`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `' onmouseover='alert(1)`, `</title><b>`, `javascript:alert(1)`,
	"{{.}}", "\u202egnp.exe", "a\x00b\xff", "<!--", "]]>", "&lt;", strings.Repeat("<", 5000)}

// unescaped are parts of the texts that no page may contain as they are.
var unescaped = []string{"<script>alert", "<img src=x", "onmouseover='alert", "</title><b>", `href="javascript:`, "\x00", "<!-- ", "<<<<"}

func TestWhatClientsStoredIsEscaped(t *testing.T) {
	r := newRig(t, "--slowlog-log-slower-than", "0")
	for i, text := range nasty {
		r.do("SET", text+":x", "v")
		r.do("SET", text, text)
		r.do("CLIENT", "SETNAME", strings.ReplaceAll(text, " ", ""))
		r.do("SCHED.CREATE", "s"+text, "SEED", "1")
		r.do("SCHED.ADD", "s"+text, text, "RATE", "1", text+"2")
		r.do("PLACE.CREATE", "p"+text, "SEED", "1")
		r.do("PLACE.SET", "p"+text, text, "1", "DOMAIN", text, fmt.Sprint("u", i), "1")
	}
	var pages []string
	for _, text := range nasty {
		k := url.QueryEscape(text)
		pages = append(pages, "/schedules?db=0&key=s"+k, "/placement?db=0&key=p"+k, "/schedules?db="+k+"&key="+k,
			"/placement?db=0&key=p"+k+"&change="+k+"&unit="+k+"&capacity="+k, "/placement?db=0&key=p"+k+"&change=set&unit="+k+"&capacity=3")
	}
	for _, path := range append(pages, everything...) {
		if strings.HasSuffix(path, ".css") || strings.HasSuffix(path, ".js") {
			continue
		}
		r.later(time.Minute)
		status, page := r.ask(request(path))
		if status >= http.StatusInternalServerError {
			t.Errorf("%s: status %d: %s", path, status, page)
		}
		for _, bad := range unescaped {
			if strings.Contains(page, bad) && !strings.HasPrefix(path, "/metrics") {
				t.Errorf("%s has %q as it is:\n%s", path, bad, page)
			}
		}
		if strings.HasPrefix(path, "/metrics") {
			parse(t, page)
		}
		if len(page) > 400_000 {
			t.Errorf("%s has %d bytes", path, len(page))
		}
	}
	wants(t, "slow log", r.get("/slowlog"), html.EscapeString("<script>alert(1)</script>"))
}

func TestLinksLeadBackToTheirKeys(t *testing.T) {
	r := newRig(t)
	for _, name := range nasty {
		if a := r.do("SCHED.CREATE", name, "SEED", "1"); a.Err() != nil {
			t.Fatal(a.Err())
		}
	}
	links := regexp.MustCompile(`href="(schedules\?[^"]*)"`).FindAllStringSubmatch(r.get("/schedules"), -1)
	if len(links) != len(nasty) {
		t.Fatalf("%d links, want %d", len(links), len(nasty))
	}
	for _, l := range links {
		page := r.get("/" + html.UnescapeString(l[1]))
		wants(t, l[1], page, "Without nodes it costs nothing.", `class="here"`)
	}
}

func TestClientsAndSlowLogAreCut(t *testing.T) {
	r := newRig(t, "--slowlog-log-slower-than", "0", "--slowlog-max-len", "1000")
	for i := range 300 {
		r.do("SET", fmt.Sprint("key-", i), strings.Repeat("v", 1000))
	}
	page := r.get("/slowlog")
	wants(t, "slow log", page, "Every command is logged", fmt.Sprintf("The newest %d of ", report.SlowShown))
	if _, list, _ := strings.Cut(page, "One by one"); strings.Count(list, "<code>") != report.SlowShown {
		t.Errorf("%d entries are shown, want %d", strings.Count(list, "<code>"), report.SlowShown)
	}
	wants(t, "shapes", page, "<code>SET * *</code>")
	for range 70 {
		nc, err := r.srv.Dial()
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
	}
	page = r.get("/clients")
	wants(t, "clients", page, "50 of 7", "vigil-window")
	r.must("CONFIG SET slowlog-log-slower-than -1")
	wants(t, "slow log", r.get("/slowlog"), "It is off")
}

func TestChartsDrawTheHistory(t *testing.T) {
	b := &overviewBody{}
	f := &figures{Sampled: time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC)}
	for i := range 360 {
		f.History = append(f.History, door.Sample{Ops: float32(i), P50: 5, P99: 50, P999: 2000, HitRatio: -1, Memory: 1 << 20, Errors: 2, Processor: 0.25, DiskFree: 1 << 30})
	}
	b.charts(f)
	if c := b.Large[0]; c.Top != "400" || c.Half != "200" || c.Now != "359" || !strings.HasPrefix(c.Lines[0].Path, "M0 120L1.7 119.7") {
		t.Errorf("commands a second: %+v", c)
	}
	if c := b.Large[0]; !slices.Equal(c.Times, []string{"14:09", "14:24", "14:39", "14:54", "15:09"}) {
		t.Errorf("the axis has %v", c.Times)
	}
	if c := b.Large[1]; c.Top != "10 ms" || c.Bottom != "1 µs" || c.Lines[0].Now != "5 µs" || c.Lines[1].Now != "50 µs" || c.Lines[2].Now != "2 ms" {
		t.Errorf("times of commands: %+v", c)
	}
	now := map[string]string{}
	for _, c := range b.Small {
		now[c.Title] = c.Now
	}
	for title, want := range map[string]string{"Errors a second": "2", "Processor, of a core": "25 %", "Free on the disk": "1 GiB", "Evicted keys a second": "0"} {
		if now[title] != want {
			t.Errorf("%s: got %q, want %q", title, now[title], want)
		}
	}
	if c := b.Small[3]; !c.Empty {
		t.Errorf("no lookups make a line: %+v", c)
	}
	if c := b.Small[0]; strings.Count(c.Lines[0].Path, "L") != sparkPoints-1 {
		t.Errorf("a small chart has %d points, want %d", strings.Count(c.Lines[0].Path, "L")+1, sparkPoints)
	}
}
