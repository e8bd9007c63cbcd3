package log

import (
	"bytes"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/disktest"
	"github.com/vigildb/vigil/structures/testscale"
)

// cloneFiles returns another disk with the files of a directory.
func cloneFiles(t *testing.T, disk *vfs.MemFS, dir string) *vfs.MemFS {
	t.Helper()
	to := vfs.NewMem()
	if err := to.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	names, err := disk.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		path := disk.PathJoin(dir, name)
		disktest.WriteFile(t, to, path, disktest.ReadFile(t, disk, path))
	}
	return to
}

// What Remains shows is what Cut leaves, and Behind finds all frames that follow, wherever a bit is wrong.
func TestDamageDividesALog(t *testing.T) {
	disk, cfg, frames, synced := written(t)
	cfg.Synced = map[uint64]int64{synced.Segment: synced.Offset}
	for number := uint64(1); number <= synced.Segment; number++ {
		name, found := "log/"+segmentName(number), 0
		sound := disktest.ReadFile(t, disk, name)
		for i := 0; i < len(sound); i += 7 * testscale.By {
			bad := bytes.Clone(sound)
			bad[i] ^= 1 << (i % 8)
			divided := cloneFiles(t, disk, "log")
			disktest.WriteFile(t, divided, name, bad)
			cfg.FS = divided
			if d := firstDamage(cfg); d != nil {
				found++
				divide(t, cfg, d, frames, func(a appended) bool {
					return a.at.Segment != number || int64(i) < a.at.Offset || int64(i) >= a.end().Offset
				})
			}
		}
		if found == 0 {
			t.Errorf("no damage of %s is noticed", name)
		}
	}
}

// So does a segment that is missing, and a directory.
func TestMissingSegmentsDivideALog(t *testing.T) {
	disk, cfg, frames, synced := written(t)
	cfg.Synced = map[uint64]int64{synced.Segment: synced.Offset}
	for _, missing := range [][]uint64{{1}, {2}, {3}, {4}, {2, 3}, {1, 2, 3, 4}, nil} {
		cfg.FS, cfg.From = cloneFiles(t, disk, "log"), Position{1, HeadBytes}
		for _, number := range missing {
			if err := cfg.FS.Remove("log/" + segmentName(number)); err != nil {
				t.Fatal(err)
			}
		}
		if missing == nil {
			if err := cfg.FS.RemoveAll("log"); err != nil {
				t.Fatal(err)
			}
		}
		d := firstDamage(cfg)
		if d == nil || missing != nil && d.File != segmentName(missing[0]) || d.Offset >= 0 {
			t.Fatalf("without %v: %v", missing, d)
		}
		divide(t, cfg, d, frames, func(a appended) bool { return missing != nil && !slices.Contains(missing, a.at.Segment) })
	}
}

// firstDamage opens a log, reads it, and returns what is wrong with it.
func firstDamage(cfg Config) *Damage {
	l, err := View(cfg)
	if err == nil {
		_, err = contents(l, Position{})
	}
	return AsDamage(err)
}

// divide cuts a log at damage, and checks before what Remains, Behind and PutAside say of it. The frames that are left are
// those that readable reports.
func divide(t *testing.T, cfg Config, d *Damage, frames []appended, readable func(appended) bool) {
	t.Helper()
	left, err := Remains(cfg, d)
	if err != nil {
		t.Fatalf("%v: what remains: %v", d, err)
	}
	shown, err := contents(left, Position{})
	if err != nil {
		t.Fatalf("%v: what remains cannot be read: %v", d, err)
	}
	number, _ := parseName(d.File)
	begin := Position{number, d.Offset}
	for i, a := range frames {
		if before := a.at.Before(begin); before != (i < len(shown)) || before && !bytes.Equal(a.payload, shown[i]) {
			t.Fatalf("%v: %d frames remain, and the one at %v is not among them, or another one, or should not be", d, len(shown), a.at)
		}
	}
	checkBehind(t, cfg, d, begin, frames, readable)
	checkAside(t, cfg, d, number)
	at, err := Cut(cfg, d)
	if err != nil {
		t.Fatal(err)
	}
	cut := cfg
	cut.Synced = map[uint64]int64{at.Segment: at.Offset}
	if len(left.Segments()) == 0 {
		cut.From = Position{}
	}
	l, err := View(cut)
	if err != nil {
		t.Fatalf("%v: cut at %v: %v", d, at, err)
	}
	kept, err := contents(l, Position{})
	if err != nil {
		t.Fatal(err)
	}
	expect(t, kept, shown...)
}

// checkBehind checks that Behind finds just the frames that are readable, and how far they go.
func checkBehind(t *testing.T, cfg Config, d *Damage, begin Position, frames []appended, readable func(appended) bool) {
	t.Helper()
	var want []appended
	ends := map[uint64]int64{}
	for _, a := range frames {
		// A frame in pieces is not looked for.
		if !a.at.Before(begin) && readable(a) && int64(len(a.payload)) <= cfg.SegmentBytes-HeadBytes-frameHead {
			want = append(want, a)
			ends[a.at.Segment] = a.end().Offset
		}
	}
	length := int64(0)
	for number, end := range ends {
		from := int64(HeadBytes)
		if number == begin.Segment {
			from = max(from, begin.Offset)
		}
		length += end - from
	}
	n := 0
	got, err := Behind(cfg, d, func(f Frame) {
		if n == len(want) {
			t.Fatalf("%v: a frame at %v behind all others", d, f.Position)
		}
		a := want[n]
		if a.at != f.Position || a.kind != f.Kind || int(f.Len) != len(a.payload) || !bytes.Equal(a.payload, f.Payload) || f.Body != nil {
			t.Fatalf("%v: the frame at %v is found, or what is no frame, in the place of the one at %v", d, f.Position, a.at)
		}
		n++
	})
	if err != nil || n != len(want) || got != length {
		t.Fatalf("%v: %d frames are found in %d bytes, want %d in %d: %v", d, n, got, len(want), length, err)
	}
}

