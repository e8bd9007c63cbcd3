package persistence

import (
	"testing"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/grouplog"
	"github.com/vigildb/vigil/persistence/journal"
)

// storeDisk lets a log lie where the journal of a store does.
type storeDisk struct{ *Store }

func (d storeDisk) Reader() *pebble.DB { return d.db }

func (d storeDisk) Apply(b *pebble.Batch, sync bool) error {
	mode := pebble.NoSync
	if sync {
		mode = pebble.Sync
	}
	return d.apply(b, mode)
}

// A chunk of the journal is an entry of the log of a group but for its first bytes, and
// the log writes it as a chunk that a store reads.
func TestEntriesOfAGroupAreChunks(t *testing.T) {
	s := openMemory(t, Options{IdleAfter: -1})
	defer closeStore(t, s)
	l, err := grouplog.Open(storeDisk{s}, format.Group)
	if err != nil {
		t.Fatal(err)
	}
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
	b, closer, err := s.db.Get(format.AppendJournalKey(nil, 1))
	if err != nil {
		t.Fatal(err)
	}
	defer closer.Close()
	first, flags, records, err := format.OpenChunk(b)
	if err != nil || first != c.First || flags != c.Flags || string(records) != string(c.Records()) || b[0] != 7 {
		t.Errorf("chunk with record %d, flags %d, %q, term %d: %v", first, flags, records, b[0], err)
	}
}
