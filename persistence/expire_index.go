package persistence

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vigildb/vigil/persistence/format"
)

// Expired keys that are only on disk are found by an index of the heads that
// have an expiry. What Pebble charges for is distinct keys, so an entry is not
// one of them: a batch of heads adds one list for each stretch of time in which
// some of its heads expire.
//
// A stretch is at most a thirty-second of the time until then, so that a batch has
// a few hundred lists at the most, and its time is that of its beginning. When it
// has come, the entries move on to shorter stretches. In the shortest, of one tick,
// its end is the time of the list, and keys that are due by then are deleted. The
// sum distinguishes the lists of several batches for one stretch, and gives the
// same list the same key however often it is written.
//
// An entry is a hint. It is dropped if the key is gone or will stay, and moves on if
// the key expires later than it says. What must not be is a head on disk that expires
// without an entry at its expiry or before. A slot whose expiry only moved to later
// times since has one already: its record says so (see expiryIndexed), and a session
// that is prolonged with each request costs one entry.
const (
	expirySpread  = 32  // stretches until an expiry
	expiryEntries = 512 // of a list: it is worked off at once
)

// listTime is the time of the list for an expiry, seen at now. Times in the past
// go to the next tick: a past list is not opened again.
func listTime(now, expire int64) int64 {
	left := uint64(max(0, expire-now))
	if left < expirySpread*format.ExpiryTick {
		return int64((uint64(max(expire-1, now)) + format.ExpiryTick) &^ (format.ExpiryTick - 1))
	}
	stretch := int64(1) << (bits.Len64(left/expirySpread) - 1)
	return expire &^ (stretch - 1)
}

// expiryLists gathers entries until they are written.
type expiryLists struct {
	lists map[expiryList]*[]format.Expiring
	last  *[]format.Expiring // the list of lastKey
	key   expiryList
}

type expiryList struct {
	phys uint32
	at   int64
}

// add notes a key that expires.
func (l *expiryLists) add(now int64, phys uint32, hash uint64, expire int64) {
	key := expiryList{phys, listTime(now, expire)}
	if l.last == nil || l.key != key {
		if l.lists == nil {
			l.lists = map[expiryList]*[]format.Expiring{}
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

// write adds the lists to a batch and forgets them. It returns them for note.
func (l *expiryLists) write(s *Store, b *pebble.Batch) ([]expiryList, error) {
	if len(l.lists) == 0 {
		return nil, nil
	}
	var written []expiryList
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
			n := min(len(entries), expiryEntries)
			value = value[:0]
			for _, e := range entries[:n] {
				value = format.AppendExpiring(value, e)
			}
			key = format.AppendExpiryKey(key[:0], at.phys, at.at, s.keys.Hash.Sum(value))
			if err := b.Set(key, value, nil); err != nil {
				return nil, fmt.Errorf("write expiries: %w", err)
			}
			entries = entries[n:]
		}
		written = append(written, at)
	}
	*l = expiryLists{}
	return written, nil
}

// expiryClock knows when the next list of a physical database is due.
type expiryClock struct {
	mu      sync.Mutex
	next    map[uint32]int64 // guarded by mu; not known where there is none
	changes uint64           // calls of note; guarded by mu
}

// due reports whether a list may be due; mark is for set.
func (c *expiryClock) due(phys uint32, now int64) (due bool, mark uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	next, known := c.next[phys]
	return !known || next <= now, c.changes
}

// set keeps when the next list is due, unless lists were written since mark.
func (c *expiryClock) set(phys uint32, next int64, mark uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.changes != mark {
		return
	}
	if c.next == nil {
		c.next = map[uint32]int64{}
	}
	c.next[phys] = next
}

// note is called for lists that are now in Pebble.
func (c *expiryClock) note(written []expiryList) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changes++
	for _, l := range written {
		if next, known := c.next[l.phys]; known && l.at < next {
			c.next[l.phys] = l.at
		}
	}
}

// reset forgets all clocks: the disk has other lists.
func (c *expiryClock) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next = nil
	c.changes++
}

// forget frees the clocks of removed databases.
func (c *expiryClock) forget(phys []uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range phys {
		delete(c.next, p)
	}
}
