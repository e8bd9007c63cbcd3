package server

import (
	"strconv"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/pubsub"
)

// NotifyClasses are the classes of keyspace events that are published.
func (h host) NotifyClasses() commands.EventClass { return h.srv.settings().events }

// Notify publishes a keyspace event of a class that is asked for: in a group when the call
// is committed. A call that could not read changes nothing from then on, and fails.
func (s *session) Notify(class commands.EventClass, event string, db int, key []byte) {
	if s.locked && s.tx.Err() != nil {
		return
	}
	grouped := s.srv.opts.Group != nil // else the session may be that of a call that another one runs again
	s.srv.notify(class, event, db, key, func(channel, payload []byte) {
		n := notice{kind: pubsub.Channel, channel: channel, payload: payload, local: true}
		switch {
		case !grouped:
			s.srv.announce(n)
		case !s.locked:
			n.position = s.dur.awaited()
			s.srv.announce(n)
		case s.srv.broker.audience(pubsub.Channel, channel) > 0:
			s.keepNotice(n)
		}
	})
}

// notifyRemoved publishes what the store has done to a key itself, whose lock is held: in a
// group when the changes before it are committed.
func (srv *Server) notifyRemoved(class commands.EventClass, event string, db int, key []byte) {
	srv.notify(class, event, db, key, func(channel, payload []byte) {
		n := notice{kind: pubsub.Channel, channel: channel, payload: payload, local: true}
		if srv.opts.Group != nil {
			n.position = srv.store.Newest()
		}
		srv.announce(n)
	})
}

// notify sends the event to the key's channel, and the key to the event's channel. It may be
// called under the locks of the store.
func (srv *Server) notify(class commands.EventClass, event string, db int, key []byte, send func(channel, payload []byte)) {
	classes := srv.settings().events
	if classes&class == 0 {
		return
	}
	channel := func(prefix string, name []byte) []byte {
		b := strconv.AppendInt([]byte(prefix), int64(db), 10)
		return append(append(b, "__:"...), name...)
	}
	if classes&commands.EventKeyspace != 0 {
		send(channel("__keyspace@", key), []byte(event))
	}
	if classes&commands.EventKeyevent != 0 {
		send(channel("__keyevent@", []byte(event)), key)
	}
}

// InvalidateDB is called before all keys of a database are removed at once,
// with every shard locked. Tracking clients are told to forget all keys. A client watching an existing key will have its EXEC
// fail; the calls that wait for a key to be removed are run again at commit.
func (s *session) InvalidateDB(db int) { s.WakeDB(db, db) }

// WakeDB is called before a database gets the keys of another one, with every
// shard locked. A client watching a key that exists here or in the other
// database will have its EXEC fail; the calls of waiting clients are run again
// at commit.
func (s *session) WakeDB(db, other int) {
	s.cache.all = true
	s.touchDB(db, other)
	if s.srv.waiting.any() {
		s.ready = append(s.ready, s.srv.waiting.keysOf(db)...)
	}
}

func (s *session) touchDB(db, other int) {
	for _, k := range s.srv.watches.inDB(db) {
		key := []byte(k.key)
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
