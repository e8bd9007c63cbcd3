package expiry

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vigildb/vigil/persistence/format"
)

const (
	spread      = 32  // stretches until an expiry
	mostEntries = 512 // of a list: it is worked off at once
)

// listTime is the time of the list for an expiry, seen at now. Times in the past
// go to the next tick: a past list is not opened again.
func listTime(now, expire int64) int64 {
	left := uint64(max(0, expire-now))
	if left < spread*format.ExpiryTick {
		return int64((uint64(max(expire-1, now)) + format.ExpiryTick) &^ (format.ExpiryTick - 1))
	}
	stretch := int64(1) << (bits.Len64(left/spread) - 1)
	return expire &^ (stretch - 1)
}

// Lists gathers entries until they are written.
type Lists struct {
	lists map[List]*[]format.Expiring
	last  *[]format.Expiring // the list of key
	key   List
}

// List is a list: a database and a time.
type List struct {
	phys uint32
	at   int64
}

// Add notes a key that expires.
func (l *Lists) Add(now int64, phys uint32, hash uint64, expire int64) {
	key := List{phys, listTime(now, expire)}
	if l.last == nil || l.key != key {
		if l.lists == nil {
			l.lists = map[List]*[]format.Expiring{}
		}
		if l.last = l.lists[key]; l.last == nil {
			l.last = new([]format.Expiring)
			l.lists[key] = l.last
		}
		l.key = key
	}
	ticks := uint64(max(0, expire-key.at)+format.ExpiryTick-1) / format.ExpiryTick
	*l.last = append(*l.last, format.Expiring{Hash: hash, Ticks: uint32(min(ticks, math.MaxUint32))})
}

// Write adds the lists to a batch and forgets them. It returns them for Clock.Note. keys are those of the store.
func (l *Lists) Write(b *pebble.Batch, keys *format.Keys) ([]List, error) {
	if len(l.lists) == 0 {
		return nil, nil
	}
	var written []List
	var key, value []byte
	for at, list := range l.lists {
		entries := *list
		slices.SortFunc(entries, func(a, b format.Expiring) int {
			switch {
			case a.Hash < b.Hash:
				return -1
			case a.Hash > b.Hash:
				return 1
			}
			return int(int64(a.Ticks) - int64(b.Ticks))
		})
		for len(entries) > 0 {
			n := min(len(entries), mostEntries)
			value = value[:0]
			for _, e := range entries[:n] {
				value = format.AppendExpiring(value, e)
			}
			key = format.AppendExpiryKey(key[:0], at.phys, at.at, keys.Hash.Sum(value))
			if err := b.Set(key, value, nil); err != nil {
				return nil, fmt.Errorf("write expiries: %w", err)
			}
			entries = entries[n:]
		}
		written = append(written, at)
	}
	*l = Lists{}
	return written, nil
}

// Next reads the next list of a database from a key on, if it is due at now, and appends its entries to dst. Otherwise key
// is nil and at is the time of the list, or one that never comes if there is none.
func Next(r pebble.Reader, phys uint32, from []byte, dst []format.Expiring, now int64) (key []byte, at int64, list []format.Expiring, err error) {
	it, err := r.NewIter(&pebble.IterOptions{
		LowerBound: from, UpperBound: format.AppendPhysBound(nil, format.PrefixExpiry, uint64(phys)+1)})
	if err != nil {
		return nil, 0, nil, fmt.Errorf("read expiries: %w", err)
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	if !it.First() {
		return nil, math.MaxInt64, nil, it.Error()
	}
	if _, at, _, err = format.SplitExpiryKey(it.Key()); err != nil || at > now {
		return nil, at, nil, err
	}
	if dst, err = format.DecodeExpiring(dst, it.Value()); err != nil {
		return nil, 0, nil, err
	}
	return bytes.Clone(it.Key()), at, dst, nil
}
