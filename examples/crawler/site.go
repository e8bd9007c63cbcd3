package main

import (
	"fmt"
	"html"
	"math"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Site serves feeds whose items appear by Poisson processes with a seed. The
// rate of feed i is in proportion to (i+1)^-1.5: few feeds make most of the
// items, as it is with real ones. A host has four feeds, Atom and RSS in turn, and
// a robots.txt that closes what is below /private/. Now and then it answers 503
// or 429 and asks for a pause.
type Site struct {
	clock Clock
	step  time.Duration

	mu       sync.Mutex
	feeds    []siteFeed            // guarded by mu
	hosts    map[string]*hostVisit // guarded by mu
	requests int                   // guarded by mu
	rude     []string              // guarded by mu: requests that came too soon
	gap      time.Duration         // guarded by mu: shortest that is polite, the Crawl-delay; 0: any
	end      time.Time             // guarded by mu: no items from then on; zero: none
}

type siteFeed struct {
	name  string
	rate  float64 // items a step
	rng   *rand.Rand
	next  time.Time   // when the next item appears
	items []time.Time // when items appeared
}

// hostVisit is when a host may be asked again, and who came last.
type hostVisit struct {
	last, until time.Time
}

const (
	// siteWindow is the number of items in a feed. Feeds of the busiest kind
	// make some hundred in the time between two looks at the rarest.
	siteWindow = 60
	siteHost   = 4   // feeds on one host
	busyEvery  = 151 // of so many requests one is told to come later
	busyPause  = 3   // steps that it is asked to wait
	siteRate   = 4   // items a step of all feeds
	siteSkew   = 1.5
)

// NewSite makes n feeds.
func NewSite(n int, step time.Duration, seed uint64, clock Clock) *Site {
	s := &Site{clock: clock, step: step, hosts: make(map[string]*hostVisit)}
	sum := 0.0
	for i := range n {
		sum += math.Pow(float64(i+1), -siteSkew)
	}
	for i := range n {
		f := siteFeed{name: fmt.Sprintf("http://host-%d.example/feed-%d", i/siteHost, i), rng: rand.New(rand.NewPCG(seed, uint64(i))),
			rate: siteRate * math.Pow(float64(i+1), -siteSkew) / sum, next: clock.Now()}
		s.appear(&f)
		s.feeds = append(s.feeds, f)
	}
	return s
}

// appear plans the next item of a feed.
func (s *Site) appear(f *siteFeed) {
	f.next = f.next.Add(time.Duration(f.rng.ExpFloat64() / f.rate * float64(s.step)))
}

// Feeds are the addresses.
func (s *Site) Feeds() (names []string) {
	for _, f := range s.feeds {
		names = append(names, f.name)
	}
	return names
}

// Rates are the true rates, in items a step.
func (s *Site) Rates() (rates []float64) {
	for _, f := range s.feeds {
		rates = append(rates, f.rate)
	}
	return rates
}

// Stop lets no item appear any more.
func (s *Site) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end = s.clock.Now()
}

// Appeared is when the items of each feed appeared, up to now.
func (s *Site) Appeared() map[string][]time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make(map[string][]time.Time)
	for i := range s.feeds {
		f := &s.feeds[i]
		s.grow(f)
		all[f.name] = f.items
	}
	return all
}

// grow adds the items that have appeared. The lock is held.
func (s *Site) grow(f *siteFeed) {
	now := s.clock.Now()
	if !s.end.IsZero() && s.end.Before(now) {
		now = s.end
	}
	for !f.next.After(now) {
		f.items = append(f.items, f.next)
		s.appear(f)
	}
}

