package server

import (
	"slices"
	"sync/atomic"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/conn"
	"github.com/vigildb/vigil/server/blocking"
)

// caching is the part of a session for client-side caching.
type caching struct {
	track   atomic.Pointer[tracker] // nil until tracking is turned on
	serving *session                // the waiting client whose call is run again, or nil
	pushes  []byte                  // for the client of the running call, after its reply
	changed [][]byte                // keys that the call changed and that clients asked for by a prefix
	known   map[string]bool         // changed, if these are many
	all     bool                    // the call changes every key of a database
	collect bool                    // the running EXEC may write what others have sent before its reply
	read    [][]byte                // what that EXEC has read, as far as the client may keep it
	scratch []commands.KeyRef
}

// prefixBytes is the memory of a prefix, without its name.
const prefixBytes = 320

// caller is the client whose call runs.
func (s *session) caller() *session {
	if s.cache.serving != nil {
		return s.cache.serving
	}
	return s
}

// Track turns tracking on, or changes its options.
func (s *session) Track(o conn.Tracking) {
	t := s.cache.track.Load()
	if t == nil {
		t = &tracker{}
		t.s.Store(s)
		s.cache.track.Store(t)
	}
	first := !s.Has(commands.ClientTracking)
	s.Clear(commands.ClientTrackingModes)
	t.redirect.Store(o.Redirect)
	prefixes := o.Prefixes
	if o.Modes&commands.ClientTrackingBcast != 0 && len(prefixes) == 0 {
		prefixes = [][]byte{{}}
	}
	s.srv.tracking.join(t, first, prefixes)
	s.Set(commands.ClientTracking | o.Modes)
	if s.locked {
		s.tx.OnChange = s.changed // EXEC may change what it reads
	}
}

// Untrack turns tracking off.
func (s *session) Untrack() {
	if s.Has(commands.ClientTracking) {
		s.Clear(commands.ClientTracking | commands.ClientTrackingModes | commands.ClientTrackingCaching)
		s.srv.tracking.leave(s.cache.track.Load())
	}
}

// TrackingState returns where invalidations go and which prefixes the client asked for.
func (s *session) TrackingState() (redirect int64, prefixes []string) {
	if !s.Has(commands.ClientTracking) {
		return -1, nil
	}
	t := s.cache.track.Load()
	return int64(t.redirect.Load()), s.srv.tracking.prefixesOf(t)
}

// ClientExists reports whether a client is connected.
func (h host) ClientExists(id uint64) bool { return h.srv.clients.find(id) != nil }

// redirectedTo is the field redir of CLIENT LIST.
func (s *session) redirectedTo() int64 {
	if t := s.cache.track.Load(); t != nil && s.Has(commands.ClientTracking) {
		return int64(t.redirect.Load())
	}
	return -1
}

// prefixMemory is the memory of the client's prefixes.
func (s *session) prefixMemory() int {
	if t := s.cache.track.Load(); t != nil {
		return t.bytes
	}
	return 0
}

// caches reports whether the client may keep what its next call reads.
func (s *session) caches() bool {
	switch {
	case !s.Has(commands.ClientTracking), s.Has(commands.ClientTrackingBcast):
		return false
	case s.Has(commands.ClientTrackingOptIn):
		return s.Has(commands.ClientTrackingCaching)
	}
	return !s.Has(commands.ClientTrackingOptOut) || !s.Has(commands.ClientTrackingCaching)
}

// remember notes the keys of a call that reads, which are locked. Scripts read by the
// commands that they call; the keys that they declare do not count.
func (s *session) remember(cmd *commands.Command, argv [][]byte) {
	if cmd.Is(commands.RunsScripts) || !s.caches() {
		return
	}
	s.rememberKeys(s.cache.track.Load(), cmd, argv)
	s.srv.limitTracking(2*len(s.cache.scratch), s.caller(), &s.cache.pushes)
}

// rememberFor notes the keys of a waiting call that was run again. Its reply is in the
// client's outbox already, so that no invalidation goes before it.
func (s *session) rememberFor(w *blocking.Call) {
	if w.Caches {
		s.rememberKeys(w.Client.(*session).cache.track.Load(), w.Command, w.Args)
		s.srv.limitTracking(2*len(s.cache.scratch), nil, nil)
	}
}

