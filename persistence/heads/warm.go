package heads

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/keyspace"
	"github.com/vigildb/vigil/persistence/tasks"
)

// After Open the tables of what was materialised are empty; keys come in as they
// are asked for. The warmer brings in the rest, table by table in the order of the
// disk, while memory has room, so that commands soon need not wait for the disk.
// The disk is read under no lock; what was read counts only if the table's epoch
// tells that nothing was written meanwhile.

// warmKeys is how many keys are read ahead and put into a table under one lock.
const warmKeys = 256

// WarmConfig says how far a Warmer may go.
type WarmConfig struct {
	Heads *Heads
	// Stops reports that what was not asked for is not to be read now: the store is being closed, or memory is full.
	Stops func() bool
	// Touch is the last use of keys that come in now.
	Touch func() uint64
	// Failed is told why what was read could not be used.
	Failed func(err error)
}

// Warmer fills tables.
type Warmer struct {
	WarmConfig
	shard atomic.Int32 // the next one
	task  atomic.Pointer[tasks.Work]
}

// Work is the task that fills the tables once, a shard with each step. It
// stops when that is done, or when memory is full.
func (w *Warmer) Work() *tasks.Work {
	t := &tasks.Work{Name: "warm", Wake: make(chan struct{}, 1)}
	t.Signal()
	w.task.Store(t)
	t.Step = func(bool) {
		shard := int(w.shard.Load())
		if shard >= format.ShardCount {
			return
		}
		next := shard + 1
		if err := w.fill(shard); err != nil {
			next = format.ShardCount
			if !errors.Is(err, ErrStopped) && !errors.Is(err, keyspace.ErrTorn) {
				w.Failed(fmt.Errorf("warm up: %w", err))
			}
		}
		if w.shard.CompareAndSwap(int32(shard), int32(next)) && next < format.ShardCount {
			t.Signal()
		}
	}
	return t
}

// Restart begins again with all tables, which are empty.
func (w *Warmer) Restart() {
	w.shard.Store(0)
	if t := w.task.Load(); t != nil {
		t.Signal()
	}
}

// ErrStopped is returned when memory has no room for values that nobody asked for, or the store is being closed.
var ErrStopped = errors.New("persistence: stopped")

// All fills all tables at once.
func (w *Warmer) All() error {
	for i := range format.ShardCount {
		if err := w.fill(i); err != nil {
			return err
		}
	}
	return nil
}

func (w *Warmer) fill(shard int) error {
	f := filler{s: w.Heads, w: w}
	for db := range len(w.Heads.Keyspace.Phys) {
		if err := f.table(shard, db); err != nil {
			return err
		}
	}
	return nil
}

type filler struct {
	s    *Heads
	w    *Warmer
	it   *pebble.Iterator
	keys []warmKey
	buf  []byte
}

// warmKey is a head read ahead; key and value are in the buffer.
type warmKey struct {
	hash       uint64
	key, value []byte
}

// table makes the table of a database in a shard resident.
func (f *filler) table(shard, db int) (err error) {
	sh := &f.s.Keyspace.Shard[shard]
	if !f.s.Keyspace.LockSound(sh) {
		return keyspace.ErrTorn
	}
	if f.s.Keyspace.Size(shard, db) == 0 {
		sh.Mu.Unlock()
		return nil
	}
	t := f.s.Keyspace.Table(shard, db)
	cursor, done := uint64(shard)<<56, t.Resident
	lost, epoch := t.Lost, t.Epoch
	sh.Mu.Unlock()
	s := f.s
	s.Disk.RLock()
	defer s.Disk.RUnlock()
	defer func() { err = errors.Join(err, f.close()) }()
	for !done {
		if f.w.Stops() {
			return ErrStopped
		}
		if err := f.read(t, cursor, uint64(shard)<<56|(1<<56-1)); err != nil {
			return fmt.Errorf("read ahead: %w", err)
		}
		if !f.s.Keyspace.LockSound(sh) {
			return keyspace.ErrTorn
		}
		switch {
		case t.Dropped || t.Lost != lost:
			done = true // flushed, or memory is short already
		case t.Epoch != epoch:
			epoch = t.Epoch // what was read is stale
			err = f.close()
		default:
			if cursor, err = f.admit(t, cursor); err != nil || len(f.keys) < warmKeys {
				done, t.Resident = true, err == nil
			}
		}
		f.s.Keyspace.UnlockShard(sh)
		if err != nil {
			return err
		}
	}
	return nil
}

// read fills f.keys with the heads that follow, opening the iterator at cursor.
func (f *filler) read(t *keyspace.Table, cursor, end uint64) error {
	if f.it == nil {
		o := &pebble.IterOptions{
			LowerBound: format.AppendHeadBound(nil, t.Phys, cursor), UpperBound: format.AppendHeadEnd(nil, t.Phys, end)}
		it, err := f.s.Disk.DB.NewIter(o)
		if err != nil {
			return err
		}
		f.it = it
		f.it.First()
	}
	f.keys, f.buf = f.keys[:0], f.buf[:0]
	for ; f.it.Valid() && len(f.keys) < warmKeys; f.it.Next() {
		_, hash, key, err := format.SplitHeadKey(f.it.Key())
		if err != nil {
			return err
		}
		at := len(f.buf)
		f.buf = append(append(f.buf, key...), f.it.Value()...)
		mid, end := at+len(key), len(f.buf)
		f.keys = append(f.keys, warmKey{hash, f.buf[at:mid:mid], f.buf[mid:end:end]})
	}
	return f.it.Error()
}

// admit puts what was read into the table, where it has no slot, and returns the
// cursor behind it. A key at the cursor may come twice; it has a slot then.
func (f *filler) admit(t *keyspace.Table, cursor uint64) (uint64, error) {
	touch := f.w.Touch() << keyspace.TouchShift
	for _, k := range f.keys {
		cursor = k.hash
		if t.Find(k.hash, k.key) >= 0 {
			continue
		}
		h, err := format.DecodeHead(k.value)
		if err != nil {
			return cursor, err
		}
		if _, err := f.s.Admit(t, k.hash, k.key, &h, touch); err != nil {
			return cursor, err
		}
	}
	return cursor, nil
}

func (f *filler) close() error {
	if f.it == nil {
		return nil
	}
	err := f.it.Close()
	f.it = nil
	return err
}
