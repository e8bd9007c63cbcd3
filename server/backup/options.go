package backup

import (
	"context"
	"time"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/persistence/snapshot"
	"github.com/vigildb/vigil/server/conf"
	"github.com/vigildb/vigil/structures/slots"
)

// Store is the store that snapshots are made of.
type Store interface {
	// SnapshotOf makes one in a directory that does not exist yet.
	SnapshotOf(dir string, origin *snapshot.Origin) error
	// Snapshots lists those in a directory, the oldest first.
	Snapshots(dir string) ([]persistence.SnapshotInfo, error)
	RemoveSnapshot(dir string) error
	// SweepSnapshots removes unfinished ones.
	SweepSnapshots(dir string) error
	Stats() persistence.Stats
}

// Group is the group of the server, and the way to other servers of its cluster.
type Group interface {
	// HoldStill returns the slots that the group has, and the entry of its log that says so. No move of them begins for a
	// time. It is an error if some are on their way.
	HoldStill(d time.Duration) (index uint64, own *slots.Set, err error)
	// AskServer has the server at an address of clients, which is not this one, respond to a request.
	AskServer(ctx context.Context, address string, request []byte) (reply []byte, err error)
}

// Clock tells the time.
type Clock interface {
	Now() time.Time
	Since(t time.Time) time.Duration
	AfterFunc(d time.Duration, f func()) (stop func())
}

// Options is what snapshots need of the server. All fields are needed.
type Options struct {
	Store    Store
	Group    Group // nil for a server that is alone
	Clock    Clock
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
	// Other responds to a request that is none about snapshots.
	Other func(ctx context.Context, m *commands.Membership, q *Request) *Reply
}

// Settings are the directives that count.
type Settings struct {
	Dir    string // of the snapshots
	Points []conf.SavePoint
	Keep   int // so many automatic snapshots; 0 is all
}
