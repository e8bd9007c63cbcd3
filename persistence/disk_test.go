package persistence

import (
	"errors"
	"fmt"
	"testing"

	"github.com/vigildb/vigil/persistence/format"
)

// Files have keys of one kind each, so that chunks of the journal are not written again
// with the values beside them.
func TestFilesHaveKeysOfOneKind(t *testing.T) {
	s := openMemory(t, Options{Sync: SyncAlways, IdleAfter: -1})
	defer closeStore(t, s)
	kinds := map[byte]int{}
	for round := range 2 {
		for i := range 100 {
			key := fmt.Appendf(nil, "%d:%d", round, i)
			all(s, 1, func(tx *Tx) { tx.SetString(key, make([]byte, 1000), NoExpiry) })
		}
		if round == 0 {
			if err := s.passes.Materialise(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(s.commits.WaitDurable(s.commits.Journal.Newest()), s.files.Disk.DB.Flush()); err != nil {
			t.Fatal(err)
		}
	}
	levels, err := s.files.Disk.DB.SSTables()
	if err != nil {
		t.Fatal(err)
	}
	for _, tables := range levels {
		for _, f := range tables {
			first, last := f.Smallest.UserKey[0], f.Largest.UserKey[0]
			if exclusive := f.Largest.IsExclusiveSentinel() && last == first+1; first != last && !exclusive {
				t.Errorf("file %s has keys of %q to %q", f.FileNum, first, last)
			}
			kinds[first]++
		}
	}
	if kinds[format.PrefixCount] == 0 || kinds[format.PrefixHead] == 0 {
		t.Errorf("files by kind are %v, want some of counts and of heads", kinds)
	}
}
