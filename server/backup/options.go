package backup

import (
	"time"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/persistence/snapshot"
	"github.com/vigildb/vigil/server/conf"
	"github.com/vigildb/vigil/server/internal/clock"
	"github.com/vigildb/vigil/server/peers"
	"github.com/vigildb/vigil/structures/slots"
)

// Store is the store that snapshots are made of.
type Store interface {
	// Snapshot makes one in a directory that does not exist yet.
	Snapshot(dir string, origin *snapshot.Origin) error
	Stats() persistence.Stats
}

// Copies are the snapshots that there are, see [snapshot.Copies].
type Copies interface {
	// List lists those in a directory, the oldest first.
	List(dir string) ([]snapshot.Info, error)
	Remove(dir string) error
	// Sweep removes unfinished ones.
	Sweep(dir string) error
}

// Group is the group of the server.
type Group interface {
	// HoldStill returns the slots that the group has, and the entry of its log that says so. No move of them begins for a
	// time. It is an error if some are on their way.
	HoldStill(d time.Duration) (index uint64, own *slots.Set, err error)
}

// Options is what snapshots need of the server. All fields are needed.
type Options struct {
	Store    Store
	Copies   Copies
	Group    Group        // nil for a server that is alone
	Peers    *peers.Peers // by which servers ask each other for parts
	Clock    clock.Clock
	InMemory bool
	// Settings are asked whenever they are needed.
	Settings func() Settings
	// Membership returns nil for a server that is alone.
	Membership func() *commands.Membership
	// Go runs a function in a goroutine that whoever closes the server waits for.
	Go func(f func())
	// ID returns a number for a new snapshot of the cluster.
	ID   func() uint64
	Logf func(warning bool, format string, args ...any)
}

// Settings are the directives that count.
type Settings struct {
	Dir    string // of the snapshots
	Points []conf.SavePoint
	Keep   int // so many automatic snapshots; 0 is all
}
