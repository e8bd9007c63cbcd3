package passes

import "testing"

// A lull lasts since the newest record was first seen, whatever the clock says before.
func TestLullBeginsAnewWithEachRecord(t *testing.T) {
	l := lull{lsn: 5, since: 100}
	for _, step := range []struct {
		lsn       uint64
		now, want int64
	}{{5, 100, 0}, {5, 1100, 1000}, {6, 1200, 0}, {6, 1300, 100}, {8, 1300, 0}, {8, 9300, 8000}} {
		if got := l.lasts(step.lsn, step.now); got != step.want {
			t.Errorf("record %d at %d: %d, want %d", step.lsn, step.now, got, step.want)
		}
	}
}
