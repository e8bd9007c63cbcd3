package main

import (
	"bytes"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vigildb/vigil/server/conf"
)

func TestTheFirstStartSaysWhatToDoAndLaterOnesNothing(t *testing.T) {
	dir := t.TempDir()
	said := func(args []string, dir string) string {
		var out bytes.Buffer
		log := slog.New(&logHandler{out: &out, level: func() conf.LogLevel { return conf.LogNotice }})
		meet(args, dir).greet(dir, []net.Addr{&net.TCPAddr{IP: net.IPv6loopback, Port: 6380}}, log)
		return out.String()
	}
	first := said(nil, dir)
	if strings.Count(first, "\n") != 5 {
		t.Errorf("it says:\n%s", first)
	}
	for _, want := range []string{dir, "redis-cli -p 6380", "127.0.0.1:6380", "Ctrl-C", "--doctor", "docs/README.md"} {
		if !strings.Contains(first, want) {
			t.Errorf("it does not say %q:\n%s", want, first)
		}
	}
	if got := said([]string{"--port", "6380"}, dir); got != "" {
		t.Errorf("who gives arguments is told %q", got)
	}
	if got := said(nil, filepath.Join(dir, "none")); got != "" {
		t.Errorf("a folder that is not there is worth %q", got)
	}
	p := launch(t, "--dir", dir)
	if strings.Contains(p.out.String(), "first start") {
		t.Errorf("a server with arguments greets:\n%s", p.out)
	}
	if got := said(nil, dir); got != "" {
		t.Errorf("a folder with a store is worth %q", got)
	}
}
