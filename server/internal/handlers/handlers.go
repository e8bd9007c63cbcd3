// Package handlers says what a group calls of a server that is a member of it. Package server fills them in, server/cluster
// calls them.
package handlers

import (
	"context"

	"github.com/vigildb/vigil/server/transport"
	"github.com/vigildb/vigil/structures/slots"
)

// Handlers are the functions of a server. They may be called from the start of the group on, by any goroutine. Those whose
// comment says so may be nil.
type Handlers struct {
	// Loops serve connections of other members, nil for none. They end after the group.
	Loops *transport.Loops

	// Lead is called when this member is about to lead, and Follow when it has ceased to.
	Lead, Follow func()
	// Leave is called when the server has left its group for another one: the store is empty, and what waits for keys has
	// to end.
	Leave func()
	// Settle is called before this member, which leads, hands its leadership over, and what it returns when another one leads or
	// none has in an election timeout. It may be nil.
	Settle func() (resume func())
	// Acknowledged is called when other members have more of what this one leads than they had when the members were looked at
	// last. It waits for nothing, does not call the group, and may be nil.
	Acknowledged func()

	// Published is called with the messages of channels of other servers.
	Published func(kind byte, channel, message []byte)
	// ShardChannels is called with the slots whose shard channels are those of the group, at first and when they change: its
	// slots, and those that were given away while nobody has them. It is called before the group says that it has them, waits for
	// nothing, does not change them, and may be nil.
	ShardChannels func(of *slots.Set)
	// Asked responds to another server. It may be nil.
	Asked func(ctx context.Context, request []byte) (reply []byte)

	// Databases returns how many databases keys of other groups may come for. It may be nil, which is 1.
	Databases func() int
	// TakeKeys takes keys of another group in, as they were sent, while expected says so under their locks, and returns when
	// they are committed.
	TakeKeys func(keys []byte, expected func() bool) error
	// RemoveKeys removes all keys of some slots while allowed says so under their locks, and returns when that is committed.
	RemoveKeys func(ctx context.Context, of *slots.Set, allowed func() bool) error
	// OrderMove orders a move of slots of this group to the one that clients know by an ID.
	OrderMove func(to string, of *slots.Set) error
}
