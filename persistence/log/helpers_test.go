package log

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/vigildb/vigil/persistence/disktest"
)

var testStore = StoreID{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}

// small is a Config whose segments are full soon.
func small(fs vfs.FS) Config {
	return Config{FS: fs, Dir: "log", Store: testStore, SegmentBytes: 16 << 10, Reference: 2 << 10, MaxUnsynced: 1 << 20}
}

func mustOpen(t testing.TB, cfg Config) *Log {
	t.Helper()
	l, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// put appends a payload and syncs it.
func put(t testing.TB, l *Log, payload []byte) Position {
	t.Helper()
	at, err := l.Append(1, payload)
	if err == nil {
		_, err = l.Flush()
	}
	if err == nil {
		_, err = l.Sync()
	}
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// contents returns the payloads that can be read.
func contents(l *Log, from Position) (list [][]byte, err error) {
	err = l.Read(from, func(f Frame) error {
		b, err := f.Bytes()
		list = append(list, slices.Clone(b))
		return err
	})
	return list, err
}

// text returns a payload that tells its number, of about so many bytes.
func text(i, size int) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(i))
	r := rand.New(rand.NewPCG(uint64(i), 1))
	for len(b) < size {
		b = binary.LittleEndian.AppendUint64(b, r.Uint64())
	}
	return b
}

func expect(t testing.TB, got [][]byte, want ...[]byte) {
	t.Helper()
	if !slices.EqualFunc(got, want, bytes.Equal) {
		t.Fatalf("read %s, want %s", lengths(got), lengths(want))
	}
}

func lengths(list [][]byte) (s string) {
	for _, b := range list {
		s += fmt.Sprintf("%d bytes %.8x, ", len(b), b)
	}
	return fmt.Sprintf("%d frames: %s", len(list), s)
}

// appended is a frame as a test knows it.
type appended struct {
	at      Position
	kind    byte
	payload []byte
}

// world is a log on a disk, and what it should hold.
type world struct {
	t    *testing.T
	rand *rand.Rand
	disk *disktest.Disk
	hook func(errorfs.Op) error // before each operation of the disk; nil: none
	free *uint64                // bytes that the disk says are free; nil: it does not say
	cfg  Config
	log  *Log

	synchronised func() // when a sync is done, before the log knows it; nil: nothing

	frames  []appended // all that there should be
	first   int        // number of the first in frames
	flushed int        // number behind the last one that was flushed
	synced  int        // and that was synced
	trimmed int        // number of the first that must be there
	mark    map[uint64]int64
	moves   int
}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{t: t, rand: rand.New(rand.NewPCG(seed, 7)), disk: disktest.New(), mark: map[uint64]int64{}}
	w.cfg = small(nil)
	w.open()
	return w
}

// fs is the disk as the log sees it.
func (w *world) fs() vfs.FS { return strictFS{errorfs.Wrap(w.disk, w), w} }

// GetDiskUsage says what the test has it say.
func (f strictFS) GetDiskUsage(dir string) (vfs.DiskUsage, error) {
	if f.w.free == nil {
		return f.FS.GetDiskUsage(dir)
	}
	return vfs.DiskUsage{AvailBytes: *f.w.free}, nil
}

// strictFS fails the test if a file is written after a failure.
type strictFS struct {
	vfs.FS
	w *world
}

type strictFile struct {
	vfs.File
	w   *world
	bad error
}

func (s strictFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := s.FS.Create(name, c)
	return &strictFile{f, s.w, nil}, err
}

func (s strictFS) OpenReadWrite(name string, c vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	f, err := s.FS.OpenReadWrite(name, c, opts...)
	return &strictFile{f, s.w, nil}, err
}

func (f *strictFile) WriteAt(b []byte, off int64) (n int, err error) {
	err = f.do(func() error { n, err = f.File.WriteAt(b, off); return err })
	return n, err
}

func (f *strictFile) SyncData() error {
	err := f.do(f.File.SyncData)
	if f.w.synchronised != nil {
		f.w.synchronised()
	}
	return err
}

