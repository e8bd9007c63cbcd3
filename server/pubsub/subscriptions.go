package pubsub

import (
	"slices"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures/slots"
)

// SubscriptionBytes is the memory of a subscription, without its name.
const SubscriptionBytes = 360

var (
	subscribeWords   = [3]string{"subscribe", "psubscribe", "ssubscribe"}
	unsubscribeWords = [3]string{"unsubscribe", "punsubscribe", "sunsubscribe"}
)

// Subscriptions is what one client subscribes to; nil is nothing. Only the owner of the
// client uses it.
type Subscriptions struct {
	client Subscriber
	topics [3]map[string]*subscription // by Kind
	bytes  int                         // that they take

	// judged are the slots that the shard channels were compared with last; see Departed.
	judged *slots.Set
}

// Of returns the subscriptions of a client: none yet.
func Of(c Subscriber) *Subscriptions { return &Subscriptions{client: c} }

// Count is the number of subscriptions of a kind.
func (u *Subscriptions) Count(kind Kind) int {
	if u == nil {
		return 0
	}
	return len(u.topics[kind])
}

// Any reports whether there are subscriptions of some kind: while there are a
// RESP2 client may not send other commands.
func (u *Subscriptions) Any() bool {
	return u != nil && len(u.topics[Channel])+len(u.topics[Pattern])+len(u.topics[ShardChannel]) > 0
}

// Bytes is the memory of all subscriptions.
func (u *Subscriptions) Bytes() int {
	if u == nil {
		return 0
	}
	return u.bytes
}

// shown is the count that the reply to a subscription shows: channels and
// patterns together, shard channels separately.
func (u *Subscriptions) shown(kind Kind) int64 {
	if kind == ShardChannel {
		return int64(u.Count(kind))
	}
	return int64(u.Count(Channel) + u.Count(Pattern))
}

// Names lists the topics of a kind in order.
func (u *Subscriptions) Names(kind Kind) (names [][]byte) {
	if u == nil {
		return nil
	}
	for name := range u.topics[kind] {
		names = append(names, []byte(name))
	}
	slices.SortFunc(names, slices.Compare)
	return names
}

// Begin confirms a subscription before it takes effect, so that no message can be seen
// before the confirmation. It reports whether there was no such subscription.
func (u *Subscriptions) Begin(p *Broker, r *commands.Reply, kind Kind, name []byte) (added bool) {
	var sub *subscription
	own := ""
	if u.topics[kind][string(name)] == nil {
		own, sub = string(name), &subscription{of: u}
		if u.topics[kind] == nil {
			u.topics[kind] = map[string]*subscription{}
		}
		u.topics[kind][own] = sub
		u.bytes += len(own) + SubscriptionBytes
	}
	confirm(r, subscribeWords[kind], name, u.shown(kind))
	if sub != nil {
		p.add(sub, kind, own)
	}
	return sub != nil
}

// Stop lets no more messages come of some topics. Those that have come are still to be collected.
func (u *Subscriptions) Stop(p *Broker, kind Kind, names [][]byte) {
	if u == nil {
		return
	}
	for _, name := range names {
		if sub := u.topics[kind][string(name)]; sub != nil && sub.of != nil {
			p.remove(sub, kind, string(name))
			sub.of = nil // it may be named twice
		}
	}
}

// End forgets subscriptions that were stopped, and confirms the end of each: without names,
// that there is none.
func (u *Subscriptions) End(r *commands.Reply, kind Kind, names [][]byte) {
	for _, name := range names {
		if u != nil && u.topics[kind][string(name)] != nil {
			delete(u.topics[kind], string(name))
			u.bytes -= len(name) + SubscriptionBytes
		}
		confirm(r, unsubscribeWords[kind], name, u.shown(kind))
	}
	if len(names) == 0 {
		confirm(r, unsubscribeWords[kind], nil, u.shown(kind))
	}
}

// EndAll ends all subscriptions without a word.
func (u *Subscriptions) EndAll(p *Broker) {
	if u == nil {
		return
	}
	for kind, names := range u.topics {
		for name, sub := range names {
			if sub.of != nil {
				p.remove(sub, Kind(kind), name)
			}
		}
	}
	*u = Subscriptions{client: u.client}
}

// Judge makes Departed look at the shard channels again.
func (u *Subscriptions) Judge() { u.judged = nil }

// Departed returns the shard channels whose slots have gone since it was asked last.
func (u *Subscriptions) Departed(c *ShardChannels) (names [][]byte) {
	kept := c.kept.Load()
	if kept == u.judged {
		return nil
	}
	u.judged = kept
	return slices.DeleteFunc(u.Names(ShardChannel), func(name []byte) bool { return kept.Has(commands.KeySlot(name)) })
}

// confirm writes one confirmation; a nil name is null.
func confirm(r *commands.Reply, word string, name []byte, count int64) {
	r.Push(3)
	r.BulkString(word)
	if name == nil {
		r.Null()
	} else {
		r.Bulk(name)
	}
	r.Int(count)
}
