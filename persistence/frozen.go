package persistence

import (
	"context"
	"errors"
	"fmt"

	"github.com/vigildb/vigil/persistence/eviction"
	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/heads"
	"github.com/vigildb/vigil/persistence/keyspace"
	"github.com/vigildb/vigil/persistence/lsm"
	"github.com/vigildb/vigil/persistence/member"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/text"
)

// frozenDir is the directory in that of the store in which a frozen copy lies while it is open.
const frozenDir = "frozen"

// frozenPart is which part of the memory of the store a frozen copy may take, and leastFrozen the least in bytes.
const frozenPart, leastFrozen = 8, 16 << 20

// Frozen is what a store had at a moment, while the store goes on: a snapshot that is open. Its files are links to those of
// the store where that is possible.
type Frozen struct {
	of, s  *Store
	record uint64
}

// Record is the number of the last record that it contains.
func (f *Frozen) Record() uint64 { return f.record }

// Freeze makes one. Nobody waits for it, and there is one at a time. That of a member of a group has what the group has committed.
func (s *Store) Freeze() (*Frozen, error) {
	if !s.frozen.CompareAndSwap(false, true) {
		return nil, ErrIntake
	}
	f, err := s.freeze()
	if err != nil {
		s.frozen.Store(false)
		return nil, fmt.Errorf("freeze: %w", err)
	}
	return f, nil
}

// OfStoppedMember opens the store of a member of a group, which no server has open, to read it. It changes nothing that the
// member or its group depend on. Frozen copies have all that the log has: nobody is there to say what of its end is committed.
func OfStoppedMember(o *Options) { o.Replicator, o.stopped = member.Apart{}, true }

func (s *Store) freeze() (*Frozen, error) {
	// What is in the journal would have to be replayed.
	if err := s.passes.Materialise(s.passes.Ctx); err != nil && !errors.Is(err, keyspace.ErrTorn) {
		return nil, err
	}
	dir := s.opts.FS.PathJoin(s.opts.Dir, frozenDir)
	if err := s.opts.FS.RemoveAll(dir); err != nil {
		return nil, err
	}
	newest := s.commits.Journal.Newest()
	if err := s.Snapshot(dir, nil); err != nil { // it has that, which is committed then
		return nil, err
	}
	o := s.opts
	if m := s.member; m != nil {
		o.Replicator, o.committed = member.Apart{}, m.Log().Holding(newest)
		if s.opts.stopped {
			_, o.committed = m.Log().Bounds()
		}
	}
	o.Dir, o.InMemory, o.MapTail, o.Reserve, o.OnEvent, o.IdleAfter, o.Sync = dir, false, nil, 0, nil, -1, SyncNever
	o.MaxMemory, o.DerivedMaxMemory, o.Policy = leastFrozen, 0, eviction.Spill
	if bound := s.eviction.Bound(); bound > 0 {
		o.MaxMemory = max(leastFrozen, bound/frozenPart)
	}
	o.CacheBytes = 0
	o.Logf = func(level int, format string, args ...any) {
		if level >= LevelError {
			s.opts.Logf(level, "copy: "+format, args...)
		}
	}
	copied, err := Open(o)
	if err != nil {
		return nil, errors.Join(err, s.opts.FS.RemoveAll(dir))
	}
	f := &Frozen{of: s, s: copied, record: copied.commits.Journal.Newest()}
	if err := copied.passes.Materialise(s.passes.Ctx); err != nil { // then everything is found in the order of the disk
		return nil, errors.Join(err, copied.Close(), s.opts.FS.RemoveAll(dir))
	}
	return f, nil
}

// Databases is the number of databases.
func (f *Frozen) Databases() int { return f.s.Databases() }

// Libraries returns the sources of all libraries by name.
func (f *Frozen) Libraries() map[string]string { return f.s.Texts(Libraries) }

// Keys is the number of keys of a database, those that are expired and still there included.
func (f *Frozen) Keys(db int) (n int64) {
	for sh := range f.s.keyspace.Shard {
		f.s.keyspace.Shard[sh].Mu.Lock()
		n += int64(f.s.keyspace.Size(sh, db))
		f.s.keyspace.Shard[sh].Mu.Unlock()
	}
	return n
}

