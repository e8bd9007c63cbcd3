package persistence

import (
	"context"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/heads"
	"github.com/vigildb/vigil/persistence/intake"
	"github.com/vigildb/vigil/persistence/lsm"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/text"
)

// intakeDir has the tables of an intake. A member of a group may receive a state at the same time, in another directory, as it may have
// ceased to lead.
const intakeDir = "importing"

// ErrIntake is returned by a second intake while one is under way.
var ErrIntake = errors.New("persistence: databases are being taken in already")

// intakeHost is the store as an intake sees it.
type intakeHost struct {
	s   *Store
	lsn uint64 // newest record when the numbers of the databases were drawn
}

func (h intakeHost) Options() *pebble.Options { return h.s.files.Options(h.s.files.Disk.Fence()) }
func (h intakeHost) Err() error               { return h.s.ctx.Err() }

// Room implements intake.Host.
func (h intakeHost) Room(bytes int) error {
	if free, total := h.s.reserve.Space(); total > 0 && free < uint64(bytes) {
		return fmt.Errorf("%d bytes free on the disk: %w", free, ErrFull)
	}
	return nil
}

// Decode implements intake.Host.
func (h intakeHost) Decode(kind structures.Kind, encoded []byte) (structures.Value, error) {
	return h.s.NewTx().Transfers().Decode(kind, encoded)
}

// End implements intake.Host.
func (h intakeHost) End(left []uint32) {
	h.s.purger.Databases(left, max(h.lsn, h.s.commits.Journal.Newest()))
	h.s.intake.Store(false)
}

// ownPhys is the first number of the databases that a member of a group takes keys into. No database of the group has one from there
// on: what is in them is known to the member alone, until it gives the keys to its group, by [Tx.Merge].
const ownPhys = 1 << 31

// NewIntake begins to take databases in. There is one at a time. What a member of a group takes in cannot be taken over: the others
// must get everything through the log.
func (s *Store) NewIntake() (*intake.Intake, error) { return s.newIntake(0, 0) }

// newIntake is NewIntake with runs of run bytes, and at most most bytes of a value in memory.
func (s *Store) newIntake(run, most int) (*intake.Intake, error) {
	if err := s.DiskError(); err != nil {
		return nil, err
	}
	if !s.intake.CompareAndSwap(false, true) {
		return nil, ErrIntake
	}
	var phys []uint32
	unlock := s.keyspace.LockAll()
	next := &s.files.Meta.Next
	if s.member != nil {
		next = &s.ownPhys
		*next = max(*next, ownPhys)
	}
	for range s.files.Meta.Phys {
		phys = append(phys, *next)
		*next++
	}
	unlock()
	in, err := intake.New(intake.Config{
		Host: intakeHost{s, s.commits.Journal.Newest()}, Disk: &s.files.Disk, Secrets: &s.keys, Now: s.opts.Now, FS: s.opts.FS,
		Path: s.opts.FS.PathJoin(s.opts.Dir, intakeDir), Phys: phys, Run: run, Most: most, Bound: s.eviction.Bound(),
	})
	if err != nil {
		s.intake.Store(false)
	}
	return in, err
}

// TakeOver makes the databases of an intake that has finished those of the store, in one record with the rest
// of the transaction: those for which replace returns true, even if the intake has nothing for them. All shards are
// locked. The keys that these databases had are gone then, as by Flush.
func (tx *Tx) TakeOver(in *intake.Intake, replace func(db int) bool) {
	s := tx.s
	if tx.placer.Err == nil {
		tx.placer.Err = errors.Join(in.Err(), in.Sound())
	}
	if s.member != nil && tx.placer.Err == nil {
		tx.placer.Err = ErrMember
	}
	if tx.placer.Err != nil {
		return
	}
	tx.seal()
	some := false
	for db := range in.Phys {
		if !replace(db) {
			continue
		}
		some = tx.Databases().flush(db) || some
		if in.Keys(db) > 0 {
			some = true
			s.files.Meta.Phys[db] = in.Phys[db]
			for sh, n := range in.Name(db) {
				if n > 0 {
					s.keyspace.Shard[sh].SetCount(in.Phys[db], n)
				}
			}
		}
	}
	if some {
		s.feed.Lose("databases were imported")
		tx.Databases().remap()
		s.warmer.Restart()
	}
}

// Alike makes the options of another store those of one whose values are the same bytes, for Intake.Copy.
func (s *Store) Alike(o *Options) {
	o.Secret, o.Databases = s.files.Meta.Secret, len(s.files.Meta.Phys)
}

// CopyTo gives an intake what the store has. Both must have been made with the same secret: then heads and pages are the same
// bytes. Nothing changes it meanwhile. keep says of each key whether it is to be copied.
func (s *Store) CopyTo(in *intake.Intake, keep func(db int, key []byte, kind structures.Kind, expire int64) bool) error {
	if err := in.Err(); err != nil {
		return err
	}
	if !s.keys.Equal(in.Secrets) {
		return ErrMember
	}
	err := s.passes.Materialise(context.Background())
	if err == nil {
		s.files.Disk.RLock()
		defer s.files.Disk.RUnlock()
		for db, phys := range s.files.Meta.Phys {
			if db >= len(in.Phys) || err != nil {
				break
			}
			err = copyDatabase(in, s.files.Disk.DB, db, phys, keep)
		}
	}
	in.Fail(err)
	return err
}

