package persistence

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"
)

// expiryOwners are the keys that the lists of heads which expire name, 12 bytes
// each, sorted when they are all there.
type expiryOwners []expiryOwner

type expiryOwner struct {
	phys uint32
	hash uint64
}

func (a expiryOwner) compare(b expiryOwner) int {
	switch {
	case a.phys != b.phys:
		return int(int64(a.phys) - int64(b.phys))
	case a.hash < b.hash:
		return -1
	case a.hash > b.hash:
		return 1
	}
	return 0
}

// expiries checks the lists, and keeps whom they name for heads.
func (c *checker) expiries(it *pebble.Iterator) error {
	for it.First(); it.Valid(); it.Next() {
		k, v := it.Key(), it.Value()
		if _, err := expiryTime(k); err != nil {
			c.report.found("%v", err)
			continue
		}
		phys, sum := binary.BigEndian.Uint32(k[groupKeyFixed:]), binary.BigEndian.Uint64(k[expiryKeyFixed-8:])
		if len(v)%expiryEntry != 0 || c.s.keys.hash.Sum(v) != sum {
			c.report.found("list of %d bytes of heads that expire: its sum is wrong", len(v))
			continue
		}
		for ; len(v) > 0; v = v[expiryEntry:] {
			c.owners = append(c.owners, expiryOwner{phys, binary.LittleEndian.Uint64(v)})
		}
	}
	slices.SortFunc(c.owners, expiryOwner.compare)
	return nil
}

// listed checks that a head which expires will be found when its time comes. What
// the journal changed since may have left its list already.
func (c *checker) listed(phys uint32, hash uint64, h *head) error {
	if h.expire == 0 || c.remapped {
		return nil
	}
	if _, ok := c.touched[hash]; ok {
		return nil
	}
	if _, ok := slices.BinarySearchFunc(c.owners, expiryOwner{phys, hash}, expiryOwner.compare); !ok {
		return fmt.Errorf("it expires, but no list of heads that expire names it")
	}
	return nil
}
