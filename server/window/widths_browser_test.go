//go:build browser

package window

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/vigildb/vigil/server/internal/door"
	"github.com/vigildb/vigil/server/internal/report"
)

var screenshots = flag.String("screenshots", "", "folder for the screenshots; without it they are made and dropped")

// measure is a script that writes down what a page looks like: how wide it is, in which colours, and what sticks out.
const measure = `addEventListener('load', function () {
  const root = document.documentElement, out = [];
  for (const e of document.querySelectorAll('main *, header *, footer *')) {
    const box = e.getBoundingClientRect();
    if (box.width > 0 && box.right > innerWidth + 1 && !e.closest('.scroll, nav, svg, h1')) out.push(e.tagName + '.' + e.className);
  }
  root.dataset.measured = root.scrollWidth + '/' + innerWidth + '/' + matchMedia('(prefers-color-scheme: dark)').matches + '/' + out.slice(0, 5).join(',');
});`

// stage is a window whose pages measure themselves, with a page of a cluster.
func stage(t *testing.T) (base string) {
	t.Helper()
	r := busyRig(t)
	oneOfEach(r)
	for i := range 400 {
		r.do("SET", fmt.Sprintf("session:%04d", i), strings.Repeat("v", 20+i))
	}
	for i := range 40 {
		r.do("SCHED.ADD", "feeds", fmt.Sprintf("https://site-%02d.example.org/feed.xml", i), "RATE", fmt.Sprint(0.0123/float64(i+1)))
		r.do("HSET", "cart:1", fmt.Sprint("article-", i), strings.Repeat("long value ", 1+i))
	}
	r.do("SCHED.NEXT", "feeds", "COUNT", "5")
	r.must("HOTKEYS START METRICS 2 CPU NET")
	for range 200 {
		r.must("GET session:0001")
	}
	r.must("CONFIG SET slowlog-log-slower-than 10000000") // the pages are not to fill the log
	f, err := r.w.source.Current()
	if err != nil {
		t.Fatal(err)
	}
	f.History, f.Sampled = anHour(), f.At
	maps.Copy(f.Info, map[string]string{"tcp_port": "6379", "uptime_in_seconds": "273600", "vigil_in_memory": "0", "disk_free_bytes": "86000000000"})
	h := r.w.Handler()
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, q *http.Request) {
		if q.URL.Path == "/measure.js" {
			rw.Header().Set("Content-Type", "text/javascript")
			fmt.Fprint(rw, measure)
			return
		}
		rec := httptest.NewRecorder()
		if h.ServeHTTP(rec, q); q.URL.Path == "/group" {
			rec.Body = bytes.NewBufferString(clusterPage(t, r.w))
		}
		for name, values := range rec.Header() {
			if name != "Content-Length" {
				rw.Header()[name] = values
			}
		}
		rw.WriteHeader(rec.Code)
		rw.Write(bytes.Replace(rec.Body.Bytes(), []byte("</head>"), []byte(`<script src="/measure.js"></script></head>`), 1))
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// anHour is one that has seen something.
func anHour() (all []door.Sample) {
	for i := range hourLength {
		x := float64(i) / 40
		wave := float32(1.4 + math.Sin(x) + 0.3*math.Sin(7*x))
		s := door.Sample{Ops: 9000 * wave, P50: 11 + wave, P99: 80 + 40*wave, P999: 700 + 900*wave*wave, HitRatio: 0.86 + wave/40, Memory: 3e8 + 1e6*float32(i),
			Keys: 400_000 + 800*float32(i), Clients: 120 + 30*wave, Input: 1e6 * wave, Output: 3e6 * wave, Processor: 0.2 + wave/8, DiskFree: 9e10 - 1e7*float32(i)}
		if i%90 > 80 {
			s.Errors = 4 * wave
		}
		all = append(all, s)
	}
	return all
}

// clusterPage is the page of a leader of a cluster of two groups, whose slots move.
func clusterPage(t *testing.T, w *Window) string {
	t.Helper()
	g := &report.Group{Name: "mymaster", ID: strings.Repeat("f", 40), State: "leads", Self: 1, Leader: 1, Term: 7, Level: 3, Last: 1_204_311, Committed: 1_204_310, Voters: 3, Quorum: 2,
		Members: []report.Member{{Number: 1, Address: "10.0.0.1:6379", Name: "shop-1", Role: "leader", Link: "self", Known: true},
			{Number: 2, Address: "10.0.0.2:6379", Name: "shop-2", Role: "voter", Link: "up", Known: true, Lag: 12},
			{Number: 3, Address: "10.0.0.3:6379", Name: "shop-3", Role: "voter", Link: "down", Known: true, Lag: 8120}},
		Cluster: map[string]string{"cluster_state": "ok", "cluster_slots_assigned": "16384", "cluster_slots_ok": "16384", "cluster_slots_fail": "0", "cluster_size": "2", "cluster_known_nodes": "4"},
		Shards: []report.Shard{{Ranges: "0-8191", Slots: 8192, Nodes: []report.Node{{ID: "a", Address: "10.0.0.1:6379", Leads: true, Up: true}, {ID: "b", Address: "10.0.0.2:6379", Up: true},
			{ID: "c", Address: "10.0.0.3:6379"}}}, {Ranges: "8192-16383", Slots: 8192, Nodes: []report.Node{{ID: "d", Address: "10.0.1.1:6379", Leads: true, Up: true}}}},
		Moves: []report.Move{{Ranges: "0-4095", State: "moving", Source: "a", Target: "d", Slots: 4096, Moved: 1500, Keys: 81_000, Bytes: 70 << 20, Pause: 14 * time.Millisecond, Updated: w.now()}}}
	b := &groupBody{}
	b.group(g)
	b.cluster(g, &figures{At: w.now()})
	var out bytes.Buffer
	p := &page{Name: "group", Title: "Group", Tabs: w.tabs(route{path: "group"}), At: w.now().Format("15:04:05"), Well: true, Health: "takes reads and writes",
		Address: "port 6379", Up: "3 days", Version: "0.2.0", Body: b}
	if err := pageTemplate("group").Execute(&out, p); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// seen are all pages as visitors come to them.
var seen = []string{"/", "/keys", "/keys?match=session:*", "/key?key=cart:1", "/key?key=zset", "/key?key=string", "/clients", "/slowlog", "/group",
	"/schedules?key=feeds", "/placement", "/placement?key=shards&change=set&unit=oak&capacity=6"}

// widths are those of a phone and of a desk.
var widths = []struct{ width, height int }{{390, 844}, {1280, 900}}

var measured = regexp.MustCompile(`data-measured="(\d+)/(\d+)/(true|false)/([^"]*)"`)

// looksLike are the arguments of a browser with a window of a size, by day or by night.
func looksLike(width, height int, dark bool) []string {
	scheme := 1
	if dark {
		scheme = 0
	}
	return []string{fmt.Sprintf("--window-size=%d,%d", width, height), "--hide-scrollbars", fmt.Sprint("--blink-settings=preferredColorScheme=", scheme)}
}

func TestBrowserFitsEveryPageOnAPhoneAndOnADesk(t *testing.T) {
	base := stage(t)
	for i, path := range seen {
		for k, size := range widths {
			dark := (i+k)%2 == 0
			dom, log := browse(t, base+path, time.Second, looksLike(size.width, size.height, dark)...)
			m := measured.FindStringSubmatch(dom)
			if m == nil {
				t.Fatalf("%s at %d: nothing was measured:\n%s", path, size.width, log)
			}
			if m[2] != fmt.Sprint(size.width) || m[3] != fmt.Sprint(dark) {
				t.Errorf("%s: the browser is %s wide, and dark: %s; want %d, %v", path, m[2], m[3], size.width, dark)
			}
			if m[1] != m[2] || m[4] != "" {
				t.Errorf("%s at %d: it is %s wide; what sticks out: %s", path, size.width, m[1], m[4])
			}
			if strings.Contains(log, "Content Security Policy") {
				t.Errorf("%s breaks its own rules:\n%s", path, log)
			}
		}
	}
}

func TestBrowserShowsWhatIsNew(t *testing.T) {
	base := stage(t)
	for path, texts := range map[string][]string{
		"/":                     {"Time of a command", "p99.9", `class="line third"`, "Errors a second", "Processor, of a core"},
		"/keys?match=session:*": {"session:00", "Go on", "Largest", "Hottest", "By network"},
		"/key?key=cart:1":       {"article-", "40 <small>fields"},
		"/slowlog":              {"GET session:*", "In all"},
		"/group":                {"shop-3", "8.12k", `class="pill ill">down`, "1500 of 4096"},
		"/schedules?key=feeds":  {"Leased", "Ends in", "0.000"},
	} {
		dom, _ := browse(t, base+path, time.Second)
		wants(t, path+" in the browser", dom, texts...)
	}
}

// maxImage keeps the documents light.
const maxImage = 200 << 10

// TestScreenshotsShowTheWindow draws pages. With -screenshots they are kept.
func TestScreenshotsShowTheWindow(t *testing.T) {
	dir := *screenshots
	if dir == "" {
		dir = t.TempDir()
	}
	base := stage(t)
	for _, shot := range []struct {
		name, path    string
		width, height int
		dark          bool
	}{
		{"window-overview", "/", 1280, 900, false}, {"window-group", "/group", 1280, 900, true},
		{"window-phone", "/key?key=cart:1", 390, 844, false},
	} {
		file := filepath.Join(dir, shot.name+".png")
		browse(t, base+shot.path, time.Second, append(looksLike(shot.width, shot.height, shot.dark), "--screenshot="+file)...)
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if info.Size() > maxImage || info.Size() < 5<<10 {
			t.Errorf("%s has %d bytes, want up to %d", shot.name, info.Size(), maxImage)
		}
	}
}
