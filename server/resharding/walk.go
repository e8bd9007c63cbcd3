package resharding

import (
	"github.com/vigildb/vigil/commands/cluster"
	"github.com/vigildb/vigil/persistence"
)

// scannedAtOnce is how many keys are looked at while their shard is locked: other clients wait for less than a tenth of a
// millisecond.
const scannedAtOnce = 512

// DBKey is a key of a database.
type DBKey struct {
	DB   int
	Name []byte
}

// Walk goes through the keys of one shard, in one database or in all, some for each hold of its lock.
type Walk struct {
	shard  uint64
	db     int // the next one, of those before last
	last   int
	from   uint64 // the hash from which on the keys of db are next
	shards persistence.Shards
}

// Walk begins a walk of a shard through the keys of a database, or of all with [cluster.EveryDB]: of those that the store has, whether
// clients of this server see them or not. In a group with members of a version before several databases it is the first alone, to
// all members: what one of them does not copy another one must not remove.
func (k *Keys) Walk(shard, db int) *Walk {
	w := &Walk{shard: uint64(shard) << 56, db: db, last: db + 1}
	if db == cluster.EveryDB {
		w.db, w.last = 0, 1
		if k.o.Store.Level() >= persistence.LevelDatabases {
			w.last = k.o.Store.Databases()
		}
	}
	w.from = w.shard
	w.shards.Add(w.shard)
	return w
}

// Shards returns a new set of what is to be locked for a step: the shard.
func (w *Walk) Shards() *persistence.Shards {
	set := w.shards
	return &set
}

// Over reports whether no key is left.
func (w *Walk) Over() bool { return w.db >= w.last }

// Step calls see with the next keys, in a transaction that has the lock. The name of a key is valid until see returns.
func (w *Walk) Step(tx *persistence.Tx, see func(key DBKey)) {
	for seen := 0; !w.Over() && seen < scannedAtOnce; {
		tx.Select(w.db)
		w.from = tx.Databases().ScanShard(w.from, scannedAtOnce-seen, func(name []byte) {
			seen++
			see(DBKey{w.db, name})
		})
		if w.from == 0 { // no key of the database is left
			w.db, w.from = w.db+1, w.shard
		}
	}
}