func (f *strictFile) do(op func() error) error {
	if f.bad != nil {
		f.w.t.Errorf("a file is used again after %v", f.bad)
	}
	f.bad = op()
	return f.bad
}

// MaybeError calls the hook.
func (w *world) MaybeError(op errorfs.Op) error {
	if w.hook == nil {
		return nil
	}
	return w.hook(op)
}

func (w *world) String() string { return "world" }

func (w *world) numbered(n int) *appended { return &w.frames[n-w.first] }

func (w *world) next() int { return w.first + len(w.frames) }

// configuration is what a restart would open the log with.
func (w *world) configuration(fs vfs.FS) Config {
	cfg := w.cfg
	cfg.FS, cfg.Synced = fs, map[uint64]int64{}
	for n, b := range w.mark {
		cfg.Synced[n] = b
	}
	cfg.Head = func(dst []byte, kind byte, payload [][]byte) []byte {
		b := slices.Concat(payload...)
		return append(append(dst, kind), b[:4]...) // the number of the frame
	}
	return cfg
}

func (w *world) open() {
	w.t.Helper()
	l, err := Open(w.configuration(w.fs()))
	if err != nil {
		w.t.Fatal(err)
	}
	w.log = l
}

// size is how long a payload is: mostly short, sometimes longer than a segment.
func (w *world) size() int {
	switch w.rand.IntN(20) {
	case 0:
		return 16<<10 + w.rand.IntN(20<<10)
	case 1, 2:
		return 2<<10 + w.rand.IntN(8<<10)
	}
	return w.rand.IntN(600)
}

func (w *world) append() {
	w.t.Helper()
	b := text(w.next(), w.size())
	kind := byte(1 + w.rand.IntN(255))
	given := slices.Clone(b)
	at, err := w.log.Append(kind, given[:len(b)/3], given[len(b)/3:])
	if err != nil {
		w.t.Fatal(err)
	}
	if len(b) < w.cfg.Reference {
		clear(given) // which was copied
	}
	w.frames = append(w.frames, appended{at, kind, b})
}

func (w *world) flush() error {
	upTo, err := w.log.Flush()
	w.flushed = max(w.flushed, w.below(upTo))
	if err == nil && w.flushed != w.next() {
		w.t.Fatalf("Flush says that %v is written, with %d of %d frames", upTo, w.flushed, w.next())
	}
	w.learn(w.log.Synced())
	return err
}

func (w *world) sync() error {
	upTo, err := w.log.Sync()
	w.learn(upTo)
	if err == nil && w.synced != w.flushed {
		w.t.Fatalf("Sync says that %v is synced, with %d of %d frames", upTo, w.synced, w.flushed)
	}
	return err
}

// learn notes what is synced, as a caller's mark does.
func (w *world) learn(synced Position) {
	w.synced = max(w.synced, w.below(synced))
	if synced.Segment > 0 && w.rand.IntN(2) == 0 {
		w.mark[synced.Segment] = max(w.mark[synced.Segment], synced.Offset)
	}
}

// below returns the number behind the last frame below a position.
func (w *world) below(p Position) int {
	n := w.next()
	for n > w.first && !w.numbered(n-1).at.Before(p) {
		n--
	}
	return n
}

func (w *world) repair() error {
	old := map[Position]Position{}
	err := w.log.Repair(func(from, to Position) { old[from] = to })
	for i := range w.frames {
		if to, ok := old[w.frames[i].at]; ok && w.first+i >= w.synced {
			w.frames[i].at = to
			w.moves++
		}
	}
	w.learn(w.log.Synced())
	if err == nil {
		w.flushed = w.next()
		if w.synced != w.flushed {
			w.t.Fatalf("Repair leaves %d of %d frames synced", w.synced, w.next())
		}
	}
	return err
}

// trim drops some frames that are synced.
func (w *world) trim() error {
	if w.synced <= w.trimmed {
		return nil
	}
	w.trimmed += w.rand.IntN(w.synced - w.trimmed)
	w.cfg.From = w.numbered(w.trimmed).at
	for n := range w.mark {
		if n < w.cfg.From.Segment {
			delete(w.mark, n)
		}
	}
	return w.log.Trim(w.cfg.From)
}

