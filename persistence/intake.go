package persistence

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vigildb/vigil/persistence/expiry"
	"github.com/vigildb/vigil/persistence/fence"
	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/keyspace"
	"github.com/vigildb/vigil/persistence/member"
	"github.com/vigildb/vigil/persistence/writeback"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/text"
)

// ErrTwice is returned for a key that an intake is given twice.
var ErrTwice = errors.New("persistence: the key was there before")

// ErrIntake is returned by a second intake while one is under way.
var ErrIntake = errors.New("persistence: databases are being taken in already")

// Intake fills databases that no client sees, one for each logical one, from which Tx.TakeOver or
// Merge makes them what clients see. It passes by the journal: heads and pages go into
// tables of Pebble, sorted by key, each about as large as a memtable or several. So memory is bounded
// whatever the values are: one that grows beyond a bound writes its pages while it grows.
//
// A crash at any time leaves what the store had: physical databases without a name are removed by the next start.
// An intake is for one goroutine.
//
//	Begin(db, key); Grown(value)...; Put(...)    for each key
//	Finish()                                     all of it is on the device
//	Tx.TakeOver(intake), or Merge                clients see it
//	Close()                                      removes what nobody took
type Intake struct {
	s      *Store
	fence  *fence.FS // a failure of the disk ends the intake
	phys   []uint32  // of each logical database
	taken  []bool    // databases that have a name now
	counts [][format.ShardCount]int64
	keys   int64
	tables *tables
	lists  expiry.Lists
	lsn    uint64 // newest record when the numbers were drawn
	large  int    // bytes of one value in memory

	db    int
	hash  uint64
	key   []byte
	at    []byte       // page key of the value at hand
	pager *intakePager // of the value at hand, nil if it is small
	err   error
}

// NewIntake begins to take databases in. There is one at a time, and none in a group, whose members must
// get everything through the log: that is ErrMember.
func (s *Store) NewIntake() (*Intake, error) {
	room, large := mostRun, mostLarge
	if bound := s.bound.Load(); bound > 0 {
		room = int(min(max(bound/runPart, leastRun), mostRun))
		large = int(min(max(bound/largeIntakePart, leastLarge), mostLarge))
	}
	return s.newIntake(room, large)
}

// newIntake is NewIntake with runs of so many bytes, and values of which so many are in memory.
func (s *Store) newIntake(room, large int) (*Intake, error) {
	if s.member != nil {
		return nil, ErrMember
	}
	if err := s.DiskError(); err != nil {
		return nil, err
	}
	if !s.intake.CompareAndSwap(false, true) {
		return nil, ErrIntake
	}
	in := &Intake{s: s, fence: s.disk.Fence(), large: large}
	tables, err := newTables(s, room)
	if err != nil {
		s.intake.Store(false)
		return nil, fmt.Errorf("take in: %w", err)
	}
	in.tables = tables
	unlock := s.keyspace.LockAll()
	for range s.mapping.Phys {
		in.phys = append(in.phys, s.mapping.Next)
		s.mapping.Next++
	}
	unlock()
	in.lsn = s.journal.Newest()
	in.counts = make([][format.ShardCount]int64, len(in.phys))
	in.taken = make([]bool, len(in.phys))
	return in, nil
}

// HashKeys are those that values of this store need.
func (in *Intake) HashKeys() *structures.HashKeys { return &in.s.keys.Values }

// Keys is the number of keys of a database that were put.
func (in *Intake) Keys(db int) (n int64) {
	for _, c := range in.counts[db] {
		n += c
	}
	return n
}

// Begin says which key comes next.
func (in *Intake) Begin(db int, key []byte) {
	in.db, in.hash = db, in.s.Hash(key)
	in.key = append(in.key[:0], key...)
	in.pager, in.at = nil, in.at[:0]
}

// Put stores the value of the key that was begun: a string, which is b, if v is nil. It belongs to the
// caller again afterwards. expire is unix ms, 0 for none.
func (in *Intake) Put(v structures.Value, b []byte, expire int64) error {
	if in.err == nil {
		in.put(v, b, expire)
	}
	if in.err == nil {
		in.err = in.tables.error()
	}
	return in.err
}

