package server

import (
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"testing"

	"github.com/vigildb/vigil/server/conf"

	"github.com/vigildb/vigil/server/internal/door"
)

// listening is a rig whose server listens as the arguments say.
func listening(t *testing.T, args ...string) (*rig, []net.Addr) {
	t.Helper()
	r := newRig(t, func(o *Options) { o.Config = testConfig(t, args...) })
	addrs, err := r.srv.Listen()
	if err != nil {
		t.Fatal(err)
	}
	return r, addrs
}

// reach reports whether somebody listens at an address, and replies.
func (r *rig) reach(addr string) bool {
	r.t.Helper()
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		return false
	}
	c := newTestClient(r.t, nc)
	c.want("PING", "PONG")
	nc.Close()
	return true
}

// freePort is a port that was free a moment ago at every loopback address.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp4", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func TestPortMovesAndClientsStay(t *testing.T) {
	r, addrs := listening(t, "--port", "auto", "--bind", "127.0.0.1")
	before := addrs[0].String()
	stays := r.dialTCP(before)
	port := freePort(t)
	stays.want(fmt.Sprintf("CONFIG SET port %d", port), "OK")
	after := fmt.Sprintf("127.0.0.1:%d", port)
	if r.reach(before) || !r.reach(after) {
		t.Errorf("reached at %s: %v, at %s: %v", before, r.reach(before), after, r.reach(after))
	}
	stays.want("CONFIG GET port", fmt.Sprintf(`["port" "%d"]`, port))
	if got := r.srv.sockets.port(); got != int64(port) {
		t.Errorf("tcp_port is %d, want %d", got, port)
	}
	stays.want("CONFIG SET port 0", "OK")
	if r.reach(after) {
		t.Error("port 0 goes on to listen")
	}
	stays.want("CONFIG SET port auto", "OK")
	if !r.reach(fmt.Sprintf("127.0.0.1:%d", r.srv.sockets.port())) {
		t.Error("port auto does not listen")
	}
}

func TestPortThatIsTakenChangesNothing(t *testing.T) {
	r, addrs := listening(t, "--port", "auto", "--bind", "127.0.0.1")
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	c := r.dial()
	taken := other.Addr().(*net.TCPAddr).Port
	c.want(fmt.Sprintf("CONFIG SET maxmemory 5gb port %d", taken),
		"(error) ERR CONFIG SET failed (possibly related to argument 'port') - Unable to listen on this port. Check server logs.")
	c.want("CONFIG GET port", `["port" "auto"]`)
	c.want("CONFIG GET maxmemory", `["maxmemory" "0"]`)
	if !r.reach(addrs[0].String()) {
		t.Error("the old port is closed")
	}
	if !r.log.has(fmt.Sprintf("listen on 127.0.0.1 port %d", taken)) {
		t.Error("the log does not say why")
	}
}

func TestBindMovesAddressByAddress(t *testing.T) {
	r, addrs := listening(t, "--port", "auto", "--bind", "127.0.0.1")
	port := addrs[0].(*net.TCPAddr).Port
	at := func(host string) bool { return r.reach(fmt.Sprintf("%s:%d", host, port)) }
	c := r.dial()
	for _, x := range []struct {
		bind, want   string
		first, other bool // reached at 127.0.0.1 and 127.0.0.2
	}{
		{"127.0.0.1 127.0.0.2", "OK", true, true},
		{"127.0.0.2", "OK", false, true},
		{"127.0.0.1 192.0.2.1", "(error) ERR CONFIG SET failed (possibly related to argument 'bind') - Failed to bind to specified addresses.", false, true},
		{"127.0.0.1 -192.0.2.1", "OK", true, false},
		{"-192.0.2.1", "(error) ERR CONFIG SET failed (possibly related to argument 'bind') - Failed to bind to specified addresses.", true, false},
		{"*", "OK", true, true}, // in the way of 127.0.0.1
		{"127.0.0.1", "OK", true, false},
		{"* 192.0.2.1", "(error) ERR CONFIG SET failed (possibly related to argument 'bind') - Failed to bind to specified addresses.", true, false},
		{"", "OK", false, false},
	} {
		if got := c.do("CONFIG", "SET", "bind", x.bind); got != x.want {
			t.Errorf("bind %q: got %s, want %s", x.bind, got, x.want)
		}
		if at("127.0.0.1") != x.first || at("127.0.0.2") != x.other {
			t.Errorf("after bind %q: reached at 127.0.0.1: %v, at 127.0.0.2: %v", x.bind, at("127.0.0.1"), at("127.0.0.2"))
		}
	}
}

func TestNothingToListenOnIsAnError(t *testing.T) {
	for _, args := range [][]string{{"--port", "0"}, {"--bind", ""}, {"--port", "auto", "--bind", "-192.0.2.1"}} {
		r := newRig(t, func(o *Options) { o.Config = testConfig(t, args...) })
		if _, err := r.srv.Listen(); !errors.Is(err, ErrNoListeners) {
			t.Errorf("%q: got %v", args, err)
		}
	}
}

func TestPortZeroLeavesTheUnixSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "v.sock")
	r, addrs := listening(t, "--port", "0", "--unixsocket", path)
	if len(addrs) != 1 || addrs[0].Network() != "unix" || r.srv.sockets.port() != 0 {
		t.Fatalf("listens at %v", addrs)
	}
	nc, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	c := newTestClient(t, nc)
	c.want(fmt.Sprintf("CONFIG SET port %d bind 127.0.0.1", freePort(t)), "OK")
	if !r.reach(fmt.Sprintf("127.0.0.1:%d", r.srv.sockets.port())) {
		t.Error("no TCP after CONFIG SET port")
	}
}

func TestEmbeddedServerDoesNotMoveSocketsOfOthers(t *testing.T) {
	r := newRig(t)
	r.loopback()
	r.dial().want("CONFIG SET port 7000", "(error) ERR CONFIG SET failed (possibly related to argument 'port') - the sockets belong to the program that the server is part of")
}

func TestHTTPPortIsRefusedWithoutAWindow(t *testing.T) {
	r := newRig(t)
	c := r.dial()
	c.want("CONFIG SET http-port 9121", "(error) ERR CONFIG SET failed (possibly related to argument 'http-port') - "+errNoWindow.Error())
	var moved []int
	door.Of(r.srv).OnMoveHTTP(func(_, new *conf.Settings) error {
		moved = append(moved, new.HTTPPort)
		return nil
	})
	c.want("CONFIG SET http-port 9121", "OK")
	if len(moved) != 1 || moved[0] != 9121 {
		t.Errorf("moved to %v, want [9121]", moved)
	}
}
