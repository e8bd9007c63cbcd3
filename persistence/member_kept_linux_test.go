package persistence

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/tail"
)

// A tail that the system cannot back any more is made anew at once, and what was in it is on the device before anything else is.
func TestMemberOutlivesABrokenTail(t *testing.T) {
	dir := t.TempDir()
	refuse, died := false, []byte(nil)
	w, leader := lazyWorld(t, func(n *node) {
		n.mapTail = func(path string, size int) (tail.Memory, error) {
			if refuse {
				return nil, fs.ErrPermission
			}
			if died != nil && size == 0 { // as it was when the process died
				if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(n.id)), died, 0o600); err != nil {
					return nil, err
				}
			}
			return tail.Map(filepath.Join(dir, fmt.Sprint(n.id)), size)
		}
	})
	defer w.close()
	m := leader.s.Member()
	leader.put("a", "1")
	leader.share()
	for i, c := range []struct {
		refuse bool
		rooms  int
	}{{false, 1}, {true, 0}} {
		refuse = c.refuse
		leader.must(os.Truncate(filepath.Join(dir, fmt.Sprint(leader.id)), 0))
		leader.put("a", fmt.Sprint("broken ", i))
		leader.share()
		leader.put("b", fmt.Sprint("later ", i))
		leader.share()
		if len(m.kept.rooms) != c.rooms || m.kept.broken() != c.refuse {
			t.Errorf("%d runs, broken %v, want %d and %v", len(m.kept.rooms), m.kept.broken(), c.rooms, c.refuse)
		}
		if forced := m.Forced(); c.refuse && forced != leader.last() {
			t.Errorf("without a tail the device has %d entries of %d", forced, leader.last())
		}
	}
	refuse = false
	leader.commit.Step(true)
	leader.put("a", "2")
	leader.share()
	if m.kept.broken() || len(m.kept.rooms) != 1 {
		t.Errorf("the tail is not made anew: broken %v, %d runs", m.kept.broken(), len(m.kept.rooms))
	}
	last := leader.last()
	var err error
	died, err = os.ReadFile(filepath.Join(dir, fmt.Sprint(leader.id)))
	leader.must(err)
	leader.replace(leader.fs.CrashClone(vfs.CrashCloneCfg{}))
	if leader.last() != last {
		t.Errorf("%d entries of %d", leader.last(), last)
	}
}
