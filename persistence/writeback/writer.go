package writeback

import (
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vigildb/vigil/persistence/expiry"
	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/journal"
	"github.com/vigildb/vigil/persistence/keyspace"
	"github.com/vigildb/vigil/persistence/lsm"
	"github.com/vigildb/vigil/structures"
)

// Host is what a pass asks of its store.
type Host interface {
	// Contained is the newest record that a shard contains, whose lock is held.
	Contained(shard int) uint64
	// AwaitSync waits until the device has the journal up to a record, and in a group until that is committed.
	AwaitSync(lsn uint64) error
	// Seal adds to a batch that it may hold what the records up to one did, before it is committed.
	Seal(b *pebble.Batch, lsn uint64) error
	// Written returns a value in the form in which it is to be stored.
	Written(v structures.Value) structures.Value
	// Unforced reports that batches need not be on the device when they are committed, as the journal stays.
	Unforced() bool
	// Bound is how many bytes values may take before they leave memory for the disk, 0 if they do not.
	Bound() int64
	// Trimmed is the last record that was cut off the journal.
	Trimmed() uint64
	// Space is how many bytes are free on the disk, and how many it has; both 0 if that is not known.
	Space() (free, total uint64)
}

// Log is what an operator reads.
type Log interface {
	Error(kind string, err error)
}

// Config is what a Writer works on. All of it belongs to the store.
type Config struct {
	Host     Host
	Operator Log
	Disk     *lsm.Disk
	Keyspace *keyspace.Keyspace
	Keys     *format.Keys
	Journal  *journal.Journal
	Log      *journal.Log
	Expiries *expiry.Clock
	Now      func() int64 // unix ms

	BatchBytes   int   // after which a batch is committed
	JournalBound int64 // see persistence.Options
	LargeBytes   int   // from which size on a value has a pager
}

// Writer writes changed values under their own keys. It is lazy: a pass is made when the journal has grown to its bound, when
// nothing is written for a while, or when memory must be freed, and visits all slots that are dirty then.
//
// What it writes it encodes under the lock of the shard, some dozens of values at
// a time, and commits in batches under no lock. Before a batch is committed, the device
// must have the journal up to the newest record that the batch contains; else a
// crash could leave half a transaction. Until it is committed its slots
// stay in memory, tombstones too.
type Writer struct {
	host     Host
	operator Log
	disk     *lsm.Disk
	keyspace *keyspace.Keyspace
	keys     *format.Keys
	journal  *journal.Journal
	log      *journal.Log
	expiries *expiry.Clock
	now      func() int64
	bound    int64 // of the journal
	least    int   // size of a value from which on it has a pager

	// Values counts those that were encoded, and PageReads the pages that were read.
	Values, PageReads atomic.Int64

	wake chan struct{} // capacity 1: one token says that something may be due
	// starved: memory is short and nothing clean was found to be dropped.
	starved atomic.Bool
	// pressed: changed pages of large values are to be written, to leave memory.
	pressed atomic.Bool
	// lapped is the laps of the value that is being encoded in parts.
	lapped atomic.Int64
	// commits counts the batches that are on disk, with all that was staged for them.
	commits atomic.Uint64
	// staging: some pages may be staged.
	staging atomic.Bool

	large  atomic.Int64 // bytes of values with a pager
	pagers pagers

	pass struct { // held for a whole pass
		sync.Mutex
		batch  *pebble.Batch
		tables []tableBatch
		marks  []shardMark // for the batch
		newest uint64      // last record that the batch may contain, or depend on
		sizes  Sizes
		parts  parts
		stage  stage

		now      int64         // when the batch was opened
		expiries expiry.Lists  // of the heads in it
		listed   []expiry.List // those that the batch has already
	}
}

// Sizes are how much a pass does at a time.
type Sizes struct {
	Batch int // bytes of a batch after which it is committed
	Part  int // pages of a large value that are encoded in one hold of a lock
	Stage int // bytes of a batch from which on pages are staged
	Move  int // bytes of a batch that moves pages
}

// LargeBytes is the size in bytes from which on a value has a pager, unless Config says otherwise.
const LargeBytes = 1 << 20

// Init makes a Writer of the zero value.
func (w *Writer) Init(c Config) {
	w.host, w.operator, w.disk, w.keyspace, w.keys, w.now = c.Host, c.Operator, c.Disk, c.Keyspace, c.Keys, c.Now
	w.journal, w.log, w.expiries = c.Journal, c.Log, c.Expiries
	w.bound, w.least = c.JournalBound, c.LargeBytes
	w.wake = make(chan struct{}, 1)
	w.pass.sizes = Sizes{Batch: c.BatchBytes, Part: PartPages, Stage: stageBytes, Move: moveBytes}
}

// Resize changes the sizes, for tests. The lock is held.
func (w *Writer) Resize(s Sizes) { w.pass.sizes = s }

// Sizes returns what Resize changes. The lock is held.
func (w *Writer) Sizes() Sizes { return w.pass.sizes }

// Lock waits for the pass under way, and lets nobody else begin one.
func (w *Writer) Lock() { w.pass.Lock() }

// Unlock is the end of what began with Lock.
func (w *Writer) Unlock() { w.pass.Unlock() }

// Wake gets a token when a pass may be due.
func (w *Writer) Wake() chan struct{} { return w.wake }

// Signal says that a pass may be due.
func (w *Writer) Signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Starve asks for a pass, since memory is short and nothing was found that the disk has.
func (w *Writer) Starve() {
	w.starved.Store(true)
	w.Signal()
}

// Starved reports that nothing will be found that may leave memory until the next batch is committed.
func (w *Writer) Starved() bool { return w.starved.Load() }

// Asked reports that a pass was asked for, to free memory.
func (w *Writer) Asked() bool { return w.starved.Load() || w.pressed.Load() }

// Large is how many values have a pager, and how many bytes they take.
type Large struct {
	Values int
	Bytes  int64
}

// Large returns the account of large values.
func (w *Writer) Large() Large { return Large{w.pagers.len(), w.large.Load()} }

// State is what the pass under way is at.
type State struct {
	Due    int   // pages of the value that is encoded in parts, when it was begun
	Laps   int64 // see laps
	Staged bool  // the batch makes staged pages count
	Taken  bool  // the batch takes pages since they cannot be staged
}

// State returns what the pass under way is at. The lock is held.
func (w *Writer) State() State {
	return State{w.pass.parts.due, w.lapped.Load(), w.pass.stage.used, w.pass.stage.off}
}

// Forget drops what is under way, when memory is about to be made anew. What was staged for the batch is removed, or counts
// and is moved. The lock is held.
func (w *Writer) Forget() error {
	p := &w.pass
	for _, b := range []*pebble.Batch{p.batch, p.parts.batch} {
		if b == nil {
			continue
		}
		if err := b.Close(); err != nil {
			return err
		}
	}
	p.batch, p.tables, p.marks, p.newest = nil, nil, nil, 0
	p.parts, p.stage = parts{}, stage{}
	p.expiries, p.listed = expiry.Lists{}, nil
	w.lapped.Store(0)
	w.starved.Store(false)
	w.pressed.Store(false)
	return w.Settle()
}

// Rebase makes what is under way a batch of an instance of Pebble that takes the place of the one before. The lock is held.
func (w *Writer) Rebase(db *pebble.DB) error {
	m := &w.pass
	m.parts.batch = nil
	if m.batch == nil {
		return nil
	}
	repr := append([]byte(nil), m.batch.Repr()...)
	m.batch = db.NewBatch()
	return m.batch.SetRepr(repr)
}
