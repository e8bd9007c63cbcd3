package log

import (
	"bytes"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/disktest"
	"github.com/vigildb/vigil/structures/thrift"
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
	names, err := disk.List("log")
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	cfg.Synced = map[uint64]int64{synced.Segment: synced.Offset}
	for _, name := range names {
		if !IsSegment(name) {
			continue
		}
		sound := disktest.ReadFile(t, disk, "log/"+name)
		for i := 0; i < len(sound); i += 7 * thrift.By {
			bad := bytes.Clone(sound)
			bad[i] ^= 1 << (i % 8)
			divided := cloneFiles(t, disk, "log")
			disktest.WriteFile(t, divided, "log/"+name, bad)
			cfg.FS = divided
			if d := firstDamage(cfg); d != nil {
				divide(t, cfg, d, frames)
			}
		}
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

func divide(t *testing.T, cfg Config, d *Damage, frames []appended) {
	t.Helper()
	before := cloneFiles(t, cfg.FS.(*vfs.MemFS), "log")
	left, err := Remains(cfg, d)
	if err != nil {
		t.Fatalf("%v: what remains: %v", d, err)
	}
	shown, err := contents(left, Position{})
	if err != nil {
		t.Fatalf("%v: what remains cannot be read: %v", d, err)
	}
	for i, b := range shown {
		if !bytes.Equal(b, frames[i].payload) {
			t.Fatalf("%v: frame %d is another one", d, i)
		}
	}
	next := len(shown)
	bytesBehind, err := Behind(cfg, d, func(f Frame) {
		for ; next < len(frames); next++ {
			if a := frames[next]; a.at == f.Position && a.kind == f.Kind && bytes.Equal(a.payload, f.Payload) {
				next++
				return
			}
		}
		t.Fatalf("%v: a frame at %v that was not written there", d, f.Position)
	})
	if err != nil || bytesBehind < 0 {
		t.Fatalf("%v: what is behind: %d bytes, %v", d, bytesBehind, err)
	}
	if err := PutAside(cfg, d, "aside/log"); err != nil {
		t.Fatal(err)
	}
	at, err := Cut(cfg, d)
	if err != nil {
		t.Fatal(err)
	}
	cut := cfg
	cut.Synced = map[uint64]int64{at.Segment: at.Offset}
	l, err := View(cut)
	if err != nil {
		t.Fatalf("%v: cut at %v: %v", d, at, err)
	}
	kept, err := contents(l, Position{})
	if err != nil {
		t.Fatal(err)
	}
	expect(t, kept, shown...)
	names, err := cfg.FS.List("aside/log")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if !bytes.Equal(disktest.ReadFile(t, cfg.FS, "aside/log/"+name), disktest.ReadFile(t, before, "log/"+name)) {
			t.Fatalf("%v: the copy of %s is not what was damaged", d, name)
		}
	}
}

// One damaged frame hides no other one but those that are in pieces.
func TestFramesBehindADamageAreFound(t *testing.T) {
	disk, cfg, frames, _ := written(t)
	first := frames[0].at
	name := "log/" + segmentName(first.Segment)
	bad := disktest.ReadFile(t, disk, name)
	bad[first.Offset+frameHead] ^= 1
	disktest.WriteFile(t, disk, name, bad)
	cfg.FS = disk
	d := firstDamage(cfg)
	if d == nil {
		t.Fatal("the damage is not noticed")
	}
	found := 0
	if _, err := Behind(cfg, d, func(Frame) { found++ }); err != nil || found != len(frames)-2 {
		t.Errorf("%d frames are found, want %d: all but the damaged one and the one in pieces: %v", found, len(frames)-2, err)
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
