package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

var windowAt = regexp.MustCompile(`the window is at (http://127\.0\.0\.1:\d+/)`)

func TestWindowIsOpenUntilTheServerEnds(t *testing.T) {
	p := launch(t, "--dir", t.TempDir(), "--http-port", "auto", "--requirepass", "pw")
	m := windowAt.FindStringSubmatch(p.out.String())
	if m == nil {
		t.Fatalf("the log does not tell where the window is:\n%s", p.out)
	}
	ask := func(path string, login bool) (int, string) {
		q, err := http.NewRequest(http.MethodGet, m[1]+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if login {
			q.SetBasicAuth("default", "pw")
		}
		answer, err := http.DefaultClient.Do(q)
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
	if status, body := ask("healthz", false); status != http.StatusOK || body != "ok\n" {
		t.Errorf("/healthz: %d %q", status, body)
	}
	if status, _ := ask("metrics", false); status != http.StatusUnauthorized {
		t.Errorf("/metrics without the password: %d, want 401", status)
	}
	if status, body := ask("metrics", true); status != http.StatusOK || !strings.Contains(body, "\nredis_up 1\n") {
		t.Errorf("/metrics: %d %s", status, body)
	}
	if status, body := ask("", true); status != http.StatusOK || !strings.Contains(body, "takes reads and writes") {
		t.Errorf("the page: %d %s", status, body)
	}
	// The connection that the client keeps does not hold up the end.
	p.signal(t, syscall.SIGTERM)
	if err := p.wait(); err != nil {
		t.Errorf("SIGTERM with a browser connected: %v\n%s", err, p.out)
	}
}

func TestStartEndsIfTheWindowsPortIsTaken(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	p := start(t, "--dir", t.TempDir(), "--http-port", fmt.Sprint(l.Addr().(*net.TCPAddr).Port))
	if err := p.wait(); err == nil || !strings.Contains(p.out.String(), "http-port: listen on 127.0.0.1") {
		t.Errorf("exit: %v\n%s", err, p.out)
	}
}
