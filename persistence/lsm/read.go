package lsm

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/structures"
)

// ReadMeta reads the meta, which of a new store is fresh.
func ReadMeta(db *pebble.DB, fresh format.Meta) (m format.Meta, err error) {
	b, closer, err := db.Get(format.AppendMetaKey(nil))
	if errors.Is(err, pebble.ErrNotFound) {
		return fresh, refuseOthers(db)
	}
	if err != nil {
		return format.Meta{}, fmt.Errorf("read meta: %w", err)
	}
	m, err = format.DecodeMeta(b)
	return m, errors.Join(err, closer.Close())
}

// refuseOthers returns an error if the directory without a meta of ours is not
// that of a new store: format 1 had its meta, a number of the format first,
// under a shorter key.
func refuseOthers(db *pebble.DB) error {
	_, closer, err := db.Get([]byte{format.PrefixMeta})
	if err == nil {
		return errors.Join(fmt.Errorf("format 1, which vigil 0.1.0 wrote until commit 41e2ac8, is not read by this version: "+
			"start a vigil of that commit on it and copy the keys from there with DUMP and RESTORE: %w", format.ErrVersion), closer.Close())
	}
	if !errors.Is(err, pebble.ErrNotFound) {
		return fmt.Errorf("read meta: %w", err)
	}
	if some, err := Any(db, nil, nil); err != nil || some {
		return errors.Join(fmt.Errorf("there are keys, but no meta: %w", format.ErrCorrupt), err)
	}
	return nil
}

// Any reports that there are keys from low to high, high not included; nil is no bound.
func Any(db *pebble.DB, low, high []byte) (bool, error) {
	it, err := db.NewIter(&pebble.IterOptions{LowerBound: low, UpperBound: high})
	if err != nil {
		return false, err
	}
	some := it.First()
	return some, errors.Join(it.Error(), it.Close())
}

// StagedCount reports that staged pages count.
func StagedCount(db *pebble.DB) (bool, error) {
	key := format.AppendStagedKey(nil)
	return Any(db, key, append(key, 0))
}

// ReadPages hands a value the pages that the disk has of it, from a number on, but some.
func ReadPages(db *pebble.DB, phys uint32, hash uint64, key []byte, v structures.Value, from uint64, but map[uint64]bool) error {
	lower := format.AppendPageKey(nil, phys, hash, key, from)
	upper := format.AppendPageBound(nil, phys, hash, key)
	upper = append(upper, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff)
	it, err := db.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return fmt.Errorf("read pages: %w", err)
	}
	for it.First(); it.Valid() && err == nil; it.Next() {
		k := it.Key()
		if len(k) != len(lower) {
			err = fmt.Errorf("page key of %d bytes: %w", len(k), format.ErrCorrupt)
			break
		}
		if !but[format.PageID(k)] {
			err = v.SetPage(format.PageID(k), it.Value())
		}
	}
	return errors.Join(err, it.Close())
}
