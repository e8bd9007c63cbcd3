package persistence

import (
	"context"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/keyspace"
	"github.com/vigildb/vigil/persistence/writeback"
	"github.com/vigildb/vigil/structures"
)

type kindOf = structures.Kind

func openMemory(t testing.TB, o Options) *Store {
	t.Helper()
	if o.FS == nil {
		o.FS = vfs.NewMem()
	}
	o.Dir = "db"
	s, err := Open(o)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	return s
}

func closeStore(t testing.TB, s *Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatalf("close: %v", err)
	}
}

// all runs f in a transaction that holds every shard. It returns the number of the
// record, 0 if there is none; one that holds expired keys only counts too.
func all(s *Store, now int64, f func(tx *Tx)) uint64 {
	var set Shards
	set.AddAll()
	tx := s.NewTx()
	tx.Lock(&set, now)
	before := s.commits.Journal.Newest()
	f(tx)
	tx.Commit()
	lsn := s.commits.Journal.Newest()
	tx.Unlock()
	if lsn == before {
		return 0
	}
	return lsn
}

func materialise(t testing.TB, s *Store) {
	t.Helper()
	if err := s.passes.Materialise(context.Background()); err != nil {
		t.Fatalf("materialise: %v", err)
	}
}

// stageParts has the pages of each value of several be staged and moved one by one.
func stageParts(s *Store) {
	resize(s, func(z *writeback.Sizes) { z.Part, z.Stage, z.Move = 1, 0, 1 })
}

// resize changes how much passes do at a time.
func resize(s *Store, change func(z *writeback.Sizes)) {
	s.writer.Lock()
	defer s.writer.Unlock()
	z := s.writer.Sizes()
	change(&z)
	s.writer.Resize(z)
}

// step is a step of a pass over a table. The writeback is locked.
func step(t testing.TB, s *Store, shard int, of *keyspace.Table, cursor uint64) (next uint64, more bool) {
	t.Helper()
	next, more, err := s.writer.Step(shard, of, cursor)
	if err != nil {
		t.Fatal(err)
	}
	return next, more
}
