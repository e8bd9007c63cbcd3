package server

import (
	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/server/pubsub"
	"github.com/vigildb/vigil/structures/slots"
)

// Channels lists the channels that have subscribers.
func (h host) Channels(kind pubsub.Kind, pattern []byte) []string {
	return h.srv.broker.Channels(kind, pattern)
}

// Subscribers counts the subscribers of a channel; with kind Pattern and no name it
// counts the patterns.
func (h host) Subscribers(kind pubsub.Kind, name []byte) int {
	if kind == pubsub.Pattern && name == nil {
		return h.srv.broker.Topics(kind)
	}
	return h.srv.broker.Subscribers(kind, name)
}

// messaging is what a client is subscribed to, and what it publishes.
type messaging struct {
	s    *session
	subs *pubsub.Subscriptions // nil until the client subscribes
	kept []pubsub.Message      // those that leave when the call is committed
	// The call has put confirmations of subscriptions into the outbox: replies are not wanted.
	confirmed bool
}

// Subscribe subscribes the client to channels.
func (m *messaging) Subscribe(c *commands.Ctx, kind pubsub.Kind, names [][]byte) {
	s := m.s
	defer m.keepPushed(c, c.Reply.Len())
	if m.subs == nil {
		m.subs = pubsub.Of(s)
	}
	s.Set(commands.ClientPubSub)
	for _, name := range names {
		if !m.subs.Begin(&s.srv.broker, &c.Reply, kind, name) {
			continue
		}
		if !s.access.mayReceive(kind, string(name)) {
			c.CloseAfter = true // the user has lost the channel since the call was admitted
		}
		if kind == pubsub.ShardChannel && !s.srv.channels.Keeps(name) {
			m.subs.Judge() // and so has the group its slot: the client is told after the call
		}
	}
}

// Unsubscribe confirms after the last message of the channel.
func (m *messaging) Unsubscribe(c *commands.Ctx, kind pubsub.Kind, names [][]byte) {
	if len(names) == 0 {
		names = m.subs.Names(kind)
	}
	m.subs.Stop(&m.s.srv.broker, kind, names)
	m.collectAhead(c)
	defer m.keepPushed(c, c.Reply.Len())
	m.end(c, kind, names)
}

// end forgets subscriptions that get no messages any more.
func (m *messaging) end(c *commands.Ctx, kind pubsub.Kind, names [][]byte) {
	m.subs.End(&c.Reply, kind, names)
	if !m.subs.Any() {
		m.s.Clear(commands.ClientPubSub)
	}
}

// collectAhead writes the messages that came so far, before the reply of the call.
// Those that come while EXEC runs go before its array.
func (m *messaging) collectAhead(c *commands.Ctx) {
	s := m.s
	switch {
	case s.Has(commands.ClientReplyOff | commands.ClientReplySkip):
		// The confirmation goes to the outbox too, see keepPushed.
	case c.InMulti:
		came := commands.NewReply(nil, 2)
		s.output.collectInto(&came)
		c.Reply.Insert(s.transaction.replyAt, came.Encoded())
		s.transaction.replyAt += came.Len()
		s.srv.tracking.RepeatLost(&s.cache)
	default:
		s.output.collect()
	}
}

// keepPushed saves what was written since the mark if the client wants no replies:
// confirmations and messages are not replies.
func (m *messaging) keepPushed(c *commands.Ctx, mark int) {
	if m.s.Has(commands.ClientReplyOff|commands.ClientReplySkip) && c.Reply.Len() > mark {
		m.s.output.Deliver(c.Reply.After(mark))
		c.Reply.Rewind(mark)
		m.confirmed = true
	}
}

// keepChannels notes the slots of the group whose shard channels are here, and whose waiting clients.
func (srv *Server) keepChannels(of *slots.Set) {
	srv.channels.Keep(of)
	srv.resharding.Departures.Look()
}

// wakeSubscribers makes clients look at their shard channels. A kick would not do: it
// wakes nobody who is about to take messages, and may have looked at the channels before.
func (c *clients) wakeSubscribers() {
	for _, s := range c.list() {
		if s.Has(commands.ClientPubSub) {
			s.conn.Wake()
		}
	}
}

