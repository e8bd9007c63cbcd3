package persistence

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
// disk, as far as memory allows, so that commands soon need not wait for the disk.
// The disk is read under no lock; what was read counts only if the table's epoch
// tells that nothing was written meanwhile.

// warmKeys is how many keys are read ahead and put into a table under one lock.
const warmKeys = 256

// warmTask makes the task that fills the tables once, a shard with each step. It
// stops when that is done, or when memory is full.
func (s *Store) warmTask() *tasks.Work {
	t := &tasks.Work{Name: "warm", Wake: make(chan struct{}, 1)}
	t.Signal()
	w := &s.warmer
	w.task.Store(t)
	t.Step = func(bool) {
		shard := int(w.shard.Load())
		if shard >= format.ShardCount {
			return
		}
		next := shard + 1
		if err := s.warmShard(shard); err != nil {
			next = format.ShardCount
			if !errors.Is(err, errStopped) && !errors.Is(err, keyspace.ErrTorn) {
				s.opts.Logf(LevelError, "warm up: %v", err)
			}
		}
		if w.shard.CompareAndSwap(int32(shard), int32(next)) && next < format.ShardCount {
			t.Signal()
		}
	}
	return t
}

// warming is how far the tables are filled.
type warming struct {
	shard atomic.Int32 // the next one
	task  atomic.Pointer[tasks.Work]
}

// restart has the tables filled again, which are empty.
func (w *warming) restart() {
	w.shard.Store(0)
	if t := w.task.Load(); t != nil {
		t.Signal()
	}
}

// errStopped ends the warmer early: the store closes or memory is full.
var errStopped = errors.New("persistence: stopped")

// warm fills all tables.
func (s *Store) warm() error {
	for i := range s.keyspace.Shard {
		if err := s.warmShard(i); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) warmShard(shard int) error {
	w := warmer{s: s}
	for db := range len(s.files.Meta.Phys) {
		if err := w.table(shard, db); err != nil {
			return err
		}
	}
	return nil
}

// warmRoom reports whether memory has room for values that were not requested.
func (s *Store) warmRoom() bool {
	bound := s.bound.Load()
	return bound == 0 || s.keyspace.Memory.Load() < bound-bound/8
}

type warmer struct {
	s    *Store
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
func (w *warmer) table(shard, db int) (err error) {
	sh := &w.s.keyspace.Shard[shard]
	if !w.s.keyspace.LockSound(sh) {
		return keyspace.ErrTorn
	}
	if w.s.sizeOf(shard, db) == 0 {
		sh.Mu.Unlock()
		return nil
	}
	t := w.s.table(shard, db)
	cursor, done := uint64(shard)<<56, t.Resident
	lost, epoch := t.Lost, t.Epoch
	sh.Mu.Unlock()
	s := w.s
	s.files.Disk.RLock()
	defer s.files.Disk.RUnlock()
	defer func() { err = errors.Join(err, w.close()) }()
	for !done {
		if w.s.passes.Err() != nil || !w.s.warmRoom() {
			return errStopped
		}
		if err := w.read(t, cursor, uint64(shard)<<56|(1<<56-1)); err != nil {
			return fmt.Errorf("read ahead: %w", err)
		}
		if !w.s.keyspace.LockSound(sh) {
			return keyspace.ErrTorn
		}
		switch {
		case t.Dropped || t.Lost != lost:
			done = true // flushed, or memory is short already
		case t.Epoch != epoch:
			epoch = t.Epoch // what was read is stale
			err = w.close()
		default:
			if cursor, err = w.admit(t, cursor); err != nil || len(w.keys) < warmKeys {
				done, t.Resident = true, err == nil
			}
		}
		w.s.keyspace.UnlockShard(sh)
		if err != nil {
			return err
		}
	}
	return nil
}

// read fills w.keys with the heads that follow, opening the iterator at cursor.
func (w *warmer) read(t *keyspace.Table, cursor, end uint64) error {
	if w.it == nil {
		o := &pebble.IterOptions{
			LowerBound: format.AppendHeadBound(nil, t.Phys, cursor), UpperBound: format.AppendHeadEnd(nil, t.Phys, end)}
		it, err := w.s.files.Disk.DB.NewIter(o)
		if err != nil {
			return err
		}
		w.it = it
		w.it.First()
	}
	w.keys, w.buf = w.keys[:0], w.buf[:0]
	for ; w.it.Valid() && len(w.keys) < warmKeys; w.it.Next() {
		_, hash, key, err := format.SplitHeadKey(w.it.Key())
		if err != nil {
			return err
		}
		at := len(w.buf)
		w.buf = append(append(w.buf, key...), w.it.Value()...)
		mid, end := at+len(key), len(w.buf)
		w.keys = append(w.keys, warmKey{hash, w.buf[at:mid:mid], w.buf[mid:end:end]})
	}
	return w.it.Error()
}

// admit puts what was read into the table, where it has no slot, and returns the
// cursor behind it. A key at the cursor may come twice; it has a slot then.
func (w *warmer) admit(t *keyspace.Table, cursor uint64) (uint64, error) {
	touch := w.s.clockAt(w.s.opts.Now()) << keyspace.TouchShift
	for _, k := range w.keys {
		cursor = k.hash
		if t.Find(k.hash, k.key) >= 0 {
			continue
		}
		h, err := format.DecodeHead(k.value)
		if err != nil {
			return cursor, err
		}
		if _, err := w.s.admit(t, k.hash, k.key, &h, touch); err != nil {
			return cursor, err
		}
	}
	return cursor, nil
}

func (w *warmer) close() error {
	if w.it == nil {
		return nil
	}
	err := w.it.Close()
	w.it = nil
	return err
}
