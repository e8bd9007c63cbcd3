package window

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vigildb/vigil/server"
	"github.com/vigildb/vigil/server/conf"

	"github.com/vigildb/vigil/server/internal/report"
)

// rig is a server in memory with a window whose clock a test moves.
type rig struct {
	t   testing.TB
	srv *server.Server
	w   *Window
	h   http.Handler

	mu  sync.Mutex
	now time.Time // guarded by mu

	client *observer // an ordinary client, that may write
}

func newRig(t testing.TB, args ...string) *rig {
	t.Helper()
	return newRigOn(t, func(*server.Options) {}, args...)
}

func newRigOn(t testing.TB, change func(*server.Options), args ...string) *rig {
	t.Helper()
	r := startRig(t, change, args...)
	if err := r.srv.Load(context.Background()); err != nil {
		t.Fatal(err)
	}
	return r
}

// startRig leaves the server loading.
func startRig(t testing.TB, change func(*server.Options), args ...string) *rig {
	t.Helper()
	config, err := conf.Load(args, nil)
	if err != nil {
		t.Fatal(err)
	}
	o := server.Options{Config: config, InMemory: true, Seed: 1}
	change(&o)
	srv, err := server.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := srv.Close(context.Background()); err != nil {
			t.Errorf("close the server: %v", err)
		}
	})
	return rigOf(t, srv, config)
}

// rigOf opens the window of a server, which is closed later.
func rigOf(t testing.TB, srv *server.Server, config *conf.Config) *rig {
	t.Helper()
	w, err := Open(srv, config, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, srv: srv, w: w, h: w.Handler(), now: time.Now(), client: report.NewObserver(srv.Dial, nil)}
	w.now = func() time.Time {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.now
	}
	t.Cleanup(func() {
		r.client.Close()
		if err := w.Close(); err != nil {
			t.Errorf("close the window: %v", err)
		}
	})
	return r
}

// later moves the window's clock, so that nothing is shared with what was asked
// before.
func (r *rig) later(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now = r.now.Add(d)
}

// do runs a command of an ordinary client and returns its reply.
func (r *rig) do(args ...string) answer {
	r.t.Helper()
	answers, err := r.client.Ask(time.Minute, 0, args)
	if err != nil {
		r.t.Fatalf("%v: %v", args, err)
	}
	return answers[0]
}

// must is do for what must not fail.
func (r *rig) must(line string) {
	r.t.Helper()
	if a := r.do(strings.Fields(line)...); a.Err() != nil {
		r.t.Fatalf("%s: %v", line, a.Err())
	}
}

// many runs calls in one pipeline.
func (r *rig) many(n int, f func(i int) call) {
	r.t.Helper()
	for from := 0; from < n; from += 10_000 {
		var calls []call
		for i := from; i < min(n, from+10_000); i++ {
			calls = append(calls, f(i))
		}
		answers, err := r.client.Ask(time.Minute, 0, calls...)
		if err != nil {
			r.t.Fatal(err)
		}
		for i, a := range answers {
			if a.Err() != nil {
				r.t.Fatalf("%v: %v", calls[i], a.Err())
			}
		}
	}
}

// request is a GET as this machine sends it, which a test may change.
func request(path string, change ...func(*http.Request)) *http.Request {
	q := httptest.NewRequest(http.MethodGet, "http://127.0.0.1:9121"+path, nil)
	q.RemoteAddr = "127.0.0.1:40000"
	for _, f := range change {
		f(q)
	}
	return q
}

// ask sends a request to the window.
func (r *rig) ask(q *http.Request) (status int, body string) {
	r.t.Helper()
	rec := httptest.NewRecorder()
	r.h.ServeHTTP(rec, q)
	return rec.Code, rec.Body.String()
}

// get wants a page and returns it.
func (r *rig) get(path string) string {
	r.t.Helper()
	r.later(time.Minute)
	status, body := r.ask(request(path))
	if status != http.StatusOK {
		r.t.Fatalf("GET %s: status %d: %s", path, status, body)
	}
	return body
}

// wants looks for texts in a page.
func wants(t testing.TB, what, page string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(page, text) {
			t.Errorf("%s: %q is not there:\n%s", what, text, page)
			return
		}
	}
}

// poll waits for something that a real goroutine does.
func poll(t testing.TB, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !done(); {
		if time.Now().After(end) {
			t.Fatalf("%s: not within 20 s", what)
		}
		wait := time.NewTimer(2 * time.Millisecond)
		<-wait.C
	}
}

func key(prefix string) func(int) call {
	return func(i int) call { return call{"SET", fmt.Sprintf("%s%07d", prefix, i), "value"} }
}

// overSocket asks the window at a socket of its own.
func overSocket(t testing.TB, url string) (int, string) {
	t.Helper()
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}
