package transport

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

// echo is the call of most tests.
func echo(s *lineSession, line string) {
	s.out = append(s.out, line+"\n"...)
	s.closing = line == "bye"
}

// each runs a test over a socket and inside the process.
func each(t *testing.T, call func(*lineSession, string), test func(t *testing.T, r *rig, s *lineSession, c *client)) {
	for _, name := range []string{"socket", "pipe"} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, call)
			open := r.socket
			if name == "pipe" {
				open = r.pipe
			}
			s, c := open()
			test(t, r, s, c)
		})
	}
}

func TestInputIsRunInOrderHoweverItArrives(t *testing.T) {
	each(t, echo, func(t *testing.T, r *rig, s *lineSession, c *client) {
		long := strings.Repeat("x", 200_000) // more than one read takes
		c.send("a\nb\nc")
		c.want("a")
		c.want("b")
		c.send("d\n" + long + "\n")
		c.want("cd")
		c.want(long)
		c.send("bye\nnot run\n")
		c.want("bye")
		until(t, "the session has left", func() bool { return s.left.Load() == 1 })
		c.ended()
		if n := s.fed.Load(); n != 5 {
			t.Errorf("%d lines were run, want 5", n)
		}
	})
}

func TestWakeResumesFromAnyGoroutine(t *testing.T) {
	each(t, echo, func(t *testing.T, r *rig, s *lineSession, c *client) {
		for range 100 {
			before := s.resumes.Load()
			var wakers sync.WaitGroup
			for range 3 {
				wakers.Go(s.conn.Wake)
			}
			wakers.Wait()
			until(t, "the session is resumed", func() bool { return s.resumes.Load() > before })
		}
		c.send("still served\n")
		c.want("still served")
	})
}

func TestHangUpEndsTheClientOnce(t *testing.T) {
	each(t, echo, func(t *testing.T, r *rig, s *lineSession, c *client) {
		s.conn.HangUp()
		s.conn.HangUp()
		c.ended()
		until(t, "the session has left", func() bool { return s.left.Load() > 0 })
		s.conn.Wake() // of a client that is gone
		s.conn.HangUp()
		r.close()
		r.loops.End()
		r.workers.Wait()
		if n := s.left.Load(); n != 1 {
			t.Errorf("left %d times, want once", n)
		}
	})
}

func TestRepliesWaitForTheDevice(t *testing.T) {
	write := func(s *lineSession, line string) {
		echo(s, line)
		if lsn, ok := strings.CutPrefix(line, "write "); ok {
			fmt.Sscan(lsn, &s.lsn)
		}
	}
	each(t, write, func(t *testing.T, r *rig, s *lineSession, c *client) {
		c.send("write 7\nbehind\n")
		until(t, "the write has run", func() bool { return s.fed.Load() == 1 })
		c.send("later\n")
		r.store.sync(6, nil)
		if n := s.fed.Load(); n != 1 {
			t.Errorf("%d lines were run before the write was durable, want 1", n)
		}
		r.store.sync(7, nil)
		c.want("write 7")
		c.want("behind")
		c.want("later")
		until(t, "the store was asked to throttle", func() bool { return r.store.throttles.Load() == 1 })
		c.send("write 8\n")
		until(t, "the write has run", func() bool { return s.fed.Load() == 4 })
		r.store.sync(0, errors.New("the device has failed"))
		c.ended()
		until(t, "the session has left", func() bool { return s.left.Load() == 1 })
	})
}

// pauses runs lines, and a pause before the replies to some.
func pauses(s *lineSession, line string) {
	echo(s, line)
	if d, ok := strings.CutPrefix(line, "pause "); ok {
		s.pause, _ = time.ParseDuration(d)
	}
}

func TestPausedClientGoesOnWhenItsTimeIsOver(t *testing.T) {
	each(t, pauses, func(t *testing.T, r *rig, s *lineSession, c *client) {
		for range 3 {
			c.send("pause 1ms\nbehind\n")
			c.want("pause 1ms")
			c.want("behind")
		}
	})
}

// A paused client does not end with the server only when its pause is over.
func TestPauseEndsWithTheServer(t *testing.T) {
	each(t, pauses, func(t *testing.T, r *rig, s *lineSession, c *client) {
		c.send("pause 1h\n")
		until(t, "the line has run", func() bool { return s.fed.Load() == 1 })
		r.close()
		s.conn.HangUp()
		until(t, "the session has left", func() bool { return s.left.Load() == 1 })
	})
}
