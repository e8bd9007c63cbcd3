package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
)

// held starts a server behind sockets that the test holds, as systemd does: the shell tells it its own number, and becomes it.
func held(t *testing.T, names string, sockets []*os.File, args ...string) *process {
	t.Helper()
	script := fmt.Sprintf(`LISTEN_PID=$$ LISTEN_FDS=%d LISTEN_FDNAMES=%s exec "$0" "$@"`, len(sockets), names)
	cmd := exec.Command("sh", append([]string{"-c", script, binary}, args...)...)
	cmd.ExtraFiles = sockets
	return startCommand(t, cmd)
}

func listenFile(t *testing.T, network, addr string) (string, *os.File) {
	t.Helper()
	l, err := net.Listen(network, addr)
	if err != nil {
		t.Fatal(err)
	}
	f, err := l.(interface{ File() (*os.File, error) }).File()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close(); l.Close() })
	return l.Addr().String(), f
}

// A client goes on writing while its server is stopped, killed and started again. Its connections end, but it is never refused, each
// request gets its reply from the old server or the next, and nothing acknowledged is missing.
func TestRequestsWaitThroughRestartsInAHeldSocket(t *testing.T) {
	addr, f := listenFile(t, "tcp", "127.0.0.1:0")
	args := []string{"--dir", t.TempDir()}
	var acked atomic.Int64
	stop, done := make(chan struct{}), make(chan error, 1)
	go func() { done <- writeOn(addr, &acked, stop) }()
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL, syscall.SIGTERM} {
		p := ready(t, held(t, "vigil", []*os.File{f}, args...))
		from := acked.Load()
		await(t, func() bool { return acked.Load() > from+50 })
		p.cmd.Process.Signal(signal)
		if err := <-p.done; signal == syscall.SIGTERM && err != nil {
			t.Errorf("it ended with %v:\n%s", err, p.out)
		}
		p.done <- nil
		if refused, err := net.Dial("tcp", addr); err != nil {
			t.Errorf("without a server: %v", err)
		} else {
			refused.Close() // a client that did not wait
		}
	}
	p := ready(t, held(t, "vigil", []*os.File{f}, args...))
	from := acked.Load()
	await(t, func() bool { return acked.Load() > from })
	close(stop)
	if err := <-done; err != nil {
		t.Errorf("the client: %v", err)
	}
	c := dialAt(t, "tcp", addr)
	for i := range acked.Load() {
		if got := c.do(t, fmt.Sprintf("GET k%d", i)); got != fmt.Sprint(i) {
			t.Fatalf("k%d is %s, of %d acknowledged", i, got, acked.Load())
		}
	}
	if got := c.do(t, "CONFIG SET port 7000"); !strings.Contains(got, "belong to the supervisor") {
		t.Errorf("CONFIG SET port: %s", got)
	}
	if got := c.do(t, "INFO server"); !strings.Contains(got, "tcp_port:"+addr[strings.LastIndexByte(addr, ':')+1:]+"\r\n") {
		t.Errorf("INFO has another port:\n%s", got)
	}
	if !strings.Contains(p.out.String(), "is at another port than the configuration has, 6379") {
		t.Errorf("it does not warn:\n%s", p.out)
	}
}

// writeOn writes keys one after the other until stop, again on a new connection when one ends.
func writeOn(addr string, acked *atomic.Int64, stop chan struct{}) error {
	for {
		nc, err := net.Dial("tcp", addr)
		if err != nil {
			return err
		}
		c := newClient(nc)
		for {
			select {
			case <-stop:
				return nc.Close()
			default:
			}
			i := acked.Load()
			if c.send(fmt.Sprintf("SET k%d %d", i, i)) != nil {
				break
			}
			got, err := c.reply()
			if err != nil {
				break
			}
			if got != "OK" {
				return errors.New(got)
			}
			acked.Add(1)
		}
		nc.Close()
	}
}

func TestHeldSocketsAreServedByTheirNames(t *testing.T) {
	plain, f1 := listenFile(t, "tcp", "127.0.0.1:0")
	secure, f2 := listenFile(t, "tcp", "127.0.0.1:0")
	path := filepath.Join(t.TempDir(), "v.sock")
	_, f3 := listenFile(t, "unix", path)
	port := secure[strings.LastIndexByte(secure, ':')+1:]
	certs := append(signed(t, t.TempDir())[2:], "--tls-auth-clients", "no")
	args := append([]string{"--dir", t.TempDir(), "--tls-port", port}, certs...)
	p := ready(t, held(t, "a:tls:b", []*os.File{f1, f2, f3}, args...))
	for _, ask := range [][]string{{"--port", plain[strings.LastIndexByte(plain, ':')+1:]}, append([]string{"--port", "0", "--tls-port", port}, certs...), {"--port", "0", "--unixsocket", path}} {
		if out, err := exec.Command(binary, append([]string{"--ping"}, ask...)...).CombinedOutput(); err != nil || string(out) != "+PONG\n" {
			t.Errorf("%q: %q, %v\n%s", ask, out, err, p.out)
		}
	}
	p.cmd.Process.Signal(syscall.SIGTERM)
	<-p.done
	p.done <- nil
	if _, err := os.Stat(path); err != nil {
		t.Errorf("it has removed the socket of the supervisor: %v", err)
	}
	bad := held(t, "tls", []*os.File{f2}, "--dir", t.TempDir())
	if err := <-bad.done; err == nil || !strings.Contains(bad.out.String(), "is for TLS, and tls-port is 0") {
		t.Errorf("%v:\n%s", err, bad.out)
	}
	bad.done <- nil
}
