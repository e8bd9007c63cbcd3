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

// Subscribe subscribes the client to channels.
func (s *session) Subscribe(c *commands.Ctx, kind pubsub.Kind, names [][]byte) {
	defer s.keepPushed(c, c.Reply.Len())
	if s.subs == nil {
		s.subs = pubsub.Of(s)
	}
	s.Set(commands.ClientPubSub)
	for _, name := range names {
		if !s.subs.Begin(&s.srv.broker, &c.Reply, kind, name) {
			continue
		}
		if !s.access.mayReceive(kind, string(name)) {
			c.CloseAfter = true // the user has lost the channel since the call was admitted
		}
		if kind == pubsub.ShardChannel && !s.srv.channels.Keeps(name) {
			s.subs.Judge() // and so has the group its slot: the client is told after the call
		}
	}
}

// Unsubscribe confirms after the last message of the channel.
func (s *session) Unsubscribe(c *commands.Ctx, kind pubsub.Kind, names [][]byte) {
	if len(names) == 0 {
		names = s.subs.Names(kind)
	}
	s.subs.Stop(&s.srv.broker, kind, names)
	s.collectAhead(c)
	defer s.keepPushed(c, c.Reply.Len())
	s.endSubscriptions(c, kind, names)
}

// endSubscriptions forgets subscriptions that get no messages any more.
func (s *session) endSubscriptions(c *commands.Ctx, kind pubsub.Kind, names [][]byte) {
	s.subs.End(&c.Reply, kind, names)
	if !s.subs.Any() {
		s.Clear(commands.ClientPubSub)
	}
}

// collectAhead writes the messages that came so far, before the reply of the call.
// Those that come while EXEC runs go before its array.
func (s *session) collectAhead(c *commands.Ctx) {
	switch {
	case s.Has(commands.ClientReplyOff | commands.ClientReplySkip):
		// The confirmation goes to the outbox too, see keepPushed.
	case c.InMulti:
		came := commands.NewReply(nil, 2)
		s.collectInto(&came)
		c.Reply.Insert(s.transaction.replyAt, came.Encoded())
		s.transaction.replyAt += came.Len()
		s.srv.tracking.RepeatLost(&s.cache)
	default:
		s.collect()
	}
}

// keepPushed saves what was written since the mark if the client wants no replies:
// confirmations and messages are not replies.
func (s *session) keepPushed(c *commands.Ctx, mark int) {
	if s.Has(commands.ClientReplyOff|commands.ClientReplySkip) && c.Reply.Len() > mark {
		s.Deliver(c.Reply.After(mark))
		c.Reply.Rewind(mark)
		s.confirmed = true
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
func (s *session) leaveChannels() {
	if s.subs.Count(pubsub.ShardChannel) == 0 {
		return
	}
	gone := s.subs.Departed(&s.srv.channels)
	if len(gone) == 0 {
		return
	}
	s.subs.Stop(&s.srv.broker, pubsub.ShardChannel, gone)
	s.collect() // no message comes behind the end of its subscription
	s.endSubscriptions(&s.ctx, pubsub.ShardChannel, gone)
	s.view.publish(s.look())
	s.weigh()
}

// publishWords are the commands that publish, by pubsub.Kind.
var publishWords = [3]string{pubsub.Channel: "PUBLISH", pubsub.ShardChannel: "SPUBLISH"}

// Publish delivers a message.
func (s *session) Publish(c *commands.Ctx, kind pubsub.Kind, channel, payload []byte) int {
	m := pubsub.Message{Kind: kind, Channel: channel, Payload: payload}
	if s.srv.opts.Group == nil {
		if s.locked && c.InMulti { // replicas get it behind what was changed before it, which is not recorded yet
			s.keepMessage(m)
		} else {
			s.srv.source.Interject(publishWords[kind], channel, payload)
		}
		return s.publishHere(c, kind, channel, payload)
	}
	m.Position = s.dur.awaited()
	switch {
	case s.locked && c.InMulti:
		s.keepMessage(m)
	case s.srv.fanout.Ready(m.Position):
		reached := s.publishHere(c, kind, channel, payload)
		s.srv.fanout.Forward(kind, channel, payload)
		return reached
	default:
		s.srv.fanout.Announce(m)
	}
	return s.srv.broker.Audience(kind, channel)
}

// publishHere delivers a message to the clients of this server. The client's own copy goes behind its reply, and what came
// before goes ahead of the reply.
func (s *session) publishHere(c *commands.Ctx, kind pubsub.Kind, channel, payload []byte) int {
	return s.srv.broker.Publish(kind, channel, payload, s, func(b []byte) {
		if c.InMulti || s.Has(commands.ClientReplyOff|commands.ClientReplySkip) {
			s.Deliver(b)
			return
		}
		s.collectAhead(c)
		s.cache.Push(b)
	})
}

// keepMessage keeps a message until the running call has its position.
func (s *session) keepMessage(m pubsub.Message) { s.messages = append(s.messages, m.Clone()) }

// announceKept publishes what the call that has just got a position has kept. A follower
// shows what is committed.
func (s *session) announceKept(lsn uint64) {
	if len(s.messages) == 0 {
		return
	}
	if s.tx.Writable() {
		lsn = max(lsn, s.tx.Seen())
	}
	for _, m := range s.messages {
		if s.srv.opts.Group == nil { // those of this server have it already
			s.srv.source.Interject(publishWords[m.Kind], m.Channel, m.Payload)
			continue
		}
		m.Position = lsn
		s.srv.fanout.Announce(m)
	}
	s.messages = nil
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
