package resharding

import (
	"context"
	"time"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/server/internal/clock"
	"github.com/vigildb/vigil/server/peers"
	"github.com/vigildb/vigil/structures/slots"
)

// Group is the way to the group that slots go to.
type Group interface {
	// BeginMove tells the group that clients know by an ID to expect the keys of slots, and returns how many databases that has.
	BeginMove(ctx context.Context, to string, of *slots.Set) (attempt uint64, databases int, err error)
	// SendKeys sends a frame of keys to the other group, and returns when they are in its log.
	SendKeys(ctx context.Context, attempt uint64, keys []byte) error
	// GiveSlots gives the slots away. If it is not decided whose they are, keys must not change until this leadership ends.
	GiveSlots(ctx context.Context, attempt uint64) (decided bool, err error)
	// EndMove ends an attempt, which changes nothing unless GiveSlots did.
	EndMove(attempt uint64)
}

// Fence holds back calls that would change keys of slots: [hold.Fence].
type Fence interface {
	Begin(of *slots.Set) (began uint64)
	End(began uint64, decided bool)
}

// Calls are the calls of the server's clients.
type Calls interface {
	// ScriptsEnded waits for a while, and reports whether the scripts that ran have ended: they may use keys of any slot.
	ScriptsEnded() bool
	// SendAway sends clients that wait for keys of some slots to the servers that have these, and fails the transactions
	// of those that watch such keys.
	SendAway(of *slots.Set)
	// Foreign reports whether a key, whose lock is held, is of a slot that the group does not have.
	Foreign(key []byte) bool
	// Crowded reports whether there is no memory for more keys.
	Crowded() bool
}

// Options is what moves of slots need of the server. All fields are needed.
type Options struct {
	Store *persistence.Store
	Group Group
	Peers *peers.Peers
	Fence Fence
	Calls Calls
	Clock clock.Clock
	Done  context.Context // ends with the server
	// Membership returns nil for a server without a group.
	Membership func() *commands.Membership
	Leads      func() bool
	// Databases returns how many databases keys may come for: 1 while members of the group may be of a version before several.
	Databases func() int
	// Divided returns the slots whose keys clients may wait for, and those that the group has by its log; nil is not known yet, and
	// all. Calls are judged by the former soon after it is the latter.
	Divided func() (kept, own *slots.Set)
	// Durable returns when all records up to a position are committed.
	Durable func(position uint64) error
	// Go runs a function in a goroutine that whoever closes the server waits for, unless the server is closed.
	Go func(f func())
	// MaxFence is for how long calls may be held back for a move.
	MaxFence func() time.Duration
	// ID returns an ID for a new task.
	ID   func() string
	Logf func(level int, format string, args ...any) // levels of package persistence
}

// Resharding is the moves of a server.
type Resharding struct {
	Keys       Keys
	Moves      Moves
	Tasks      Tasks
	Departures Departures
}

// Open is called once, before all else.
func (r *Resharding) Open(o Options) {
	r.Keys.o = &o
	r.Moves.o, r.Moves.keys = &o, &r.Keys
	r.Tasks.o, r.Tasks.moves = &o, &r.Moves
	r.Departures.o, r.Departures.keys, r.Departures.wake = &o, &r.Keys, make(chan struct{}, 1)
	asksTask.Handle(o.Peers, r.Tasks.serve)
}
