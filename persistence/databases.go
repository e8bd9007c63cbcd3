package persistence

import (
	"slices"

	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/heads"
	"github.com/vigildb/vigil/persistence/keyspace"
	"github.com/vigildb/vigil/structures"
)

// Databases are the databases as a whole, as a transaction sees and changes them. But for ScanShard its methods need the locks of all
// shards.
type Databases struct{ tx *Tx }

// Databases returns the databases as a whole.
func (tx *Tx) Databases() Databases { return Databases{tx} }

// Size is the number of keys in database db, including expired keys that were
// not used since.
func (d Databases) Size(db int) int {
	d.tx.reads.All()
	n := 0
	for sh := range d.tx.s.keyspace.Shard {
		n += d.tx.s.keyspace.Size(sh, db)
	}
	return n
}

// Flush removes all keys of a database. It costs the same for any number:
// the keys of the database get a new physical one, and memory and disk of the
// old one are freed in the background. OnChange is not called.
func (d Databases) Flush(db int) {
	if d.flush(db) {
		d.remap()
	}
}

// FlushAll removes all keys of all databases, as Flush does.
func (d Databases) FlushAll() { d.FlushSome(func(int) bool { return true }) }

// FlushSome is FlushAll for the databases for which wanted returns true.
func (d Databases) FlushSome(wanted func(db int) bool) {
	some := false
	for db := range d.tx.s.files.Meta.Phys {
		some = wanted(db) && d.flush(db) || some
	}
	if some {
		d.remap()
	}
}

// flush gives db a new physical database unless it has never held anything.
func (d Databases) flush(db int) bool {
	tx := d.tx
	if tx.placer.Err != nil {
		return false
	}
	tx.seal()
	s, some := tx.s, false
	old := s.files.Meta.Phys[db]
	for i := range s.keyspace.Shard {
		sh := &s.keyspace.Shard[i]
		if t := sh.Tables[db]; t != nil {
			s.purger.Table(i, t)
			sh.Tables[db] = nil
			some = true
		}
		if sh.Counts[old] > 0 {
			delete(sh.Counts, old)
			some = true
		}
	}
	if !some {
		return false
	}
	tx.flushed = append(tx.flushed, old)
	s.files.Meta.Phys[db] = s.files.Meta.Next
	s.files.Meta.Next++
	return true
}

// seal ends the open edits: their tables are about to go.
func (tx *Tx) seal() {
	for _, e := range tx.open {
		tx.settle(e)
		tx.close(e)
	}
	tx.open = tx.open[:0]
	tx.placer.Compact()
}

// Swap exchanges the contents of two databases.
func (d Databases) Swap(a, b int) {
	tx := d.tx
	if a == b || tx.placer.Err != nil {
		return
	}
	tx.seal()
	p := tx.s.files.Meta.Phys
	p[a], p[b] = p[b], p[a]
	for i := range tx.s.keyspace.Shard {
		t := tx.s.keyspace.Shard[i].Tables
		t[a], t[b] = t[b], t[a]
	}
	d.remap()
}

// remap records the mapping of databases.
func (d Databases) remap() {
	tx := d.tx
	format.RecordMapping(&tx.rec.Change, tx.s.files.Meta.Next, tx.s.files.Meta.Phys)
	tx.rec.hasLast = false
	tx.rec.apart, tx.changed = true, true
	tx.s.tracker.Load().flushed()
}

// RandomKey returns a key of the selected database, each with about the same
// chance; draw(n) returns a number in [0, n). ok is false if there is none. The
// key is valid until the next change.
func (d Databases) RandomKey(draw func(n int) int) (key []byte, ok bool) {
	tx := d.tx
	const tries = 100 // as often may the key drawn turn out to be expired
	for range tries {
		total := d.Size(tx.db)
		if total <= 0 {
			return nil, false
		}
		nth, sh := draw(total), 0
		for ; sh < format.ShardCount-1; sh++ {
			n := tx.s.keyspace.Size(sh, tx.db)
			if nth < n {
				break
			}
			nth -= n
		}
		key := d.randomIn(sh, draw)
		if key == nil {
			continue
		}
		if _, _, ok := tx.find(tx.hash(key), key); ok {
			return key, true
		}
	}
	return nil, false
}

