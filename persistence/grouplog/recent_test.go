package grouplog

import "testing"

// TestNewestEntriesAreNotReadFromTheDisk asks for entries that are in memory, and for older
// ones.
func TestNewestEntriesAreNotReadFromTheDisk(t *testing.T) {
	d, l := filled(t)
	whole := size(&Entry{Data: chunk(0, 2, 100)})
	l.recent.bound = 4 * whole
	if err := l.Append([]Entry{{Index: 11, Term: 6, Type: Records, Data: chunk(20, 2, 100)}}, nil, false); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		lo, hi, maxBytes uint64
		want, uses       int
	}{
		{8, 12, 1 << 20, 4, 0}, {11, 12, 0, 1, 0}, {8, 12, 0, 1, 0}, {8, 10, 1 << 20, 2, 0}, {7, 12, 1 << 20, 5, 1}, {3, 5, 1 << 20, 2, 1},
	} {
		d.opens = 0
		got, err := l.Entries(c.lo, c.hi, c.maxBytes)
		if err != nil || len(got) != c.want || d.opens != c.uses {
			t.Errorf("entries %d to %d in %d bytes: %d, %v, with %d files opened, want %d with %d",
				c.lo, c.hi, c.maxBytes, len(got), err, d.opens, c.want, c.uses)
		}
		for i, e := range got {
			if e.Index != c.lo+uint64(i) {
				t.Errorf("entries %d to %d: entry %d at %d", c.lo, c.hi, e.Index, i)
			}
		}
	}
	if held := int64(len(l.recent.entries)) * whole; l.recent.bytes != held || held > l.recent.bound {
		t.Errorf("%d bytes are in memory, %d are counted, the bound is %d", held, l.recent.bytes, l.recent.bound)
	}
}

// TestEntryBeyondTheBoundIsNotHeld appends one that is larger than all that memory is for.
func TestEntryBeyondTheBoundIsNotHeld(t *testing.T) {
	d, l := filled(t)
	l.recent.bound = 1000
	if err := l.Append([]Entry{{Index: 11, Term: 6, Type: Records, Data: chunk(20, 1, 2000)}}, nil, false); err != nil {
		t.Fatal(err)
	}
	if n := len(l.recent.entries); n != 0 || l.recent.bytes != 0 {
		t.Errorf("%d entries of %d bytes are in memory", n, l.recent.bytes)
	}
	d.opens = 0
	if got, err := l.Entries(10, 12, 1<<20); err != nil || len(got) != 2 || d.opens != 1 {
		t.Errorf("got %d entries, %v, with %d files opened", len(got), err, d.opens)
	}
}
