package transport

import (
	"net"
	"path/filepath"
	"strings"
	"testing"
)

// unread opens a connection whose input is all there before the loop has it, so that
// the kernel reports it once. ended closes the client's side for writing.
func (r *rig) unread(input string, ended bool) (*lineSession, *client) {
	r.t.Helper()
	l, err := net.Listen("unix", filepath.Join(r.t.TempDir(), "s"))
	if err != nil {
		r.t.Fatal(err)
	}
	defer l.Close()
	other, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		r.t.Fatal(err)
	}
	own, err := l.Accept()
	if err != nil {
		r.t.Fatal(err)
	}
	if _, err := other.Write([]byte(input)); err != nil {
		r.t.Fatal(err)
	}
	if ended {
		if err := other.(*net.UnixConn).CloseWrite(); err != nil {
			r.t.Fatal(err)
		}
	}
	return r.open(own, other)
}

// filler is n bytes of lines that echoOthers does not answer.
func filler(n int) string {
	return strings.Repeat(strings.Repeat("x", 1023)+"\n", n/1024) + strings.Repeat("\n", n%1024)
}

func echoOthers(s *lineSession, line string) {
	if line == "write" {
		s.lsn = 1
	}
	if line != "" && line[0] != 'x' {
		echo(s, line)
	}
}

func TestEndBehindTheInputIsSeen(t *testing.T) {
	r := newRig(t, echo)
	s, c := r.unread("a\n", true)
	c.want("a")
	c.ended()
	until(t, "the session has left", func() bool { return s.left.Load() == 1 })
}

func TestInputThatFillsAReadIsFollowedUp(t *testing.T) {
	r := newRig(t, echoOthers)
	for _, n := range []int{loopRead - 1, loopRead, loopRead + 1, loopRead + 1000} {
		_, c := r.unread(filler(n)+"b\n", false)
		c.want("b")
	}
}

func TestInputThatCameWhileTheSessionWaitedIsFollowedUp(t *testing.T) {
	r := newRig(t, echoOthers)
	s, c := r.unread("write\n"+filler(loopRead)+"b\n", true)
	until(t, "the session waits", func() bool { return s.fed.Load() == 1 })
	r.store.sync(1, nil)
	c.want("write")
	c.want("b")
	c.ended()
}
