package transport

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
)

// stuck is a call that lasts until a test lets it go on.
type stuck struct{ began, end chan struct{} }

func newStuck() *stuck { return &stuck{make(chan struct{}), make(chan struct{})} }

func (k *stuck) call(s *lineSession, line string) {
	if line == "stuck" {
		k.began <- struct{}{}
		<-k.end
	}
	echo(s, line)
}

func TestLongTurnLeavesTheLoopToOthers(t *testing.T) {
	k := newStuck()
	r := newRig(t, k.call)
	_, slow := r.socket()
	_, other := r.socket()
	for range 3 { // the first long turn leaves the loop, the next begin beside it
		slow.send("stuck\nbehind\n")
		<-k.began
		other.send("a\n")
		other.want("a")
		slow.send("later\n")
		k.end <- struct{}{}
		slow.want("stuck")
		slow.want("behind")
		slow.want("later")
	}
}

func TestLongEndOfARoundLeavesTheLoopToOthers(t *testing.T) {
	began, end := make(chan struct{}), make(chan struct{})
	r := newRig(t, echo)
	_, a := r.socket()
	_, b := r.socket()
	a.send("a\n")
	a.want("a")
	var stuck atomic.Bool
	r.store.atEnd(func() {
		if stuck.CompareAndSwap(true, false) {
			began <- struct{}{}
			<-end
		}
	})
	for range 3 {
		stuck.Store(true)
		a.send("b\n")
		a.want("b") // the replies of a round leave before its end
		<-began
		b.send("c\n")
		b.want("c")
		a.send("d\n")
		a.want("d")
		end <- struct{}{}
	}
	a.nc.Close()
	b.nc.Close()
	r.close()
	r.loops.End()
	r.workers.Wait()
	if n := r.store.rounds.Load(); n != 0 {
		t.Errorf("%d rounds have not ended", n)
	}
}

// A round that one owner of a loop has begun is ended by the next one, once.
func TestRoundsEndOnce(t *testing.T) {
	k := newStuck()
	r := newRig(t, k.call)
	_, slow := r.socket()
	_, other := r.socket()
	for range 3 {
		slow.send("stuck\n")
		<-k.began
		other.send("a\n")
		other.want("a")
		k.end <- struct{}{}
		slow.want("stuck")
		if n := r.store.rounds.Load(); n < 0 || n > 1 {
			t.Errorf("%d rounds of one loop", n)
		}
	}
	until(t, "the loop is between two rounds", func() bool { return r.store.rounds.Load() == 0 })
}

func TestSleepingWatcherIsWoken(t *testing.T) {
	k := newStuck()
	r := newRig(t, k.call)
	_, slow := r.socket()
	_, other := r.socket()
	slow.send("a\n")
	slow.want("a")
	l := r.loops.nextLoop() // there is only one
	for range 2 {
		until(t, "the watcher sleeps", func() bool { return !l.watched.Load() })
		slow.send("stuck\n")
		<-k.began
		other.send("b\n")
		other.want("b")
		k.end <- struct{}{}
		slow.want("stuck")
	}
}

func TestWakeDuringALongTurnTakesEffectAfterIt(t *testing.T) {
	k := newStuck()
	r := newRig(t, k.call)
	s, slow := r.socket()
	_, other := r.socket()
	slow.send("stuck\n")
	<-k.began
	other.send("a\n")
	other.want("a") // the loop has another owner
	s.conn.Wake()
	other.send("b\n")
	other.want("b")
	if n := s.resumes.Load(); n != 0 {
		t.Fatalf("resumed %d times in its own turn", n)
	}
	k.end <- struct{}{}
	slow.want("stuck")
	until(t, "the session is resumed", func() bool { return s.resumes.Load() > 0 })
}

// A client that reads nothing is not run, so that its replies do not pile up.
func TestClientThatDoesNotReadIsNotRun(t *testing.T) {
	const size = 16 << 20 // more than the buffers of a socket
	big := strings.Repeat("x", size)
	r := newRig(t, func(s *lineSession, line string) {
		if line == "big" {
			line = big
		}
		echo(s, line)
	})
	s, c := r.socket()
	_, other := r.socket()
	c.send("big\nbehind\n")
	until(t, "the reply is made", func() bool { return s.fed.Load() == 1 })
	s.conn.Wake()
	other.send("a\n")
	other.want("a")
	if n := s.fed.Load(); n != 1 {
		t.Errorf("%d lines were run, want 1", n)
	}
	c.want(big)
	c.want("behind")
	if s.sent.Load() == 0 {
		t.Error("the session was not told that its replies went")
	}
}

func TestKilledClientIsNotRun(t *testing.T) {
	r := newRig(t, echo)
	s, c := r.socket()
	s.killed.Store(true)
	c.send("a\n")
	c.ended()
	if n := s.fed.Load(); n != 0 {
		t.Errorf("%d lines were run, want none", n)
	}
}

// A session that was promised nothing goes on when the device has failed.
func TestSyncFailureSparesClientsThatWerePromisedNothing(t *testing.T) {
	r := newRig(t, func(s *lineSession, line string) {
		echo(s, line)
		if line == "write" {
			s.lsn, s.goesOn = 1, true
		}
	})
	s, c := r.socket()
	c.send("write\n")
	until(t, "the write has run", func() bool { return s.fed.Load() == 1 })
	r.store.sync(0, errors.New("the device has failed"))
	until(t, "the session is told", func() bool { return s.failed.Load() > 0 })
	r.store.sync(1, nil)
	c.want("write")
	c.send("a\n")
	c.want("a")
}

// Nothing of a paused client is run, and its replies do not leave. The others of its loop
// are served.
func TestPausedClientHoldsUpNoOther(t *testing.T) {
	r := newRig(t, pauses)
	s, c := r.socket()
	_, other := r.socket()
	c.send("pause 1h\nbehind\n")
	until(t, "the line has run", func() bool { return s.fed.Load() == 1 })
	c.send("later\n")
	for range 10 {
		other.send("a\n")
		other.want("a")
	}
	if fed, resumed := s.fed.Load(), s.resumes.Load(); fed != 1 || resumed != 0 {
		t.Errorf("%d lines were run in %d resumes, want 1 and none", fed, resumed)
	}
	s.conn.Wake() // the session finds that it may go on
	c.want("pause 1h")
	c.want("behind")
	c.want("later")
}
