package reserve

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// smallDisk is a file system with a size.
type smallDisk struct {
	vfs.FS
	total, used uint64 // used by others than the reserve
	broken      error  // of Create and Remove
}

func (d *smallDisk) GetDiskUsage(string) (vfs.DiskUsage, error) {
	used := d.used
	if info, err := d.Stat("db/" + Name); err == nil {
		used += uint64(info.Size())
	}
	return vfs.DiskUsage{TotalBytes: d.total, UsedBytes: used, AvailBytes: d.total - min(used, d.total)}, nil
}

func (d *smallDisk) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if d.broken != nil {
		return nil, d.broken
	}
	return d.FS.Create(name, category)
}

func (d *smallDisk) Remove(name string) error {
	if d.broken != nil {
		return d.broken
	}
	return d.FS.Remove(name)
}

func (d *smallDisk) has() bool {
	_, err := d.Stat("db/" + Name)
	return !errors.Is(err, fs.ErrNotExist)
}

// said is a Log that keeps what it was told.
type said []string

func (s *said) Warnf(format string, args ...any) { *s = append(*s, fmt.Sprintf(format, args...)) }
func (s *said) Warn(kind string, err error)      { *s = append(*s, "warning "+kind+": "+err.Error()) }
func (s *said) Error(kind string, err error)     { *s = append(*s, "error "+kind+": "+err.Error()) }
func (s *said) last(t *testing.T, want string) {
	t.Helper()
	if n := len(*s); n == 0 || !strings.Contains((*s)[n-1], want) {
		t.Errorf("the log ends with %q, want %q", *s, want)
	}
}

func writable() bool { return true }

func newReserve(t *testing.T, total uint64) (*Reserve, *smallDisk, *said) {
	t.Helper()
	d, log := &smallDisk{FS: vfs.NewMem(), total: total}, new(said)
	if err := d.MkdirAll("db", 0o700); err != nil {
		t.Fatal(err)
	}
	r := new(Reserve)
	r.Init(d, "db", 4<<20, log)
	return r, d, log
}

// The file is there while there is room for twice as much, is given up on demand, and comes back.
func TestFileIsTakenGivenUpAndTakenAgain(t *testing.T) {
	r, d, log := newReserve(t, 1<<30)
	if r.Open(); r.Tight() || d.has() {
		t.Error("a start takes the file, or finds the disk full")
	}
	if r.Watch(writable); !r.Held() || !d.has() || r.Tight() {
		t.Errorf("with room: held %v, a file %v, tight %v", r.Held(), d.has(), r.Tight())
	}
	d.used = d.total - 4<<20
	if r.GiveUp(); r.Held() || d.has() || !r.Tight() || !r.Holds() {
		t.Errorf("given up: held %v, a file %v, tight %v, compactions wait %v", r.Held(), d.has(), r.Tight(), r.Holds())
	}
	log.last(t, "The reserve is given up")
	if r.Watch(writable); r.Held() || !r.Tight() {
		t.Error("it is taken without room")
	}
	r.Freed()
	if r.Passes(); r.HasFreed() {
		t.Error("what a pass writes is still to be written")
	}
	if r.Passed(); r.Holds() {
		t.Error("compactions wait although what was deleted is written")
	}
	d.used = 0
	if r.Watch(func() bool { return false }); r.Held() {
		t.Error("it is taken from a disk that cannot be written")
	}
	if r.Watch(writable); !r.Held() || r.Tight() {
		t.Error("it is not taken when there is room")
	}
	log.last(t, "the disk has room again")
}

// A start finds the file, or the disk full. What is left of the file otherwise does not matter.
func TestStartKnowsAFullDisk(t *testing.T) {
	r, d, log := newReserve(t, 1<<30)
	r.Watch(writable)
	start := func() *Reserve {
		again := new(Reserve)
		again.Init(d, "db", 4<<20, log)
		again.Open()
		return again
	}
	d.used = d.total - 5<<20
	if again := start(); again.Held() || !again.Tight() || d.has() {
		t.Errorf("1 MiB is free: held %v, tight %v, a file %v", again.Held(), again.Tight(), d.has())
	}
	d.used = d.total - 1<<20
	if again := start(); again.Held() || !again.Tight() {
		t.Errorf("without a file: held %v, tight %v", again.Held(), again.Tight())
	}
	log.last(t, "only deletions are accepted until there is room")
}

// A file that cannot be removed, or made, is said, and nothing is believed of it.
func TestDiskThatFailsIsSaid(t *testing.T) {
	r, d, log := newReserve(t, 1<<30)
	d.broken = errors.New("input/output error")
	if r.Watch(writable); r.Held() {
		t.Error("a file that could not be made is held")
	}
	log.last(t, "warning reserve: take the reserve: input/output error")
	d.broken = nil
	r.Watch(writable)
	d.broken = errors.New("input/output error")
	if r.GiveUp(); !r.Held() || !r.Tight() {
		t.Errorf("a file that could not be removed: held %v, tight %v", r.Held(), r.Tight())
	}
	log.last(t, "error reserve: give up the reserve: input/output error")
}

// Without a size there is no file, and the disk is watched all the same.
func TestNoFileIsMadeWithoutASize(t *testing.T) {
	r, d, log := newReserve(t, 1<<30)
	r.Init(d, "db", 0, log)
	d.used = d.total - d.total/50
	r.Open()
	if r.Watch(writable); d.has() || r.Held() {
		t.Error("there is a file")
	}
	log.last(t, "98% full")
	if free, total := r.Space(); free != d.total/50 || total != d.total {
		t.Errorf("%d of %d bytes are free", free, total)
	}
}
