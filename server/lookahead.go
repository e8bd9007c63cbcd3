package server

import (
	"sync"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/persistence"
)

// Lookahead. The commands of a pipeline are known before they run, but their keys
// are rarely in the processor's caches, and waiting for memory is a fifth of the
// cost of a small command. So if more commands follow the one that is about to run,
// some of them are framed and the memory of their keys is prefetched, all at once,
// before the first of them runs.
//
// The lookahead lasts for one turn: commands that did not run in it, because the
// client blocked, was paused or is being closed, are found again in the next one.
type lookahead struct {
	found [aheadCalls]foundCall
	n     int // of found
	next  int // the first that did not run
	args  [][]byte
	keys  persistence.Upcoming
}

// foundCall is a command that is framed, size bytes of the input.
type foundCall struct {
	argv [][]byte
	size int
	seen seen
}

// seen is what is known of a call before it runs.
type seen struct {
	cmd     *commands.Command // nil if it was not looked for, or there is none
	sub     bool              // cmd is the subcommand that the call names
	keyHash uint64            // of its first key, 0 if it is not known
}

// aheadCalls is the number of commands found at once: about as many as the cache
// misses that a processor handles in parallel, and as the commands of a usual
// pipeline.
const aheadCalls = 16

// lookaheads are pooled, because few clients need one at the same time.
var lookaheads = sync.Pool{New: func() any { return new(lookahead) }}

// pop returns the next command that was found.
func (a *lookahead) pop() (c *foundCall, ok bool) {
	if a.next == a.n {
		return nil, false
	}
	c = &a.found[a.next]
	a.next++
	return c, true
}

// lookAhead finds the commands after the next one, which is n bytes long.
func (s *session) lookAhead(argv [][]byte, n int) {
	in := &s.in
	rest := in.buf[in.readAt:]
	if n == len(rest) || !in.framer.Authenticated() {
		return // it may change the limits of what follows
	}
	a := in.ahead
	if a == nil {
		a = lookaheads.Get().(*lookahead)
		in.ahead = a
	}
	a.n, a.next, a.args = 0, 0, a.args[:0]
	a.keys.Reset(s.srv.store, s.DB())
	in.seen = s.expectKeys(argv)
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

// minAheadArgs is the initial capacity for arguments.
const minAheadArgs = 8 * aheadCalls

// expectKeys finds the row of a call, and notes its first keys, or its key and the first
// elements of that.
func (s *session) expectKeys(argv [][]byte) (c seen) {
	c.cmd, c.sub = s.lookup(argv)
	cmd := c.cmd
	if cmd == nil || len(cmd.Keys) == 0 {
		return c
	}
	s.keys = cmd.AppendKeys(s.keys[:0], argv)
	for i, k := range s.keys[:min(len(s.keys), aheadKeys)] {
		if h := s.in.ahead.keys.Add(argv[k.Index]); i == 0 {
			c.keyHash = h
		}
	}
	if e := cmd.Elements; e.First > 0 && len(s.keys) > 0 {
		for i, n := e.First, 0; i < len(argv) && n < aheadElements; i, n = i+e.Step, n+1 {
			s.in.ahead.keys.AddElement(argv[i])
			if e.Step == 0 {
				break
			}
		}
	}
	return c
}

const (
	// aheadKeys is the number of keys of one command that are looked for.
	aheadKeys = 4
	// aheadElements is that of elements. A value is small more often than not, and
	// they are looked for in vain then.
	aheadElements = 2
)

// forgetAhead ends the lookahead at the end of the turn.
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
