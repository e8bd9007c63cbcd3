package server

import (
	"github.com/vigildb/vigil/commands"
)

// invalidation is a message that keys have changed, encoded at most once for each
// protocol; without keys it is about all of them.
type invalidation struct {
	keys    [][]byte
	encoded [2][]byte
}

// invalidationChannel is the channel on which a RESP2 client gets invalidations.
const invalidationChannel = "__redis__:invalidate"

func (m *invalidation) bytes(proto int) []byte {
	b := &m.encoded[proto-2]
	if *b != nil {
		return *b
	}
	r := commands.NewReply(nil, proto)
	if proto == 3 {
		r.Push(2)
		r.BulkString("invalidate")
	} else {
		r.Array(3)
		r.BulkString("message")
		r.BulkString(invalidationChannel)
	}
	if m.keys == nil {
		r.Null()
	} else {
		r.Array(len(m.keys))
		for _, key := range m.keys {
			r.Bulk(key)
		}
	}
	*b = r.Encoded()
	return *b
}

// invalidate sends a message to a tracking client or to the one it redirects to. What the
// client of a running call is told, whose invalidations pushes collects, goes after its
// reply; both are nil for changes that no call makes.
func (srv *Server) invalidate(t *tracker, s *session, m *invalidation, of *session, pushes *[]byte) {
	to, redirect := s, t.redirect.Load()
	if redirect != 0 {
		if to = srv.clients.find(redirect); to == nil || to.Has(commands.ClientCloseSoon) {
			s.Set(commands.ClientTrackingBroken)
			if s.Proto() == 3 {
				r := commands.NewReply(nil, 3)
				r.Push(2)
				r.BulkString("tracking-redir-broken")
				r.Int(int64(redirect))
				s.notice(r.Encoded(), of, pushes)
			}
			return
		}
	}
	switch proto := to.Proto(); {
	case proto == 3, redirect != 0 && to.Has(commands.ClientPubSub):
		to.notice(m.bytes(proto), of, pushes)
	}
}

// notice gives the client bytes, after its reply if its own call runs.
func (s *session) notice(b []byte, of *session, pushes *[]byte) {
	if s == of {
		*pushes = append(*pushes, b...)
		return
	}
	s.deliver(b)
}

// invalidateKey tells the clients that have read a key.
func (srv *Server) invalidateKey(key []byte, of *session, pushes *[]byte) {
	if r, known := srv.tracking.forget(key); known {
		srv.tellReaders(r, key, of, pushes)
	}
}

// tellReaders sends the invalidation of a key to its readers.
func (srv *Server) tellReaders(r readers, key []byte, of *session, pushes *[]byte) {
	m := invalidation{keys: [][]byte{key}}
	for _, t := range r.all() {
		if s, ok := t.active(); ok && (s != of || !s.Has(commands.ClientTrackingNoLoop)) {
			srv.invalidate(t, s, &m, of, pushes)
		}
	}
}

// broadcast tells the clients that asked for prefixes about changed keys.
func (srv *Server) broadcast(keys [][]byte, of *session, pushes *[]byte) {
	for _, a := range srv.tracking.audiences(keys) {
		m := invalidation{keys: a.keys}
		for _, t := range a.clients {
			if s := t.s.Load(); s != nil && (s != of || !s.Has(commands.ClientTrackingNoLoop)) {
				srv.invalidate(t, s, &m, of, pushes)
			}
		}
	}
}

// invalidateRemoved tells clients about a key that the store has removed itself.
func (srv *Server) invalidateRemoved(key []byte) {
	if t := &srv.tracking; t.any() {
		srv.invalidateKey(key, nil, nil)
		if t.wanted(key) {
			srv.broadcast([][]byte{key}, nil, nil)
		}
	}
}

// invalidateAll tells every tracking client that all keys have changed.
func (srv *Server) invalidateAll(of *session, pushes *[]byte) {
	if !srv.tracking.any() {
		return
	}
	srv.tracking.clear()
	var m invalidation
	for _, s := range srv.clients.list() {
		if t := s.cache.track.Load(); t != nil && s.Has(commands.ClientTracking) {
			srv.invalidate(t, s, &m, of, pushes)
		}
	}
}

// limitTracking brings the table under its limit, in rounds: the clients are told to
// forget keys that the server forgets.
func (srv *Server) limitTracking(effort int, of *session, pushes *[]byte) {
	for ; effort > 0 && srv.tracking.full(); effort-- {
		key, r, ok := srv.tracking.drop()
		if !ok {
			return
		}
		srv.tellReaders(r, []byte(key), of, pushes)
	}
}
