package pubsub

import (
	"sort"
	"sync"

	"github.com/vigildb/vigil/commands"
	family "github.com/vigildb/vigil/commands/pubsub"
	"github.com/vigildb/vigil/structures/glob"
)

// Kind is what a topic is.
type Kind = family.Kind

// The kinds of topics.
const (
	Channel      = family.Channel
	Pattern      = family.Pattern
	ShardChannel = family.ShardChannel
)

// Subscriber is a client that gets messages.
type Subscriber interface {
	Proto() int
	// Deliver gives the client a message. It waits for nothing.
	Deliver(b []byte)
}

// Broker knows the subscribers of every channel and pattern.
type Broker struct {
	mu     sync.RWMutex
	topics [3]map[string][]*subscription // guarded by mu; by Kind
}

// subscription is the subscription of one client to one channel or pattern. It knows
// its index in the list of its topic, so that it ends at once however many there
// are.
type subscription struct {
	of *Subscriptions // nil once no more messages come; only then changed, by the owner of the client
	at int            // in Broker.topics; guarded by Broker.mu
}

func (p *Broker) add(u *subscription, kind Kind, name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.topics[kind] == nil {
		p.topics[kind] = map[string][]*subscription{}
	}
	u.at = len(p.topics[kind][name])
	p.topics[kind][name] = append(p.topics[kind][name], u)
}

// remove ends a subscription; nil is none.
func (p *Broker) remove(u *subscription, kind Kind, name string) {
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

// encoded is one published message, encoded at most once for each protocol.
type encoded struct {
	kind             Kind
	pattern          string
	channel, payload []byte
	bytes            [2][]byte
}

var messageWords = [3]string{"message", "pmessage", "smessage"}

func (m *encoded) in(proto int) []byte {
	b := &m.bytes[proto-2]
	if *b == nil {
		r := commands.NewReply(nil, proto)
		if m.kind == Pattern {
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

// Publish delivers to the channel's subscribers, then to the matching patterns', and returns
// how many deliveries there were. What the client that publishes gets itself is given to own.
func (p *Broker) Publish(kind Kind, channel, payload []byte, from Subscriber, own func(b []byte)) int {
	p.mu.RLock()
	defer p.mu.RUnlock()
	n := 0
	send := func(list []*subscription, m *encoded) {
		for _, u := range list {
			to := u.of.client
			if b := m.in(to.Proto()); to == from {
				own(b)
			} else {
				to.Deliver(b)
			}
		}
		n += len(list)
	}
	if list := p.topics[kind][string(channel)]; len(list) > 0 {
		send(list, &encoded{kind: kind, channel: channel, payload: payload})
	}
	if kind != Channel {
		return n
	}
	for pattern, list := range p.topics[Pattern] {
		if glob.Match([]byte(pattern), channel) {
			send(list, &encoded{kind: Pattern, pattern: pattern, channel: channel, payload: payload})
		}
	}
	return n
}

// Audience counts the deliveries of a message.
func (p *Broker) Audience(kind Kind, channel []byte) int {
	p.mu.RLock()
	defer p.mu.RUnlock()
	n := len(p.topics[kind][string(channel)])
	if kind == Channel {
		for pattern, list := range p.topics[Pattern] {
			if glob.Match([]byte(pattern), channel) {
				n += len(list)
			}
		}
	}
	return n
}

// Any reports whether there are subscribers.
func (p *Broker) Any() bool {
	return p.Topics(Channel)+p.Topics(Pattern)+p.Topics(ShardChannel) > 0
}

// Topics is the number of topics of a kind that have subscribers.
func (p *Broker) Topics(kind Kind) int {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return len(p.topics[kind])
}

// Channels lists the topics of a kind that have subscribers and match a pattern, in order;
// nil is all.
func (p *Broker) Channels(kind Kind, pattern []byte) []string {
	names := []string{}
	p.mu.RLock()
	for name := range p.topics[kind] {
		if pattern == nil || glob.Match(pattern, []byte(name)) {
			names = append(names, name)
		}
	}
	p.mu.RUnlock()
	sort.Strings(names)
	return names
}

// Subscribers counts the subscribers of a topic.
func (p *Broker) Subscribers(kind Kind, name []byte) int {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return len(p.topics[kind][string(name)])
}

// Lost are the subscribers that may not receive what they subscribe to.
func (p *Broker) Lost(may func(c Subscriber, kind Kind, name string) bool) map[Subscriber]bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	lost := map[Subscriber]bool{}
	for kind, topics := range p.topics {
		for name, list := range topics {
			for _, u := range list {
				if !may(u.of.client, Kind(kind), name) {
					lost[u.of.client] = true
				}
			}
		}
	}
	return lost
}
