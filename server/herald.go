package server

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/pubsub"
)

// In a group, messages leave as late as replies: what a message tells of, be it a keyspace
// event or what a script has read, is committed before, and no later leader takes it
// back. A message published inside a call that holds locks is kept until the call has its
// position in the journal; then, unless that is committed already, it waits in the herald's
// queue. Messages of one publisher therefore stay in order. A server that is alone delivers
// at once.

// heraldBytes is how much waits for commits at most. A leader commits within milliseconds, or
// ceases to lead and disconnects its clients.
const heraldBytes = 64 << 20

// heraldCost is what a message that waits takes beside its bytes.
const heraldCost = 128

// notice is a message that is published later.
type notice struct {
	kind             pubsub.Kind
	channel, payload []byte
	local            bool // it is not for the clients of other members
	position         uint64
}

func (n *notice) size() int { return len(n.channel) + len(n.payload) + heraldCost }

// herald publishes messages when what they depend on is committed, in the order in which they
// came.
type herald struct {
	wake    chan struct{} // has room for one: a wake that is not taken yet is enough
	waiting atomic.Int64  // messages in queue, and the one that is being published
	dropped atomic.Int64

	mu    sync.Mutex
	queue []notice // guarded by mu
	bytes int      // guarded by mu
}

// put adds a message, unless too much waits.
func (h *herald) put(n notice) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.bytes > 0 && h.bytes+n.size() > heraldBytes {
		h.dropped.Add(1)
		return
	}
	h.waiting.Add(1)
	h.queue, h.bytes = append(h.queue, n), h.bytes+n.size()
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

func (h *herald) take() (n notice, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.queue) == 0 {
		h.queue = nil
		return n, false
	}
	n, h.queue[0] = h.queue[0], notice{}
	h.queue, h.bytes = h.queue[1:], h.bytes-n.size()
	return n, true
}

// runHerald publishes what waits. It ends with the server: what waits then was promised to
// no client.
func (srv *Server) runHerald() {
	h := &srv.herald
	for {
		select {
		case <-srv.done.Done():
			return
		case <-h.wake:
		}
		for n, ok := h.take(); ok; n, ok = h.take() {
			if n.position != 0 && srv.journal.WaitDurable(n.position) != nil {
				h.dropped.Add(1) // with the leadership
			} else {
				srv.spread(&n)
			}
			h.waiting.Add(-1)
		}
	}
}

// spread delivers a message to the clients of all members.
func (srv *Server) spread(n *notice) {
	srv.broker.publish(nil, nil, n.kind, n.channel, n.payload)
	if !n.local {
		srv.publishAbroad(n.kind, n.channel, n.payload)
	}
}

// publishWords are the commands that publish, by pubsub.Kind.
var publishWords = [3]string{pubsub.Channel: "PUBLISH", pubsub.ShardChannel: "SPUBLISH"}

// publishAbroad gives a message to the other members, and to those of other groups unless its channel is that of
// a shard.
func (srv *Server) publishAbroad(kind pubsub.Kind, channel, payload []byte) {
	srv.opts.Group.Publish(byte(kind), channel, payload, kind == pubsub.Channel)
}

// ripe reports that a message need not wait: nothing does, and its position is committed.
func (srv *Server) ripe(position uint64) bool {
	return srv.herald.waiting.Load() == 0 && (position == 0 || srv.journal.Confirmed(position))
}

// announce publishes a message of no client when its position is committed. The bytes are
// copied if they are kept.
func (srv *Server) announce(n notice) {
	if srv.ripe(n.position) {
		srv.spread(&n)
		return
	}
	n.channel, n.payload = slices.Clone(n.channel), slices.Clone(n.payload)
	srv.herald.put(n)
}

// Publish delivers a message.
func (s *session) Publish(c *commands.Ctx, kind pubsub.Kind, channel, payload []byte) int {
	if s.srv.opts.Group == nil {
		if s.locked && c.InMulti { // replicas get it behind what was changed before it, which is not recorded yet
			s.keepNotice(notice{kind: kind, channel: channel, payload: payload})
		} else {
			s.srv.source.Interject(publishWords[kind], channel, payload)
		}
		return s.srv.broker.publish(s, c, kind, channel, payload)
	}
	n := notice{kind: kind, channel: channel, payload: payload, position: s.dur.awaited()}
	switch {
	case s.locked && c.InMulti:
		s.keepNotice(n)
	case s.srv.ripe(n.position):
		reached := s.srv.broker.publish(s, c, kind, channel, payload)
		s.srv.publishAbroad(kind, channel, payload)
		return reached
	default:
		s.srv.announce(n)
	}
	return s.srv.broker.audience(kind, channel)
}

// keepNotice keeps a message until the running call has its position.
func (s *session) keepNotice(n notice) {
	n.channel, n.payload = slices.Clone(n.channel), slices.Clone(n.payload)
	s.notices = append(s.notices, n)
}

// announceKept publishes what the call that has just got a position has kept. A follower
// shows what is committed.
func (s *session) announceKept(lsn uint64) {
	if len(s.notices) == 0 {
		return
	}
	if s.tx.Writable() {
		lsn = max(lsn, s.tx.Seen())
	}
	for _, n := range s.notices {
		if s.srv.opts.Group == nil { // those of this server have it already
			s.srv.source.Interject(publishWords[n.kind], n.channel, n.payload)
			continue
		}
		n.position = lsn
		s.srv.announce(n)
	}
	s.notices = nil
}

// receive delivers a message that a client of another member has published.
func (srv *Server) receive(kind byte, channel, payload []byte) {
	if k := pubsub.Kind(kind); k == pubsub.Channel || k == pubsub.ShardChannel {
		srv.broker.publish(nil, nil, k, channel, payload)
	}
}

// servedHost is the host of a waiting call that another session runs again: what it publishes
// waits for what that session commits.
type servedHost struct {
	*session
	by *session
}

// Notify implements [commands.Host].
func (h servedHost) Notify(class commands.EventClass, event string, db int, key []byte) {
	h.by.Notify(class, event, db, key)
}

// NotifyParts publishes as the call would that has served the waiting one.
func (h servedHost) NotifyParts(class commands.EventClass, event string, db int, key []byte, parts [][]byte) {
	h.by.NotifyParts(class, event, db, key, parts)
}
