package pubsub

import (
	"sync/atomic"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures/slots"
)

// ShardChannels is which shard channels the clients of this server may subscribe to.
//
// A shard channel is where the keys of its slot are. When the slot goes to another group, or is nobody's any more, the
// subscribers at all members of the group that had it are told by `sunsubscribe`, as in Redis, and are none any more:
// they subscribe again where CLUSTER SLOTS says. Each client is told by the owner of its session, between two calls: one that
// does not read, or whose call takes long, is told later and keeps nobody waiting.
type ShardChannels struct {
	kept atomic.Pointer[slots.Set] // nil for all: clients see no slots, or nothing is known of them yet
	wake chan struct{}             // has room for one: a wake that is not taken yet is enough
}

// Open is called once, before anything else.
func (c *ShardChannels) Open() { c.wake = make(chan struct{}, 1) }

// Keep notes the slots whose channels are those of this server's group from now on. It waits for nothing.
func (c *ShardChannels) Keep(of *slots.Set) {
	c.kept.Store(of)
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// Kept are these slots, nil for all.
func (c *ShardChannels) Kept() *slots.Set { return c.kept.Load() }

// Keeps reports whether there may be subscribers of a channel.
func (c *ShardChannels) Keeps(channel []byte) bool {
	kept := c.kept.Load()
	return kept == nil || kept.Has(commands.KeySlot(channel))
}

// Run wakes the subscribers when slots have gone, so that they look at their shard channels. It ends when done is closed.
func (c *ShardChannels) Run(done <-chan struct{}, wakeSubscribers func()) {
	for {
		select {
		case <-done:
			return
		case <-c.wake:
		}
		wakeSubscribers()
	}
}
