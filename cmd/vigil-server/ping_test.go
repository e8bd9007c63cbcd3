package main

import (
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// pings runs --ping with the arguments of a server, at the port that this one took.
func pings(t *testing.T, addr string, args ...string) (string, error) {
	t.Helper()
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(binary, append(append([]string{"--ping"}, args...), "--port", port)...).CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func TestPingAsksTheServerOfTheConfiguration(t *testing.T) {
	p := launch(t, "--dir", t.TempDir(), "--requirepass", "geheim")
	for _, x := range []struct {
		args []string
		want string
	}{
		{[]string{"--requirepass", "geheim"}, "+PONG"},
		{nil, "-NOAUTH Authentication required."},
		{[]string{"--requirepass", "wrong"}, "-NOAUTH Authentication required."},
		{[]string{"--bind", "127.0.0.1", "--requirepass", "geheim"}, "+PONG"},
		{[]string{"--bind", "*", "-::*", "--requirepass", "geheim"}, "+PONG"},
		{[]string{"--bind", "127.0.0.99", "127.0.0.1", "--requirepass", "geheim"}, "+PONG"},
	} {
		if got, err := pings(t, p.addr, x.args...); got != x.want || err != nil {
			t.Errorf("%q: %q, %v; want %q", x.args, got, err, x.want)
		}
	}
	p.cmd.Process.Kill()
	<-p.done
	p.done <- nil
	if got, err := pings(t, p.addr); err == nil || !strings.Contains(got, "refused") {
		t.Errorf("a server that is gone: %q, %v", got, err)
	}
}

func TestPingIsNotTakenInByWhatIsNoServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	answers := make(chan string, 1)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			io.WriteString(c, <-answers)
			c.Close()
		}
	}()
	for _, x := range []struct{ answer, want string }{
		{"HTTP/1.1 400 Bad Request\r\n\r\n", "no server of this protocol"},
		{"-LOADING vigil is loading the dataset in memory\r\n", "-LOADING"},
		{"-MISCONF the disk is full\r\n", "-MISCONF"},
		{"", "ping: "},
		{"+PON", "ping: "},
		{strings.Repeat("x", 100000), "ping: "},
	} {
		answers <- x.answer
		if got, err := pings(t, l.Addr().String()); err == nil || !strings.Contains(got, x.want) {
			t.Errorf("%.20q: %q, %v; want %q", x.answer, got, err, x.want)
		}
	}
}

func TestPingSpeaksTLSWithTheCertificatesOfTheServer(t *testing.T) {
	dir, others := t.TempDir(), t.TempDir()
	args, wrong := signed(t, dir)[2:], signed(t, others)[2:]
	socket := filepath.Join(t.TempDir(), "v.sock")
	p := startCommand(t, exec.Command(binary, append(args, "--dir", t.TempDir(), "--port", "0", "--tls-port", "auto", "--unixsocket", socket, "--tls-auth-clients", "yes")...))
	ready(t, p)
	port := regexp.MustCompile(`\d+$`).FindString(p.addr)
	ask := func(args ...string) (string, error) {
		out, err := exec.Command(binary, append([]string{"--ping", "--port", "0"}, args...)...).CombinedOutput()
		return strings.TrimSpace(string(out)), err
	}
	secure := append(slices.Clone(args), "--tls-port", port)
	if got, err := ask(secure...); got != "+PONG" || err != nil {
		t.Errorf("with the authority: %q, %v", got, err)
	}
	own := append(slices.Clone(args[:4]), "--tls-port", port, "--tls-auth-clients", "no")
	if got, err := ask(own...); got != "+PONG" || err != nil {
		t.Errorf("with its own certificate: %q, %v", got, err)
	}
	if got, err := ask(append(wrong, "--tls-port", port)...); err == nil {
		t.Errorf("with those of another authority: %q", got)
	}
	stranger := append(wrong[:4:4], "--tls-port", port, "--tls-auth-clients", "no")
	if got, err := ask(stranger...); err == nil || !strings.Contains(got, "another certificate") {
		t.Errorf("with another certificate: %q, %v", got, err)
	}
	if got, err := ask("--unixsocket", socket); got != "+PONG" || err != nil {
		t.Errorf("by the Unix socket: %q, %v", got, err)
	}
	if got, err := ask(); err == nil || !strings.Contains(got, "listens nowhere") {
		t.Errorf("nowhere: %q, %v", got, err)
	}
}