func copyDatabase(in *intake.Intake, from *pebble.DB, db int, phys uint32, keep func(db int, key []byte, kind structures.Kind, expire int64) bool) error {
	pages, err := from.NewIter(&pebble.IterOptions{
		LowerBound: format.AppendPhysBound(nil, format.PrefixPage, uint64(phys)), UpperBound: format.AppendPhysBound(nil, format.PrefixPage, uint64(phys)+1)})
	if err != nil {
		return err
	}
	err = heads.Each(from, nil, phys, func(hash uint64, key []byte, h *format.Head) error {
		if !keep(db, key, h.Kind, h.Expire) {
			return nil
		}
		in.Begin(db, key)
		h.LSN = 0
		if h.Paged {
			if err := copyPages(in, pages, phys, hash, key); err != nil {
				return err
			}
		}
		in.Count(h)
		return in.Err()
	})
	return errors.Join(err, pages.Close())
}

// copyPages copies the pages of the key that was begun.
func copyPages(in *intake.Intake, it *pebble.Iterator, phys uint32, hash uint64, begun []byte) error {
	bound := format.AppendPageBound(nil, phys, hash, begun)
	for ok := it.SeekGE(bound); ok; ok = it.Next() {
		k := it.Key()
		if _, h, key, id, whole := format.SplitPageKey(k); !whole || h != hash || string(key) != string(begun) {
			break
		} else if err := in.Page(id, it.Value()); err != nil {
			return err
		}
	}
	return it.Error()
}

const (
	// mergedKeys and mergedBytes are how much is merged while shards are locked.
	mergedKeys, mergedBytes = 64, 256 << 10
)

// merged is a key on its way into a database that clients see.
type merged struct {
	key    []byte
	value  structures.Value // nil: a string
	text   []byte
	expire int64
}

// Merge gives the databases that clients see what an intake that has finished has for them, some keys at a time; a key that is there is
// replaced or kept. lock locks the shards for tx, and what it returns commits and unlocks. Each value is whole in memory for a moment. It
// is not one step: after an error or a crash some keys are there, and the same merge may be made again.
func (tx *Tx) Merge(in *intake.Intake, replace bool, lock func(set *Shards) (unlock func() error, err error)) (put, kept int64, err error) {
	if err := in.Err(); err != nil {
		return 0, 0, err
	}
	m := &merger{in: in, tx: tx, replace: replace, lock: lock}
	for db, phys := range in.Phys {
		m.db = db
		for from := format.AppendPhysBound(nil, format.PrefixHead, uint64(phys)); from != nil && in.Keys(db) > 0; {
			if from, err = m.read(phys, from); err == nil {
				err = m.flush()
			}
			if err != nil {
				return m.put, m.kept, err
			}
		}
	}
	return m.put, m.kept, nil
}

type merger struct {
	in        *intake.Intake
	tx        *Tx
	replace   bool
	lock      func(set *Shards) (unlock func() error, err error)
	db        int
	some      []merged
	bytes     int
	put, kept int64
}

// read gathers keys from a head on, and returns the next one, nil at the end. Nothing of Pebble is held while
// shards are locked.
func (m *merger) read(phys uint32, from []byte) (next []byte, err error) {
	clear(m.some)
	m.some, m.bytes = m.some[:0], 0
	err = m.in.View(func(db *pebble.DB) error {
		return heads.Each(db, from, phys, func(hash uint64, key []byte, h *format.Head) error {
			if len(m.some) == mergedKeys || m.bytes >= mergedBytes {
				next = format.AppendHeadKey(nil, phys, hash, key)
				return errEnough
			}
			return m.add(db, phys, hash, key, h)
		})
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return next, err
}

// errEnough ends a walk early.
var errEnough = errors.New("enough")

// add reads a value.
func (m *merger) add(db *pebble.DB, phys uint32, hash uint64, key []byte, h *format.Head) error {
	k := merged{key: structures.Clone(key), expire: h.Expire}
	if h.Short {
		k.text = structures.Clone(h.Payload)
		m.bytes += len(k.text)
		m.some = append(m.some, k)
		return nil
	}
	v, err := m.tx.s.heads.Decode(h.Kind, h.Payload)
	if err == nil && h.Paged {
		err = lsm.ReadPages(db, phys, hash, key, v, 0, nil)
	}
	if err == nil {
		err = format.Complete(v)
	}
	if err != nil {
		return err
	}
	if s, ok := v.(*text.String); ok {
		k.text = s.Bytes()
	} else {
		k.value = v
	}
	m.bytes += v.Size()
	m.some = append(m.some, k)
	return nil
}

// flush merges what was gathered.
func (m *merger) flush() error {
	if len(m.some) == 0 {
		return nil
	}
	var set Shards
	for i := range m.some {
		set.Add(m.tx.Expect(m.some[i].key))
	}
	unlock, err := m.lock(&set)
	if err != nil {
		return err
	}
	m.tx.Select(m.db)
	for i := 0; i < len(m.some) && err == nil; i++ {
		k := &m.some[i]
		if m.tx.Kind(k.key) != structures.KindNone && !m.replace {
			m.kept++
			continue
		}
		m.put++
		if k.value == nil {
			m.tx.SetString(k.key, k.text, Expiry(k.expire))
		} else {
			err = Replace(m.tx, k.key, k.value, Expiry(k.expire))
		}
	}
	return errors.Join(err, m.tx.Err(), unlock())
}
