package persistence

import (
	"context"
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/disktest"
	"github.com/vigildb/vigil/persistence/format"
)

// changeTexts has a text of each kind set, another one replaced and a third one removed, in the second of two rounds.
func changeTexts(s *Store, round int) uint64 {
	return all(s, 1, func(tx *Tx) {
		for op := byte(format.OpLibrary); op <= format.OpMove; op++ {
			if round == 1 {
				tx.Texts(TextKind(op)).Set("goes", "old")
				tx.Texts(TextKind(op)).Set("changes", "old")
				tx.Texts(TextKind(op)).Set("stays", "old")
				continue
			}
			tx.Texts(TextKind(op)).Delete("goes")
			tx.Texts(TextKind(op)).Set("changes", "new")
			tx.Texts(TextKind(op)).Set("comes", "new")
		}
	})
}

// What a cut of the journal could not write, the next one does: a start finds all texts of every kind, whichever operation
// of the cut has failed.
func TestTextsSurviveACutThatFails(t *testing.T) {
	for _, fault := range []diskFault{faultFull, faultSync} { // nothing of the batch, or all of it, comes to the disk
		failed := 0
		for k := 1; cutTexts(t, fault, k) != nil && !t.Failed(); k++ {
			failed++
		}
		if failed == 0 {
			t.Errorf("%v: no cut failed", fault)
		}
	}
}

// cutTexts has an operation of a cut fail from the k-th on, and returns the error of the cut.
func cutTexts(t *testing.T, fault diskFault, k int) (failure error) {
	t.Helper()
	mem := disktest.New()
	disk := newFailingDisk(mem, fault, -1, true)
	p := newPump()
	s := openMemory(t, Options{FS: disk, Sync: SyncAlways, IdleAfter: -1, Background: p.run})
	for round := 1; round <= 2; round++ {
		if err := s.commits.WaitDurable(changeTexts(s, round)); err != nil {
			t.Fatal(err)
		}
		if round == 1 {
			materialise(t, s)
		}
	}
	disk.arm(k)
	failure = s.passes.Materialise(context.Background())
	if disk.heal(); failure != nil {
		p.second("commit")
		p.second("commit")
		materialise(t, s)
	}
	clone := mem.CrashClone(vfs.CrashCloneCfg{})
	close(p.stop)
	closeStore(t, s)
	s = openMemory(t, Options{FS: clone, IdleAfter: -1})
	for op := byte(format.OpLibrary); op <= format.OpMove; op++ {
		l := s.catalog.Of(op)
		wantTexts(t, fmt.Sprintf("%s, %v at operation %d: %v", l.What, fault, k, failure), l.Copy(),
			map[string]string{"changes": "new", "stays": "old", "comes": "new"})
	}
	closeStore(t, s)
	return failure
}
