package intake

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/expiry"
	"github.com/vigildb/vigil/persistence/fence"
	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/keyspace"
	"github.com/vigildb/vigil/persistence/lsm"
	"github.com/vigildb/vigil/persistence/writeback"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/text"
)

// ErrTwice is returned for a key that an intake is given twice.
var ErrTwice = errors.New("persistence: the key was there before")

// Intake takes keys into databases. A crash at any time leaves what the store had: physical databases without a name are
// removed by its next start.
//
//	Begin(db, key); Grown(value)...; Put(...)    for each key
//	Finish()                                     all of it is on the device
//	Name(db)                                     by the store, for clients to see it; or what was taken in is read and merged
//	Close()                                      removes what has no name
type Intake struct {
	Config
	fence  *fence.FS // a failure of the disk ends the intake
	taken  []bool    // databases that have a name now
	counts [][format.ShardCount]int64
	keys   int64
	tables *tables
	lists  expiry.Lists

	db    int
	hash  uint64
	key   []byte
	at    []byte       // page key of the value at hand
	pager *intakePager // of the value at hand, nil if it is small
	err   error
}

// Host is what an intake asks of its store.
type Host interface {
	// Options are those of the instance of Pebble.
	Options() *pebble.Options
	// Err returns why the store cannot be written, nil if it can.
	Err() error
	// Room returns an error if the disk has no room for so many bytes more.
	Room(bytes int) error
	// Decode makes a value of its encoding, of a kind that only vigil has.
	Decode(kind structures.Kind, encoded []byte) (structures.Value, error)
	// End ends the intake: physical databases that nobody took are to be removed.
	End(left []uint32)
}

// Config is what an intake works on.
type Config struct {
	Host    Host
	Disk    *lsm.Disk
	Secrets *format.Keys
	Now     func() int64 // unix ms
	FS      vfs.FS
	Path    string   // directory for tables, which is the intake's
	Phys    []uint32 // physical databases, one for each logical one, which nothing else uses
	Run     int      // bytes that are sorted at a time; 0 is chosen by Bound
	Most    int      // bytes of one value in memory; 0 is chosen by Bound
	// Bound is how many bytes of memory the store may take, 0 for any number.
	Bound int64
}

// New begins an intake.
func New(c Config) (*Intake, error) {
	run, most := mostRun, mostLarge
	if c.Bound > 0 {
		run = int(min(max(c.Bound/runPart, leastRun), mostRun))
		most = int(min(max(c.Bound/largeIntakePart, leastLarge), mostLarge))
	}
	c.Run, c.Most = cmp.Or(c.Run, run), cmp.Or(c.Most, most)
	in := &Intake{Config: c, fence: c.Disk.Fence(), counts: make([][format.ShardCount]int64, len(c.Phys)), taken: make([]bool, len(c.Phys))}
	var err error
	if in.tables, err = newTables(in); err != nil {
		return nil, fmt.Errorf("take in: %w", err)
	}
	return in, nil
}

// Name notes that a database has the keys that were taken in, and returns how many are in each shard. It is not removed by Close.
func (in *Intake) Name(db int) *[format.ShardCount]int64 {
	in.taken[db] = true
	return &in.counts[db]
}

// Tables is how many tables were written.
func (in *Intake) Tables() int { return in.tables.written }

// Fail notes why the intake cannot go on.
func (in *Intake) Fail(err error) { in.err = err }

// HashKeys are those that values of this store need.
func (in *Intake) HashKeys() *structures.HashKeys { return &in.Secrets.Values }

// Keys is the number of keys of a database that were put.
func (in *Intake) Keys(db int) (n int64) {
	for _, c := range in.counts[db] {
		n += c
	}
	return n
}

// Begin says which key comes next.
func (in *Intake) Begin(db int, key []byte) {
	in.db, in.hash = db, in.Secrets.Hash.Sum(key)
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
		in.Count(&h)
	}
}

// Count writes the head of the key that was begun.
func (in *Intake) Count(h *format.Head) {
	phys := in.Phys[in.db]
	in.err = in.tables.head(phys, in.hash, in.key, h)
	if h.Expire != 0 {
		in.lists.Add(in.Now(), phys, in.hash, h.Expire)
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
	phys := in.Phys[in.db]
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
		in.at = format.AppendPageKey(in.at, in.Phys[in.db], in.hash, in.key, id)
	}
	binary.BigEndian.PutUint64(in.at[len(in.at)-8:], id)
	return in.at
}

// writeLists writes what is known of expiries.
func (in *Intake) writeLists() error {
	return in.batch(func(b *pebble.Batch) error {
		_, err := in.lists.Write(b, in.Secrets)
		return err
	})
}

// batch writes a batch, which is synced by Finish.
func (in *Intake) batch(fill func(b *pebble.Batch) error) error {
	var b *pebble.Batch
	err := in.View(func(db *pebble.DB) error {
		b = db.NewBatch()
		return nil
	})
	if err != nil {
		return err
	}
	if err := fill(b); err != nil { // which may read pages
		return errors.Join(err, b.Close())
	}
	return in.View(func(*pebble.DB) error { return in.Disk.Apply(b, pebble.NoSync) })
}

// View calls f with the instance of Pebble that has what was written so far.
func (in *Intake) View(f func(db *pebble.DB) error) error {
	in.Disk.RLock()
	defer in.Disk.RUnlock()
	if err := in.Sound(); err != nil {
		return err
	}
	return f(in.Disk.DB)
}

// Sound returns why the intake cannot go on: the disk has failed since it began, and may have lost what
// was not synced.
func (in *Intake) Sound() error {
	if err := in.fence.Err(); err != nil {
		return err
	}
	if in.Disk.Fence() != in.fence {
		return errors.New("persistence: the disk failed meanwhile")
	}
	return in.Host.Err()
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
		err = errors.Join(in.Disk.SyncLog(), in.Sound())
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
			if err := b.Set(format.AppendCountKey(nil, in.Phys[db], sh), count[:], nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// recount finds keys that were put twice, in two tables: there are fewer then than were counted.
func (in *Intake) recount() error {
	return in.View(func(db *pebble.DB) error {
		for d, phys := range in.Phys {
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
	for db, phys := range in.Phys {
		if !in.taken[db] {
			left = append(left, phys)
		}
	}
	in.Host.End(left)
	return err
}

// Own decodes the encoding of a value of a kind that only vigil has.
func (in *Intake) Own(kind structures.Kind, encoded []byte) (structures.Value, error) {
	return in.Host.Decode(kind, encoded)
}

// Err returns why the intake cannot go on, nil if it can: a value with an unreadable page reports nothing itself.
func (in *Intake) Err() error { return in.err }

// Page takes in a page of the key that was begun, as it is in another store of the same secret.
func (in *Intake) Page(id uint64, page []byte) error {
	return in.tables.page(in.Phys[in.db], in.hash, in.pageKey(id), page)
}

// Dir is the name of the directory, in that of the store, in which the tables of an intake lie; the caller may put another one into it,
// which is removed with it.
func (in *Intake) Dir() string { return in.FS.PathBase(in.Path) }