// Each visits the keys of a database that are not expired at now: with a value, or with the bytes of a string. They are valid during the
// call. It returns the first error of visit, of ctx, or of the disk.
func (f *Frozen) Each(ctx context.Context, db int, now int64, visit func(key []byte, v structures.Value, text []byte, expire int64) error) error {
	w := &frozenWalk{f: f, tx: f.s.NewTx(), db: db, now: now, visit: visit}
	w.tx.NoTouch, w.tx.KeepExpired = true, true
	return heads.Each(f.s.files.Disk.DB, nil, f.s.files.Meta.Phys[db], func(hash uint64, key []byte, h *format.Head) error {
		if w.visited++; w.visited%1024 == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		if h.Expire != 0 && h.Expire <= now {
			return nil
		}
		return w.key(hash, key, h)
	})
}

// FieldsExpire reports whether fields of any hash may expire.
func (f *Frozen) FieldsExpire(ctx context.Context) (some bool, err error) {
	visited := 0
	for db := 0; db < f.Databases() && !some && err == nil; db++ {
		err = heads.Each(f.s.files.Disk.DB, nil, f.s.files.Meta.Phys[db], func(_ uint64, key []byte, h *format.Head) error {
			if visited++; visited%1024 == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			if h.Short || h.Kind != structures.KindHash {
				return nil
			}
			v, err := f.s.heads.Decode(h.Kind, h.Payload)
			if err != nil {
				return fmt.Errorf("key %.100q: %w", key, err)
			}
			if timed, ok := v.(keyspace.Timed); ok {
				if _, some = timed.NextExpiry(); some {
					return errFound
				}
			}
			return nil
		})
	}
	if some {
		err = nil
	}
	return some, err
}

// errFound ends a walk that has found what it looked for.
var errFound = errors.New("found")

type frozenWalk struct {
	f       *Frozen
	tx      *Tx
	db      int
	now     int64
	visited int
	visit   func(key []byte, v structures.Value, text []byte, expire int64) error
}

// key visits a key. A value that is larger than memory has room for is read by the transaction, page by page.
func (w *frozenWalk) key(hash uint64, key []byte, h *format.Head) error {
	if h.Short {
		return w.visit(key, nil, h.Payload, h.Expire)
	}
	s := w.f.s
	v, err := s.heads.Decode(h.Kind, h.Payload)
	if err == nil && h.Paged {
		if s.writer.Exceeds(v) {
			return w.large(key)
		}
		err = lsm.ReadPages(s.files.Disk.DB, s.files.Meta.Phys[w.db], hash, key, v, 0, nil)
	}
	if err == nil {
		err = format.Complete(v)
	}
	if err != nil {
		return fmt.Errorf("key %.100q: %w", key, err)
	}
	if str, ok := v.(*text.String); ok {
		return w.visit(key, nil, str.Bytes(), h.Expire)
	}
	return w.visit(key, v, nil, h.Expire)
}

// large visits a key whose value is not whole in memory.
func (w *frozenWalk) large(key []byte) error {
	var set Shards
	set.Add(w.tx.Expect(key))
	if !w.tx.Lock(&set, w.now) {
		return keyspace.ErrTorn
	}
	w.tx.Select(w.db)
	expire, _ := w.tx.ExpireAt(key)
	v, err := w.tx.Value(key)
	if err = errors.Join(err, w.tx.Err()); err == nil && v != nil {
		err = w.visit(key, v, nil, expire)
	}
	err = errors.Join(err, w.tx.Err()) // of a page, too
	w.tx.Commit()
	w.tx.Unlock()
	w.f.s.eviction.MakeRoom()
	return err
}

// Close ends it, and removes its files.
func (f *Frozen) Close() error {
	err := errors.Join(f.s.Close(), f.of.opts.FS.RemoveAll(f.s.opts.Dir))
	f.of.frozen.Store(false)
	return err
}
