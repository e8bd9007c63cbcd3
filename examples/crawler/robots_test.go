package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

func says(text string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) { fmt.Fprint(w, text) }
}

func refuses(code int, header ...string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
	}
}

func TestRobotsDecideWhatBecomesOfAFeed(t *testing.T) {
	const all, own = "User-agent: *\nDisallow: /\n", "User-agent: vigil-crawler\n"
	for name, tc := range map[string]struct {
		robots func(http.ResponseWriter)
		asked  int           // how often for the feed
		nodes  float64       // afterwards
		leased float64       // afterwards
		hold   time.Duration // of the host afterwards
	}{
		"none":             {refuses(404), 1, 1, 0, 2 * time.Second},
		"forbidden":        {refuses(403), 1, 1, 0, 2 * time.Second},
		"empty":            {says(""), 1, 1, 0, 2 * time.Second},
		"closed for all":   {says(all), 0, 0, 0, 2 * time.Second},
		"closed for us":    {says(own + "Disallow: /feed"), 0, 0, 0, 2 * time.Second},
		"open for us":      {says(all + own + "Disallow: /other"), 1, 1, 0, 2 * time.Second},
		"longest rule":     {says(own + "Disallow: /\nAllow: /feed"), 1, 1, 0, 2 * time.Second},
		"query":            {says(own + "Disallow: /*?page="), 0, 0, 0, 2 * time.Second},
		"bad lines":        {says("\ufeffDisallow: /\nfoo\n" + own + "Crawl-delay: soon\nCrawl-delay: -1\nDisallow: /feed"), 0, 0, 0, 2 * time.Second},
		"delay":            {says(own + "Crawl-delay: 4"), 1, 1, 0, 4 * time.Second},
		"long delay":       {says(own + "Crawl-delay: 1e9"), 0, 1, 0, 24 * time.Hour},
		"short delay":      {says(own + "Crawl-delay: 0.5"), 1, 1, 0, 2 * time.Second},
		"broken server":    {refuses(500), 0, 1, 0, time.Minute},
		"later":            {refuses(503, "Retry-After", "600"), 0, 1, 0, 10 * time.Minute},
		"too many":         {refuses(429, "Retry-After", "600"), 0, 1, 0, 10 * time.Minute},
		"endless redirect": {refuses(302, "Location", "/robots.txt"), 0, 1, 0, time.Minute},
		"cut off":          {func(w http.ResponseWriter) { refuses(200, "Content-Length", "100")(w); fmt.Fprint(w, own) }, 0, 1, 0, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			web := &answers{give: map[string]func(http.ResponseWriter){"/robots.txt": tc.robots, "/feed": says("<rss></rss>")}}
			r := newRig(t, newTestClock(), web)
			if err := r.Add(ctx, []string{"http://a.example/feed?page=1"}); err != nil {
				t.Fatal(err)
			}
			if _, err := r.Turn(ctx); err != nil {
				t.Fatal(err)
			}
			hold := r.closedFor("a.example")
			if web.times("/feed") != tc.asked || r.info("nodes") != tc.nodes || r.info("leased") != tc.leased || hold != tc.hold {
				t.Errorf("asked %d times, %v feeds, %v leased, held for %v; want %d, %v, %v, %v",
					web.times("/feed"), r.info("nodes"), r.info("leased"), hold, tc.asked, tc.nodes, tc.leased, tc.hold)
			}
		})
	}
}

