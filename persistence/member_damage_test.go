package persistence

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/check"
	"github.com/vigildb/vigil/persistence/disktest"
	"github.com/vigildb/vigil/persistence/grouplog"
	"github.com/vigildb/vigil/persistence/log"
	"github.com/vigildb/vigil/persistence/wal"
)

// damagedMember is a member with entries in several segments.
func damagedMember(t *testing.T) (w *world, n *node) {
	t.Helper()
	w, n = lazyWorld(t, 0)
	for i := range 12 {
		n.put(fmt.Sprint(i), strings.Repeat("v", 4000))
		n.share()
		if i == 5 {
			materialise(t, n.s)
		}
	}
	n.must(n.log().SetBoot(grouplog.Boot{Closed: true}))
	return w, n
}

// spoiled returns a copy of a disk with another byte in a segment.
func spoiled(t *testing.T, fs *disktest.Disk, name string, at int64) *disktest.Disk {
	t.Helper()
	c := fs.CrashClone(vfs.CrashCloneCfg{})
	b := disktest.ReadFile(t, c, "db/log/"+name)
	b[at] ^= 1
	disktest.WriteFile(t, c, "db/log/"+name, b)
	return c
}

// A damaged segment of a member is reported with file and offset by a start and a check, and never cut off: the others have what it had.
func TestDamagedLogOfAMemberIsRefused(t *testing.T) {
	w, n := damagedMember(t)
	defer w.close()
	segments := n.log().Files().Segments()
	n.stop() // so that the mark is on the device
	defer n.open()
	if len(segments) < 3 {
		t.Errorf("%d segments", len(segments))
	}
	for _, s := range segments {
		for _, at := range []int64{3, log.HeadBytes + 100, s.Bytes - 1} {
			disk := spoiled(t, n.fs, s.Name, at)
			what := fmt.Sprintf("%s at %d", s.Name, at)
			r, err := check.Run(check.Options{FS: disk, Dir: "db"}, func(string, int64, int64) {})
			if err != nil || r.Sound() || !strings.Contains(fmt.Sprint(r.Damage), "log/"+s.Name) {
				t.Errorf("%s: the check finds %q, %v", what, r.Damage, err)
			}
			o := Options{FS: disk, Dir: "db", Databases: modelDBs, IdleAfter: -1, Replicator: n, Background: func(Task) {}}
			for _, o.Recover = range []Recovery{RecoverNever, RecoverTruncate} {
				_, err = Open(o)
				if d := wal.AsDamage(err); d == nil || d.File != "log/"+s.Name || d.Offset < 0 || d.Offset > at || d.Truncatable {
					t.Errorf("%s: %v", what, err)
				}
			}
		}
	}
}

// A snapshot of a member has its log, and is a member when it is restored, with all that was there.
func TestSnapshotOfAMemberHasItsLog(t *testing.T) {
	w, n := damagedMember(t)
	defer w.close()
	n.must(n.s.Snapshot("copy", nil))
	last := n.last()
	n.put("later", "1")
	n.share()
	o := Options{FS: n.fs, Dir: "restored", Databases: modelDBs}
	if r, err := Restore(o, "copy", func(string, int64, int64) {}); err != nil || !r.Sound() || r.Logs < 2 {
		t.Fatalf("%+v, %v", r, err)
	}
	o.Replicator, o.IdleAfter, o.Background = n, -1, func(Task) {}
	s, err := Open(o)
	n.must(err)
	if _, got := s.Member().Log().Bounds(); got != last {
		t.Errorf("the log ends with entry %d, want %d", got, last)
	}
	entries, err := s.Member().Log().Entries(s.Member().Applied()+1, last+1, 1<<20)
	n.must(errors.Join(err, s.Member().Commit(entries)))
	all(s, 1000, func(tx *Tx) {
		for i := range 12 {
			if b, _, _ := tx.String(fmt.Append(nil, i)); !bytes.Equal(b, bytes.Repeat([]byte("v"), 4000)) {
				t.Errorf("key %d has %d bytes", i, len(b))
			}
		}
	})
	s.Member().Resign()
	closeStore(t, s)
}
