package log

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/vigildb/vigil/persistence/disktest"
)

func spares(t *testing.T, fs vfs.FS) (list []string) {
	t.Helper()
	names, err := fs.List("log")
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	for _, n := range names {
		if strings.HasPrefix(n, sparePrefix) {
			list = append(list, n)
		}
	}
	return list
}

// full begins as many segments, of frames of the same length, and returns where the last one begins.
func full(t *testing.T, l *Log, segments int) (at Position) {
	t.Helper()
	for begin := l.End().Segment; l.End().Segment < begin+uint64(segments); {
		at = put(t, l, text(int(l.End().Segment)*1000+int(l.End().Offset), 1000))
	}
	return at
}

func TestTrimmedSegmentsAreRecycled(t *testing.T) {
	disk := vfs.NewMem()
	cfg := small(disk)
	cfg.Spares = 3
	l := mustOpen(t, cfg)
	at := full(t, l, 6)
	if err := l.Trim(at); err != nil {
		t.Fatal(err)
	}
	if got := spares(t, disk); len(got) != 3 {
		t.Errorf("spares %q, want 3", got)
	}
	full(t, l, 2)
	if got := spares(t, disk); len(got) != 1 {
		t.Errorf("spares %q, want 1", got)
	}
	// A restart finds it, and recycles nothing that it did not write.
	l.Close()
	cfg.From = at
	l = mustOpen(t, cfg)
	at = full(t, l, 1)
	if got := spares(t, disk); len(got) != 0 {
		t.Errorf("spares %q after a restart, want none", got)
	}
	if err := l.Trim(at); err != nil || len(spares(t, disk)) != 0 {
		t.Errorf("spares %q, %v: they were written before the restart", spares(t, disk), err)
	}
	at = full(t, l, 3)
	if err := l.Trim(at); err != nil || len(spares(t, disk)) != 3 {
		t.Errorf("spares %q, %v, want 3", spares(t, disk), err)
	}
}

// TestSomeSegmentsAreNotRecycled trims one that is longer than others, and one that has failed; and never the last.
func TestSomeSegmentsAreNotRecycled(t *testing.T) {
	w := newWorld(t, 1)
	defer func() { w.log.Close() }()
	put(t, w.log, text(1, 20<<10))
	at := put(t, w.log, text(2, 10))
	if err := w.log.Trim(at); err != nil || len(spares(t, w.disk)) != 0 {
		t.Errorf("a long one leaves %q, %v", spares(t, w.disk), err)
	}
	w.log.Append(1, text(3, 10))
	f := failing{err: io.ErrClosedPipe}
	w.hook = f.hook
	if _, err := w.log.Flush(); err == nil {
		t.Fatal("a failed write is none")
	}
	if err := w.log.Repair(nil); err != nil {
		t.Fatal(err)
	}
	if err := w.log.Trim(Position{Segment: 100}); err != nil || len(spares(t, w.disk)) != 0 {
		t.Errorf("one that failed leaves %q, %v", spares(t, w.disk), err)
	}
	got, err := contents(w.log, Position{})
	if err != nil {
		t.Fatal(err)
	}
	expect(t, got, text(3, 10))
}

// TestASpareIsUsedWhenItsOldNameIsGone has the sync of the directory fail when a segment becomes a spare.
func TestASpareIsUsedWhenItsOldNameIsGone(t *testing.T) {
	w := newWorld(t, 1)
	put(t, w.log, text(1, 10)) // and nobody records what is trimmed
	full(t, w.log, 2)
	want := w.log.Synced()
	fail := true
	w.hook = func(op errorfs.Op) error {
		if op.Kind == errorfs.OpOpenDir && fail {
			return io.ErrClosedPipe
		}
		return nil
	}
	if err := w.log.Trim(want); !errors.Is(err, io.ErrClosedPipe) || len(spares(t, w.disk)) == 0 {
		t.Fatalf("spares %q, %v", spares(t, w.disk), err)
	}
	for w.log.End().Segment == want.Segment {
		w.log.Append(1, text(1, 1000))
	}
	if _, err := w.log.Flush(); !errors.Is(err, io.ErrClosedPipe) {
		t.Fatalf("a segment is made of a file that may still have another name: %v", err)
	}
	if l, err := Open(w.configuration(w.crash(0))); err != nil {
		t.Error(err)
	} else {
		l.Close()
	}
	fail = false
	if err := w.log.Close(); err != nil {
		t.Fatal(err)
	}
	mustOpen(t, w.configuration(w.crash(0)))
}

