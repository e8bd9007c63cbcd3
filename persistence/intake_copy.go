package persistence

import (
	"context"
	"errors"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/lsm"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/text"
)

// Copy takes in what another store has, which must have been made with the same secret: then heads and pages are the same
// bytes. Nothing changes it meanwhile. keep says of each key whether it is to be copied.
func (in *Intake) Copy(from *Store, keep func(db int, key []byte, kind structures.Kind, expire int64) bool) error {
	if in.err != nil {
		return in.err
	}
	if from.mapping.Secret != in.s.mapping.Secret {
		return ErrMember
	}
	if in.err = from.Materialise(context.Background()); in.err != nil {
		return in.err
	}
	from.disk.RLock()
	defer from.disk.RUnlock()
	for db, phys := range from.mapping.Phys {
		if db >= len(in.phys) || in.err != nil {
			break
		}
		in.err = in.copyDatabase(from.disk.DB, db, phys, keep)
	}
	return in.err
}

func (in *Intake) copyDatabase(from *pebble.DB, db int, phys uint32, keep func(db int, key []byte, kind structures.Kind, expire int64) bool) error {
	pages, err := from.NewIter(&pebble.IterOptions{
		LowerBound: format.AppendPhysBound(nil, format.PrefixPage, uint64(phys)), UpperBound: format.AppendPhysBound(nil, format.PrefixPage, uint64(phys)+1)})
	if err != nil {
		return err
	}
	err = eachHead(from, nil, phys, func(hash uint64, key []byte, h *format.Head) error {
		if !keep(db, key, h.Kind, h.Expire) {
			return nil
		}
		in.Begin(db, key)
		h.LSN = 0
		if h.Paged {
			if err := in.copyPages(pages, phys, hash); err != nil {
				return err
			}
		}
		in.count(h)
		return in.err
	})
	return errors.Join(err, pages.Close())
}

// copyPages copies the pages of the key that was begun.
func (in *Intake) copyPages(it *pebble.Iterator, phys uint32, hash uint64) error {
	bound := format.AppendPageBound(nil, phys, hash, in.key)
	for ok := it.SeekGE(bound); ok; ok = it.Next() {
		k := it.Key()
		if _, h, key, id, whole := format.SplitPageKey(k); !whole || h != hash || string(key) != string(in.key) {
			break
		} else if err := in.tables.page(in.phys[in.db], hash, in.pageKey(id), it.Value()); err != nil {
			return err
		}
	}
	return it.Error()
}

// eachHead visits the heads of a physical database, from a key on unless that is nil.
func eachHead(db *pebble.DB, from []byte, phys uint32, visit func(hash uint64, key []byte, h *format.Head) error) error {
	if from == nil {
		from = format.AppendPhysBound(nil, format.PrefixHead, uint64(phys))
	}
	it, err := db.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: format.AppendPhysBound(nil, format.PrefixHead, uint64(phys)+1)})
	if err != nil {
		return err
	}
	for ok := it.First(); ok && err == nil; ok = it.Next() {
		var hash uint64
		var key []byte
		var h format.Head
		if _, hash, key, err = format.SplitHeadKey(it.Key()); err == nil {
			h, err = format.DecodeHead(it.Value())
		}
		if err == nil {
			err = visit(hash, key, &h)
		}
	}
	return errors.Join(err, it.Error(), it.Close())
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
func (in *Intake) Merge(tx *Tx, replace bool, lock func(set *Shards) (unlock func() error, err error)) (put, kept int64, err error) {
	if in.err != nil {
		return 0, 0, in.err
	}
	m := &merger{in: in, tx: tx, replace: replace, lock: lock}
	for db, phys := range in.phys {
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
	in        *Intake
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
	err = m.in.withDB(func(db *pebble.DB) error {
		return eachHead(db, from, phys, func(hash uint64, key []byte, h *format.Head) error {
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
	v, err := m.in.s.decode(h.Kind, h.Payload)
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
