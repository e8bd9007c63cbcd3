package persistence

import (
	"maps"
	"slices"
	"testing"

	"github.com/vigildb/vigil/structures/testscale"
)

// unreadable makes changes to a value that make puts on a failing disk, none of which pages
// is in memory, while one read fails: the first, then the second and so on, until all that
// a change needs were read. A change that fails must leave no record and the value as it
// was, which want looks at then and after a start.
func unreadable(t *testing.T, make func(*testing.T) (*Store, *failingDisk), changes map[string]func(tx *Tx), want func(t *testing.T, tx *Tx)) {
	t.Helper()
	for _, name := range testscale.Some(slices.Sorted(maps.Keys(changes))) {
		t.Run(name, func(t *testing.T) {
			for fault := 1; failsWell(t, make, changes[name], want, fault); fault += testscale.By {
				if fault > 12 {
					fault += fault / 2 // those that need many are alike
				}
			}
		})
	}
}

// failsWell is unreadable for one read. It returns false if the change does not need it.
func failsWell(t *testing.T, make func(*testing.T) (*Store, *failingDisk), change func(tx *Tx), want func(t *testing.T, tx *Tx), fault int) bool {
	t.Helper()
	s, disk := make(t)
	disk.arm(fault)
	var failed error
	lsn := all(s, 1, func(tx *Tx) { change(tx); failed = tx.Err() })
	disk.mend(t, s)
	if failed == nil {
		if fault == 1 {
			t.Error("needs no page")
		}
		closeStore(t, s)
		return false
	}
	if lsn > 0 {
		t.Errorf("read %d: record %d, error %v; want no record, and an error", fault, lsn, failed)
	}
	for range 2 {
		all(s, 1, func(tx *Tx) {
			if want(t, tx); tx.Err() != nil {
				t.Errorf("read %d: %v", fault, tx.Err())
			}
		})
		closeStore(t, s)
		s = openUnread(t, disk)
	}
	closeStore(t, s)
	return true
}