// TestWhatAFileHeldBeforeNeverCounts recycles a file whose frames are all as long as those that are written over
// them, so that old frames are just where new ones would be, and would be read if they counted.
func TestWhatAFileHeldBeforeNeverCounts(t *testing.T) {
	disk := vfs.NewMem()
	cfg := small(disk)
	l := mustOpen(t, cfg)
	if err := l.Trim(full(t, l, 2)); err != nil || len(spares(t, disk)) == 0 {
		t.Fatal(err)
	}
	// All frames have the same length, so behind the first frame of a segment there are old ones.
	for range 4 {
		cfg.From = full(t, l, 1)
		if err := l.Trim(cfg.From); err != nil {
			t.Fatal(err)
		}
		want, err := contents(l, Position{})
		if err != nil {
			t.Fatal(err)
		}
		end := l.Written()
		old := disktest.ReadFile(t, disk, "log/"+segmentName(end.Segment))[end.Offset:]
		if rawHeader(old).length != uint32(len(text(1, 1000))) {
			t.Fatalf("no old frame is where the log ends")
		}
		for _, mark := range []int64{0, end.Offset} {
			cfg.Synced = map[uint64]int64{end.Segment: mark}
			v, err := View(cfg)
			if err != nil {
				t.Fatal(err)
			}
			got, err := contents(v, Position{})
			if err != nil {
				t.Fatal(err)
			}
			expect(t, got, want...)
		}
	}
}

// TestLinkedSegmentsAreNotRecycled holds the files of a checkpoint against what they were, while the log goes on.
func TestLinkedSegmentsAreNotRecycled(t *testing.T) {
	disk := vfs.NewMem()
	l := mustOpen(t, small(disk))
	at := full(t, l, 3)
	if _, err := l.Checkpoint(disk, "copy", Position{}); err != nil {
		t.Fatal(err)
	}
	names, _ := disk.List("copy")
	before := map[string][]byte{}
	for _, n := range names {
		before[n] = disktest.ReadFile(t, disk, "copy/"+n)
	}
	if len(before) != 3 {
		t.Fatalf("the copy has %q", names)
	}
	for range 5 {
		if err := l.Trim(at); err != nil {
			t.Fatal(err)
		}
		at = full(t, l, 2)
	}
	for n, b := range before {
		if !bytes.Equal(b, disktest.ReadFile(t, disk, "copy/"+n)) {
			t.Errorf("%s of the copy has changed", n)
		}
	}
}

// TestACopyIsOnTheDevice takes the power away after a checkpoint.
func TestACopyIsOnTheDevice(t *testing.T) {
	w := newWorld(t, 1)
	full(t, w.log, 3)
	end, err := w.log.Checkpoint(w.disk, "copy", Position{})
	if err != nil {
		t.Fatal(err)
	}
	want, err := contents(w.log, Position{})
	if err != nil {
		t.Fatal(err)
	}
	w.log.Close()
	cfg := small(w.crash(0))
	cfg.Dir, cfg.Synced = "copy", map[uint64]int64{end.Segment: end.Offset}
	got, err := contents(mustOpen(t, cfg), Position{})
	if err != nil {
		t.Fatal(err)
	}
	expect(t, got, want...)
}

// TestPowerFailsAmidACheckpoint opens what is left of it: it is no log, or one whose last segment is a copy.
func TestPowerFailsAmidACheckpoint(t *testing.T) {
	w := newWorld(t, 1)
	defer func() { w.log.Close() }()
	full(t, w.log, 4)
	w.disk.MkdirAll("copy", 0o700)
	if err := syncDir(w.disk, "/"); err != nil {
		t.Fatal(err)
	}
	w.hook = func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			names, _ := w.crash(0).List("copy")
			if len(names) > 0 && !slices.Contains(names, segmentName(4)) {
				t.Errorf("the copy has %q", names)
			}
		}
		return nil
	}
	if _, err := w.log.Checkpoint(w.fs(), "copy", Position{}); err != nil {
		t.Fatal(err)
	}
}

