//go:build browser

package window

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// chromium is the browser that .ci/browser has seen to.
func chromium(t *testing.T) string {
	t.Helper()
	if path := os.Getenv("CHROMIUM"); path != "" {
		return path
	}
	for _, name := range []string{"chromium-headless-shell", "chromium", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatal("there is no Chromium; .ci/browser installs it")
	return ""
}

// browse opens an address, lets a time pass for the page, and returns what the
// browser then has, and what it logged.
func browse(t *testing.T, address string, passes time.Duration, args ...string) (dom, log string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	var out, errs bytes.Buffer
	args = append([]string{"--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir=" + t.TempDir(),
		"--enable-logging=stderr", fmt.Sprint("--virtual-time-budget=", passes.Milliseconds()), "--dump-dom"}, append(args, address)...)
	c := exec.CommandContext(ctx, chromium(t), args...)
	c.Stdout, c.Stderr = &out, &errs
	c.WaitDelay = 5 * time.Second
	if err := c.Run(); err != nil {
		t.Fatalf("%v\n%s", err, errs.String())
	}
	return out.String(), errs.String()
}

// watched counts the requests for a page.
func watched(t *testing.T, path string) (r *rig, base string, looks *atomic.Int64) {
	t.Helper()
	r = busyRig(t)
	looks = &atomic.Int64{}
	h := r.w.Handler()
	r.w.http.Handler = http.HandlerFunc(func(rw http.ResponseWriter, q *http.Request) {
		if q.URL.Path == path {
			looks.Add(1)
		}
		r.later(time.Second)
		h.ServeHTTP(rw, q)
	})
	r.must("CONFIG SET http-port auto")
	return r, "http://" + r.w.Addrs()[0].String(), looks
}

func TestBrowserRenewsThePage(t *testing.T) {
	_, base, looks := watched(t, "/")
	dom, log := browse(t, base+"/", 13*time.Second)
	if n := looks.Load(); n < 2 {
		t.Errorf("the page was asked for %d times in 13 s, want one every 5 s\n%s", n, log)
	}
	wants(t, "the page in the browser", dom, "takes reads and writes", "Commands a second", "Time of a command", `<button id="pause" type="button" aria-pressed="false">Pause`)
	for _, bad := range []string{`class="lost"`, "not reached"} {
		if strings.Contains(dom, bad) {
			t.Errorf("the script could not renew the page: %s", bad)
		}
	}
	if strings.Contains(log, "Content Security Policy") {
		t.Errorf("the page breaks its own rules:\n%s", log)
	}
}

func TestBrowserRunsNothingThatClientsStored(t *testing.T) {
	r, base, _ := watched(t, "/schedules")
	for _, name := range []string{`<script>document.title="owned"</script>`, `<img src=x onerror=document.title="owned">`} {
		r.do("SCHED.CREATE", name, "SEED", "1")
		r.do("SCHED.ADD", name, name, "RATE", "1")
	}
	dom, log := browse(t, base+"/schedules", 7*time.Second)
	wants(t, "schedules in the browser", dom, "<title>Schedules · vigil</title>", "&lt;img src=x onerror=")
	if strings.Contains(log, "Content Security Policy") {
		t.Errorf("something had to be stopped by the policy, and was not escaped:\n%s", log)
	}
}

func TestBrowserDrawsAPreview(t *testing.T) {
	_, base, _ := watched(t, "/placement")
	dom, log := browse(t, base+"/placement?db=0&key=shards&change=set&unit=oak&capacity=6", 7*time.Second)
	wants(t, "placement in the browser", dom, "50 % of the objects would move", `class="gains"`, "0 % → 50 %", `value="oak"`)
	if strings.Contains(log, "Content Security Policy") {
		t.Errorf("the page breaks its own rules:\n%s", log)
	}
}
