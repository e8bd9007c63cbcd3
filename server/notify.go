package server

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/pubsub"
)

// NotifyClasses are the classes of keyspace events that are published.
func (h host) NotifyClasses() commands.EventClass { return h.srv.settings().events }

// Notify publishes a keyspace event of a class that is asked for: in a group when the call
// is committed. A call that could not read changes nothing from then on, and fails.
func (s *session) Notify(class commands.EventClass, event string, db int, key []byte) {
	s.srv.notify(class, event, db, key, s.announcer())
}

// NotifyParts publishes which parts of a key an event was about.
func (s *session) NotifyParts(class commands.EventClass, event string, db int, key []byte, parts [][]byte) {
	s.srv.notifyParts(class, event, db, key, parts, s.announcer())
}

// announcer sends messages about a change of the session's call.
func (s *session) announcer() func(channel, payload []byte) {
	if s.locked && s.tx.Err() != nil {
		return func(channel, payload []byte) {}
	}
	grouped := s.srv.opts.Group != nil // else the session may be that of a call that another one runs again
	return func(channel, payload []byte) {
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
	}
}

// notifyRemoved publishes what the store has done to a key itself, whose lock is held: in a
// group when the changes before it are committed.
func (srv *Server) notifyRemoved(class commands.EventClass, event string, db int, key []byte) {
	srv.notify(class, event, db, key, srv.announceRemoved)
}

// announceRemoved sends a message about what the store has done itself.
func (srv *Server) announceRemoved(channel, payload []byte) {
	n := notice{kind: pubsub.Channel, channel: channel, payload: payload, local: true}
	if srv.opts.Group != nil {
		n.position = srv.store.Newest()
	}
	srv.announce(n)
}

// fieldsExpire is asked whether somebody is to be told of fields that expire.
func (srv *Server) fieldsExpire(db int, key []byte) func(fields [][]byte) {
	if srv.settings().events&commands.EventParts == 0 {
		return nil
	}
	return func(fields [][]byte) {
		srv.notifyParts(commands.EventHash, "hexpired", db, key, fields, srv.announceRemoved)
	}
}

// notify sends the event to the key's channel, and the key to the event's channel. It may be
// called under the locks of the store.
func (srv *Server) notify(class commands.EventClass, event string, db int, key []byte, send func(channel, payload []byte)) {
	classes := srv.settings().events
	if classes&class == 0 {
		return
	}
	if classes&commands.EventKeyspace != 0 {
		send(eventChannel("__keyspace@", db, key), []byte(event))
	}
	if classes&commands.EventKeyevent != 0 {
		send(eventChannel("__keyevent@", db, []byte(event)), key)
	}
}

// eventChannel is the channel of events about a name.
func eventChannel(prefix string, db int, name []byte) []byte {
	b := strconv.AppendInt([]byte(prefix), int64(db), 10)
	return append(append(b, "__:"...), name...)
}

// notifyParts sends which parts of a key an event was about, on the channels that are asked for: each part is written with its length,
// since it may have any bytes. Where a channel would be ambiguous nothing is sent: an event with the bar that follows it, a key
// with the line break that does.
func (srv *Server) notifyParts(class commands.EventClass, event string, db int, key []byte, parts [][]byte, send func(channel, payload []byte)) {
	classes := srv.settings().events
	if classes&class == 0 || classes&commands.EventParts == 0 {
		return
	}
	list, named := appendSized(nil, parts...), []byte(event)
	barred := strings.Contains(event, "|")
	if classes&commands.EventPartsOfKey != 0 && !barred {
		send(eventChannel("__subkeyspace@", db, key), append(append(named[:len(named):len(named)], '|'), list...))
	}
	if classes&commands.EventPartsOfEvent != 0 {
		send(eventChannel("__subkeyevent@", db, named), append(append(appendSized(nil, key), '|'), list...))
	}
	if classes&commands.EventPart != 0 && bytes.IndexByte(key, '\n') < 0 {
		for _, part := range parts {
			send(append(append(eventChannel("__subkeyspaceitem@", db, key), '\n'), part...), named)
		}
	}
	if classes&commands.EventKeyAndEvent != 0 && !barred {
		send(append(append(eventChannel("__subkeyspaceevent@", db, named), '|'), key...), list)
	}
}

// appendSized appends texts with their lengths: 5:field,3:two.
func appendSized(b []byte, list ...[]byte) []byte {
	for i, text := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(strconv.AppendInt(b, int64(len(text)), 10), ':')
		b = append(b, text...)
	}
	return b
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
	s.cache.ChangesAll()
	s.touchDB(db, other)
	if s.srv.blocked.Any() {
		s.ready = append(s.ready, s.srv.blocked.KeysOf(db)...)
	}
}

func (s *session) touchDB(db, other int) {
	for _, k := range s.srv.watches.inDB(db) {
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