// TestACopyIsALog opens a checkpoint, and writes it; neither log changes the other.
func TestACopyIsALog(t *testing.T) {
	disk := vfs.NewMem()
	cfg := small(disk)
	l := mustOpen(t, cfg)
	from := full(t, l, 2)
	put(t, l, text(1, 5000))
	if _, err := l.Append(1, text(2, 100)); err != nil {
		t.Fatal(err)
	}
	l.Flush() // and not synced
	end, err := l.Checkpoint(disk, "copy", from)
	if err != nil || end != l.Synced() {
		t.Fatalf("the copy ends at %v, %v", end, err)
	}
	want, err := contents(l, from)
	if err != nil {
		t.Fatal(err)
	}
	copied := cfg
	copied.Dir, copied.From, copied.Synced = "copy", from, map[uint64]int64{end.Segment: end.Offset}
	c := mustOpen(t, copied)
	got, err := contents(c, Position{})
	if err != nil {
		t.Fatal(err)
	}
	expect(t, got, want[:len(want)-1]...)
	full(t, c, 3)
	got, err = contents(l, from)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, got, want...)
	if err := l.Trim(full(t, l, 1)); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Checkpoint(disk, "late", from); !errors.Is(err, ErrTrimmed) {
		t.Errorf("a copy from a trimmed position: %v", err)
	}
}

// TestOpenRemovesWhatWasTrimmed opens a log after a power failure that brought back files which Trim had removed.
func TestOpenRemovesWhatWasTrimmed(t *testing.T) {
	disk := vfs.NewMem()
	cfg := small(disk)
	l := mustOpen(t, cfg)
	cfg.From = full(t, l, 5)
	second := disktest.ReadFile(t, disk, "log/"+segmentName(2))
	if err := l.Trim(cfg.From); err != nil {
		t.Fatal(err)
	}
	l.Close()
	disktest.WriteFile(t, disk, "log/"+segmentName(2), second)
	disktest.WriteFile(t, disk, "log/"+spareName(2), second)
	// A file that was about to become a segment, or more than that, is not used.
	h := head{store: cfg.Store, number: cfg.From.Segment + 1}
	disktest.WriteFile(t, disk, "log/"+spareName(1), h.encode())
	l = mustOpen(t, cfg)
	names, _ := disk.List("log")
	slices.Sort(names)
	if want := []string{segmentName(5), spareName(2), spareName(3), spareName(4)}; !slices.Equal(names, want) {
		t.Errorf("there are %q, want %q", names, want)
	}
	if got, err := contents(l, Position{}); err != nil || len(got) != 1 {
		t.Errorf("%d frames, %v", len(got), err)
	}
}

func TestPinnedSegmentsStay(t *testing.T) {
	disk := vfs.NewMem()
	l := mustOpen(t, small(disk))
	at := full(t, l, 3)
	first, second := l.Pin(), l.Pin()
	if err := l.Trim(at); err != nil {
		t.Fatal(err)
	}
	first()
	if n := len(l.Segments()); n != 3 {
		t.Errorf("%d segments while the log is pinned, want 3", n)
	}
	second()
	if n := len(l.Segments()); n != 1 {
		t.Errorf("%d segments when it no longer is, want 1", n)
	}
}

// TestAReaderKeepsItsSegment trims and recycles what a reader is amid.
func TestAReaderKeepsItsSegment(t *testing.T) {
	l := mustOpen(t, small(vfs.NewMem()))
	at := full(t, l, 2)
	want, err := contents(l, Position{})
	if err != nil {
		t.Fatal(err)
	}
	r := l.NewReader(Position{})
	defer r.Close()
	got := 0
	for ; ; got++ {
		f, err := r.Next()
		if errors.Is(err, ErrTrimmed) {
			break
		}
		if err != nil || !bytes.Equal(f.Payload, want[got]) {
			t.Fatalf("frame %d: %v", got, err)
		}
		if got == 0 {
			// Another reader has the whole segment in its window, this one must not.
			r.buf = r.buf[:2000]
			for range 3 {
				if err := l.Trim(at); err != nil {
					t.Fatal(err)
				}
				at = full(t, l, 2)
			}
		}
	}
	if got < 5 || got == len(want) {
		t.Errorf("%d frames could be read", got)
	}
}

