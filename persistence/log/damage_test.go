package log

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/vigildb/vigil/persistence/disktest"
	"github.com/vigildb/vigil/structures/testscale"
)

// written returns a disk with a log that has some segments, one of them with a long frame, and frames in the last
// one that were synced before others of it were written; and what it has.
func written(t *testing.T) (disk *vfs.MemFS, cfg Config, frames []appended, synced Position) {
	t.Helper()
	disk = vfs.NewMem()
	cfg = small(disk)
	cfg.SegmentBytes = minSegmentBytes
	l := mustOpen(t, cfg)
	add := func(size int) {
		b := text(len(frames), size)
		at, err := l.Append(byte(1+len(frames)), b)
		if err == nil {
			_, err = l.Flush()
		}
		if err != nil {
			t.Fatal(err)
		}
		frames = append(frames, appended{at, byte(1 + len(frames)), b})
	}
	for _, size := range []int{1000, 2000, 600, 900, 5000, 300, 100, 200} {
		add(size)
	}
	synced, err := l.Sync()
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{50, 150, 10} {
		add(size)
	}
	// The process ends here.
	if n := len(l.Segments()); n != 4 {
		t.Fatalf("%d segments, want 4", n)
	}
	return disk, cfg, frames, synced
}

// readAll opens a log and reads it, and returns how many frames it has: those that were appended, from the first on.
func readAll(t *testing.T, cfg Config, frames []appended) (n int, err error) {
	t.Helper()
	l, err := View(cfg)
	if err != nil {
		return 0, err
	}
	err = l.Read(Position{}, func(f Frame) error {
		b, err := f.Bytes()
		if err != nil {
			return err
		}
		if n == len(frames) || f.Position != frames[n].at || f.Kind != frames[n].kind || !bytes.Equal(b, frames[n].payload) {
			t.Fatalf("frame %d at %v is not what was appended", n, f.Position)
		}
		n++
		return nil
	})
	return n, err
}

// tampered runs f with the log as it is with other bytes in one file.
func tampered(t *testing.T, disk *vfs.MemFS, name string, b []byte, f func()) {
	t.Helper()
	old := disktest.ReadFile(t, disk, name)
	disktest.WriteFile(t, disk, name, b)
	f()
	disktest.WriteFile(t, disk, name, old)
}

// TestEveryBitCounts flips each bit of a log, and cuts it short at each byte. It is damage
// if the caller or a frame says that this had reached the device; else the log ends before what was changed.
func TestEveryBitCounts(t *testing.T) {
	disk, cfg, frames, synced := written(t)
	last := frames[len(frames)-1].at.Segment
	for _, mark := range []map[uint64]int64{nil, {synced.Segment: synced.Offset}} {
		cfg.Synced = mark
		if n, err := readAll(t, cfg, frames); err != nil || n != len(frames) {
			t.Fatalf("%d frames, want %d: %v", n, len(frames), err)
		}
		for number := uint64(1); number <= last; number++ {
			name := "log/" + segmentName(number)
			whole := disktest.ReadFile(t, disk, name)
			// What follows the frame before the last one, which claims what was synced, is not claimed.
			mustSee := func(offset int) bool {
				return number < last || offset < HeadBytes || int64(offset) < synced.Offset
			}
			check := func(what string, offset int) {
				n, err := readAll(t, cfg, frames)
				intact := 0
				for intact < len(frames) && (Position{number, int64(offset)}).Compare(frames[intact].end()) >= 0 {
					intact++
				}
				d := AsDamage(err)
				switch {
				case err != nil && d == nil:
					t.Fatalf("%s of %s: %v", what, name, err)
				case mustSee(offset) && d == nil:
					t.Fatalf("%s of %s is not seen; %d frames are read", what, name, n)
				case !mustSee(offset) && d != nil:
					t.Fatalf("%s of %s, which was not synced, is damage: %v", what, name, d)
				case d == nil && n != intact:
					t.Fatalf("%s of %s: %d frames are read, want %d", what, name, n, intact)
				case d != nil && d.File != segmentName(number):
					t.Fatalf("%s of %s: %v", what, name, d)
				}
			}
			for i := 0; i < len(whole); i += testscale.By {
				if i > 200 && i < HeadBytes-50 {
					continue // zeroes of the head
				}
				b := slices.Clone(whole)
				b[i] ^= 1 << (i % 8)
				tampered(t, disk, name, b, func() { check(fmt.Sprintf("bit %d of byte %d", i%8, i), i) })
				if i%7 != 0 || number == last && mark == nil && i >= HeadBytes {
					continue // the file is shorter, so nothing behind proves that there was more
				}
				tampered(t, disk, name, whole[:i], func() { check(fmt.Sprintf("a cut at byte %d", i), i) })
			}
		}
	}
}