func TestRobotsAreAskedOnceInAWhileAndObeyedWhenTheyChange(t *testing.T) {
	ctx := context.Background()
	web := &answers{give: map[string]func(http.ResponseWriter){"/a": says("<rss></rss>"), "/b": says("<rss></rss>")}}
	r := newRig(t, newTestClock(), web)
	if err := r.Add(ctx, []string{"http://a.example/a", "http://a.example/b", "http://b.example/a"}); err != nil {
		t.Fatal(err)
	}
	crew := []*Crawler{r.Crawler, r.worker(r.HTTP), r.worker(r.HTTP)}
	for _, c := range crew {
		c.RobotsFor = time.Hour
	}
	for range 50 {
		r.tick(ctx, crew)
	}
	if got := web.times("/robots.txt"); got != 2 {
		t.Errorf("asked %d times for the rules of two hosts", got)
	}
	before := web.times("/b")
	web.set("/robots.txt", says("User-agent: Vigil-Crawler\nDisallow: /b"))
	for range 30 {
		r.tick(ctx, crew)
	}
	if got := web.times("/robots.txt"); got != 4 || r.info("nodes") != 2 {
		t.Errorf("an hour later: asked %d times, %v feeds left; want 4, 2", got, r.info("nodes"))
	}
	// Within the ten minutes that are left of the hour.
	if got := web.times("/b") - before; got > 11 {
		t.Errorf("/b was asked %d times after it was closed", got)
	}
}

func TestRedirectsObeyRobots(t *testing.T) {
	const closed = "User-agent: *\nDisallow: /closed"
	for name, tc := range map[string]struct {
		to     string
		at     string // what the redirect leads to
		asked  int    // how often for that
		leased float64
	}{
		"open":            {"/open", "/open", 1, 0},
		"closed":          {"/closed/feed", "/closed/feed", 0, 0},
		"other host":      {"http://b.example/open", "/open", 1, 0},
		"closed there":    {"http://b.example/closed/feed", "/closed/feed", 0, 0},
		"nothing known":   {"http://broken.example/open", "/open", 0, 0},
		"round and round": {"/feed", "/open", 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			web := &answers{give: map[string]func(http.ResponseWriter){"/robots.txt": says(closed), "/feed": refuses(302, "Location", tc.to), tc.at: says("<rss></rss>")}}
			r := newRig(t, newTestClock(), http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				if req.Host == "broken.example" && req.URL.Path == "/robots.txt" {
					w.WriteHeader(500)
					return
				}
				web.ServeHTTP(w, req)
			}))
			if err := r.Add(ctx, []string{"http://a.example/feed"}); err != nil {
				t.Fatal(err)
			}
			if _, err := r.Turn(ctx); err != nil {
				t.Fatal(err)
			}
			if web.times(tc.at) != tc.asked || r.info("nodes") != 1 || r.info("leased") != tc.leased {
				t.Errorf("asked %d times, %v feeds, %v leased; want %d, 1, %v", web.times(tc.at), r.info("nodes"), r.info("leased"), tc.asked, tc.leased)
			}
		})
	}
}

