package persistence

import (
	"bytes"
	"fmt"
	"testing"
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
