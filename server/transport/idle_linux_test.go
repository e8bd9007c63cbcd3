package transport

import (
	"sync/atomic"
	"testing"
)

// A loop waits for the device itself if all its clients do, and leaves that to others when one of 64 turns ends otherwise.
func TestLoopIsIdleWhenItsClientsWaitForTheDevice(t *testing.T) {
	var lsn atomic.Uint64
	r := newRig(t, func(s *lineSession, line string) {
		if line == "write" {
			s.lsn = lsn.Add(1)
		}
		s.out = append(s.out, line...)
		s.out = append(s.out, '\n')
	})
	r.store.atEnd(func() { r.store.sync(lsn.Load(), nil) })
	_, c := r.socket()
	say := func(line string) {
		t.Helper()
		c.send(line + "\n")
		c.want(line)
	}
	for i := range idleTurns + 1 {
		if say("write"); i < idleTurns-1 && r.store.idle.Load() {
			t.Fatalf("the loop waits after %d turns", i+1)
		}
	}
	if !r.store.idle.Load() {
		t.Errorf("the loop does not wait after %d turns", idleTurns+1)
	}
	say("read")
	say("read")
	say("write")
	if r.store.idle.Load() {
		t.Error("the loop still waits, though two of 64 turns were of somebody who does not")
	}
	for range 64 {
		say("write")
	}
	if !r.store.idle.Load() {
		t.Error("the loop does not wait after 64 more turns")
	}
}
