// Package membershiptest starts servers for tests that are members of a group.
package membershiptest

import (
	"bufio"
	"context"
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/vigildb/vigil/server"
	"github.com/vigildb/vigil/server/conf"
	"github.com/vigildb/vigil/server/membership"
)

// Alone starts a server on the disk that is a group by itself and has all slots, with more
// directives in args. It returns when the server takes writes: there is a key k with the value v.
// The server is closed at the end of the test, after what the test cleans up later.
func Alone(t testing.TB, args ...string) (*server.Server, *conf.Config) {
	t.Helper()
	config, err := conf.Load(append([]string{"--dir", t.TempDir(), "--port", freePort(t), "--cluster-port", freePort(t), "--cluster-enabled", "yes",
		"--cluster-slots", "0-16383", "--cluster-secret", "0123456789abcdef"}, args...), nil)
	if err != nil {
		t.Fatal(err)
	}
	member, err := membership.Listen(config, membership.Options{})
	if err != nil {
		t.Fatal(err)
	}
	o := server.Options{Config: config}
	member.Join(&o)
	srv, err := server.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := srv.Close(context.Background()); err != nil {
			t.Errorf("close the server: %v", err)
		}
	})
	if err := srv.Load(context.Background()); err != nil {
		t.Fatal(err)
	}
	awaitWrites(t, srv)
	return srv, config
}

// awaitWrites waits until the server is healthy and has taken a write.
func awaitWrites(t testing.TB, srv *server.Server) {
	t.Helper()
	c, err := srv.Dial()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	const most = 20 * time.Second
	if err := c.SetDeadline(time.Now().Add(most)); err != nil {
		t.Fatal(err)
	}
	replies := bufio.NewReader(c)
	for end, reply := time.Now().Add(most), ""; srv.Health() != nil || reply != "+OK\r\n"; {
		if time.Now().After(end) {
			t.Fatalf("the group of one does not take writes: %v, %q", srv.Health(), reply)
		}
		wait := time.NewTimer(2 * time.Millisecond)
		<-wait.C
		if _, err = c.Write([]byte("SET k v\r\n")); err == nil {
			reply, err = replies.ReadString('\n')
		}
		if err != nil {
			t.Fatalf("a write to the group of one: %v", err)
		}
	}
}

// freePort is a port that was free a moment ago.
func freePort(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}
