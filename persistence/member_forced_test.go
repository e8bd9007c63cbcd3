package persistence

import (
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/vigildb/vigil/persistence/grouplog"
)

// entriesFrom are n entries without records.
func entriesFrom(index uint64, n int, term uint64) (entries []grouplog.Entry) {
	for i := range n {
		entries = append(entries, grouplog.Entry{Index: index + uint64(i), Term: term, Type: 2})
	}
	return entries
}

// onSync calls a function before the next sync of a file, once.
type onSync struct{ do atomic.Pointer[func()] }

func (d *onSync) MaybeError(op errorfs.Op) error {
	if op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData || op.Kind == errorfs.OpFileSyncTo {
		if f := d.do.Swap(nil); f != nil {
			(*f)()
		}
	}
	return nil
}

func (d *onSync) String() string { return "on sync" }

// What learners of a single voter apply, its device has. So an entry that takes the place of another one counts as
// on the device with the next sync only, one that has begun before not.
func TestReplacedEntriesAreNotForced(t *testing.T) {
	for _, policy := range []SyncPolicy{SyncEverySecond, SyncAlways, SyncNever} {
		disk := &onSync{}
		s := openMemory(t, Options{FS: errorfs.Wrap(vfs.NewMem(), disk), Sync: policy, Replicator: wary{}, IdleAfter: -1, Background: func(Task) {}})
		m, always := s.Member(), policy == SyncAlways
		forced := func(when string, want, underAlways uint64) {
			t.Helper()
			if always {
				want = underAlways
			}
			if got := m.Forced(); got != want {
				t.Errorf("policy %d, %s: the device has entry %d, want %d", policy, when, got, want)
			}
		}
		add := func(entries []grouplog.Entry) {
			t.Helper()
			if err := m.Append(entries, nil); err != nil {
				t.Fatal(err)
			}
		}
		sync := func() {
			t.Helper()
			if err := m.Sync(); err != nil {
				t.Fatal(err)
			}
		}
		forced("new", 0, 0)
		add(entriesFrom(1, 5, 1))
		forced("appended", 0, 5)
		sync()
		forced("synced", 5, 5)
		add(entriesFrom(6, 2, 1))
		forced("appended behind", 5, 7)
		add(entriesFrom(4, 2, 2))
		forced("replaced", 3, 5)
		add(entriesFrom(6, 3, 2))
		sync()
		forced("synced again", 8, 8)

		add(entriesFrom(9, 2, 2))
		if !always { // else it would wait for the sync
			during := func() { add(entriesFrom(3, 4, 3)) }
			disk.do.Store(&during)
			sync()
			if disk.do.Load() != nil {
				t.Fatal("nothing was synced")
			}
			forced("replaced while a sync was under way", 2, 2)
			sync()
			forced("and synced", 6, 6)
		}
		closeStore(t, s)
	}
}