// verify reads a log and returns the number behind its last frame. All from the first that must be there up to
// least must be there, and nothing that was not appended.
func (w *world) verify(l *Log, least int) (next int) {
	w.t.Helper()
	next, begun := w.trimmed, false
	err := l.Read(Position{}, func(f Frame) error {
		b, err := f.Bytes()
		if err != nil {
			return err
		}
		if len(b) < 4 {
			return fmt.Errorf("frame of %d bytes", len(b))
		}
		n := int(binary.BigEndian.Uint32(b))
		switch {
		case begun && n != next:
			return fmt.Errorf("frame %d at %v, want %d", n, f.Position, next)
		case n < w.first || n >= w.next():
			return fmt.Errorf("frame %d at %v, which was never appended", n, f.Position)
		case !begun && n > w.trimmed:
			return fmt.Errorf("the log begins with frame %d, want %d", n, w.trimmed)
		}
		want := w.numbered(n)
		if !bytes.Equal(b, want.payload) || f.Kind != want.kind {
			return fmt.Errorf("frame %d is not what was appended", n)
		}
		if n >= w.trimmed && n < w.synced && f.Position != want.at {
			return fmt.Errorf("frame %d is at %v, want %v", n, f.Position, want.at)
		}
		next, begun = n+1, true
		return nil
	})
	if err == nil && next < least {
		err = fmt.Errorf("the log ends before frame %d, but %d were there", next, least)
	}
	if err != nil {
		w.t.Fatalf("%v\n%s", err, w.describe(l))
	}
	for _, s := range l.Segments() {
		n := int(binary.BigEndian.Uint32(s.Head[1:]))
		if s.Bytes == HeadBytes || n < w.trimmed || n >= w.synced { // a frame that was to begin the segment may be lost
			continue
		}
		if at := w.numbered(n).at; at != (Position{s.Number, HeadBytes}) {
			w.t.Fatalf("segment %d says that it begins with frame %d, which is at %v", s.Number, n, at)
		}
	}
	return next
}

func (w *world) describe(l *Log) (s string) {
	for _, g := range l.Segments() {
		s += fmt.Sprintf("%s: %d bytes, big %v\n", g.Name, g.Bytes, g.Big)
	}
	return s + fmt.Sprintf("trimmed %d, synced %d, flushed %d, appended %d", w.trimmed, w.synced, w.flushed, w.next())
}

// restart opens the log as it is on the disk now. The first frames, up to least, must be there.
func (w *world) restart(least int) {
	w.t.Helper()
	w.hook = nil
	w.open()
	next := w.verify(w.log, least)
	w.frames = w.frames[:max(next-w.first, 0)]
	w.flushed, w.synced = next, next
	// Positions of what was not synced may be those of before a repair, or of after.
	err := w.log.Read(Position{}, func(f Frame) error {
		b, err := f.Bytes()
		w.numbered(int(binary.BigEndian.Uint32(b))).at = f.Position
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.learn(w.log.Synced())
}

func (w *world) crash(percent int) *disktest.Disk {
	return w.disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: w.rand})
}

// checkpoint copies the log, and opens the copy.
func (w *world) checkpoint() error {
	dir := fmt.Sprintf("copy%d", w.rand.Uint32())
	synced := w.synced
	end, err := w.log.Checkpoint(errorfs.Wrap(w.disk, w), dir, w.cfg.From)
	if err != nil {
		return err
	}
	cfg := w.configuration(w.disk)
	cfg.Dir, cfg.Synced = dir, map[uint64]int64{end.Segment: end.Offset}
	c, err := Open(cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	if next := w.verify(c, synced); next != w.synced {
		w.t.Fatalf("the copy has frames up to %d, want %d", next, w.synced)
	}
	// The copy is written, which must not change the log.
	for range 3 {
		if _, err := c.Append(9, text(1<<31, 9000)); err != nil {
			w.t.Fatal(err)
		}
	}
	return errors.Join(c.Close(), w.disk.RemoveAll(dir))
}
