package persistence

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/vigildb/vigil/persistence/disktest"
)

// The unsynced keys are told whatever their records are like: small, many in a
// chunk, of several databases, or so big that they are written in pieces.
func TestDoubtKnowsTheKeysOfAllRecords(t *testing.T) {
	s := openMemory(t, Options{Sync: SyncAlways, IdleAfter: -1, Background: func(Task) {}}) // nothing is written
	defer closeStore(t, s)
	var changed []string
	note := func(db int, key string, size int) {
		all(s, 1, func(tx *Tx) {
			tx.Select(db)
			tx.SetString([]byte(key), bytes.Repeat([]byte("v"), size), NoExpiry)
		})
		changed = append(changed, key)
	}
	for i := range 3000 {
		note(i%3, fmt.Sprint("small", i), 50)
	}
	note(0, "big", 3*bigRecord)
	note(1, "behind", 1)
	c := &committer{s: s, due: s.journal.Take(nil, true)}
	c.findUnsynced()
	d, newest := s.seen.unsynced.Load(), s.journal.Newest()
	for _, key := range changed {
		if d.excludes(s.Hash([]byte(key)), newest) {
			t.Fatalf("%s is not unsynced", key)
		}
	}
	if other := s.Hash([]byte("other")); !d.excludes(other, newest) || d.excludes(other, newest+1) {
		t.Error("a key that no record changed is unsynced, or one that a later record may have changed is not")
	}
	s.seen.unsynced.Store(nil)
	c.step(false, true) // write the chunks, for Close
}

// What is journalled while the disk is failing, by calls that were under way, makes no other key of its class unreadable for as
// long as that lasts.
func TestDoubtKnowsTheKeysOfRecordsThatCameDuringTheFailure(t *testing.T) {
	disk := newFailingDisk(disktest.New(), faultSync, -1, false)
	s := openMemory(t, Options{FS: disk, Sync: SyncAlways, IdleAfter: -1, Background: func(Task) {}})
	set := func(key string) {
		all(s, 1, func(tx *Tx) { tx.SetString([]byte(key), []byte("v"), NoExpiry) })
	}
	c := &committer{s: s, logged: s.journal.Newest()}
	set("before")
	disk.arm(1)
	if c.step(false, false); s.files.Disk.Err() == nil {
		t.Fatal("the disk did not fail")
	}
	set("amid")
	disk.arm(1)
	c.step(false, false)
	d, newest := s.seen.unsynced.Load(), s.journal.Newest()
	for key, want := range map[string]bool{"before": false, "amid": false, "other": true} {
		if got := d.excludes(s.Hash([]byte(key)), newest); got != want {
			t.Errorf("%s can be read: %v, want %v", key, got, want)
		}
	}
	disk.heal()
	c.step(true, false)
	if c.step(true, true); s.Synced() != newest {
		t.Errorf("record %d of %d is on the device when the disk works", s.Synced(), newest)
	}
	closeStore(t, s)
}