// TestAReaderFindsOutThatFramesHaveMoved has a sync fail when a reader has read more than was synced.
func TestAReaderFindsOutThatFramesHaveMoved(t *testing.T) {
	w := newWorld(t, 1)
	defer func() { w.log.Close() }()
	first := put(t, w.log, text(1, 100))
	r := w.log.NewReader(first)
	defer r.Close()
	w.log.Append(1, text(2, 100))
	w.log.Flush()
	for range 2 {
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
	}
	f := failing{err: io.ErrClosedPipe}
	w.hook = f.hook
	if _, err := w.log.Sync(); !errors.Is(err, io.ErrClosedPipe) || !strings.Contains(err.Error(), segmentName(1)+" up to offset") {
		t.Fatal(err)
	}
	if _, err := w.log.Flush(); !errors.Is(err, io.ErrClosedPipe) {
		t.Fatalf("a flush after a failed sync: %v", err)
	}
	var moves []string
	err := w.log.Repair(func(from, to Position) { moves = append(moves, fmt.Sprint(from, " ", to)) })
	if want := "[0000000001:4213 0000000002:4096]"; err != nil || fmt.Sprint(moves) != want {
		t.Errorf("moved %v, %v, want %v", moves, err, want)
	}
	if _, err := r.Next(); !errors.Is(err, ErrMoved) {
		t.Errorf("a reader behind what was synced: %v", err)
	}
	got, err := contents(w.log, first)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, got, text(1, 100), text(2, 100))
}

// TestFilesOfTheSystem does all that with the files of the system instead of those in memory.
func TestFilesOfTheSystem(t *testing.T) {
	dir := t.TempDir()
	cfg := small(vfs.Default)
	cfg.Dir, cfg.SegmentBytes = vfs.Default.PathJoin(dir, "log"), 256<<10
	l := mustOpen(t, cfg)
	var want [][]byte
	for i := range 60 {
		b := text(i, 500+i*i*10)
		if i == 30 {
			b = text(i, 3*pieceBytes/2)
		}
		want = append(want, b)
		at := put(t, l, b)
		if i%20 == 19 {
			cfg.From, want = at, want[len(want)-1:]
			if err := l.Trim(at); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i := range 40 {
		want = append(want, text(i, 20000))
		put(t, l, want[len(want)-1])
	}
	copied := cfg
	copied.Dir = vfs.Default.PathJoin(dir, "copy")
	end, err := l.Checkpoint(vfs.Default, copied.Dir, cfg.From)
	if err != nil {
		t.Fatal(err)
	}
	copied.Synced = map[uint64]int64{end.Segment: end.Offset}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []Config{cfg, copied} {
		l := mustOpen(t, c)
		got, err := contents(l, c.From)
		if err != nil {
			t.Fatal(err)
		}
		expect(t, got, want...)
		put(t, l, text(1, 300<<10))
		l.Close()
	}
	b := disktest.ReadFile(t, vfs.Default, cfg.path(segmentName(cfg.From.Segment)))
	b[len(b)/2] ^= 1
	if err := vfs.Default.Remove(cfg.path(segmentName(cfg.From.Segment))); err != nil { // the copy has it too
		t.Fatal(err)
	}
	disktest.WriteFile(t, vfs.Default, cfg.path(segmentName(cfg.From.Segment)), b)
	v, err := View(cfg)
	if err == nil {
		_, err = contents(v, cfg.From)
	}
	d := AsDamage(err)
	if d == nil {
		t.Fatalf("a bit of a segment has changed: %v", err)
	}
	at, err := Cut(cfg, d)
	if err != nil || at.Segment != cfg.From.Segment {
		t.Fatalf("cut at %v: %v", at, err)
	}
	if got, err := contents(mustOpen(t, copied), copied.From); err != nil || len(got) != len(want)+1 {
		t.Errorf("the copy has %d frames after the log was cut, want %d: %v", len(got), len(want)+1, err)
	}
}
