package tracking

import (
	"slices"
	"sync/atomic"

	"github.com/vigildb/vigil/commands"
)

// Client is a connected client.
type Client interface {
	Has(commands.ClientFlag) bool
	Set(commands.ClientFlag)
	Clear(commands.ClientFlag)
	Proto() int
	// Deliver gives the client bytes that it gets between two replies.
	Deliver(b []byte)
}

// Clients are those that are connected.
type Clients interface {
	// Find returns nil if there is no such client.
	Find(id uint64) Client
}

// State is what a session keeps for client-side caching. Only the owner of the session uses
// it, but for the tracker.
type State struct {
	self    Client                  // nil if the session has no client
	track   atomic.Pointer[Tracker] // nil until tracking is turned on
	serving Client                  // the waiting client whose call is run again, or nil
	pushes  []byte                  // for the client of the running call, after its reply
	changed [][]byte                // keys that the call changed and that clients asked for by a prefix
	known   map[string]bool         // changed, if these are many
	all     bool                    // the call changes every key of a database
	collect bool                    // the running EXEC may write what others have sent before its reply
	read    [][]byte                // what that EXEC has read and the client may keep
	scratch []commands.KeyRef
}

// prefixBytes is the memory of a prefix, without its name.
const prefixBytes = 320

// Open is called once, for the session of a client.
func (s *State) Open(self Client) { s.self = self }

// caller is the client whose call runs.
func (s *State) caller() Client {
	if s.serving != nil {
		return s.serving
	}
	return s.self
}

// tell gives a client bytes, after its reply if its own call runs.
func (s *State) tell(c Client, b []byte) {
	if s != nil && c == s.caller() {
		s.Push(b)
		return
	}
	c.Deliver(b)
}

// spares reports whether a client wants to hear nothing of its own changes, as this is one.
func (s *State) spares(c Client) bool {
	return s != nil && c == s.caller() && c.Has(commands.ClientTrackingNoLoop)
}

// Push adds bytes that the client of the running call gets after its reply.
func (s *State) Push(b []byte) { s.pushes = append(s.pushes, b...) }

// Pushes reports whether there are any.
func (s *State) Pushes() bool { return len(s.pushes) > 0 }

// TakePushes returns them, and keeps none.
func (s *State) TakePushes() (b []byte) {
	b, s.pushes = s.pushes, nil
	return b
}

// Track turns tracking on for the client of a session, or changes its options: the flags
// that are its modes, where invalidations go, and further prefixes.
func (t *Table) Track(s *State, modes commands.ClientFlag, redirect uint64, prefixes [][]byte) {
	tr := s.track.Load()
	if tr == nil {
		tr = &Tracker{}
		tr.client.Store(&s.self)
		s.track.Store(tr)
	}
	first := !s.self.Has(commands.ClientTracking)
	s.self.Clear(commands.ClientTrackingModes)
	tr.redirect.Store(redirect)
	if modes&commands.ClientTrackingBcast != 0 && len(prefixes) == 0 {
		prefixes = [][]byte{{}}
	}
	t.join(tr, first, prefixes)
	s.self.Set(commands.ClientTracking | modes)
}

// Untrack turns tracking off.
func (t *Table) Untrack(s *State) {
	if s.self.Has(commands.ClientTracking) {
		s.self.Clear(commands.ClientTracking | commands.ClientTrackingModes | commands.ClientTrackingCaching)
		t.leave(s.track.Load())
	}
}

// Leave ends the tracking of a client that leaves.
func (t *Table) Leave(s *State) {
	if tr := s.track.Load(); tr != nil {
		t.Untrack(s)
		tr.client.Store(nil)
	}
}

// Prefixes lists the prefixes that a client asked for, in order.
func (t *Table) Prefixes(s *State) []string { return t.prefixesOf(s.track.Load()) }

// RedirectedTo is the client that gets the invalidations: 0 if it is the tracking one, -1 if
// tracking is off. It may be called for the session of another client.
func (s *State) RedirectedTo() int64 {
	if tr := s.track.Load(); tr != nil && s.self.Has(commands.ClientTracking) {
		return int64(tr.redirect.Load())
	}
	return -1
}

