package replay

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"runtime"
	"sync/atomic"

	"github.com/vigildb/vigil/persistence/catalog"
	"github.com/vigildb/vigil/persistence/commits"
	"github.com/vigildb/vigil/persistence/files"
	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/grouplog"
	"github.com/vigildb/vigil/persistence/heads"
	"github.com/vigildb/vigil/persistence/journal"
	"github.com/vigildb/vigil/persistence/keyspace"
	"github.com/vigildb/vigil/persistence/purge"
	"github.com/vigildb/vigil/persistence/slots"
	"github.com/vigildb/vigil/persistence/writeback"
)

// Group is the group of the store.
type Group interface {
	Log() *grouplog.Log
	// Applied is the last entry that memory has, or that is to be replayed.
	Applied() uint64
	// Replayed is told of the end of the journal, and returns why it cannot be.
	Replayed(last journal.Position) error
}

// Config is what a replay works on. All of it belongs to the store.
type Config struct {
	Files      *files.Files
	Commits    *commits.Commits
	Keyspace   *keyspace.Keyspace
	Heads      *heads.Heads
	Writer     *writeback.Writer
	Purger     *purge.Purger
	Uses       *slots.Uses
	Group      Group // nil if the store is alone
	Catalog    func() *catalog.Catalog
	Hash       func(key []byte) uint64
	Now        func() int64  // unix time in milliseconds
	Bound      func() int64  // on memory in bytes, now; 0: none
	Seed       func() uint64 // of a generator; not 0
	Unreadable func(err error)
	// Origin returns whose data there is, and the record that says so.
	Origin func() (format.Replicated, uint64)
	// Arrived is told whose data the journal makes, and by which record.
	Arrived func(r format.Replicated, lsn uint64)
}

// Replayer replays the journal of a store.
type Replayer struct {
	Config
	Progress  Progress
	Allowance Allowance // of the first replay
	served    atomic.Bool
}

// Serve says that the store serves: a member that rolls back has everything locked, and keeps to no bound.
func (p *Replayer) Serve() { p.served.Store(true) }

// Served reports whether it does.
func (p *Replayer) Served() bool { return p.served.Load() }

// Progress is how far the first replay has got. Records are counted, as the bytes of what is
// still to come are not known; bytes are what the journal takes on disk.
type Progress struct {
	total               atomic.Int64  // bytes
	first, current, end atomic.Uint64 // records
}

// Bytes returns how many bytes of the journal are replayed, and how many
// there are.
func (p *Progress) Bytes() (loaded, total int64) {
	total = p.total.Load()
	first := p.first.Load()
	part, whole := p.current.Load()-first, p.end.Load()-first
	if part >= whole {
		return total, total
	}
	hi, lo := bits.Mul64(uint64(total), part)
	quotient, _ := bits.Div64(hi, lo, whole)
	return int64(quotient), total
}

func (p *Replayer) new() *replay {
	r := &replay{Replayer: p, last: p.Files.Meta.Trimmed, allowance: p.Allowance}
	if p.served.Load() {
		r.allowance = NewAllowance(0)
	}
	r.index()
	for range max(1, runtime.GOMAXPROCS(0)) {
		r.workers = append(r.workers, r.worker())
	}
	return r
}

// Journal reads the journal and returns its end.
func (p *Replayer) Journal(ctx context.Context) (journal.Position, error) {
	r := p.new()
	err := r.journal(ctx)
	if err == nil {
		err = errors.Join(p.Files.CheckMarks(r.last.LSN), r.replayed())
	}
	if err == nil {
		err = r.eachShard(func(w *worker, sh int) error { return w.reconcile(ctx, sh) })
	}
	if err == nil {
		r.settleOrigin(p.Files.Meta.Replicated, p.Files.Meta.Arrived)
	}
	if err == nil && r.allowance.used {
		err = p.Files.Disk.SyncLog() // from now on what memory lacks has to be on the device
	}
	if err != nil {
		return r.last, fmt.Errorf("replay journal: %w", err)
	}
	return r.last, nil
}

// replayed tells the group of the end.
func (r *replay) replayed() error {
	if r.Group == nil {
		return nil
	}
	return r.Group.Replayed(r.last)
}
