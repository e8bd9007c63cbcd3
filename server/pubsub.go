package server

import (
	"sort"
	"sync"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures/glob"
)

// pubsub knows who subscribes to what. Publishing takes the lock for reading
// and appends to the outboxes of the subscribers; it never waits for a client.
type pubsub struct {
	mu     sync.RWMutex
	topics [3]map[string][]*subscription // guarded by mu; by commands.ChannelKind
}

// subscription is one client's to one channel or pattern. It knows its place
// among those of the others, so that it ends at once however many there are.
type subscription struct {
	s  *session
	at int // in pubsub.topics; guarded by pubsub.mu
}

// subscriptions is what one client subscribes to. Only its owner uses it.
type subscriptions struct {
	topics [3]map[string]*subscription
}

// count is the number of subscriptions of every kind: while it is not zero a
// RESP2 client may not send other commands.
func (u *subscriptions) count() int {
	return len(u.topics[0]) + len(u.topics[1]) + len(u.topics[2])
}

// shown is the count that the reply to a subscription shows: channels and
// patterns together, shard channels by themselves.
func (u *subscriptions) shown(kind commands.ChannelKind) int64 {
	if kind == commands.ShardChannel {
		return int64(len(u.topics[kind]))
	}
	return int64(len(u.topics[commands.Channel]) + len(u.topics[commands.Pattern]))
}

var (
	subscribeWords   = [3]string{"subscribe", "psubscribe", "ssubscribe"}
	unsubscribeWords = [3]string{"unsubscribe", "punsubscribe", "sunsubscribe"}
	messageWords     = [3]string{"message", "pmessage", "smessage"}
)

func (p *pubsub) add(u *subscription, kind commands.ChannelKind, name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.topics[kind] == nil {
		p.topics[kind] = map[string][]*subscription{}
	}
	u.at = len(p.topics[kind][name])
	p.topics[kind][name] = append(p.topics[kind][name], u)
}

// remove ends a subscription; nil is none.
func (p *pubsub) remove(u *subscription, kind commands.ChannelKind, name string) {
	if u == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	list := p.topics[kind][name]
	end := len(list) - 1
	list[u.at] = list[end]
	list[u.at].at = u.at
	if list[end] = nil; end == 0 {
		delete(p.topics[kind], name)
		return
	}
	p.topics[kind][name] = list[:end]
}

// leave ends all subscriptions of a client that goes.
func (p *pubsub) leave(s *session) {
	for kind, names := range s.subs.topics {
		for name, u := range names {
			p.remove(u, commands.ChannelKind(kind), name)
			s.foot.lasting -= len(name) + subscriptionBytes
		}
		s.subs.topics[kind] = nil
	}
}

// Subscribe confirms each subscription before it takes effect, so that no
// message can be seen before the confirmation.
func (s *session) Subscribe(c *commands.Ctx, kind commands.ChannelKind, names [][]byte) {
	defer s.keepPushed(c, c.Reply.Len())
	for _, name := range names {
		known := s.subs.topics[kind][string(name)] != nil
		own, u := "", &subscription{s: s}
		if !known {
			if s.subs.topics[kind] == nil {
				s.subs.topics[kind] = map[string]*subscription{}
			}
			own = string(name)
			s.subs.topics[kind][own] = u
			s.foot.lasting += len(own) + subscriptionBytes
		}
		c.Reply.Push(3)
		c.Reply.BulkString(subscribeWords[kind])
		c.Reply.Bulk(name)
		c.Reply.Int(s.subs.shown(kind))
		if !known {
			s.Set(commands.ClientPubSub)
			s.srv.pubsub.add(u, kind, own)
		}
	}
}

// Unsubscribe confirms after the last message of the channel.
func (s *session) Unsubscribe(c *commands.Ctx, kind commands.ChannelKind, names [][]byte) {
	if len(names) == 0 {
		for _, name := range sortedNames(s.subs.topics[kind]) {
			names = append(names, []byte(name))
		}
	}
	for _, name := range names {
		if u := s.subs.topics[kind][string(name)]; u != nil && u.s != nil {
			s.srv.pubsub.remove(u, kind, string(name))
			u.s = nil // it may be named twice
		}
	}
	s.collectAhead(c)
	defer s.keepPushed(c, c.Reply.Len())
	for _, name := range names {
		if _, known := s.subs.topics[kind][string(name)]; known {
			delete(s.subs.topics[kind], string(name))
			s.foot.lasting -= len(name) + subscriptionBytes
		}
		s.confirmUnsubscribe(c, kind, name)
	}
	if len(names) == 0 {
		s.confirmUnsubscribe(c, kind, nil)
	}
	if s.subs.count() == 0 {
		s.Clear(commands.ClientPubSub)
	}
}

