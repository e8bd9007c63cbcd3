package main

import (
	"context"
	"fmt"
	"net/http"
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
		"long delay":       {says(own + "Crawl-delay: 1e9"), 0, 1, 1, 24 * time.Hour},
		"short delay":      {says(own + "Crawl-delay: 0.5"), 1, 1, 0, 2 * time.Second},
		"broken server":    {refuses(500), 0, 1, 1, time.Minute},
		"later":            {refuses(503, "Retry-After", "600"), 0, 1, 1, 10 * time.Minute},
		"too many":         {refuses(429, "Retry-After", "600"), 0, 1, 1, 10 * time.Minute},
		"endless redirect": {refuses(302, "Location", "/robots.txt"), 0, 1, 1, time.Minute},
		"cut off":          {func(w http.ResponseWriter) { refuses(200, "Content-Length", "100")(w); fmt.Fprint(w, own) }, 0, 1, 1, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			web := &answers{map[string]func(http.ResponseWriter){"/robots.txt": tc.robots, "/feed": says("<rss></rss>")}, map[string]int{}}
			r := newRig(t, newTestClock(), web)
			if err := r.Add(ctx, []string{"http://a.example/feed?page=1"}); err != nil {
				t.Fatal(err)
			}
			if _, err := r.Turn(ctx); err != nil {
				t.Fatal(err)
			}
			hold := r.Redis.PTTL(ctx, r.holdKey("a.example")).Val()
			if web.asked["/feed"] != tc.asked || r.info("nodes") != tc.nodes || r.info("leased") != tc.leased || hold != tc.hold {
				t.Errorf("asked %d times, %v feeds, %v leased, held for %v; want %d, %v, %v, %v",
					web.asked["/feed"], r.info("nodes"), r.info("leased"), hold, tc.asked, tc.nodes, tc.leased, tc.hold)
			}
		})
	}
}

func TestRobotsAreAskedOnceInAWhileAndObeyedWhenTheyChange(t *testing.T) {
	ctx := context.Background()
	web := &answers{map[string]func(http.ResponseWriter){"/a": says("<rss></rss>"), "/b": says("<rss></rss>")}, map[string]int{}}
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
	if got := web.asked["/robots.txt"]; got != 2 {
		t.Errorf("asked %d times for the rules of two hosts", got)
	}
	before := web.asked["/b"]
	web.give["/robots.txt"] = says("User-agent: Vigil-Crawler\nDisallow: /b")
	for range 30 {
		r.tick(ctx, crew)
	}
	if got := web.asked["/robots.txt"]; got != 4 || r.info("nodes") != 2 {
		t.Errorf("an hour later: asked %d times, %v feeds left; want 4, 2", got, r.info("nodes"))
	}
	// Within the ten minutes that are left of the hour.
	if got := web.asked["/b"] - before; got > 11 {
		t.Errorf("/b was asked %d times after it was closed", got)
	}
}

func TestRulesOfAnybodyAreBorne(t *testing.T) {
	c := &Crawler{Config: DefaultConfig()}
	for _, text := range []string{"", "\x00", ":", "User-agent", strings.Repeat("a", 3*maxRobotsLine), "User-agent:\nDisallow: /",
		"User-agent: *\nDisallow: /" + strings.Repeat("*a", maxRobotsLine), "user-agent:*\rdisallow:\r\n\r\nallow:%zz$*$"} {
		if r := c.rulesOf(relevant([]byte(text))); !r.group.Test("/feed") || r.delay != 0 {
			t.Errorf("%.40q: closes /feed or asks for a delay of %v", text, r.delay)
		}
	}
}

func FuzzRobots(f *testing.F) {
	f.Add([]byte("User-agent: *\nDisallow: /a*b$\nCrawl-delay: 1e3\n"))
	f.Fuzz(func(t *testing.T, body []byte) {
		c := &Crawler{Config: DefaultConfig()}
		text := relevant(body)
		if again := relevant([]byte(text)); again != text {
			t.Errorf("%q became %q", text, again)
		}
		if r := c.rulesOf(text); r.delay < 0 {
			t.Errorf("%q: a delay of %v", text, r.delay)
		} else {
			r.group.Test("/a/b?c")
		}
	})
}
