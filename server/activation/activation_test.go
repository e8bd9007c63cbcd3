package activation

import (
	"net"
	"os"
	"strings"
	"testing"
)

// passed is an environment.
func passed(pid, fds, names string) func(string) string {
	return func(name string) string {
		return map[string]string{"LISTEN_PID": pid, "LISTEN_FDS": fds, "LISTEN_FDNAMES": names}[name]
	}
}

func TestSocketsOfTheSupervisorAreTakenOver(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	f, err := l.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	sockets, err := take(passed("42", "1", "vigil.socket"), 42, int(f.Fd()))
	if err != nil || len(sockets) != 1 || sockets[0].Name != "vigil.socket" || sockets[0].Addr().String() != l.Addr().String() {
		t.Fatalf("%v, %v", sockets, err)
	}
	dialled := make(chan error, 1)
	go func() {
		c, err := net.Dial("tcp", l.Addr().String())
		if err == nil {
			c.Close()
		}
		dialled <- err
	}()
	c, err := sockets[0].Accept()
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	if err := <-dialled; err != nil {
		t.Error(err)
	}
	sockets[0].Close()
	if c, err := net.Dial("tcp", l.Addr().String()); err != nil {
		t.Errorf("with the server the socket of the supervisor ends: %v", err)
	} else {
		c.Close()
	}
}

func TestWhatIsNotPassedToThisProcessIsNotTaken(t *testing.T) {
	for _, env := range []func(string) string{passed("", "", ""), passed("41", "1", ""), passed("", "1", ""), passed("42", "0", "")} {
		if sockets, err := take(env, 42, 3); len(sockets) != 0 || err != nil {
			t.Errorf("%v, %v", sockets, err)
		}
	}
	plain, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		fds   string
		first int
		want  string
	}{
		{"x", 3, `LISTEN_FDS is "x"`}, {"-1", 3, `LISTEN_FDS is "-1"`}, {"1000000", 3, "LISTEN_FDS"}, {"", 3, `LISTEN_FDS is ""`},
		{"1", int(plain.Fd()), "a stream that listens is needed"}, {"1", 1 << 20, "descriptor 1048576"},
	} {
		if sockets, err := take(passed("42", x.fds, "a:b"), 42, x.first); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, %v, want %s", x.fds, sockets, err, x.want)
		}
	}
}
