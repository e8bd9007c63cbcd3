package grouplog

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vigildb/vigil/persistence/disktest"
	"github.com/vigildb/vigil/persistence/log"
	"github.com/vigildb/vigil/structures/testscale"
)

// based puts some entries, the first ones of a log, in Pebble, and opens it.
func based(t testing.TB, entries ...Entry) (*memory, *Log) {
	t.Helper()
	d := openMemory(t, disktest.New())
	m := &modelLog{entries: entries, lasts: make([]uint64, len(entries))}
	for i, e := range entries {
		if m.lasts[i] = m.begin.last; i > 0 {
			m.lasts[i] = m.lasts[i-1]
		}
		if e.Type == Records {
			n, err := count(e.Data[dataHeader:])
			if err != nil {
				t.Fatal(err)
			}
			m.lasts[i] += n
		}
		if err := d.db.Set((&Log{group: 3}).entryKey(e.Index), valueOf(t, m, i), pebble.Sync); err != nil {
			t.Fatal(err)
		}
	}
	return d, mustOpen(t, d)
}

// records is an entry with two records.
func records(index, term uint64) Entry {
	return Entry{Index: index, Term: term, Type: Records, Data: chunk(2*(index-1), 2, 100)}
}

// Whatever byte of what Pebble has changes, Open or Entries say so.
func TestDamageIsFound(t *testing.T) {
	var entries []Entry
	for i := range uint64(10) {
		entries = append(entries, records(i+1, 1+i/2))
	}
	d, l := based(t, entries...)
	if err := errors.Join(l.Append(nil, &HardState{Term: 5, Vote: 2, Commit: 6}, true),
		l.Cut(8-2), l.SetBoot(Boot{}), l.SetMembership(Membership{Members: []byte("abc")})); err != nil {
		t.Fatal(err)
	}
	it, err := d.db.NewIter(nil)
	if err != nil {
		t.Fatal(err)
	}
	values := map[string][]byte{}
	for it.First(); it.Valid(); it.Next() {
		values[string(it.Key())] = bytes.Clone(it.Value())
	}
	if err := it.Close(); err != nil || len(values) != 4+3 {
		t.Fatalf("%d values, %v", len(values), err)
	}
	r := rand.New(rand.NewPCG(5, 5))
	for key, v := range values {
		for range 20 {
			bad := bytes.Clone(v)
			if bad[r.IntN(len(bad))] ^= 1 << r.IntN(8); r.IntN(4) == 0 {
				bad = v[:r.IntN(len(v))]
			}
			if err := d.db.Set([]byte(key), bad, nil); err != nil {
				t.Fatal(err)
			}
			if _, err := Open(d, 3, d.config()); !errors.Is(err, ErrCorrupt) {
				t.Errorf("%q with %x in place of %x: got %v", key, bad, v, err)
			}
			if key[0] == prefixEntry {
				if _, err := l.Entries(7, 11, 1<<20); !errors.Is(err, ErrCorrupt) {
					t.Errorf("%q with %x in place of %x: entries: %v", key, bad, v, err)
				}
			}
		}
		if err := d.db.Set([]byte(key), v, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.db.Delete(l.entryKey(8), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(d, 3, d.config()); !errors.Is(err, ErrCorrupt) {
		t.Errorf("without entry 8: %v", err)
	}
}

// So it is with a byte of the segments, which is damage, and told apart from another error.
func TestDamageOfSegmentsIsFound(t *testing.T) {
	d, l := filled(t)
	for i := uint64(11); i < 120; i++ {
		if err := l.Append([]Entry{records(i, 5)}, nil, false); err != nil {
			t.Fatal(err)
		}
	}
	l.recent.drop(len(l.recent.entries)) // what is in memory is not looked up on the disk
	if err := l.Sync(); err != nil {
		t.Fatal(err)
	}
	segments := l.log.Segments()
	if len(segments) < 3 {
		t.Fatalf("%d segments", len(segments))
	}
	r := rand.New(rand.NewPCG(5, 5))
	for range testscale.Rounds(100) {
		s := segments[r.IntN(len(segments))]
		name := fmt.Sprintf("db/log/%s", s.Name)
		sound := disktest.ReadFile(t, d.fs, name)
		bad := bytes.Clone(sound)
		bad[r.Int64N(s.Bytes)] ^= 1 << r.IntN(8)
		disktest.WriteFile(t, d.fs, name, bad)
		if _, err := View(d.db, 3, d.config()); log.AsDamage(err) == nil {
			t.Errorf("%s: %v", name, err)
		}
		_, err := l.Entries(1, 120, 1<<20)
		if log.AsDamage(err) == nil && bytes.Equal(bad[log.HeadBytes:], sound[log.HeadBytes:]) != (err == nil) {
			t.Errorf("%s: entries: %v", name, err)
		}
		disktest.WriteFile(t, d.fs, name, sound)
	}
	if _, err := View(d.db, 3, d.config()); err != nil {
		t.Error(err)
	}
}

// Entries that are missing are noticed also where no record tells it, and at the end.
func TestMissingEntriesAreFound(t *testing.T) {
	for index := range uint64(3) {
		d, l := based(t, Entry{Index: 1, Term: 1, Type: 2}, Entry{Index: 2, Term: 1, Type: 2}, Entry{Index: 3, Term: 1, Type: 2})
		if err := l.Append(nil, &HardState{Term: 1, Commit: index / 2 * 3}, true); err != nil {
			t.Fatal(err)
		}
		if err := d.db.Delete(l.entryKey(index+1), nil); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(d, 3, d.config()); !errors.Is(err, ErrCorrupt) {
			t.Errorf("without entry %d: %v", index+1, err)
		}
	}
}

// What frames say that no correct engine has written is refused.
func TestFramesThatDoNotFollowAreRefused(t *testing.T) {
	frame := func(e Entry, last uint64) []byte {
		head, data, _, err := encode(&e, last)
		if err != nil {
			t.Fatal(err)
		}
		return append(head, data...)
	}
	for what, f := range map[string]struct {
		kind byte
		b    []byte
	}{
		"a gap":                {kindEntry, frame(records(12, 5), 22)},
		"a committed entry":    {kindEntry, frame(records(6, 5), 10)},
		"a lower term":         {kindEntry, frame(records(11, 4), 20)},
		"records twice":        {kindEntry, frame(records(10, 5), 18)[:8+header]},
		"a damaged entry":      {kindEntry, append(frame(records(11, 5), 20), 1)},
		"no entry":             {kindEntry, []byte("abc")},
		"half of an entry":     {kindEntry, frame(records(11, 5), 20)[:20]},
		"a lower term of all":  {kindState, HardState{Term: 4, Vote: 2, Commit: 6}.append(nil)},
		"another vote":         {kindState, HardState{Term: 5, Vote: 3, Commit: 6}.append(nil)},
		"a commit taken back":  {kindState, HardState{Term: 5, Vote: 2, Commit: 5}.append(nil)},
		"a commit of nothing":  {kindState, HardState{Term: 5, Vote: 2, Commit: 11}.append(nil)},
		"half of a state":      {kindState, []byte("abc")},
		"something else":       {3, []byte("abc")},
		"a record before that": {kindEntry, frame(records(11, 5), 20)[1:]},
	} {
		d, l := filled(t)
		if _, err := l.log.Append(f.kind, f.b); err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(d, 3, d.config()); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
