package persistence

import (
	"testing"

	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/grouplog"
	"github.com/vigildb/vigil/persistence/journal"
)

// A chunk of the journal is an entry of the log of a group but for its first bytes, and
// the log writes it as a chunk that a store reads.
func TestEntriesOfAGroupAreChunks(t *testing.T) {
	s := openMemory(t, Options{IdleAfter: -1, Replicator: wary{}})
	defer closeStore(t, s)
	l := s.member.Log()
	var j journal.Journal
	j.Init()
	for _, rec := range []string{"one", "two", "three"} {
		j.Append([]byte(rec), 0)
	}
	c := j.Take(nil, true)[0]
	format.SealChunk(c.Bytes(), c.First, c.Flags)
	e := grouplog.Entry{Index: 1, Term: 7, Type: grouplog.Records, Data: c.Bytes()[9:]}
	if err := l.Append([]grouplog.Entry{e}, nil, true); err != nil {
		t.Fatal(err)
	}
	if last, err := l.LastRecord(1); err != nil || last != c.Last {
		t.Errorf("the last record is %d, %v, want %d", last, err, c.Last)
	}
	r, err := l.Read(1, 2)
	if err != nil {
		t.Fatal(err)
	}
	if more, err := r.Next(); err != nil || !more {
		t.Fatalf("%v, %v", more, err)
	}
	b, err := r.Value()
	if err != nil {
		t.Fatal(err)
	}
	got := format.Chunk{Bytes: b, Index: r.Index(), Own: r.Own()} // as package replay makes it
	records, err := got.Open()
	if err != nil || got.First != c.First || got.Apart() != (c.Flags&format.ChunkApart != 0) || string(records) != string(c.Records()) || got.Bytes[0] != 7 {
		t.Errorf("chunk with record %d, %q, term %d: %v", got.First, records, got.Bytes[0], err)
	}
	if more, err := r.Next(); err != nil || more {
		t.Errorf("a chunk follows: %v, %v", more, err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}
