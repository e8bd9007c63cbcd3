package server

import (
	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/server/blocking"
	"github.com/vigildb/vigil/server/pubsub"
)

// NotifyClasses are the classes of keyspace events that are published.
func (h host) NotifyClasses() commands.EventClass { return h.srv.settings().events }

// Notify publishes a keyspace event of a class that is asked for: in a group when the call
// is committed. A call that could not read changes nothing from then on, and fails.
func (m *messaging) Notify(class commands.EventClass, event string, db int, key []byte) {
	pubsub.Event(m.s.srv.settings().events, class, event, db, key, m.announcer())
}

// NotifyParts publishes which parts of a key an event was about.
func (m *messaging) NotifyParts(class commands.EventClass, event string, db int, key []byte, parts [][]byte) {
	pubsub.EventParts(m.s.srv.settings().events, class, event, db, key, parts, m.announcer())
}

// announcer sends messages about a change of the session's call.
func (m *messaging) announcer() func(channel, payload []byte) {
	s := m.s
	if s.locked && s.tx.Err() != nil {
		return func(channel, payload []byte) {}
	}
	grouped := s.srv.opts.Group != nil // else the session may be that of a call that another one runs again
	return func(channel, payload []byte) {
		n := pubsub.Message{Kind: pubsub.Channel, Channel: channel, Payload: payload, Local: true}
		switch {
		case !grouped:
			s.srv.fanout.Announce(n)
		case !s.locked:
			n.Position = s.durability.Awaited()
			s.srv.fanout.Announce(n)
		case s.srv.broker.Audience(pubsub.Channel, channel) > 0:
			m.keep(n)
		}
	}
}

// notifyRemoved publishes what the store has done to a key itself, whose lock is held: in a
// group when the changes before it are committed.
func (srv *Server) notifyRemoved(class commands.EventClass, event string, db int, key []byte) {
	pubsub.Event(srv.settings().events, class, event, db, key, srv.announceRemoved)
}

// announceRemoved sends a message about what the store has done itself.
func (srv *Server) announceRemoved(channel, payload []byte) {
	n := pubsub.Message{Kind: pubsub.Channel, Channel: channel, Payload: payload, Local: true}
	if srv.opts.Group != nil {
		n.Position = srv.store.Commits().Newest()
	}
	srv.fanout.Announce(n)
}

// fieldsExpire is asked whether somebody is to be told of fields that expire.
func (srv *Server) fieldsExpire(db int, key []byte) func(fields [][]byte) {
	if srv.settings().events&commands.EventParts == 0 {
		return nil
	}
	return func(fields [][]byte) {
		pubsub.EventParts(srv.settings().events, commands.EventHash, "hexpired", db, key, fields, srv.announceRemoved)
	}
}

// InvalidateDB is called before all keys of a database are removed at once,
// with every shard locked. Tracking clients are told to forget all keys. A client watching an existing key will have its EXEC
// fail; the calls that wait for a key to be removed are run again at commit.
func (s *session) InvalidateDB(db int) { s.WakeDB(db, db) }

// WakeDB is called before a database gets the keys of another one, with every
// shard locked. A client watching a key that exists here or in the other
// database will see its EXEC fail; the calls of waiting clients are run again
// at commit.
func (s *session) WakeDB(db, other int) {
	s.cache.ChangesAll()
	s.touchDB(db, other)
	if s.srv.blocked.Any() {
		s.ready = append(s.ready, s.srv.blocked.KeysOf(db)...)
	}
}

func (s *session) touchDB(db, other int) {
	for _, k := range s.srv.watches.which(func(k blocking.Key) bool { return k.DB == db }) {
		key := []byte(k.Name)
		if s.holds(db, key) || other != db && s.holds(other, key) {
			s.srv.watches.touch(db, key)
		}
	}
	s.tx.Select(s.DB())
}

// holds reports whether a database has the key.
func (s *session) holds(db int, key []byte) bool {
	s.tx.Select(db)
	return s.tx.Kind(key) != 0
}
