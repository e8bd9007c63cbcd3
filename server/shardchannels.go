package server

import (
	"slices"
	"sync/atomic"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/pubsub"
	"github.com/vigildb/vigil/structures/slots"
)

// A shard channel is where the keys of its slot are. When the slot goes to another group, or is nobody's any more, the
// subscribers at all members of the group that had it are told by `sunsubscribe`, as in Redis, and are none any more:
// they subscribe again where CLUSTER SLOTS says. Each client is told by the owner of its session, between two calls: one that
// does not read, or whose call takes long, is told later and keeps nobody waiting.

// shardChannels is which shard channels the clients of this server may subscribe to.
type shardChannels struct {
	kept atomic.Pointer[slots.Set] // nil for all: clients see no slots, or nothing is known of them yet
	wake chan struct{}             // has room for one: a wake that is not taken yet is enough
	left chan struct{}             // likewise, of runDepartures
}

// keep notes the slots whose channels are those of this server's group from now on. It waits for nothing.
func (c *shardChannels) keep(of *slots.Set) {
	c.kept.Store(of)
	select {
	case c.wake <- struct{}{}:
	default:
	}
	c.look()
}

// keeps reports whether there may be subscribers of a channel.
func (c *shardChannels) keeps(channel string) bool {
	kept := c.kept.Load()
	return kept == nil || kept.Has(commands.KeySlot([]byte(channel)))
}

// runShardChannels has clients look at their shard channels when slots have gone. It ends with the server. A kick would not do: it
// wakes nobody who is about to take messages, and may have looked at the channels before.
func (srv *Server) runShardChannels() {
	for {
		select {
		case <-srv.done.Done():
			return
		case <-srv.channels.wake:
		}
		for _, s := range srv.clients.list() {
			if s.Has(commands.ClientPubSub) {
				s.conn.Wake()
			}
		}
	}
}

// leaveChannels ends the subscriptions of shard channels whose slots have gone, and tells the client. It is called between
// two calls; a change that it does not see yet wakes the session again.
func (s *session) leaveChannels() {
	kept := s.srv.channels.kept.Load()
	if kept == s.subs.judged || s.subs.of(pubsub.ShardChannel) == 0 {
		return
	}
	s.subs.judged = kept
	gone := slices.DeleteFunc(s.subs.names(pubsub.ShardChannel), func(name []byte) bool { return kept.Has(commands.KeySlot(name)) })
	if len(gone) == 0 {
		return
	}
	s.stopReceiving(pubsub.ShardChannel, gone)
	s.collect() // no message comes behind the end of its subscription
	s.endSubscriptions(&s.ctx, pubsub.ShardChannel, gone)
	s.view.publish(s.look())
	s.weigh()
}
