package main

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/crypto/bcrypt"

	"github.com/vigildb/vigil/cmd/vigil-session/config"
	"github.com/vigildb/vigil/cmd/vigil-session/service"
	"github.com/vigildb/vigil/cmd/vigil-session/webtier"
	"github.com/vigildb/vigil/server"
)

// patience is what a page of a test waits for an answer, on a machine that may be
// busy with other things.
const patience = 20 * time.Second

// shiftedClock is the machine's clock, moved by a test.
type shiftedClock struct {
	server.SystemClock
	mu    sync.Mutex
	shift time.Duration // guarded by mu
}

func (c *shiftedClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.shift)
}

func (c *shiftedClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

func (c *shiftedClock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shift += d
}

// rig is a shop with vigil and, unless a test says otherwise, the microservice, all in
// this process.
type rig struct {
	t       *testing.T
	clock   *shiftedClock
	vigil   *server.Server
	rdb     *redis.Client
	shop    *shop
	address string
	log     lockedBuffer // of the shop
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer // guarded by mu
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func newRig(t *testing.T, change ...func(*options)) *rig {
	t.Helper()
	r := newRigWithoutMicroservice(t, change...)
	c := config.Default()
	c.Budget.Duration, c.AnswerTTL.Duration = patience, 2*patience
	rdb := redis.NewClient(service.ClientOptions(r.dialled(), c.Limits.Workers))
	svc := service.New(rdb, c, service.Options{Now: r.clock.Now})
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- svc.Run(ctx) }() // ends with stop
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("microservice: %v", err)
		}
		rdb.Close()
	})
	r.eventually("the microservice hears", svc.Ready)
	return r
}

func newRigWithoutMicroservice(t *testing.T, change ...func(*options)) *rig {
	t.Helper()
	r := &rig{t: t, clock: &shiftedClock{}}
	var err error
	if r.vigil, err = server.Open(context.Background(), server.Options{InMemory: true, Clock: r.clock}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.vigil.Close(context.Background()) })
	r.rdb = redis.NewClient(r.dialled())
	asking := r.dialled()
	asking.ReadTimeout = 2 * patience
	o := options{Redis: redis.NewClient(r.dialled()), Asking: redis.NewClient(webtier.Pool(asking, 64)), Budget: patience,
		PasswordCost: bcrypt.MinCost, Log: slog.New(slog.NewTextHandler(&r.log, nil))}
	for _, f := range change {
		f(&o)
	}
	t.Cleanup(func() { r.rdb.Close(); o.Redis.Close(); o.Asking.Close() })
	if r.shop, err = newShop(o); err != nil {
		t.Fatal(err)
	}
	if err := r.shop.notices.begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(r.shop.handler())
	t.Cleanup(web.Close)
	r.address = web.URL
	return r
}

// dialled are the options of a client of the server in this process.
func (r *rig) dialled() *redis.Options {
	return &redis.Options{MaxRetries: -1, Dialer: func(context.Context, string, string) (net.Conn, error) { return r.vigil.Dial() }}
}

// eventually waits for another goroutine to make something true.
func (r *rig) eventually(what string, holds func() bool) {
	r.t.Helper()
	late, again := time.NewTimer(patience), time.NewTicker(time.Millisecond)
	defer late.Stop()
	defer again.Stop()
	for !holds() {
		select {
		case <-again.C:
		case <-late.C:
			r.t.Fatalf("not within %s: %s", patience, what)
		}
	}
}

// client is a browser without eyes: it keeps cookies and the token of the last page.
type client struct {
	*rig
	http  *http.Client
	extra http.Header // of each request
	token string
}

func (r *rig) newClient() *client {
	r.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		r.t.Fatal(err)
	}
	return &client{rig: r, http: &http.Client{Jar: jar}, extra: http.Header{}}
}

// answer is a page.
type answer struct {
	status int
	header http.Header
	path   string // after redirections
	body   string
}

var tokenPattern = regexp.MustCompile(`name="token" value="([^"]+)"`)

func (c *client) do(method, path string, form url.Values) answer {
	c.t.Helper()
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	r, err := http.NewRequestWithContext(c.t.Context(), method, c.address+path, body)
	if err != nil {
		c.t.Fatal(err)
	}
	for name, values := range c.extra {
		r.Header[name] = values
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	w, err := c.http.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	defer w.Body.Close()
	text, err := io.ReadAll(w.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	if m := tokenPattern.FindSubmatch(text); m != nil {
		c.token = string(m[1])
	}
	return answer{w.StatusCode, w.Header, w.Request.URL.Path, string(text)}
}

func (c *client) get(path string) answer { c.t.Helper(); return c.do("GET", path, nil) }

// post sends a form with the token of the last page that had one.
func (c *client) post(path string, pairs ...string) answer {
	c.t.Helper()
	if c.token == "" {
		c.get("/sign-in")
	}
	form := url.Values{"token": {c.token}}
	for i := 0; i < len(pairs); i += 2 {
		form.Set(pairs[i], pairs[i+1])
	}
	return c.do("POST", path, form)
}

// signIn makes the account, or signs in to it.
func (c *client) signIn(name string) {
	c.t.Helper()
	c.get("/sign-in")
	if a := c.post("/sign-in", "name", name, "password", "a long night"); a.status != http.StatusOK || a.path != "/" {
		c.t.Fatalf("sign in: got %d at %s\n%s", a.status, a.path, a.body)
	}
	c.get("/")
}

// signedIn says whether the shop knows the client as somebody.
func (c *client) signedIn() bool { c.t.Helper(); return strings.Contains(c.get("/").body, `id="user"`) }

// cookie is the value of the session's cookie.
func (c *client) cookie() string {
	c.t.Helper()
	u, err := url.Parse(c.address)
	if err != nil {
		c.t.Fatal(err)
	}
	for _, k := range c.http.Jar.Cookies(u) {
		if strings.HasSuffix(k.Name, "session") {
			return k.Value
		}
	}
	return ""
}

// want fails unless the page has each of the parts.
func (c *client) want(a answer, status int, parts ...string) {
	c.t.Helper()
	if a.status != status {
		c.t.Fatalf("%s: got status %d, want %d\n%s", a.path, a.status, status, a.body)
	}
	for _, p := range parts {
		if !strings.Contains(a.body, p) {
			c.t.Fatalf("%s does not have %q\n%s", a.path, p, a.body)
		}
	}
}

// contents is every key with what it holds, as DUMP writes it, of those that begin with prefix.
func (r *rig) contents(prefix string) map[string]string {
	r.t.Helper()
	all := map[string]string{}
	for _, key := range r.rdb.Keys(r.t.Context(), prefix+"*").Val() {
		text, err := r.rdb.Dump(r.t.Context(), key).Result()
		if err != nil {
			r.t.Fatal(err)
		}
		all[key] = text
	}
	return all
}
