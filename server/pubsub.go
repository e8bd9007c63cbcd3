package server

import (
	"sort"
	"sync"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/pubsub"
	"github.com/vigildb/vigil/structures/glob"
)

// broker knows the subscribers of every channel and pattern. Publishing takes the lock for reading
// and appends to the outboxes of the subscribers; it never waits for a client.
type broker struct {
	mu     sync.RWMutex
	topics [3]map[string][]*subscription // guarded by mu; by pubsub.Kind
}

// subscription is the subscription of one client to one channel or pattern. It knows
// its index in the list of its topic, so that it ends at once however many there
// are.
type subscription struct {
	s  *session
	at int // in broker.topics; guarded by broker.mu
}

var (
	subscribeWords   = [3]string{"subscribe", "psubscribe", "ssubscribe"}
	unsubscribeWords = [3]string{"unsubscribe", "punsubscribe", "sunsubscribe"}
	messageWords     = [3]string{"message", "pmessage", "smessage"}
)

func (p *broker) add(u *subscription, kind pubsub.Kind, name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.topics[kind] == nil {
		p.topics[kind] = map[string][]*subscription{}
	}
	u.at = len(p.topics[kind][name])
	p.topics[kind][name] = append(p.topics[kind][name], u)
}

// remove ends a subscription; nil is none.
func (p *broker) remove(u *subscription, kind pubsub.Kind, name string) {
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

// message is one published message, encoded at most once for each protocol.
type message struct {
	kind             pubsub.Kind
	pattern          string
	channel, payload []byte
	encoded          [2][]byte
}

func (m *message) bytes(proto int) []byte {
	b := &m.encoded[proto-2]
	if *b == nil {
		r := commands.NewReply(nil, proto)
		if m.kind == pubsub.Pattern {
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
// patterns', and returns how many deliveries there were. from is the client that
// publishes, or nil: its own copy goes behind its reply, and what came before goes ahead
// of the reply.
func (p *broker) publish(from *session, c *commands.Ctx, kind pubsub.Kind, channel, payload []byte) int {
	p.mu.RLock()
	defer p.mu.RUnlock()
	n := 0
	send := func(list []*subscription, m *message) {
		for _, u := range list {
			s := u.s
			b := m.bytes(s.Proto())
			if s == from && !c.InMulti && !s.Has(commands.ClientReplyOff|commands.ClientReplySkip) {
				s.collectAhead(c)
				s.cache.Push(b)
			} else {
				s.Deliver(b)
			}
		}
		n += len(list)
	}
	if list := p.topics[kind][string(channel)]; len(list) > 0 {
		send(list, &message{kind: kind, channel: channel, payload: payload})
	}
	if kind != pubsub.Channel {
		return n
	}
	for pattern, list := range p.topics[pubsub.Pattern] {
		if glob.Match([]byte(pattern), channel) {
			send(list, &message{kind: pubsub.Pattern, pattern: pattern, channel: channel, payload: payload})
		}
	}
	return n
}

// audience counts the deliveries of a message.
func (p *broker) audience(kind pubsub.Kind, channel []byte) int {
	p.mu.RLock()
	defer p.mu.RUnlock()
	n := len(p.topics[kind][string(channel)])
	if kind == pubsub.Channel {
		for pattern, list := range p.topics[pubsub.Pattern] {
			if glob.Match([]byte(pattern), channel) {
				n += len(list)
			}
		}
	}
	return n
}

// any reports whether there are subscribers.
func (p *broker) any() bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return len(p.topics[pubsub.Channel])+len(p.topics[pubsub.Pattern])+len(p.topics[pubsub.ShardChannel]) > 0
}

// Channels lists the channels that have subscribers.
func (h host) Channels(kind pubsub.Kind, pattern []byte) []string {
	p := &h.srv.broker
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

// Subscribers counts the subscribers of a channel; with kind Pattern and no name it
// counts the patterns.
func (h host) Subscribers(kind pubsub.Kind, name []byte) int {
	p := &h.srv.broker
	p.mu.RLock()
	defer p.mu.RUnlock()
	if kind == pubsub.Pattern && name == nil {
		return len(p.topics[kind])
	}
	return len(p.topics[kind][string(name)])
}
