package group

import (
	"context"
	"time"

	"github.com/vigildb/vigil/commands/cluster"
	"github.com/vigildb/vigil/commands/members"
	"github.com/vigildb/vigil/persistence/member"
	"github.com/vigildb/vigil/server/internal/handlers"
	"github.com/vigildb/vigil/structures/slots"
)

// Group is the machines that hold the same data as a server, with itself: one leads,
// and takes changes, the others follow. Its methods may be called by any goroutine.
type Group interface {
	Engine
	Leadership
	Channels
	Sharding
	Administration
}

// Administration is what an administrator changes of a group.
type Administration interface {
	members.Changes
	members.Upgrader
}

// Engine brings the members of a group to agree.
type Engine interface {
	// Replicator is what the store proposes its changes to.
	Replicator() member.Replicator
	// Start takes part from now on. The store is loaded. lazy says that entries are appended
	// without being forced to the device.
	Start(store *member.Member, lazy bool, h handlers.Handlers) error
	Succession
	// Close ends the part of this member, and what waits for its leadership. The store is
	// closed later.
	Close() error
}

// Succession is a change of the leader that is asked for.
type Succession interface {
	// HandOver transfers leadership to another member, if this one leads.
	HandOver()
	// TakeOver asks the leader to hand over to this member. It waits for nothing.
	TakeOver()
}

// Leadership is what replies depend on.
type Leadership interface {
	// Held reports whether this member leads and no other one can: replies may leave.
	Held() bool
	// WaitHeld waits until Held. It returns an error when this member does not lead.
	WaitHeld() error
	// Fresh reports whether a follower has heard its leader, so that it may be read.
	// patient asks for the limit of clients that accept old data.
	Fresh(patient bool) bool
	// Gone reports whether this server has left the group, and is of no use any more.
	Gone() bool
}

// Channels carries messages of channels between the members.
type Channels interface {
	// Publish gives a message to the other members, at most once to each and in the order of
	// the calls, and with wide to those of the other groups. It waits for nothing, and copies the bytes.
	Publish(kind byte, channel, message []byte, wide bool)
	// Published counts the messages given to other members, those that were lost, and those
	// that came.
	Published() (sent, dropped, received uint64)
}

// Sharding is how slots are divided among several groups.
type Sharding interface {
	// Shard returns the slots of the group, which are not changed any more; nil for all. covered says that all
	// slots of the cluster can be used.
	Shard() (own *slots.Set, covered bool)
	Forming
	Departures
	Importer
	Neighbours
}

// Forming changes which servers and slots a group has.
type Forming interface {
	cluster.Changes
	cluster.Membership
}

// Neighbours are the other servers of the cluster, of this group and others.
type Neighbours interface {
	// AskServer sends a request to another server, at its address of clients, and returns the reply, within some 15 seconds.
	AskServer(ctx context.Context, address string, request []byte) (reply []byte, err error)
	// HoldStill keeps moves of slots from and to the group from beginning for a while. It returns the slots of the group and
	// the entry of its log that says so: if both are the same twice, nothing has moved in between. It is for leaders, and waits
	// until it is known that there is no other.
	HoldStill(d time.Duration) (index uint64, own *slots.Set, err error)
}

// Departures takes slots with their keys to other groups. ADR 0071.
type Departures interface {
	// BeginMove makes the group that clients know by an ID expect the keys of slots, which this server's group has, and returns
	// how many databases that has.
	BeginMove(ctx context.Context, to string, of *slots.Set) (attempt uint64, databases int, err error)
	// SendKeys sends keys to the other group, and returns when they are in its log. It is called once for each
	// piece; after an error the attempt is of no use any more.
	SendKeys(ctx context.Context, attempt uint64, keys []byte) error
	// GiveSlots gives the slots away, whose keys have all been sent and do not change any more. If it has not been
	// decided whose they are, keys must not change until this leadership ends.
	GiveSlots(ctx context.Context, attempt uint64) (decided bool, err error)
	// EndMove ends an attempt, which changes nothing unless GiveSlots did.
	EndMove(attempt uint64)
	// OrderMove asks another group to move slots to a third one, or to this server's. Clients know both by their IDs.
	OrderMove(ctx context.Context, from, to string, of *slots.Set) error
}

// Importer takes slots with their keys from other groups.
type Importer interface {
	// Passing returns the slots that other groups have given to this server's, which has not taken them yet; those
	// whose keys may come or have come; and those that it has given away, whose keys may still be here. All are
	// nil in the usual case.
	Passing() (importing, expected, left *slots.Set)
}