// serveFor begins to run the call of a waiting client. The function that it returns ends
// that, and gives the client its own invalidations, which go after its reply.
func (s *session) serveFor(of *session) (end func()) {
	own := s.cache.pushes
	s.cache.serving, s.cache.pushes = of, nil
	return func() {
		if len(s.cache.pushes) > 0 {
			of.deliver(s.cache.pushes)
		}
		s.cache.serving, s.cache.pushes = nil, own
	}
}

// rememberKeys notes the keys that a call names.
func (s *session) rememberKeys(t *tracker, cmd *commands.Command, argv [][]byte) {
	s.cache.scratch = cmd.AppendKeys(s.cache.scratch[:0], argv)
	for _, k := range s.cache.scratch {
		s.srv.tracking.remember(argv[k.Index], t)
		if s.cache.collect {
			s.cache.read = append(s.cache.read, slices.Clone(argv[k.Index]))
		}
	}
}

// repeatLost tells the client once more, after its reply, of keys that the running EXEC
// has read and that the table has lost since. What the client was sent about them may
// stand before the reply, where a client that does not have the value yet ignores it.
func (s *session) repeatLost() {
	t := s.cache.track.Load()
	s.cache.read = slices.DeleteFunc(s.cache.read, func(key []byte) bool {
		if s.srv.tracking.has(key, t) {
			return false
		}
		s.srv.invalidate(t, s, &invalidation{keys: [][]byte{key}}, s, &s.cache.pushes)
		return true
	})
}

// invalidated is called for each key that the call changes, under its lock.
func (s *session) invalidated(key []byte) {
	s.srv.invalidateKey(key, s.caller(), &s.cache.pushes)
	if !s.srv.tracking.wanted(key) {
		return
	}
	const few = 16
	switch {
	case s.cache.known[string(key)]:
		return
	case s.cache.known == nil && slices.ContainsFunc(s.cache.changed, func(k []byte) bool { return string(k) == string(key) }):
		return
	}
	key = slices.Clone(key)
	s.cache.changed = append(s.cache.changed, key)
	if n := len(s.cache.changed); n > few {
		if s.cache.known == nil {
			s.cache.known = map[string]bool{}
			for _, k := range s.cache.changed {
				s.cache.known[string(k)] = true
			}
		}
		s.cache.known[string(key)] = true
	}
}

// sayChanged tells the clients that asked for prefixes what the call has changed.
func (s *session) sayChanged() {
	if len(s.cache.changed) > 0 {
		s.srv.broadcast(s.cache.changed, s.caller(), &s.cache.pushes)
		s.cache.changed, s.cache.known = nil, nil
	}
}

// sayAllChanged tells every tracking client that all keys have changed, if the command that
// ran, of an EXEC or a script perhaps, did that. All shards are still locked: what is read
// or changed by the commands behind it is told of behind it.
func (s *session) sayAllChanged() {
	if s.cache.all {
		s.cache.all = false
		s.srv.invalidateAll(s.caller(), &s.cache.pushes)
	}
}

// endTracking ends the tracking of a client that leaves.
func (s *session) endTracking() {
	if t := s.cache.track.Load(); t != nil {
		s.Untrack()
		t.s.Store(nil)
	}
}

// endTracked ends a call of a tracking client: the invalidations for itself follow its
// reply, and CLIENT CACHING no longer holds.
func (s *session) endTracked(cmd *commands.Command) {
	s.push()
	if !s.Has(commands.ClientMulti) && (cmd == nil || cmd.Name != "CLIENT" && (cmd.Parent() == nil || cmd.Parent().Name != "CLIENT")) {
		s.Clear(commands.ClientTrackingCaching)
	}
}

// push writes the invalidations for the client itself.
func (s *session) push() {
	if len(s.cache.pushes) > 0 {
		s.ctx.Reply.Raw(s.cache.pushes)
		s.cache.pushes = nil
	}
}