// randomIn draws a key of one shard: a live slot, or where the disk has more, the
// one that follows a random hash.
func (d Databases) randomIn(sh int, draw func(n int) int) []byte {
	t := d.tx.s.keyspace.Table(sh, d.tx.db)
	if t.Resident {
		for range 1000 {
			if t.Used == 0 {
				return nil
			}
			if m := t.Meta(draw(t.Places())); m != 0 && m&keyspace.Tombstone == 0 {
				return slices.Clone(t.Key(m))
			}
		}
		return nil
	}
	from := uint64(sh)<<56 | uint64(draw(1<<28))<<28
	var key []byte
	for range 2 {
		d.tx.s.heads.Walk(t, from, uint64(sh)<<56|(1<<56-1), d.tx.placer.Fail, func(e *heads.Walked) bool {
			key = slices.Clone(e.Key)
			return false
		})
		if key != nil {
			return key
		}
		from = uint64(sh) << 56
	}
	return nil
}

// Scan visits about count keys of the selected database and returns the next
// cursor; 0 starts a scan and means that all were visited. A key that exists
// from the first call to the last is visited once: keys that share the bits of a
// cursor go together. Expired keys are skipped.
func (d Databases) Scan(cursor uint64, count int, visit func(key []byte, kind structures.Kind)) (next uint64) {
	return d.scan(cursor, count, func(e *heads.Walked) { visit(e.Key, e.Kind) })
}

// scan is Scan for a visitor of all that is known of a key.
func (d Databases) scan(cursor uint64, count int, visit func(e *heads.Walked)) (next uint64) {
	const cursorShift = 64 - structures.CursorBits
	d.tx.reads.All()
	d.tx.seal()
	from := d.tx.s.keys.Cursors.Reveal(cursor) << cursorShift
	left := max(1, count)
	for sh := format.ShardOf(from); sh < format.ShardCount; sh++ {
		if next = d.scanShard(sh, from, &left, cursorShift, visit); next != 0 {
			return d.tx.s.keys.Cursors.Hide(next)
		}
		from = uint64(sh+1) << 56
	}
	return 0
}

// scanShard visits the keys of a shard from a hash on that are not expired, until left were looked at. It returns the hash to go on
// from, without shift lower bits, 0 at the end of the shard. Keys that share it are visited together.
func (d Databases) scanShard(sh int, from uint64, left *int, shift uint, visit func(e *heads.Walked)) (next uint64) {
	tx := d.tx
	if tx.s.keyspace.Size(sh, tx.db) == 0 {
		return 0
	}
	last := uint64(0)
	tx.s.heads.Walk(tx.s.keyspace.Table(sh, tx.db), from, uint64(sh)<<56|(1<<56-1), tx.placer.Fail, func(e *heads.Walked) bool {
		at := e.Hash >> shift
		if *left <= 0 && at != last {
			next = at
			return false
		}
		last = at
		*left--
		if e.Expire == 0 || e.Expire > tx.now {
			visit(e)
		}
		return true
	})
	return next
}

// Keys visits every key of the selected database until visit returns false.
// Expired keys are skipped.
func (d Databases) Keys(visit func(key []byte) bool) {
	tx := d.tx
	tx.reads.All()
	tx.seal()
	for sh := range tx.s.keyspace.Shard {
		if tx.s.keyspace.Size(sh, tx.db) == 0 {
			continue
		}
		more := true
		tx.s.heads.Walk(tx.s.keyspace.Table(sh, tx.db), uint64(sh)<<56, uint64(sh)<<56|(1<<56-1), tx.placer.Fail, func(e *heads.Walked) bool {
			if e.Expire == 0 || e.Expire > tx.now {
				more = visit(e.Key)
			}
			return more
		})
		if !more {
			return
		}
	}
}

// ScanShard visits about count keys of the selected database in the shard of a hash, whose lock
// is enough, from that hash on. It returns where to go on, 0 at the end of the shard. Expired
// keys are skipped, and keys with the same hash are visited together.
func (d Databases) ScanShard(from uint64, count int, visit func(key []byte)) (next uint64) {
	d.tx.reads.All()
	d.tx.seal()
	return d.scanShard(format.ShardOf(from), from, &count, 0, func(e *heads.Walked) { visit(e.Key) })
}
