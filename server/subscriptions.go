package server

import (
	"slices"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/pubsub"
	"github.com/vigildb/vigil/structures/slots"
)

// subscriptions is what one client subscribes to. Only the owner of its session
// uses it.
type subscriptions struct {
	topics [3]map[string]*subscription // by pubsub.Kind
	bytes  int                         // that they take

	// judged are the slots of which the shard channels were known to be when they were looked at last; see shardChannels.
	judged *slots.Set
}

// of is the number of subscriptions of a kind.
func (u *subscriptions) of(kind pubsub.Kind) int { return len(u.topics[kind]) }

// count is the number of subscriptions of every kind: while it is not zero a
// RESP2 client may not send other commands.
func (u *subscriptions) count() int {
	return u.of(pubsub.Channel) + u.of(pubsub.Pattern) + u.of(pubsub.ShardChannel)
}

// shown is the count that the reply to a subscription shows: channels and
// patterns together, shard channels separately.
func (u *subscriptions) shown(kind pubsub.Kind) int64 {
	if kind == pubsub.ShardChannel {
		return int64(u.of(kind))
	}
	return int64(u.of(pubsub.Channel) + u.of(pubsub.Pattern))
}

// find returns the subscription to a topic, nil if there is none.
func (u *subscriptions) find(kind pubsub.Kind, name []byte) *subscription {
	return u.topics[kind][string(name)]
}

// names lists the topics of a kind in order.
func (u *subscriptions) names(kind pubsub.Kind) (names [][]byte) {
	for name := range u.topics[kind] {
		names = append(names, []byte(name))
	}
	slices.SortFunc(names, slices.Compare)
	return names
}

// add records a subscription.
func (u *subscriptions) add(kind pubsub.Kind, name string, sub *subscription) {
	if u.topics[kind] == nil {
		u.topics[kind] = map[string]*subscription{}
	}
	u.topics[kind][name] = sub
	u.bytes += len(name) + subscriptionBytes
}

// remove removes a subscription, if there is one.
func (u *subscriptions) remove(kind pubsub.Kind, name []byte) {
	if u.find(kind, name) != nil {
		delete(u.topics[kind], string(name))
		u.bytes -= len(name) + subscriptionBytes
	}
}

// end ends all subscriptions.
func (u *subscriptions) end(p *broker) {
	for kind, names := range u.topics {
		for name, sub := range names {
			p.remove(sub, pubsub.Kind(kind), name)
		}
	}
	*u = subscriptions{}
}

// Subscribe confirms each subscription before it takes effect, so that no
// message can be seen before the confirmation.
func (s *session) Subscribe(c *commands.Ctx, kind pubsub.Kind, names [][]byte) {
	defer s.keepPushed(c, c.Reply.Len())
	for _, name := range names {
		known := s.subs.find(kind, name) != nil
		own, sub := "", &subscription{s: s}
		if !known {
			own = string(name)
			s.subs.add(kind, own, sub)
		}
		c.Reply.Push(3)
		c.Reply.BulkString(subscribeWords[kind])
		c.Reply.Bulk(name)
		c.Reply.Int(s.subs.shown(kind))
		if !known {
			s.Set(commands.ClientPubSub)
			s.srv.broker.add(sub, kind, own)
			if !s.mayReceive(kind, own) {
				c.CloseAfter = true // the user has lost the channel since the call was admitted
			}
			if kind == pubsub.ShardChannel && !s.srv.channels.keeps(own) {
				s.subs.judged = nil // and so has the group its slot: the client is told after the call
			}
		}
	}
}

// Unsubscribe confirms after the last message of the channel.
func (s *session) Unsubscribe(c *commands.Ctx, kind pubsub.Kind, names [][]byte) {
	if len(names) == 0 {
		names = s.subs.names(kind)
	}
	s.stopReceiving(kind, names)
	s.collectAhead(c)
	defer s.keepPushed(c, c.Reply.Len())
	s.endSubscriptions(c, kind, names)
	if len(names) == 0 {
		s.confirmUnsubscribe(c, kind, nil)
	}
}

// stopReceiving has no more messages come of channels. Those that have come are still to be collected.
func (s *session) stopReceiving(kind pubsub.Kind, names [][]byte) {
	for _, name := range names {
		if sub := s.subs.find(kind, name); sub != nil && sub.s != nil {
			s.srv.broker.remove(sub, kind, string(name))
			sub.s = nil // it may be named twice
		}
	}
}

// endSubscriptions forgets subscriptions of which no messages come any more, and confirms the end of each.
func (s *session) endSubscriptions(c *commands.Ctx, kind pubsub.Kind, names [][]byte) {
	for _, name := range names {
		s.subs.remove(kind, name)
		s.confirmUnsubscribe(c, kind, name)
	}
	if s.subs.count() == 0 {
		s.Clear(commands.ClientPubSub)
	}
}

// confirmUnsubscribe writes one confirmation; a nil name is null.
func (s *session) confirmUnsubscribe(c *commands.Ctx, kind pubsub.Kind, name []byte) {
	c.Reply.Push(3)
	c.Reply.BulkString(unsubscribeWords[kind])
	if name == nil {
		c.Reply.Null()
	} else {
		c.Reply.Bulk(name)
	}
	c.Reply.Int(s.subs.shown(kind))
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
		c.Reply.Insert(s.txn.replyAt, came.Encoded())
		s.txn.replyAt += came.Len()
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