func (in *Intake) put(v structures.Value, b []byte, expire int64) {
	h := format.Head{Kind: structures.KindString, Expire: expire}
	switch {
	case v == nil && keyspace.Inline(len(in.key), len(b)):
		h.Short, h.Payload = true, b
	default:
		if v == nil {
			v = text.New(b)
		}
		h.Kind, h.Paged = v.Kind(), in.putPages(v)
		h.Payload = v.AppendHead(nil)
	}
	if in.err == nil {
		in.count(&h)
	}
}

// count writes the head of the key that was begun.
func (in *Intake) count(h *format.Head) {
	phys := in.phys[in.db]
	in.err = in.tables.head(phys, in.hash, in.key, h)
	if h.Expire != 0 {
		in.lists.Add(in.s.opts.Now(), phys, in.hash, h.Expire)
	}
	in.counts[in.db][format.ShardOf(in.hash)]++
	if in.keys++; in.keys%listedKeys == 0 && in.err == nil {
		in.err = in.writeLists()
	}
}

// listedKeys is after how many keys what is known of expiries is written.
const listedKeys = 1 << 17

// putPages writes the pages of a value that are not written yet, and reports whether it has any.
func (in *Intake) putPages(v structures.Value) (paged bool) {
	if s, ok := v.(*text.String); ok && s.Len() >= writeback.PartString {
		in.err = in.spillRest(s)
		return true
	}
	if in.pager != nil {
		in.err = in.spillRest(v.(writeback.Gradual))
		return true
	}
	phys := in.phys[in.db]
	v.Pages(true, func(id uint64, page []byte) {
		if page != nil && in.err == nil {
			paged = true
			in.err = in.tables.page(phys, in.hash, in.pageKey(id), page)
		}
	})
	return paged
}

// pageKey is the key of a page of the value at hand, valid until the next call.
func (in *Intake) pageKey(id uint64) []byte {
	if len(in.at) == 0 {
		in.at = format.AppendPageKey(in.at, in.phys[in.db], in.hash, in.key, id)
	}
	binary.BigEndian.PutUint64(in.at[len(in.at)-8:], id)
	return in.at
}

// writeLists writes what is known of expiries.
func (in *Intake) writeLists() error {
	return in.batch(func(b *pebble.Batch) error {
		_, err := in.lists.Write(b, &in.s.keys)
		return err
	})
}

// batch writes a batch, which is synced by Finish.
func (in *Intake) batch(fill func(b *pebble.Batch) error) error {
	var b *pebble.Batch
	err := in.withDB(func(db *pebble.DB) error {
		b = db.NewBatch()
		return nil
	})
	if err != nil {
		return err
	}
	if err := fill(b); err != nil { // which may read pages
		return errors.Join(err, b.Close())
	}
	return in.withDB(func(*pebble.DB) error { return in.s.disk.Apply(b, pebble.NoSync) })
}

// withDB calls f with the instance of Pebble that has what was written so far.
func (in *Intake) withDB(f func(db *pebble.DB) error) error {
	in.s.disk.RLock()
	defer in.s.disk.RUnlock()
	if err := in.sound(); err != nil {
		return err
	}
	return f(in.s.disk.DB)
}

// sound returns why the intake cannot go on: the disk has failed since it began, and may have lost what
// was not synced.
func (in *Intake) sound() error {
	if err := in.fence.Err(); err != nil {
		return err
	}
	if in.s.disk.Fence() != in.fence {
		return errors.New("persistence: the disk failed meanwhile")
	}
	return in.s.ctx.Err()
}

// Finish returns when everything is on the device. It is ErrTwice if a key was put twice.
func (in *Intake) Finish() error {
	err := errors.Join(in.err, in.tables.finish())
	if err == nil {
		err = in.writeLists()
	}
	if err == nil && in.tables.written > 1 {
		err = in.recount()
	}
	if err == nil {
		err = in.batch(in.writeCounts)
	}
	if err == nil {
		err = errors.Join(in.s.disk.SyncLog(), in.sound())
	}
	in.err = err
	return err
}

