package persistence

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// numbered writes records, each of which gives the key its own number, and returns the number of the last. Some make chunks
// of their own, some share one, and some have a segment for themselves.
func numbered(t *testing.T, s *Store, from, to int) (last uint64) {
	t.Helper()
	for i := from; i <= to; i++ {
		fill := 10
		if i%17 == 0 {
			fill = 6 << 10
		}
		if i%41 == 0 {
			fill = 20 << 10
		}
		next := s.commits.Journal.Newest() + 1
		last = all(s, 1, func(tx *Tx) {
			tx.SetString([]byte("k"), []byte(fmt.Sprintf("%d %s", next, strings.Repeat("x", fill))), NoExpiry)
		})
		if i%5 == 0 {
			if err := s.commits.WaitDurable(last); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := s.commits.WaitDurable(last); err != nil {
		t.Fatal(err)
	}
	return last
}

func numberIn(t *testing.T, s *Store) (n uint64) {
	t.Helper()
	all(s, 1, func(tx *Tx) {
		v, _, err := tx.String([]byte("k"))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Sscan(string(v), &n)
	})
	return n
}

// TestCompletedStoreEndsWithTheRecord cuts the log of a store behind each of its records: the store opens, has what that record made
// and nothing later, and goes on.
func TestCompletedStoreEndsWithTheRecord(t *testing.T) {
	fsys := vfs.NewMem()
	o := Options{FS: fsys, IdleAfter: -1, SegmentBytes: 8 << 10}
	s := openMemory(t, o)
	base := numbered(t, s, 1, 20)
	materialise(t, s)
	last := numbered(t, s, 21, 120)
	closeStore(t, s)
	if last-base < 90 {
		t.Fatalf("records %d to %d", base, last)
	}
	for lsn := base; lsn <= last+1; lsn++ {
		dir := fmt.Sprintf("copy%d", lsn)
		if ok, err := vfs.Clone(fsys, fsys, "db", dir); err != nil || !ok {
			t.Fatal(ok, err)
		}
		to := lsn
		if lsn > last {
			to = 0 // all
		}
		o := o
		o.Dir = dir
		if r, err := Complete(o, to, func(string, int64, int64) {}); err != nil {
			t.Fatalf("record %d: %v, %+v", lsn, err, r)
		}
		s, err := Open(o)
		if err != nil {
			t.Fatalf("record %d: %v", lsn, err)
		}
		if got := numberIn(t, s); got != min(lsn, last) {
			t.Errorf("cut behind record %d: the key has what record %d made", lsn, got)
		}
		numbered(t, s, 1, 3)
		closeStore(t, s)
	}
}

// TestCompletedStoreKeepsWhatValuesHold: a store does not get values that are newer than the rest.
func TestCompletedStoreKeepsWhatValuesHold(t *testing.T) {
	fsys := vfs.NewMem()
	o := Options{FS: fsys, IdleAfter: -1}
	s := openMemory(t, o)
	last := numbered(t, s, 1, 9)
	materialise(t, s)
	closeStore(t, s)
	o.Dir = "db"
	if _, err := Complete(o, last-1, func(string, int64, int64) {}); err == nil || !strings.Contains(err.Error(), "values hold changes up to record") {
		t.Errorf("cut behind record %d of %d, which are in values: %v", last-1, last, err)
	}
}
