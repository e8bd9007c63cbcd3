package chunklog

import (
	"errors"
	"fmt"
	"maps"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/vigildb/vigil/persistence/disktest"
	"github.com/vigildb/vigil/persistence/log"
)

// wantNoted checks that the chunks that the device has are claimed to the last byte, and no others: if that byte is
// wrong, it is damage.
func (w *world) wantNoted(when string) {
	w.t.Helper()
	end := w.log.Log.Synced()
	if want := map[uint64]int64{end.Segment: end.Offset}; !maps.Equal(w.noted, want) {
		w.t.Errorf("%s: noted is %v, want %v", when, w.noted, want)
	}
}

// Opening, syncing, repairing and closing a log notes how much is on the device, before the call returns. A flush notes
// nothing.
func TestWhatTheDeviceHasIsNoted(t *testing.T) {
	w := newWorld(t, 1)
	for i := range 30 {
		before := maps.Clone(w.noted)
		w.append([]int{700, 3000, 20000}[i%3])
		if err := w.log.Flush(); err != nil {
			t.Fatal(err)
		}
		// A segment that is full is synced when the next one is made, without a word.
		if !maps.Equal(w.noted, before) {
			t.Errorf("chunk %d: a flush notes %v", i+1, w.noted)
		}
		w.sync()
		w.wantNoted(fmt.Sprintf("chunk %d is synced", i+1))
	}
	w.append(10)
	if err := w.log.Flush(); err != nil {
		t.Fatal(err)
	}
	w.append(10) // which the sync does not see
	if err := w.log.Sync(); err != nil {
		t.Fatal(err)
	}
	w.wantNoted("a chunk is synced, and one is in memory")
	if err := w.log.Close(); err != nil {
		t.Fatal(err)
	}
	w.wantNoted("the log is closed")
	clear(w.noted)
	w.open() // whose claim is lost
	w.wantNoted("the log is opened again")
	end := w.log.Log.End()
	if err := w.log.Close(); err != nil {
		t.Fatal(err)
	}
	w.spoiled(fmt.Sprintf("db/log/%010d", end.Segment), end.Offset-1, func() {
		if _, err := View(w.config()); log.AsDamage(err) == nil {
			t.Errorf("the last byte is wrong: %v", err)
		}
		clear(w.noted)
		if _, err := View(w.config()); err != nil {
			t.Errorf("the last byte is wrong, and nothing claims that the device had it: %v", err)
		}
	})
}

// Whatever operation fails, what is not on the device is not noted, and once the disk works Repair has all of it there.
func TestRepairBringsAllToTheDevice(t *testing.T) {
	for k := 1; ; k++ {
		w := newWorld(t, 1)
		if err := w.log.Close(); err != nil {
			t.Fatal(err)
		}
		cfg, fault := w.config(), &disktest.FailAt{Writes: true}
		cfg.FS = errorfs.Wrap(w.disk, fault)
		l, err := Open(cfg)
		if err != nil {
			t.Fatal(err)
		}
		w.log, fault.Left = l, k
		failed := false
		for range 12 {
			w.append([]int{3000, 20000}[w.r.IntN(8)/7])
			err := l.Flush()
			if err == nil {
				err = l.Sync()
			}
			if err != nil {
				failed = true
				if !errors.Is(err, disktest.ErrDisk) || log.AsDamage(err) != nil {
					t.Errorf("operation %d: %v", k, err)
				}
				crashed := *w
				crashed.disk, crashed.noted = w.disk.CrashClone(vfs.CrashCloneCfg{}), maps.Clone(w.noted)
				crashed.open()
				if last := crashed.check(crashed.log, 1); last < w.synced {
					t.Errorf("operation %d: %d chunks are left of %d", k, last, w.synced)
				}
				if err := crashed.log.Close(); err != nil {
					t.Fatal(err)
				}
				if err := l.Repair(); err != nil {
					t.Fatalf("operation %d: %v", k, err)
				}
			}
			w.synced = len(w.records)
			w.wantNoted(fmt.Sprintf("operation %d", k))
		}
		w.restart(0)
		if w.synced != 12 {
			t.Errorf("operation %d: %d chunks are on the device, want 12", k, w.synced)
		}
		if err := w.log.Close(); err != nil {
			t.Fatal(err)
		}
		if fault.Left > 0 {
			if k < 20 || failed {
				t.Errorf("only %d operations were failed", k-1)
			}
			return
		}
	}
}

