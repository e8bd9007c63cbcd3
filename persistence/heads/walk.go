package heads

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/keyspace"
	"github.com/vigildb/vigil/structures"
)

// Walked is a key that a walk visits, valid during the call.
type Walked struct {
	Hash   uint64
	Key    []byte
	Kind   structures.Kind
	Expire int64
	// Blessed: it is not deleted to make room
	Blessed bool
}

// Walk visits the live keys of a table with a hash in [from, to] in the order of
// their hashes, those in memory and those on disk only, until visit returns
// false. visit must not change the table. The lock of the shard is held. An error
// of the disk goes to fail and ends the walk.
func (s *Heads) Walk(t *keyspace.Table, from, to uint64, fail func(error), visit func(e *Walked) bool) {
	if t.Resident {
		w := Walked{}
		for i := t.Seek(from); i < t.Places(); i++ {
			if meta := t.Meta(i); meta != 0 && meta&keyspace.Tombstone == 0 {
				if t.HashAt(i) > to || !visit(w.is(t, i)) {
					return
				}
			}
		}
		return
	}
	if err := s.walkBoth(t, from, to, visit); err != nil {
		fail(fmt.Errorf("walk keys: %w", err))
	}
}

// is makes w the key at slot i.
func (w *Walked) is(t *keyspace.Table, i int) *Walked {
	meta := t.Meta(i)
	w.Hash, w.Key, w.Kind, w.Expire = t.HashAt(i), t.Key(meta), t.Kind(meta), t.Expire(meta)
	w.Blessed = t.Blessed(w.Key)
	return w
}

// walkBoth merges the slots with the heads on disk. A key with a slot is what the
// slot says; the disk adds those that have none.
func (s *Heads) walkBoth(t *keyspace.Table, from, to uint64, visit func(e *Walked) bool) (err error) {
	o := &pebble.IterOptions{
		LowerBound: format.AppendHeadBound(nil, t.Phys, from), UpperBound: format.AppendHeadEnd(nil, t.Phys, to)}
	it, err := s.Disk.DB.NewIter(o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	disk := it.First()
	i := t.Seek(from)
	var w Walked
	for {
		for i < t.Places() && t.Meta(i) == 0 {
			i++
		}
		inMemory := i < t.Places() && t.HashAt(i) <= to
		var hash uint64
		var key []byte
		if disk {
			if _, hash, key, err = format.SplitHeadKey(it.Key()); err != nil {
				return err
			}
		}
		switch {
		case !inMemory && !disk:
			return it.Error()
		case inMemory && (!disk || t.HashAt(i) <= hash):
			// Slots of one hash are in no order by key, so memory goes first
			// and the disk's share of that hash is looked up below.
			if t.Meta(i)&keyspace.Tombstone == 0 && !visit(w.is(t, i)) {
				return nil
			}
			i++
		case t.Find(hash, key) >= 0:
			disk = it.Next()
		default:
			h, err := format.DecodeHead(it.Value())
			if err != nil {
				return err
			}
			w = Walked{Hash: hash, Key: bytes.Clone(key), Kind: h.Kind, Expire: h.Expire, Blessed: h.Blessed}
			if !visit(&w) {
				return nil
			}
			disk = it.Next()
		}
	}
}

// Each visits the heads of a physical database, from a key on unless that is nil.
func Each(db *pebble.DB, from []byte, phys uint32, visit func(hash uint64, key []byte, h *format.Head) error) error {
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
