package window

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/vigildb/vigil/server/internal/report"
)

func from(remote, host string) func(*http.Request) {
	return func(q *http.Request) { q.RemoteAddr, q.Host = remote, host }
}

func as(user, password string) func(*http.Request) {
	return func(q *http.Request) { q.SetBasicAuth(user, password) }
}

// everything is all that the window returns.
var everything = []string{"/", "/keys", "/keys?db=0&match=*&cursor=0", "/key", "/key?db=0&key=k", "/key?db=0&key=l&at=0", "/group", "/clients", "/slowlog", "/schedules", "/schedules?db=0&key=feeds", "/placement",
	"/placement?db=0&key=shards&change=set&unit=oak&capacity=2", "/metrics", "/style.css", "/refresh.js", "/icon.svg", "/nosuch"}

func TestPasswordOfTheDefaultUserIsAskedFor(t *testing.T) {
	r := newRig(t, "--requirepass", "pass:wörd")
	for _, path := range everything {
		for _, q := range []*http.Request{request(path), request(path, as("default", "")), request(path, as("default", "pass:wör")),
			request(path, as("default", "pass:wördx")), request(path, as("", "pass:wörd")), request(path, as("admin", "pass:wörd")),
			request(path, func(q *http.Request) { q.Header.Set("Authorization", "Bearer pass:wörd") })} {
			status, body := r.ask(q)
			if status != http.StatusUnauthorized || strings.Contains(body, "vigil_") {
				t.Errorf("%s with %q: status %d, want 401", path, q.Header.Get("Authorization"), status)
			}
		}
		if status, _ := r.ask(request(path, as("default", "pass:wörd"))); status == http.StatusUnauthorized {
			t.Errorf("%s with the password: status %d", path, status)
		}
		// A password makes the window safe for others too.
		if status, _ := r.ask(request(path, as("default", "pass:wörd"), from("192.0.2.7:1", "vigil.example"))); status >= 401 && status <= 403 {
			t.Errorf("%s from elsewhere with the password: status %d", path, status)
		}
	}
	if status, body := r.ask(request("/healthz")); status != http.StatusOK || body != "ok\n" {
		t.Errorf("/healthz without the password: %d %q, want 200 ok", status, body)
	}
}

func TestPasswordFollowsConfigSet(t *testing.T) {
	r := newRig(t)
	r.get("/metrics")
	r.must("CONFIG SET requirepass new")
	if status, _ := r.ask(request("/metrics")); status != http.StatusUnauthorized {
		t.Errorf("after CONFIG SET requirepass: status %d, want 401", status)
	}
	if status, _ := r.ask(request("/metrics", as("default", "new"))); status != http.StatusOK {
		t.Errorf("with the new password: status %d, want 200", status)
	}
}

func TestProtectedModeKeepsOthersOut(t *testing.T) {
	r := newRig(t)
	for _, c := range []struct {
		remote, host string
		want         int
	}{
		{"127.0.0.1:5", "127.0.0.1:9121", 200}, {"127.0.0.1:5", "localhost:9121", 200}, {"127.0.0.1:5", "LOCALHOST", 200},
		{"[::1]:5", "[::1]:9121", 200}, {"[::1]:5", "[::1]", 200}, {"[::ffff:127.0.0.1]:5", "127.0.0.1", 200},
		{"192.0.2.7:5", "127.0.0.1:9121", 403}, {"[2001:db8::1]:5", "localhost", 403},
		{"127.0.0.1:5", "evil.example:9121", 403}, {"127.0.0.1:5", "localhost.evil.example", 403}, {"127.0.0.1:5", "", 403},
		{"127.0.0.1:5", "10.0.0.1:9121", 403}, {"nonsense", "localhost", 403},
	} {
		for _, path := range []string{"/", "/metrics", "/healthz"} {
			if status, _ := r.ask(request(path, from(c.remote, c.host))); status != c.want {
				t.Errorf("%s from %s for %q: status %d, want %d", path, c.remote, c.host, status, c.want)
			}
		}
	}
	r.must("CONFIG SET protected-mode no")
	if status, _ := r.ask(request("/", from("192.0.2.7:5", "vigil.example"))); status != http.StatusOK {
		t.Errorf("with protected-mode no: status %d, want 200", status)
	}
}

func TestOnlyLookingIsAllowed(t *testing.T) {
	r := newRig(t)
	for _, path := range append([]string{"/healthz"}, everything...) {
		for _, method := range []string{"POST", "PUT", "DELETE", "PATCH", "OPTIONS", "CONNECT", "TRACE", "FLUSHALL"} {
			q := request(path, func(q *http.Request) { q.Method = method })
			if status, _ := r.ask(q); status != http.StatusMethodNotAllowed {
				t.Errorf("%s %s: status %d, want 405", method, path, status)
			}
		}
	}
}

// TestNoRouteChangesData asks for everything, with every parameter, and compares the
// number of the newest record.
func TestNoRouteChangesData(t *testing.T) {
	r := busyRig(t)
	f, err := r.w.source.Current()
	if err != nil {
		t.Fatal(err)
	}
	before := f.Info["vigil_lsn"]
	for _, path := range everything {
		r.ask(request(path))
		for _, q := range []string{"?db=0&key=feeds", "?db=0&key=shards&change=del&unit=ash", "?db=0&key=k&change=FLUSHALL&unit=x",
			"?db=0&key=%0d%0aFLUSHALL%0d%0a&unit=%0d%0aFLUSHALL%0d%0a&change=set&capacity=%0d%0aFLUSHALL"} {
			r.ask(request(strings.SplitN(path, "?", 2)[0] + q))
		}
	}
	r.later(report.FiguresAge)
	if f, err = r.w.source.Current(); err != nil {
		t.Fatal(err)
	}
	if after := f.Info["vigil_lsn"]; after != before {
		t.Errorf("looking has written: the newest record is %s, was %s", after, before)
	}
	if _, err := r.w.observer.Ask(answerTime, 0, call{"PING"}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []call{{"SET", "k", "x"}, {"FLUSHALL"}, {"SCHED.NEXT", "feeds"}} {
		answers, err := r.w.observer.Ask(answerTime, 0, c)
		if err != nil || answers[0].Err() == nil || !strings.HasPrefix(answers[0].Err().Error(), "NOPERM") {
			t.Errorf("%v as the window: got %v %v, want NOPERM", c, answers, err)
		}
	}
}

func TestAnswersCarryTheirRules(t *testing.T) {
	r := newRig(t)
	for _, path := range everything {
		rec := httptest.NewRecorder()
		r.h.ServeHTTP(rec, request(path))
		csp := rec.Header().Get("Content-Security-Policy")
		if !strings.Contains(csp, "default-src 'none'") || strings.Contains(csp, "unsafe") || rec.Header().Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: headers %v", path, rec.Header())
		}
	}
}
