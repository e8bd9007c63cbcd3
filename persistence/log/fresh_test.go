package log

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/disktest"
)

// A log that begins anew has a segment with the number that was given for it, whether the system has removed those before
// or not, and what these held is not read.
func TestAFreshLogBeginsWithItsOwnSegment(t *testing.T) {
	disk := disktest.New()
	cfg := small(disk)
	l := mustOpen(t, cfg)
	for i := range 30 {
		put(t, l, text(i, 2000))
	}
	former := l.End().Segment
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	crashed := disk.CrashClone(vfs.CrashCloneCfg{})
	cfg.Synced, cfg.Fresh = map[uint64]int64{former: l.Synced().Offset}, true
	cfg.From = Position{Segment: former + 1}
	for range 2 { // the second time with the files before, which are there again
		cfg.FS = disk
		l = mustOpen(t, cfg)
		if got, err := contents(l, Position{}); len(got) > 0 || err != nil || len(l.Segments()) > 0 {
			t.Fatalf("%s in %d segments: %v", lengths(got), len(l.Segments()), err)
		}
		if at := put(t, l, []byte("new")); at != (Position{former + 1, HeadBytes}) {
			t.Errorf("the first frame is at %v", at)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		l = mustOpen(t, cfg)
		got, err := contents(l, Position{})
		if err != nil {
			t.Fatal(err)
		}
		expect(t, got, []byte("new"))
		disk = crashed
	}
}

// A segment that was there and is not is missing, of a fresh log as well.
func TestAFreshLogMissesWhatWasOnTheDevice(t *testing.T) {
	cfg := small(disktest.New())
	cfg.From, cfg.Fresh = Position{Segment: 5}, true
	for synced, want := range map[uint64]bool{4: false, 5: true, 7: true} {
		cfg.Synced = map[uint64]int64{synced: HeadBytes + 1}
		if _, err := View(cfg); (AsDamage(err) != nil) != want {
			t.Errorf("segment %d was on the device: %v", synced, err)
		}
	}
}