// The end of the journal is found where the last segment has nothing yet: a crash came before its first chunk was synced.
func TestLastPassesOverAnEmptySegment(t *testing.T) {
	w := newWorld(t, 1)
	if end, err := w.log.Last(); err != nil || end.Index != 0 || end.LSN != 0 {
		t.Errorf("an empty log ends with %+v: %v", end, err)
	}
	for w.log.Log.End().Segment < 2 {
		w.sync()
		w.append(3000)
		if err := w.log.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	last := w.synced
	w.restart(0)
	segments := w.log.Log.Segments()
	if n := len(segments); n != 2 || segments[n-1].Bytes != log.HeadBytes {
		t.Fatalf("segments are %+v, want a second one that is empty", segments)
	}
	if end, err := w.log.Last(); err != nil || int(end.Index) != last || int(end.LSN) != last {
		t.Errorf("the log ends with %+v, want %d: %v", end, last, err)
	}
	if err := w.log.Close(); err != nil {
		t.Fatal(err)
	}
}

// Viewing a log makes no directory, cuts no torn end, and removes no useless files.
func TestViewChangesNothing(t *testing.T) {
	w := newWorld(t, 1)
	for range 30 {
		w.append(3000)
		w.sync()
	}
	w.trimmed, w.from = 20, w.files[20]
	if err := w.log.Trim(w.from); err != nil {
		t.Fatal(err)
	}
	w.append(5000)
	if err := w.log.Flush(); err != nil {
		t.Fatal(err)
	}
	disk, noted := w.disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 50, RNG: w.r}), maps.Clone(w.noted)
	if err := w.log.Close(); err != nil {
		t.Fatal(err)
	}
	w.disk, w.noted = disk, noted
	before := filesOf(t, disk)
	cfg := w.config()
	writes := &disktest.FailAt{Left: 1, Writes: true}
	cfg.FS = errorfs.Wrap(disk, writes)
	l, err := View(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if last := w.check(l, 1); last < 30 {
		t.Errorf("the log ends with %d", last)
	}
	if err := errors.Join(l.Verify(), l.Close()); err != nil {
		t.Error(err)
	}
	if after := filesOf(t, disk); !maps.Equal(after, before) || writes.Left != 1 {
		t.Errorf("%d files became %d, or others", len(before), len(after))
	}
	cfg.Dir, cfg.From, cfg.Synced = "none", 0, nil
	if l, err = View(cfg); err != nil {
		t.Fatal(err)
	}
	if last := w.check(l, 1); last != 0 || writes.Left != 1 {
		t.Errorf("a log that is not there has %d chunks", last)
	}
}

func filesOf(t *testing.T, disk *disktest.Disk) map[string]string {
	t.Helper()
	names, err := disk.List("db/log")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, name := range names {
		files[name] = string(disktest.ReadFile(t, disk, "db/log/"+name))
	}
	return files
}

// What is pinned is there until it is released, though it was trimmed.
func TestTrimWaitsForPins(t *testing.T) {
	w := newWorld(t, 1)
	for range 20 {
		w.append(3000)
	}
	w.sync()
	release := w.log.Pin()
	files, _ := w.log.Size()
	if err := w.log.Trim(w.files[19]); err != nil {
		t.Fatal(err)
	}
	if n, _ := w.log.Size(); n != files || w.check(w.log, 1) != 20 {
		t.Errorf("%d of %d files are left", n, files)
	}
	release()
	if n, _ := w.log.Size(); n != 1 {
		t.Errorf("%d files are left, want the last one", n)
	}
	if err := w.log.Close(); err != nil {
		t.Fatal(err)
	}
}