func (s *session) confirmUnsubscribe(c *commands.Ctx, kind commands.ChannelKind, name []byte) {
	c.Reply.Push(3)
	c.Reply.BulkString(unsubscribeWords[kind])
	if name == nil {
		c.Reply.Null()
	} else {
		c.Reply.Bulk(name)
	}
	c.Reply.Int(s.subs.shown(kind))
}

// collectAhead writes the messages that came so far, before what the call is
// about to answer. Those that come while EXEC runs go before its array.
func (s *session) collectAhead(c *commands.Ctx) {
	switch {
	case s.Has(commands.ClientReplyOff | commands.ClientReplySkip):
		// The answer is going to the outbox too, see keepPushed.
	case c.InMulti:
		came := commands.NewReply(nil, 2)
		s.collectInto(&came)
		c.Reply.Insert(s.txn.replyAt, came.Encoded())
		s.txn.replyAt += came.Len()
	default:
		s.collect()
	}
}

// keepPushed saves what was written since the mark for a client that wants no
// replies: confirmations and messages are none.
func (s *session) keepPushed(c *commands.Ctx, mark int) {
	if s.Has(commands.ClientReplyOff|commands.ClientReplySkip) && c.Reply.Len() > mark {
		s.deliver(c.Reply.After(mark))
		c.Reply.Rewind(mark)
	}
}

func sortedNames(set map[string]*subscription) []string {
	names := make([]string, 0, len(set))
	for name := range set {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

// message is one published message, encoded at most once for each protocol.
type message struct {
	kind             commands.ChannelKind
	pattern          string
	channel, payload []byte
	encoded          [2][]byte
}

func (m *message) bytes(proto int) []byte {
	b := &m.encoded[proto-2]
	if *b == nil {
		r := commands.NewReply(nil, proto)
		if m.kind == commands.Pattern {
			r.Push(4)
			r.BulkString(messageWords[m.kind])
			r.BulkString(m.pattern)
		} else {
			r.Push(3)
			r.BulkString(messageWords[m.kind])
		}
		r.Bulk(m.channel)
		r.Bulk(m.payload)
		*b = r.Encoded()
	}
	return *b
}

// publish delivers to the channel's subscribers, then to the matching
// patterns', and answers how many deliveries there were. from is the client
// that publishes, or nil: its own copy goes before its reply.
func (p *pubsub) publish(from *session, c *commands.Ctx, kind commands.ChannelKind, channel, payload []byte) int {
	p.mu.RLock()
	defer p.mu.RUnlock()
	n := 0
	send := func(list []*subscription, m *message) {
		for _, u := range list {
			s := u.s
			b := m.bytes(s.Proto())
			if s == from && !c.InMulti {
				s.collectAhead(c)
				c.Reply.Raw(b)
			} else {
				s.deliver(b)
			}
		}
		n += len(list)
	}
	if list := p.topics[kind][string(channel)]; len(list) > 0 {
		send(list, &message{kind: kind, channel: channel, payload: payload})
	}
	if kind != commands.Channel {
		return n
	}
	for pattern, list := range p.topics[commands.Pattern] {
		if glob.Match([]byte(pattern), channel) {
			send(list, &message{kind: commands.Pattern, pattern: pattern, channel: channel, payload: payload})
		}
	}
	return n
}

// Publish delivers a message.
func (s *session) Publish(c *commands.Ctx, kind commands.ChannelKind, channel, payload []byte) int {
	defer s.keepPushed(c, c.Reply.Len())
	return s.srv.pubsub.publish(s, c, kind, channel, payload)
}

// Channels lists the channels that have subscribers.
func (h host) Channels(kind commands.ChannelKind, pattern []byte) []string {
	p := &h.srv.pubsub
	p.mu.RLock()
	names := []string{}
	for name := range p.topics[kind] {
		if pattern == nil || glob.Match(pattern, []byte(name)) {
			names = append(names, name)
		}
	}
	p.mu.RUnlock()
	sort.Strings(names)
	return names
}

// Subscribers counts who subscribes to a channel; with kind Pattern and no
// name it counts the patterns.
func (h host) Subscribers(kind commands.ChannelKind, name []byte) int {
	p := &h.srv.pubsub
	p.mu.RLock()
	defer p.mu.RUnlock()
	if kind == commands.Pattern && name == nil {
		return len(p.topics[kind])
	}
	return len(p.topics[kind][string(name)])
}
