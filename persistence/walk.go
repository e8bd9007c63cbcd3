package persistence

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/keyspace"
	"github.com/vigildb/vigil/structures"
)

// walked is a key that a walk visits, valid during the call.
type walked struct {
	hash   uint64
	key    []byte
	kind   structures.Kind
	expire int64
	// blessed: it is not deleted to make room
	blessed bool
}

// walk visits the live keys of a table with a hash in [from, to] in the order of
// their hashes, those in memory and those on disk only, until visit returns
// false. visit must not change the table. The lock of the shard is held. An error
// of the disk goes to fail and ends the walk.
func (s *Store) walk(t *keyspace.Table, from, to uint64, fail func(error), visit func(e *walked) bool) {
	if t.Resident {
		w := walked{}
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
func (w *walked) is(t *keyspace.Table, i int) *walked {
	meta := t.Meta(i)
	w.hash, w.key, w.kind, w.expire = t.HashAt(i), t.Key(meta), t.Kind(meta), t.Expire(meta)
	w.blessed = t.Blessed(w.key)
	return w
}

// walkBoth merges the slots with the heads on disk. A key with a slot is what the
// slot says; the disk adds those that have none.
func (s *Store) walkBoth(t *keyspace.Table, from, to uint64, visit func(e *walked) bool) (err error) {
	o := &pebble.IterOptions{
		LowerBound: format.AppendHeadBound(nil, t.Phys, from), UpperBound: format.AppendHeadEnd(nil, t.Phys, to)}
	it, err := s.files.Disk.DB.NewIter(o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	disk := it.First()
	i := t.Seek(from)
	var w walked
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
			w = walked{hash: hash, key: bytes.Clone(key), kind: h.Kind, expire: h.Expire, blessed: h.Blessed}
			if !visit(&w) {
				return nil
			}
			disk = it.Next()
		}
	}
}
