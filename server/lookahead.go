package server

import (
	"sync"

	"github.com/vigildb/vigil/persistence"
)

// Lookahead. The commands of a pipeline are known before they run, but the keys that
// they name are seldom in the processor's caches, and waiting for memory is a fifth
// of what a small command costs. So once there is a second command behind the one
// that is about to run, some more are framed and the memory that leads to their
// keys is asked for all at once, before the first of them runs.
//
// The commands that were found are those of one turn: what did not run in it, as the
// client blocked, was paused or is to be closed, is found again in the next one.
type lookahead struct {
	found [aheadCalls]foundCall
	n     int // of found
	next  int // the first that did not run
	args  [][]byte
	keys  persistence.Upcoming
}

// foundCall is a command that is framed, of which size bytes are to be consumed.
type foundCall struct {
	argv [][]byte
	size int
	hash uint64 // of its first key, 0 if it has none
}

// aheadCalls is how many commands are found at once: as many as the misses that a
// processor has under way, and those of a usual pipeline.
const aheadCalls = 16

// lookaheads are shared, as clients seldom have one at the same time.
var lookaheads = sync.Pool{New: func() any { return new(lookahead) }}

// pop returns the next command that was found.
func (a *lookahead) pop() (c foundCall, ok bool) {
	if a.next == a.n {
		return c, false
	}
	c = a.found[a.next]
	a.next++
	return c, true
}

// lookAhead finds the commands behind the next one, which takes n bytes.
func (s *session) lookAhead(argv [][]byte, n int) {
	in := &s.in
	rest := in.buf[in.readAt:]
	if n == len(rest) || !in.framer.Authenticated() {
		return // the limits of what follows may be others
	}
	a := in.ahead
	if a == nil {
		a = lookaheads.Get().(*lookahead)
		in.ahead = a
	}
	a.n, a.next, a.args = 0, 0, a.args[:0]
	a.keys.Reset(s.srv.store, s.DB())
	in.keyHash = s.expectKeys(argv)
	for at := n; a.n < aheadCalls; at += a.found[a.n-1].size {
		argv, size := in.framer.NextArray(rest[at:], a.args[len(a.args):])
		if size == 0 {
			break
		}
		if used := len(a.args) + len(argv); used <= cap(a.args) {
			a.args = a.args[:used]
		} else if used <= keepArgs {
			a.args = make([][]byte, 0, max(2*used, minAheadArgs)) // for what follows
		}
		a.found[a.n] = foundCall{argv, size, s.expectKeys(argv)}
		a.n++
	}
	a.keys.Prefetch()
}

// minAheadArgs is the number of arguments for which there is room at first.
const minAheadArgs = 8 * aheadCalls

// expectKeys notes the first keys of a command, and returns the hash of the first.
func (s *session) expectKeys(argv [][]byte) (hash uint64) {
	cmd, _ := s.lookup(argv)
	if cmd == nil || len(cmd.Keys) == 0 {
		return 0
	}
	s.keys = cmd.AppendKeys(s.keys[:0], argv)
	for i, k := range s.keys[:min(len(s.keys), aheadKeys)] {
		if h := s.in.ahead.keys.Add(argv[k.Index]); i == 0 {
			hash = h
		}
	}
	return hash
}

// aheadKeys is the number of keys of one command that are looked for.
const aheadKeys = 4

// forgetAhead ends the lookahead with the turn.
func (in *input) forgetAhead() {
	a := in.ahead
	if a == nil {
		return
	}
	if a.next < a.n {
		in.framer.Forget()
	}
	clear(a.found[:])
	clear(a.args[:cap(a.args)]) // they hold the buffer
	a.keys.Clear()
	in.ahead, in.argv = nil, nil
	lookaheads.Put(a)
}
