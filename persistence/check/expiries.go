package check

import (
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vigildb/vigil/persistence/format"
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
		phys, _, sum, err := format.SplitExpiryKey(k)
		if err != nil {
			c.report.found("%v", err)
			continue
		}
		list, err := format.DecodeExpiring(nil, v)
		if err != nil || c.keys.Hash.Sum(v) != sum {
			c.report.found("list of %d bytes of heads that expire: its sum is wrong", len(v))
			continue
		}
		for _, e := range list {
			c.owners = append(c.owners, expiryOwner{phys, e.Hash})
		}
	}
	slices.SortFunc(c.owners, expiryOwner.compare)
	return nil
}

// listed checks that a head which expires will be found when its time comes. What
// the journal changed since may have left its list already.
func (c *checker) listed(phys uint32, hash uint64, h *format.Head) error {
	if h.Expire == 0 || c.remapped {
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