// checkAside checks that PutAside copies what Cut changes or removes, and nothing else, byte for byte.
func checkAside(t *testing.T, cfg Config, d *Damage, number uint64) {
	t.Helper()
	if err := PutAside(cfg, d, "aside/log"); err != nil {
		t.Fatal(err)
	}
	files, err := listFiles(&cfg)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, n := range files.numbers {
		if n >= number {
			want = append(want, segmentName(n))
		}
	}
	names, err := cfg.FS.List("aside/log")
	if slices.Sort(names); err != nil || !slices.Equal(names, want) {
		t.Fatalf("%v: %q are put aside, want %q: %v", d, names, want, err)
	}
	for _, name := range names {
		if !bytes.Equal(disktest.ReadFile(t, cfg.FS, "aside/log/"+name), disktest.ReadFile(t, cfg.FS, "log/"+name)) {
			t.Fatalf("%v: the copy of %s is not what was damaged", d, name)
		}
	}
}

// A payload may hold what is a frame: it is found as a part of that payload only.
func TestFramesInPayloadsAreNotFound(t *testing.T) {
	cfg := small(vfs.NewMem())
	l := mustOpen(t, cfg)
	at := put(t, l, text(0, 100))
	name := "log/" + segmentName(at.Segment)
	inner := disktest.ReadFile(t, cfg.FS, name)[at.Offset:l.End().Offset]
	outer := put(t, l, append(text(1, 50), inner...))
	after := put(t, l, text(2, 10))
	var found []Position
	d := &Damage{File: segmentName(at.Segment), Offset: at.Offset + 1}
	if _, err := Behind(cfg, d, func(f Frame) { found = append(found, f.Position) }); err != nil || !slices.Equal(found, []Position{outer, after}) {
		t.Errorf("frames at %v, want %v and %v: %v", found, outer, after, err)
	}
}

// What a recycled file held before is not found behind a damage.
func TestFramesOfFormerSegmentsAreNotFound(t *testing.T) {
	disk := vfs.NewMem()
	cfg := small(disk)
	l := mustOpen(t, cfg)
	n := 0
	for len(l.Segments()) < 4 {
		put(t, l, text(n, 900))
		n++
	}
	if err := l.Trim(l.End()); err != nil {
		t.Fatal(err)
	}
	number := l.End().Segment
	for l.End().Segment == number {
		put(t, l, text(n, 900))
		n++
	}
	put(t, l, text(n, 900)) // in a file that was full of other frames
	name := segmentName(l.End().Segment)
	d := &Damage{File: name, Offset: HeadBytes}
	found := 0
	if _, err := Behind(cfg, d, func(f Frame) {
		if found++; f.Position.Segment != l.End().Segment {
			t.Errorf("a frame at %v", f.Position)
		}
	}); err != nil || found != 2 {
		t.Errorf("%d frames, want 2: %v", found, err)
	}
}

// Of a directory Remove removes what is the log's.
func TestRemoveLeavesOtherFiles(t *testing.T) {
	disk, cfg, _, _ := written(t)
	cfg.FS = disk
	for _, name := range []string{"log/vigil.log", "log/spare-0000000001", "log/0000000x01"} {
		disktest.WriteFile(t, disk, name, []byte("x"))
	}
	for range 2 {
		if err := Remove(cfg); err != nil {
			t.Fatal(err)
		}
		names, err := disk.List("log")
		if slices.Sort(names); err != nil || !slices.Equal(names, []string{"0000000x01", "vigil.log"}) {
			t.Errorf("left are %q: %v", names, err)
		}
	}
	cfg.Dir = "none"
	if err := Remove(cfg); err != nil {
		t.Errorf("a directory that is not there: %v", err)
	}
	cfg.Dir = "log"
	if err := disk.RemoveAll("log"); err != nil {
		t.Fatal(err)
	}
	l := mustOpen(t, cfg)
	put(t, l, text(1, 10))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := Remove(cfg); err != nil {
		t.Fatal(err)
	}
	if _, err := disk.Stat("log"); err == nil {
		t.Error("the empty directory is left")
	}
}

// Files that have their length at once are read, and gone on with, as others.
func TestFilesOfTheirWholeLength(t *testing.T) {
	disk := vfs.NewMem()
	cfg := small(disk)
	cfg.Extend = true
	var all [][]byte
	for range 3 {
		l := mustOpen(t, cfg)
		for range 30 {
			b := text(len(all), 700)
			put(t, l, b)
			all = append(all, b)
		}
		got, err := contents(l, Position{})
		if err != nil {
			t.Fatal(err)
		}
		expect(t, got, all...)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	names, err := disk.List("log")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if info, err := disk.Stat("log/" + name); err != nil || info.Size() != cfg.SegmentBytes {
			t.Errorf("%s has %d bytes, want %d: %v", name, info.Size(), cfg.SegmentBytes, err)
		}
	}
}