// ServeHTTP serves a feed, 304 if it is as the client knows it, or a request to
// come later.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if pause := s.visit(r); pause > 0 {
		code := http.StatusServiceUnavailable
		w.Header().Set("Retry-After", fmt.Sprint(int(pause.Seconds())))
		if s.requests%2 == 0 {
			code = http.StatusTooManyRequests
			w.Header().Set("Retry-After", s.clock.Now().Add(pause).UTC().Format(http.TimeFormat))
		}
		w.WriteHeader(code)
		return
	}
	if r.URL.Path == "/robots.txt" {
		fmt.Fprint(w, s.robots())
		return
	}
	if strings.HasPrefix(r.URL.Path, closed) {
		s.rude = append(s.rude, fmt.Sprintf("%s %s: closed by robots.txt", r.Host, r.URL))
	}
	var i int
	if _, err := fmt.Sscanf(r.URL.Path, "/feed-%d", &i); err != nil || i < 0 || i >= len(s.feeds) {
		http.NotFound(w, r)
		return
	}
	f := &s.feeds[i]
	s.grow(f)
	tag := fmt.Sprintf("%q", fmt.Sprintf("%d-%d", i, len(f.items)))
	w.Header().Set("ETag", tag)
	if r.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	if i%2 == 0 {
		fmt.Fprint(w, f.atom())
	} else {
		fmt.Fprint(w, f.rss())
	}
}

// closed is what robots.txt closes.
const closed = "/private/"

// robots is a robots.txt. Only who looks for a group with its name may come.
func (s *Site) robots() string {
	text := "User-agent: *\nDisallow: /\n\nUser-agent: vigil-crawler\nDisallow: " + closed + "\n"
	if s.gap > 0 {
		text += fmt.Sprintf("Crawl-delay: %g\n", s.gap.Seconds())
	}
	return text
}

// visit notes a request and returns the pause that it is asked for.
func (s *Site) visit(r *http.Request) time.Duration {
	s.requests++
	now := s.clock.Now()
	h := s.hosts[r.Host]
	if h == nil {
		h = new(hostVisit)
		s.hosts[r.Host] = h
	}
	if now.Before(h.until) {
		s.rude = append(s.rude, fmt.Sprintf("%s %s: %v before the pause is over", r.Host, r.URL, h.until.Sub(now)))
	}
	if !h.last.IsZero() && now.Sub(h.last) < s.gap {
		s.rude = append(s.rude, fmt.Sprintf("%s %s: %v after the request before", r.Host, r.URL, now.Sub(h.last)))
	}
	if !strings.HasPrefix(r.UserAgent(), "vigil-crawler/") {
		s.rude = append(s.rude, "nameless: "+r.UserAgent())
	}
	h.last = now
	if s.requests%busyEvery != 0 {
		return 0
	}
	pause := busyPause * s.step
	h.until = now.Add(pause).Truncate(time.Second) // the precision of HTTP dates
	return pause
}

// window is the number of the first item that is still shown.
func (f *siteFeed) window() int { return max(0, len(f.items)-siteWindow) }

func (f *siteFeed) atom() string {
	var b strings.Builder
	fmt.Fprintf(&b, "<?xml version=\"1.0\"?>\n<feed xmlns=\"http://www.w3.org/2005/Atom\"><title>%s</title><id>%s</id>\n", html.EscapeString(f.name), f.name)
	for k := len(f.items) - 1; k >= f.window(); k-- {
		fmt.Fprintf(&b, "<entry><id>%s#%d</id><title>item %d</title><link href=\"%s/%d\"/><published>%s</published></entry>\n",
			f.name, k, k, f.name, k, f.items[k].UTC().Format(time.RFC3339Nano))
	}
	return b.String() + "</feed>\n"
}

func (f *siteFeed) rss() string {
	var b strings.Builder
	fmt.Fprintf(&b, "<?xml version=\"1.0\"?>\n<rss version=\"2.0\"><channel><title>%s</title>\n", html.EscapeString(f.name))
	for k := len(f.items) - 1; k >= f.window(); k-- {
		fmt.Fprintf(&b, "<item><guid isPermaLink=\"false\">%s#%d</guid><title>item %d</title><link>%s/%d</link><pubDate>%s</pubDate></item>\n",
			f.name, k, k, f.name, k, f.items[k].UTC().Format(time.RFC1123Z))
	}
	return b.String() + "</channel></rss>\n"
}