// PrefixMemory is the memory of the client's prefixes.
func (s *State) PrefixMemory() int {
	if tr := s.track.Load(); tr != nil {
		return tr.bytes
	}
	return 0
}

// Caches reports whether a client may keep what its next call reads.
func Caches(c Client) bool {
	switch {
	case !c.Has(commands.ClientTracking), c.Has(commands.ClientTrackingBcast):
		return false
	case c.Has(commands.ClientTrackingOptIn):
		return c.Has(commands.ClientTrackingCaching)
	}
	return !c.Has(commands.ClientTrackingOptOut) || !c.Has(commands.ClientTrackingCaching)
}

// Read notes the keys of a call that reads, which are locked. Scripts read by the
// commands that they call; the keys that they declare do not count.
func (t *Table) Read(s *State, cmd *commands.Command, argv [][]byte) {
	if cmd.Is(commands.RunsScripts) || !Caches(s.self) {
		return
	}
	t.rememberKeys(s, s, cmd, argv)
	t.trim(2*len(s.scratch), s)
}

// ReadFor notes the keys of a waiting call of another client that was run again. Its reply
// was delivered already, so that no invalidation goes before it.
func (t *Table) ReadFor(s, of *State, cmd *commands.Command, argv [][]byte) {
	t.rememberKeys(s, of, cmd, argv)
	t.trim(2*len(s.scratch), nil)
}

// rememberKeys notes the keys that a call names.
func (t *Table) rememberKeys(s, of *State, cmd *commands.Command, argv [][]byte) {
	s.scratch = cmd.AppendKeys(s.scratch[:0], argv)
	for _, k := range s.scratch {
		t.remember(argv[k.Index], of.track.Load())
		if s.collect {
			s.read = append(s.read, slices.Clone(argv[k.Index]))
		}
	}
}

// Serve begins to run the call of a waiting client. The function that it returns ends
// that, and gives the client its own invalidations, which go after its reply.
func (s *State) Serve(of Client) (end func()) {
	own := s.pushes
	s.serving, s.pushes = of, nil
	return func() {
		if len(s.pushes) > 0 {
			of.Deliver(s.pushes)
		}
		s.serving, s.pushes = nil, own
	}
}

// Collect says whether the EXEC that begins, or has ended, may write what others have sent
// before its reply.
func (s *State) Collect(collects bool) { s.collect, s.read = collects, nil }

// RepeatLost tells the client once more, after its reply, of keys that the running EXEC
// has read and that the table has lost since. What the client was sent about them may
// stand before the reply, where a client that does not have the value yet ignores it.
func (t *Table) RepeatLost(s *State) {
	tr := s.track.Load()
	s.read = slices.DeleteFunc(s.read, func(key []byte) bool {
		if t.has(key, tr) {
			return false
		}
		t.invalidate(tr, s.self, &invalidation{keys: [][]byte{key}}, s)
		return true
	})
}

// Changed is called for each key that a call changes, under its lock.
func (t *Table) Changed(s *State, key []byte) {
	t.invalidateKey(key, s)
	if !t.wanted(key) {
		return
	}
	const few = 16
	switch {
	case s.known[string(key)]:
		return
	case s.known == nil && slices.ContainsFunc(s.changed, func(k []byte) bool { return string(k) == string(key) }):
		return
	}
	key = slices.Clone(key)
	s.changed = append(s.changed, key)
	if n := len(s.changed); n > few {
		if s.known == nil {
			s.known = map[string]bool{}
			for _, k := range s.changed {
				s.known[string(k)] = true
			}
		}
		s.known[string(key)] = true
	}
}

// Unlocked tells the clients that asked for prefixes what a call has changed, whose locks
// were released.
func (t *Table) Unlocked(s *State) {
	if len(s.changed) > 0 {
		t.broadcast(s.changed, s)
		s.changed, s.known = nil, nil
	}
}

// ChangesAll notes that the running command changes every key of a database.
func (s *State) ChangesAll() { s.all = true }

// ChangedAll tells every tracking client that all keys have changed, if the command that
// ran, of an EXEC or a script perhaps, did that. All shards are still locked: what is read
// or changed by the commands behind it is told of behind it.
func (t *Table) ChangedAll(s *State) {
	if s.all {
		s.all = false
		t.invalidateAll(s)
	}
}
