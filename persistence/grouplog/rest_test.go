package grouplog

import (
	"errors"
	"testing"
)

// What values on disk contain is committed after a restart, whether the state was written
// since or not; without its entries the log is damaged.
func TestWhatValuesRestOnIsCommitted(t *testing.T) {
	for rests, want := range map[uint64]uint64{3: 6, 15: 8, 20: 10, 21: 0} {
		d, l := filled(t)
		if err := l.Sync(); err != nil {
			t.Fatal(err)
		}
		b := d.db.NewBatch()
		if err := errors.Join(l.Rest(b, rests), d.Apply(b)); err != nil {
			t.Fatal(err)
		}
		again, err := Open(d, 3, d.config())
		switch {
		case want == 0:
			if !errors.Is(err, ErrCorrupt) {
				t.Errorf("resting on record %d: got %v", rests, err)
			}
		case err != nil:
			t.Errorf("resting on record %d: %v", rests, err)
		case again.State().Commit != want:
			t.Errorf("resting on record %d: entry %d is committed, want %d", rests, again.State().Commit, want)
		}
	}
}