func (a appended) end() Position {
	return Position{a.at.Segment, a.at.Offset + frameHead + int64(len(a.payload))}
}

// TestClaimsProveDamage zeroes frames that were synced: a later frame says so.
func TestClaimsProveDamage(t *testing.T) {
	disk, cfg, frames, synced := written(t)
	name := "log/" + segmentName(synced.Segment)
	b := disktest.ReadFile(t, disk, name)
	first := frames[len(frames)-6]
	clear(b[first.at.Offset:synced.Offset])
	tampered(t, disk, name, b, func() {
		_, err := View(cfg)
		if d := AsDamage(err); d == nil || d.Offset != first.at.Offset || d.File != segmentName(synced.Segment) {
			t.Errorf("zeroes in the place of frames that were synced: %v", err)
		}
	})
	// Without a later frame nobody knows.
	tampered(t, disk, name, b[:synced.Offset], func() {
		if n, err := readAll(t, cfg, frames); err != nil || n != len(frames)-6 {
			t.Errorf("%d frames, %v", n, err)
		}
	})
}

// TestWrongFilesAreToldApart removes, swaps and replaces segments.
func TestWrongFilesAreToldApart(t *testing.T) {
	disk, cfg, frames, synced := written(t)
	cfg.Synced = map[uint64]int64{synced.Segment: synced.Offset}
	cfg.From = Position{1, HeadBytes}
	file := func(n uint64) string { return "log/" + segmentName(n) }
	read := func(n uint64) []byte { return disktest.ReadFile(t, disk, file(n)) }
	foreign := func() []byte {
		h, _ := decodeHead(read(2))
		h.store[3]++
		return append(h.encode(), read(2)[HeadBytes:]...)
	}
	newer := func() []byte {
		b := read(2)
		b[formatIndex] = 2
		b[100]++
		return b
	}
	for _, c := range []struct {
		name string
		do   func()
		want string
		is   error
	}{
		{"first missing", func() { disk.Remove(file(1)) }, "0000000001: is missing, though there is 0000000002", nil},
		{"one missing", func() { disk.Remove(file(3)) }, "0000000003: is missing, though there is 0000000004", nil},
		{"last missing", func() { disk.Remove(file(4)) }, "0000000004: is missing, though", nil},
		{"all missing", func() { disk.RemoveAll("log"); disk.MkdirAll("log", 0o700) }, "0000000001: is missing", nil},
		{"swapped", func() {
			b := read(2)
			disktest.WriteFile(t, disk, file(2), read(4))
			disktest.WriteFile(t, disk, file(4), b)
		}, "0000000002 is damaged at offset 0: it has the head of segment 4", nil},
		{"foreign", func() { disktest.WriteFile(t, disk, file(2), foreign()) }, "0000000002 belongs to store", ErrForeign},
		{"newer", func() { disktest.WriteFile(t, disk, file(2), newer()) }, "0000000002: segment of format 2", ErrVersion},
		{"empty", func() { disktest.WriteFile(t, disk, file(4), nil) }, "0000000004 is damaged at offset 0: its head has 0 bytes", nil},
		{"no segment", func() { disktest.WriteFile(t, disk, file(1), make([]byte, 5000)) }, "0000000001 is damaged at offset 0: it does not begin as a segment", nil},
		{"before what was trimmed", func() { cfg.From = Position{4, synced.Offset + 1000} }, "0000000004 is damaged at offset", nil},
		{"shorter than it was", func() { cfg.Synced[2] = 8000 }, "0000000002 is damaged at offset 5013: the segment after says", nil},
		{"short", func() { disktest.WriteFile(t, disk, file(1), read(1)[:5000]) }, "0000000001 is damaged at offset 5000: the file ends here", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := map[uint64][]byte{}
			for n := uint64(1); n <= 4; n++ {
				before[n] = read(n)
			}
			c.do()
			_, err := Open(cfg)
			if err == nil || !strings.Contains(err.Error(), c.want) || c.is != nil && !errors.Is(err, c.is) || (AsDamage(err) == nil) != (c.is != nil) {
				t.Errorf("%v, want %q", err, c.want)
			}
			for n, b := range before {
				disktest.WriteFile(t, disk, file(n), b)
			}
			cfg.From = Position{1, HeadBytes}
			delete(cfg.Synced, 2)
		})
	}
	if n, err := readAll(t, cfg, frames); err != nil || n != len(frames) {
		t.Errorf("afterwards %d frames can be read: %v", n, err)
	}
}