// leaveChannels ends the subscriptions of shard channels whose slots have gone, and tells the client. It is called between
// two calls; a change that it does not see yet wakes the session again.
func (m *messaging) leaveChannels() {
	s := m.s
	if m.subs.Count(pubsub.ShardChannel) == 0 {
		return
	}
	gone := m.subs.Departed(&s.srv.channels)
	if len(gone) == 0 {
		return
	}
	m.subs.Stop(&s.srv.broker, pubsub.ShardChannel, gone)
	s.output.collect() // no message comes behind the end of its subscription
	m.end(&s.ctx, pubsub.ShardChannel, gone)
	s.view.publish(s.view.look())
	s.foot.weigh()
}

// publishWords are the commands that publish, by pubsub.Kind.
var publishWords = [3]string{pubsub.Channel: "PUBLISH", pubsub.ShardChannel: "SPUBLISH"}

// tellReplicas lets replicas have a message.
func (srv *Server) tellReplicas(kind pubsub.Kind, channel, payload []byte) {
	srv.source.Interject(publishWords[kind], channel, payload)
}

// Publish delivers a message.
func (m *messaging) Publish(c *commands.Ctx, kind pubsub.Kind, channel, payload []byte) int {
	s := m.s
	n := pubsub.Message{Kind: kind, Channel: channel, Payload: payload}
	if s.srv.opts.Group == nil {
		if s.locked && c.InMulti { // replicas get it behind what was changed before it, which is not recorded yet
			m.keep(n)
		} else {
			s.srv.tellReplicas(kind, channel, payload)
		}
		return m.publishHere(c, kind, channel, payload)
	}
	n.Position = s.durability.Awaited()
	switch {
	case s.locked && c.InMulti:
		m.keep(n)
	case s.srv.fanout.Ready(n.Position):
		s.srv.tellReplicas(kind, channel, payload)
		reached := m.publishHere(c, kind, channel, payload)
		s.srv.fanout.Forward(kind, channel, payload)
		return reached
	default:
		s.srv.fanout.Announce(n)
	}
	return s.srv.broker.Audience(kind, channel)
}

// publishHere delivers a message to the clients of this server. The client's own copy goes behind its reply, and what came
// before goes ahead of the reply.
func (m *messaging) publishHere(c *commands.Ctx, kind pubsub.Kind, channel, payload []byte) int {
	return m.s.srv.broker.Publish(kind, channel, payload, m.s, func(b []byte) {
		if c.InMulti || m.s.Has(commands.ClientReplyOff|commands.ClientReplySkip) {
			m.s.output.Deliver(b)
			return
		}
		m.collectAhead(c)
		m.s.cache.Push(b)
	})
}

// keep keeps a message until the running call has its position.
func (m *messaging) keep(n pubsub.Message) { m.kept = append(m.kept, n.Clone()) }

// announceKept publishes what the call that has just got a position has kept. A follower
// shows what is committed.
func (m *messaging) announceKept(lsn uint64) {
	s := m.s
	if len(m.kept) == 0 {
		return
	}
	if s.tx.Writable() {
		lsn = max(lsn, s.tx.Seen())
	}
	for _, n := range m.kept {
		if s.srv.opts.Group == nil { // those of this server have it already
			s.srv.tellReplicas(n.Kind, n.Channel, n.Payload)
			continue
		}
		n.Position = lsn
		s.srv.fanout.Announce(n)
	}
	m.kept = nil
}

// servedHost is the host of a waiting call that another session runs again: what it publishes
// waits for what that session commits.
type servedHost struct {
	*session
	by *session
}

// Notify implements [commands.Host].
func (h servedHost) Notify(class commands.EventClass, event string, db int, key []byte) {
	h.by.messaging.Notify(class, event, db, key)
}

// NotifyParts publishes as the call would that has served the waiting one.
func (h servedHost) NotifyParts(class commands.EventClass, event string, db int, key []byte, parts [][]byte) {
	h.by.messaging.NotifyParts(class, event, db, key, parts)
}