func (in *Intake) writeCounts(b *pebble.Batch) error {
	var count [8]byte
	for db := range in.counts {
		for sh, n := range in.counts[db] {
			if n == 0 {
				continue
			}
			binary.LittleEndian.PutUint64(count[:], uint64(n))
			if err := b.Set(format.AppendCountKey(nil, in.phys[db], sh), count[:], nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// recount finds keys that were put twice, in two tables: there are fewer then than were counted.
func (in *Intake) recount() error {
	return in.withDB(func(db *pebble.DB) error {
		for d, phys := range in.phys {
			want := in.Keys(d)
			if want == 0 {
				continue
			}
			n, err := countHeads(db, phys)
			if err != nil {
				return err
			}
			if n != want {
				return fmt.Errorf("%d keys of database %d: %w", want-n, d, ErrTwice)
			}
		}
		return nil
	})
}

// countHeads counts the heads of a physical database, by two goroutines.
func countHeads(db *pebble.DB, phys uint32) (int64, error) {
	bounds := [3][]byte{format.AppendHeadBound(nil, phys, 0), format.AppendHeadBound(nil, phys, 1<<63), format.AppendHeadEnd(nil, phys, ^uint64(0))}
	var counts [2]int64
	var errs [2]error
	var both sync.WaitGroup
	for i := range counts {
		both.Go(func() {
			it, err := db.NewIter(&pebble.IterOptions{LowerBound: bounds[i], UpperBound: bounds[i+1]})
			if err != nil {
				errs[i] = err
				return
			}
			for ok := it.First(); ok; ok = it.Next() {
				counts[i]++
			}
			errs[i] = errors.Join(it.Error(), it.Close())
		})
	}
	both.Wait()
	return counts[0] + counts[1], errors.Join(errs[:]...)
}

// Close removes what was not taken over.
func (in *Intake) Close() error {
	if in.tables == nil {
		return nil
	}
	err := in.tables.close()
	in.tables = nil
	var left []uint32
	for db, phys := range in.phys {
		if !in.taken[db] {
			left = append(left, phys)
		}
	}
	in.s.discard.databases(left, max(in.lsn, in.s.journal.Newest()))
	in.s.writer.Signal()
	in.s.intake.Store(false)
	return err
}

// TakeOver makes the databases of an intake that has finished those of the store, in one record with the rest
// of the transaction: those for which replace returns true, even if the intake has nothing for them. All shards are
// locked. The keys that these databases had are gone then, as by Flush.
func (tx *Tx) TakeOver(in *Intake, replace func(db int) bool) {
	s := tx.s
	if tx.err == nil {
		tx.err = errors.Join(in.err, in.sound())
	}
	if tx.err != nil {
		return
	}
	tx.seal()
	some := false
	for db := range in.phys {
		if !replace(db) {
			continue
		}
		some = tx.flush(db) || some
		if in.Keys(db) > 0 {
			in.name(db)
			some = true
		}
	}
	if some {
		s.loseFeed("databases were imported")
		tx.remap()
		s.warmer.restart()
	}
}

// name gives a database the keys that were taken in. All shards are locked, and none has a table for it.
func (in *Intake) name(db int) {
	s, phys := in.s, in.phys[db]
	s.mapping.Phys[db], in.taken[db] = phys, true
	for sh, n := range in.counts[db] {
		if n == 0 {
			continue
		}
		s.keyspace.Shard[sh].SetCount(phys, n)
	}
}

// dropIntake removes what an intake, or a frozen copy, before a crash has left.
func (s *Store) dropIntake() error {
	if s.member != nil {
		return nil
	}
	fsys := s.opts.FS
	return errors.Join(fsys.RemoveAll(fsys.PathJoin(s.opts.Dir, member.Incoming)), fsys.RemoveAll(fsys.PathJoin(s.opts.Dir, frozenDir)))
}

// Own decodes the encoding of a value of a kind that only vigil has.
func (in *Intake) Own(kind structures.Kind, encoded []byte) (structures.Value, error) {
	return in.s.NewTx().Decode(kind, encoded)
}

// Err returns why the intake cannot go on, nil if it can: a value of which a page could not be read does not tell.
func (in *Intake) Err() error { return in.err }

// Alike makes the options of another store those of one whose values are the same bytes, for Intake.Copy.
func (s *Store) Alike(o *Options) { o.Secret, o.Databases = s.mapping.Secret, len(s.mapping.Phys) }

// Dir is the directory, in that of the store, in which the tables of an intake lie; who takes in may have another one in it,
// which is removed with it.
func (in *Intake) Dir() string { return member.Incoming }
