package pubsub

import (
	"slices"
	"sync"
	"sync/atomic"
)

// fanoutBytes is how much waits for commits at most. A leader commits within milliseconds, or
// ceases to lead and disconnects its clients.
const fanoutBytes = 64 << 20

// fanoutCost is what a message that waits takes beside its bytes.
const fanoutCost = 128

// Message is a message that is published later.
type Message struct {
	Kind             Kind
	Channel, Payload []byte
	Local            bool   // it is not for the clients of other members
	Position         uint64 // in the journal, of what it tells of; 0: nothing
}

// Clone copies the bytes.
func (m Message) Clone() Message {
	m.Channel, m.Payload = slices.Clone(m.Channel), slices.Clone(m.Payload)
	return m
}

func (m *Message) size() int { return len(m.Channel) + len(m.Payload) + fanoutCost }

// Commits is the journal.
type Commits interface {
	Confirmed(position uint64) bool
	// WaitDurable returns an error if the position will not be committed.
	WaitDurable(position uint64) error
}

// Peers are the other members of the group.
type Peers interface {
	// Publish gives a message to them, and to those of other groups if it is wide.
	Publish(kind byte, channel, payload []byte, wide bool)
}

// Fanout publishes messages to the clients of all members when what they depend on is
// committed, in the order in which they came.
//
// In a group, messages leave as late as replies: what a message tells of, be it a keyspace
// event or what a script has read, is committed before, and no later leader takes it
// back. A message published inside a call that holds locks is kept until the call has its
// position in the journal; then, unless that is committed already, it waits here.
// Messages of one publisher therefore stay in order. A server that is alone delivers
// at once.
type Fanout struct {
	broker  *Broker
	commits Commits
	peers   Peers
	feed    func(kind Kind, channel, payload []byte)

	wake    chan struct{} // has room for one: a wake that is not taken yet is enough
	waiting atomic.Int64  // messages in queue, and the one that is being published
	dropped atomic.Int64

	mu    sync.Mutex
	queue []Message // guarded by mu
	bytes int       // guarded by mu
}

// Open is called once, before anything is published. A server that is alone has no peers. feed is called with each message of
// clients, of this server and others, that passes through here.
func (f *Fanout) Open(b *Broker, c Commits, p Peers, feed func(kind Kind, channel, payload []byte)) {
	f.broker, f.commits, f.peers, f.feed = b, c, p, feed
	f.wake = make(chan struct{}, 1)
}

// Waiting is how many messages wait, or are being published.
func (f *Fanout) Waiting() int64 { return f.waiting.Load() }

// Dropped is how many were given up: too much waited, or what they told of was not committed.
func (f *Fanout) Dropped() int64 { return f.dropped.Load() }

// Ready reports that a message need not wait: nothing does, and its position is committed.
func (f *Fanout) Ready(position uint64) bool {
	return f.waiting.Load() == 0 && (position == 0 || f.commits.Confirmed(position))
}

// Announce publishes a message of no client when its position is committed. The bytes are
// copied if they are kept.
func (f *Fanout) Announce(m Message) {
	if f.Ready(m.Position) {
		f.spread(&m)
		return
	}
	f.put(m.Clone())
}

// Forward gives a message to the other members, and to those of other groups unless its
// channel is that of a shard.
func (f *Fanout) Forward(kind Kind, channel, payload []byte) {
	f.peers.Publish(byte(kind), channel, payload, kind == Channel)
}

// Receive delivers a message that a client of another member has published.
func (f *Fanout) Receive(kind byte, channel, payload []byte) {
	if k := Kind(kind); k == Channel || k == ShardChannel {
		f.feed(k, channel, payload)
		f.broker.Publish(k, channel, payload, nil, nil)
	}
}

// Run publishes what waits. It ends when done is closed: what waits then was promised to
// no client.
func (f *Fanout) Run(done <-chan struct{}) {
	for {
		select {
		case <-done:
			return
		case <-f.wake:
		}
		for m, ok := f.take(); ok; m, ok = f.take() {
			if m.Position != 0 && f.commits.WaitDurable(m.Position) != nil {
				f.dropped.Add(1) // with the leadership
			} else {
				f.spread(&m)
			}
			f.waiting.Add(-1)
		}
	}
}

// spread delivers a message to the clients of all members.
func (f *Fanout) spread(m *Message) {
	f.broker.Publish(m.Kind, m.Channel, m.Payload, nil, nil)
	if !m.Local {
		f.feed(m.Kind, m.Channel, m.Payload)
		f.Forward(m.Kind, m.Channel, m.Payload)
	}
}

// put adds a message, unless too much waits.
func (f *Fanout) put(m Message) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.bytes > 0 && f.bytes+m.size() > fanoutBytes {
		f.dropped.Add(1)
		return
	}
	f.waiting.Add(1)
	f.queue, f.bytes = append(f.queue, m), f.bytes+m.size()
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

func (f *Fanout) take() (m Message, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.queue) == 0 {
		f.queue = nil
		return m, false
	}
	m, f.queue[0] = f.queue[0], Message{}
	f.queue, f.bytes = f.queue[1:], f.bytes-m.size()
	return m, true
}