func TestRulesAreThoseOfTheStandard(t *testing.T) {
	for _, tc := range []struct {
		robots, path string
		want         bool
	}{
		{"User-agent: *\nDisallow:\n\nUser-agent: other\nDisallow: /", "/feed", true},
		{"User-agent: vigil-crawler\nDisallow:\n\nUser-agent: *\nDisallow: /", "/feed", true},
		{"User-agent: *\nDisallow: /x\nUser-agent: Download Ninja\nDisallow: /", "/feed", true},
		{"User-agent: *\nDisallow: /x\nUser-agent:\nDisallow: /", "/feed", true},
		{"User-agent: vigil\nDisallow: /", "/feed", true},
		{"User-agent: Vigil-Crawler/0.1 (any)\nDisallow: /", "/feed", false},
		{"User-agent: other\nUser-agent: vigil-crawler\nDisallow: /", "/feed", false},
		{"User-agent: vigil-crawler\nAllow: /x\nUser-agent: *\nDisallow: /\nUser-agent: vigil-crawler\nDisallow: /feed", "/feed", false},
		{"User-agent: *\nSitemap: /s\nDisallow: /", "/feed", false},
		{"User-agent: *\nDisallow: /\nAllow: /$", "/feed/", false},
		{"User-agent: *\nDisallow: /\nAllow: /$", "/", true},
		{"User-agent: *\nDisallow: /feed$", "/blog/feed", true},
		{"User-agent: *\nDisallow: /feed$", "/feed", false},
		{"User-agent: *\nDisallow: /*.xml$", "/a.xml.gz", true},
		{"User-agent: *\nDisallow: /*a*b*c", "/xaxbxcx", false},
		{"User-agent: *\nDisallow: /*a*b*c", "/xbxaxcx", true},
		{"User-agent: *\nDisallow: /a*ab$", "/aab", false},
		{"User-agent: *\nDisallow: /a*ab$", "/ab", true},
		{"User-agent: *\nDisallow: *feed", "/feed", false},
		{"User-agent: *\nDisallow: feed", "/feed", false},
		{"User-agent: *\nDisallow: /feed\nAllow: /feed", "/feed", true},
		{"User-agent: *\nDisallow: /*.xml\nAllow: /feed.x", "/feed.xml", true},
		{"User-agent: *\nDisallow: /caf%C3%A9", "/caf%c3%a9/feed", false},
		{"User-agent: *\nDisallow: /caf\u00e9", "/caf%C3%A9/feed", false},
		{"User-agent: *\nDisallow: /%66eed", "/feed", false},
		{"User-agent: *\nDisallow: /a b", "/a%20b", false},
		{"User-agent: *\nDisallow: /a%2Fb", "/a/b", true},
	} {
		u, err := url.Parse("http://a.example" + tc.path)
		if err != nil {
			t.Fatal(err)
		}
		_, path := split(u)
		r := readRules(rulesFor([]byte(tc.robots), "vigil-crawler"))
		if got := r.allows(path); got != tc.want {
			t.Errorf("%q: %s is allowed: %v, want %v", tc.robots, tc.path, got, tc.want)
		}
	}
}

func TestARuleThatIsCutOffDoesNotCount(t *testing.T) {
	ctx := context.Background()
	text := "User-agent: *\nDisallow: /other\n#"
	text += strings.Repeat("x", maxRobots-len(text)-len("\nDisallow: /")) + "\nDisallow: /private"
	web := &answers{give: map[string]func(http.ResponseWriter){"/robots.txt": says(text)}}
	r := newRig(t, newTestClock(), web)
	for path, want := range map[string]permission{"/feed": granted, "/other": disallowed} {
		if got, err := r.permit(ctx, "http://a.example"+path); err != nil || got != want {
			t.Errorf("%s: got %v, %v, want %v", path, got, err, want)
		}
	}
}

func TestRulesOfAnybodyAreBorne(t *testing.T) {
	for _, text := range []string{"", "\x00", ":", "User-agent", strings.Repeat("a", 3*longestPattern), "User-agent:\nDisallow: /",
		"User-agent: *\nDisallow: /" + strings.Repeat("*a", longestPattern), "user-agent:*\rdisallow:\r\n\r\nallow:%zz$*$"} {
		if r := readRules(rulesFor([]byte(text), "vigil-crawler")); !r.allows("/feed") || r.delay != 0 {
			t.Errorf("%.40q: closes /feed or asks for a delay of %v", text, r.delay)
		}
	}
}

func FuzzRobots(f *testing.F) {
	f.Add([]byte("User-agent: *\nDisallow: /a*b$\nCrawl-delay: 1e3\n"))
	f.Fuzz(func(t *testing.T, body []byte) {
		text := rulesFor(body, "vigil-crawler")
		r := readRules(text)
		if got := strings.Count(text, "allow "); got < len(r.list) || r.delay < 0 {
			t.Errorf("%q: %d rules, a delay of %v", text, len(r.list), r.delay)
		}
		for _, one := range r.list {
			if again := escaped(one.pattern); again != one.pattern {
				t.Errorf("%q became %q", one.pattern, again)
			}
		}
		r.allows("/a/b?c")
	})
}
