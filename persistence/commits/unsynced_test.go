package commits

import (
	"bytes"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/vigildb/vigil/persistence/disktest"
	"github.com/vigildb/vigil/persistence/journal"
)

// The unsynced keys are told whatever their records are like: small, many in a
// chunk, of several databases, or so big that they are written in pieces.
func TestDoubtKnowsTheKeysOfAllRecords(t *testing.T) {
	s := newRig(t, disktest.New(), journal.SyncAlways)
	var changed []string
	note := func(db int, key string, size int) {
		s.set(uint32(db), key, bytes.Repeat([]byte("v"), size))
		changed = append(changed, key)
	}
	for i := range 3000 {
		note(i%3, fmt.Sprint("small", i), 50)
	}
	note(0, "big", 3*journal.BigRecord)
	note(1, "behind", 1)
	c := s.committer
	c.due = s.Journal.Take(nil, true)
	c.findUnsynced()
	d, newest := s.Seen.unsynced.Load(), s.Journal.Newest()
	for _, key := range changed {
		if d.excludes(hash([]byte(key)), newest) {
			t.Fatalf("%s is not unsynced", key)
		}
	}
	if other := hash([]byte("other")); !d.excludes(other, newest) || d.excludes(other, newest+1) {
		t.Error("a key that no record changed is unsynced, or one that a later record may have changed is not")
	}
	s.Seen.unsynced.Store(nil)
	c.step(false, true) // write the chunks, for Close
}

// What is journalled while the disk is failing, by calls that were under way, makes no other key of its class unreadable for as
// long as that lasts.
func TestDoubtKnowsTheKeysOfRecordsThatCameDuringTheFailure(t *testing.T) {
	var broken atomic.Bool
	disk := errorfs.Wrap(disktest.New(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if broken.Load() && op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			return errors.New("broken")
		}
		return nil
	}))
	s := newRig(t, disk, journal.SyncAlways)
	set := func(key string) { s.set(0, key, []byte("v")) }
	c := s.committer
	set("before")
	broken.Store(true)
	if c.step(false, false); s.Files.Disk.Err() == nil {
		t.Fatal("the disk did not fail")
	}
	set("amid")
	c.step(false, false)
	d, newest := s.Seen.unsynced.Load(), s.Journal.Newest()
	for key, want := range map[string]bool{"before": false, "amid": false, "other": true} {
		if got := d.excludes(hash([]byte(key)), newest); got != want {
			t.Errorf("%s can be read: %v, want %v", key, got, want)
		}
	}
	broken.Store(false)
	c.step(true, false)
	if c.step(true, true); s.Synced() != newest {
		t.Errorf("record %d of %d is on the device when the disk works", s.Synced(), newest)
	}
}
