package window

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/vigildb/vigil/server/internal/report"
)

// openRig has a socket, and times that a test can wait for.
func openRig(t *testing.T, patience time.Duration) (r *rig, addr string) {
	t.Helper()
	r = newRig(t)
	if h := r.w.http; h.ReadHeaderTimeout != headerTime || h.ReadTimeout != readTime || h.WriteTimeout != writeTime || h.IdleTimeout != keepAliveTime {
		t.Fatalf("the window's own times are %v, %v, %v, %v", h.ReadHeaderTimeout, h.ReadTimeout, h.WriteTimeout, h.IdleTimeout)
	}
	r.w.http.ReadHeaderTimeout, r.w.http.ReadTimeout = patience, 2*patience
	r.w.http.WriteTimeout, r.w.http.IdleTimeout = 3*patience, patience
	r.must("CONFIG SET http-port auto")
	return r, r.w.Addrs()[0].String()
}

// soon is a time that a test can wait for.
const soon = 100 * time.Millisecond

func dial(t *testing.T, addr string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return c
}

// reply sends bytes and reads to the end of the connection.
func reply(t *testing.T, c net.Conn, text string) string {
	t.Helper()
	io.WriteString(c, text) // which the server may not wait for
	all, err := io.ReadAll(c)
	if err != nil && !strings.Contains(err.Error(), "reset") {
		t.Fatalf("%.60q: %v", text, err)
	}
	return string(all)
}

func TestOneWhoSpeaksSlowlyLosesItsConnection(t *testing.T) {
	_, addr := openRig(t, soon)
	for _, begin := range []string{"", "GET", "GET / HTTP/1.1\r\nHost: localhost\r\nX-A: b", "POST /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\nab"} {
		got := reply(t, dial(t, addr), begin)
		if strings.HasPrefix(got, "HTTP/1.1 200") {
			t.Errorf("%q: answered by %.80q", begin, got)
		}
	}
}

func TestOneWhoReadsSlowlyLosesItsConnection(t *testing.T) {
	r, addr := openRig(t, soon)
	c := dial(t, addr)
	c.(*net.TCPConn).SetReadBuffer(1 << 10)
	for range 400 { // far more than the system's buffers hold
		if _, err := io.WriteString(c, "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
			break
		}
	}
	poll(t, "the connection is closed", func() bool { return len(r.w.slots) == 0 })
}

func TestLongHeadersAreRefused(t *testing.T) {
	_, addr := openRig(t, soon)
	for name, text := range map[string]string{
		"header": "GET / HTTP/1.1\r\nHost: localhost\r\nX-A: " + strings.Repeat("a", 1<<20) + "\r\n\r\n",
		"path":   "GET /" + strings.Repeat("a", 1<<20) + " HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"many":   "GET / HTTP/1.1\r\nHost: localhost\r\n" + strings.Repeat("X-A: b\r\n", 1<<17) + "\r\n",
	} {
		if got := reply(t, dial(t, addr), text); got != "" && !strings.HasPrefix(got, "HTTP/1.1 431") && !strings.HasPrefix(got, "HTTP/1.1 4") {
			t.Errorf("%s: answered by %.80q", name, got)
		}
	}
}

func TestWhatIsNoHTTPIsRefused(t *testing.T) {
	r, addr := openRig(t, soon)
	for _, text := range []string{"*1\r\n$8\r\nFLUSHALL\r\n", "FLUSHALL\r\n", "\x16\x03\x01\x02\x00\x01\x00", strings.Repeat("\x00", 4096),
		"GET / HTTP/9.9\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"GET http://localhost/../../../etc/passwd HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"} {
		if got := reply(t, dial(t, addr), text); strings.HasPrefix(got, "HTTP/1.1 200") || strings.Contains(got, "root:") {
			t.Errorf("%.60q: answered by %.80q", text, got)
		}
	}
	wants(t, "the page after these", r.get("/"), "takes reads and writes")
}

// TestConnectionsAreLimited opens more than there may be. Those that are over wait,
// and are served when the idle ones were closed; the Redis port is not concerned.
func TestConnectionsAreLimited(t *testing.T) {
	r, addr := openRig(t, time.Minute)
	var idle []net.Conn
	for range maxConns + 20 {
		idle = append(idle, dial(t, addr))
	}
	poll(t, "all slots are taken", func() bool { return len(r.w.slots) == maxConns })
	r.must("SET k v")
	late := dial(t, addr)
	fmt.Fprint(late, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
	for _, c := range idle {
		c.Close()
	}
	answer, err := http.ReadResponse(bufio.NewReader(late), nil)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Errorf("the one that waited: %v %v", answer, err)
	}
	if len(r.w.slots) > maxConns {
		t.Errorf("%d connections at once, want %d at most", len(r.w.slots), maxConns)
	}
}

// TestAServerThatHangsHangsNobodyElse makes a command hold all keys: pages end with an
// error when their patience is over, and /healthz answers.
func TestAServerThatHangsHangsNobodyElse(t *testing.T) {
	r := newRig(t, "--enable-debug-command", "yes")
	r.must("SET k v")
	ended := make(chan error, 1) // the one answer of DEBUG SLEEP
	go func() {
		_, err := report.NewObserver(r.srv.Dial, nil).Ask(time.Minute, 0, call{"DEBUG", "SLEEP", "4"})
		ended <- err
	}()
	poll(t, "the sleep has begun", func() bool {
		r.later(report.FiguresAge)
		status, _ := r.ask(request("/"))
		return status == http.StatusServiceUnavailable
	})
	if status, _ := r.ask(request("/healthz")); status != http.StatusOK {
		t.Errorf("/healthz meanwhile: status %d, want 200", status)
	}
	began := time.Now()
	for range 20 {
		r.ask(request("/metrics"))
	}
	if took := time.Since(began); took > 4*answerTime {
		t.Errorf("20 requests took %v: they did not share their patience", took)
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	poll(t, "pages come again", func() bool {
		r.later(report.FiguresAge)
		status, _ := r.ask(request("/"))
		return status == http.StatusOK
	})
}