// TestCutEndsTheLogAtDamage damages each segment, and goes on without what follows. Each step of Cut may be the last
// one before a crash.
func TestCutEndsTheLogAtDamage(t *testing.T) {
	for number := uint64(1); number <= 4; number++ {
		for _, offset := range []int64{20, HeadBytes + 5, HeadBytes + 300} {
			disk, cfg, frames, _ := written(t)
			name := "log/" + segmentName(number)
			b := disktest.ReadFile(t, disk, name)
			b[offset] ^= 1
			disktest.WriteFile(t, disk, name, b)
			// The segments have another name, as in a checkpoint, and must not change under it.
			disk.MkdirAll("elsewhere", 0o700)
			names, _ := disk.List("log")
			before := map[string][]byte{}
			for _, n := range names {
				disk.Link("log/"+n, "elsewhere/"+n)
				before[n] = disktest.ReadFile(t, disk, "elsewhere/"+n)
			}
			n, err := readAll(t, cfg, frames)
			d := AsDamage(err)
			if d == nil {
				if number < 4 {
					t.Fatalf("damage at %d of segment %d is not seen", offset, number)
				}
				continue
			}
			at, err := Cut(cfg, d)
			want := Position{number, d.Offset}
			if offset < HeadBytes {
				want.Offset = 0
			}
			if err != nil || at != want {
				t.Fatalf("cut at %v, %v, want %v", at, err, want)
			}
			l, err := Open(cfg)
			if err != nil {
				t.Fatalf("after the cut at %v: %v", at, err)
			}
			for i := range 8 {
				put(t, l, text(100+i, 1000))
			}
			l.Close()
			got, err := contents(mustOpen(t, cfg), Position{})
			if err != nil {
				t.Fatal(err)
			}
			var all [][]byte
			for _, f := range frames {
				if f.at.Before(at) {
					all = append(all, f.payload)
				}
			}
			if len(all) < n {
				t.Errorf("%d frames could be read before the cut, and %d are left", n, len(all))
			}
			for i := range 8 {
				all = append(all, text(100+i, 1000))
			}
			expect(t, got, all...)
			for n, b := range before {
				if !bytes.Equal(b, disktest.ReadFile(t, disk, "elsewhere/"+n)) {
					t.Errorf("%s has changed under its other name", n)
				}
			}
		}
	}
}

