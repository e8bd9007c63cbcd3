package server

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/vigildb/vigil/persistence"
)

// A client that changes a value larger than memory faster than the disk takes it is paused,
// for a bounded time, and nothing that it sends is run meanwhile. Other clients, and those
// that read the value, go on.
func TestOnlyTheClientThatChangesALargeValueIsPaused(t *testing.T) {
	r := newRig(t, func(o *Options) {
		o.Store = func(s *persistence.Options) { s.Background = func(persistence.Task) {} } // nothing is written
	})
	c := r.dial()
	for i := range 200 {
		c.want(fmt.Sprintf("HSET h %d %s", i, strings.Repeat("v", 10_000)), "(int) 1")
	}
	c.want("CONFIG SET maxmemory 1mb", "OK")

	s, e := r.handSession()
	defer s.Leave()
	if err := s.feedText(encode("HSET", "h", "7", "new") + encode("HGET", "h", "7")); err != nil || e.writes > 0 || e.paused == 0 {
		t.Fatalf("got %v, %q after a pause of %v", err, e.wrote, e.paused)
	}
	for name, call := range map[string][2]string{
		"another key": {encode("SET", "k", "v"), "+OK\r\n"},
		"a read":      {encode("HGET", "h", "7"), "$3\r\nnew\r\n"},
		"no change":   {encode("HDEL", "h", "none"), ":0\r\n"},
	} {
		s, e := r.handSession()
		if err := s.feedText(call[0]); err != nil || string(e.wrote) != call[1] || e.paused > 0 {
			t.Errorf("%s: got %v, %q, after a pause of %v", name, err, e.wrote, e.paused)
		}
		s.Leave()
	}
	if err := s.Resume(); err != nil || e.writes > 0 { // woken by a message
		t.Fatalf("got %v, %q before the pause is over", err, e.wrote)
	}
	for waited := time.Duration(0); e.writes == 0; waited += pauseStep {
		if waited > 5*time.Second {
			t.Fatalf("the client is paused for more than %v", waited)
		}
		r.clock.advance(pauseStep)
		if err := s.Resume(); err != nil {
			t.Fatal(err)
		}
	}
	if want := ":0\r\n$3\r\nnew\r\n"; string(e.wrote) != want {
		t.Errorf("got %q, want %q", e.wrote, want)
	}
	// When there is room the next change does not wait.
	c.want("CONFIG SET maxmemory 100mb", "OK")
	before := e.paused
	if err := s.feedText(encode("HSET", "h", "7", "newer")); err != nil || e.paused > before || e.writes != 2 {
		t.Errorf("got %v, %q after another pause of %v", err, e.wrote, e.paused-before)
	}
}
