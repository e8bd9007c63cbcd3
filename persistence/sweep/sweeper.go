package sweep

import (
	"sync"
	"sync/atomic"

	"github.com/vigildb/vigil/persistence/expiry"
	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/keyspace"
	"github.com/vigildb/vigil/persistence/lsm"
)

// Host is what the cycle asks of its store. But for Defers, Sync and Synced the lock of a shard is held.
type Host interface {
	// Defers reports that another server decides what expires: its records delete it.
	Defers() bool
	// Journal journals a record that was made of what was done already, and returns its number. Of an object whose value stayed
	// it has the operations on that, too; else o is nil.
	Journal(rec []byte, o *keyspace.Object, changed []byte) (lsn uint64)
	// Expired is told of a key that was deleted.
	Expired(db int, key []byte)
	// NamesParts reports that PartsExpired is to be told which parts of a value were deleted.
	NamesParts(db int, o *keyspace.Object) bool
	// PartsExpired is told that n parts of a value were deleted, and the key with them if none is left.
	PartsExpired(db int, o *keyspace.Object, n int, parts [][]byte)
	// Sync asks for a sync of the journal as it is now, and returns its newest record.
	Sync() (lsn uint64)
	// Synced reports that the device has the journal up to a record, and in a group that it is committed there.
	Synced(lsn uint64) (bool, error)
}

// Log is what an operator reads.
type Log interface {
	Error(kind string, err error)
}

// Config is what a Sweeper works on. All of it belongs to the store.
type Config struct {
	Host     Host
	Operator Log
	Disk     *lsm.Disk
	Keyspace *keyspace.Keyspace
	Keys     *format.Keys
	Clock    *expiry.Clock
}

// Sweeper deletes what has expired, a part at each call of [Sweeper.Cycle].
type Sweeper struct {
	host     Host
	operator Log
	disk     *lsm.Disk
	keyspace *keyspace.Keyspace
	keys     *format.Keys
	clock    *expiry.Clock

	// Looked counts the keys with an expiry that were looked at, and Capped the cycles that ended before they had seen all.
	Looked, Capped atomic.Int64

	mu sync.Mutex // one cycle at a time; guards all below
	walk
	lists lists
}

// walk is where the next cycle goes on in memory.
type walk struct {
	shard  int
	db     int
	cursor uint64
	walked *keyspace.Table // that the cursor is in, and has been since its start; else nil
	next   int64           // the first expiry of the keys walked over
}

// lists is where the next cycle goes on in the index.
type lists struct {
	done  [][]byte     // keys of lists that were worked off
	moved expiry.Lists // entries of theirs that are not due
	lsn   uint64       // what the journal must have got to before they go
	phys  []uint32     // physical database of each logical one
	at    int          // of phys, with which the next cycle begins
}

// Init makes a Sweeper of the zero value.
func (s *Sweeper) Init(c Config) {
	s.host, s.operator, s.disk, s.keyspace, s.keys, s.clock = c.Host, c.Operator, c.Disk, c.Keyspace, c.Keys, c.Clock
}

// Lock waits for the cycle under way, and lets nobody else begin one.
func (s *Sweeper) Lock() { s.mu.Lock() }

// Unlock is the end of what began with Lock.
func (s *Sweeper) Unlock() { s.mu.Unlock() }

// Cursor is the hash at which the table at hand is gone on with. The lock is held.
func (s *Sweeper) Cursor() uint64 { return s.cursor }

// Forget drops what was found: memory is about to be made anew. The lock is held.
func (s *Sweeper) Forget() { s.walk, s.lists = walk{}, lists{} }