// TestPowerFailsAmidCut takes the power away before each operation of Cut: it can be done again, and leaves the same.
func TestPowerFailsAmidCut(t *testing.T) {
	for seed := range uint64(10) {
		w := newWorld(t, seed)
		for range 40 {
			w.append()
			w.do("sync")
		}
		if err := w.log.Trim(w.log.Segments()[2].position()); err != nil || len(spares(t, w.disk)) == 0 {
			t.Fatal(err)
		}
		w.log.Close()
		w.trimmed = w.below(w.log.Segments()[0].position())
		w.cfg.From = w.log.Segments()[0].position()
		n := w.trimmed + 5
		bad := w.numbered(n).at
		name := "log/" + segmentName(bad.Segment)
		b := disktest.ReadFile(t, w.disk, name)
		b[bad.Offset+frameHead+2] ^= 1
		disktest.WriteFile(t, w.disk, name, b)
		w.disk = w.disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: w.rand}) // WriteFile does not sync names
		w.synced, w.mark = 0, map[uint64]int64{}
		damage := func(fs vfs.FS) *Damage {
			l, err := View(w.configuration(fs))
			if err == nil {
				_, err = contents(l, Position{})
			}
			return AsDamage(err)
		}
		done := func(fs vfs.FS) {
			d := damage(fs)
			for ; d != nil; d = damage(fs) {
				if (Position{bad.Segment, d.Offset}) != bad || d.File != segmentName(bad.Segment) {
					t.Fatalf("seed %d: %v, want damage at %v", seed, d, bad)
				}
				if _, err := Cut(w.configuration(fs), d); err != nil {
					t.Fatal(err)
				}
			}
			l := mustOpen(t, w.configuration(fs))
			if next := w.verify(l, n); next != n || len(l.mu.spares) > 0 {
				t.Fatalf("seed %d: after a cut at frame %d there are %d", seed, n, next)
			}
			for i := range 3 { // numbers are given again
				put(t, l, text(n+i, 9000))
			}
			l.Close()
			got, err := contents(mustOpen(t, w.configuration(fs)), bad)
			if err == nil {
				expect(t, got, text(n, 9000), text(n+1, 9000), text(n+2, 9000))
			} else if got, err := contents(mustOpen(t, w.configuration(fs)), Position{bad.Segment + 1, 0}); err != nil || len(got) != 3 {
				t.Fatal(err)
			}
		}
		w.hook = func(op errorfs.Op) error {
			if op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
				done(w.crash(w.rand.IntN(2) * 50))
			}
			return nil
		}
		if _, err := Cut(w.configuration(w.fs()), damage(w.disk)); err != nil {
			t.Fatal(err)
		}
		w.hook = nil
		done(w.crash(0))
	}
}

func (s Segment) position() Position { return Position{s.Number, HeadBytes} }

// TestAnExchangedPayloadIsNotTaken changes a long payload together with the checksums of its pieces.
func TestAnExchangedPayloadIsNotTaken(t *testing.T) {
	cfg := small(vfs.NewMem())
	l := mustOpen(t, cfg)
	put(t, l, text(1, 20<<10))
	put(t, l, text(2, 10))
	l.Close()
	other := text(3, 20<<10)
	b := disktest.ReadFile(t, cfg.FS, "log/"+segmentName(1))
	copy(b[HeadBytes+frameHead:], other)
	copy(b[HeadBytes+frameHead+len(other):], pieceSums([][]byte{other}))
	disktest.WriteFile(t, cfg.FS, "log/"+segmentName(1), b)
	if got, err := contents(mustOpen(t, cfg), Position{}); AsDamage(err) == nil {
		t.Errorf("%d frames, %v", len(got), err)
	}
}

// TestACutFrameNeverReturns tears a frame whose successor can be read, and writes another one in its place that
// is just as long.
func TestACutFrameNeverReturns(t *testing.T) {
	disk, cfg, frames, synced := written(t)
	torn := frames[len(frames)-2]
	name := "log/" + segmentName(synced.Segment)
	b := disktest.ReadFile(t, disk, name)
	b[torn.at.Offset+frameHead+3] ^= 1
	disktest.WriteFile(t, disk, name, b)
	l := mustOpen(t, cfg)
	put(t, l, text(77, len(torn.payload)))
	l.Close()
	got, err := contents(mustOpen(t, cfg), Position{})
	if err != nil {
		t.Fatal(err)
	}
	if want := len(frames) - 2 + 1; len(got) != want || !bytes.Equal(got[len(got)-1], text(77, len(torn.payload))) {
		t.Errorf("%d frames, want %d", len(got), want)
	}
}

// TestTheEndIsGoneOnWith opens a log again and again: it does not take a new segment each time.
func TestTheEndIsGoneOnWith(t *testing.T) {
	cfg := small(vfs.NewMem())
	var want [][]byte
	for i := range 20 {
		l := mustOpen(t, cfg)
		want = append(want, text(i, 100))
		put(t, l, text(i, 100))
		l.Close()
	}
	l := mustOpen(t, cfg)
	got, err := contents(l, Position{})
	if err != nil || len(l.Segments()) != 1 {
		t.Fatalf("%d segments, %v", len(l.Segments()), err)
	}
	expect(t, got, want...)
}
