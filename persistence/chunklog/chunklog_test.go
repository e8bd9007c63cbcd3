package chunklog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/disktest"
	"github.com/vigildb/vigil/persistence/fence"
	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/journal"
	"github.com/vigildb/vigil/persistence/log"
	"github.com/vigildb/vigil/persistence/storelog"
	"github.com/vigildb/vigil/persistence/tail"
)

// world is a log on a disk, and what should be in it.
type world struct {
	t       *testing.T
	r       *rand.Rand
	disk    *disktest.Disk
	noted   map[uint64]int64
	from    uint64
	log     *Log
	records [][]byte // of chunk i+1
	files   []uint64 // that each is in, or a later one
	synced  int      // chunks that the device has
	trimmed int      // chunks that may be gone
}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{t: t, r: rand.New(rand.NewPCG(seed, 3)), disk: disktest.New(), noted: map[uint64]int64{}}
	if err := errors.Join(w.disk.MkdirAll("db", 0o700), fence.SyncDir(w.disk, w.disk.PathDir("db"))); err != nil {
		t.Fatal(err)
	}
	w.open()
	return w
}

func (w *world) config() storelog.Config {
	return storelog.Config{FS: w.disk, Dir: "db", Secret: [16]byte{1}, From: w.from, Synced: maps.Clone(w.noted), SegmentBytes: 16 << 10, Recycle: true,
		Note: func(segment uint64, bytes int64) {
			clear(w.noted)
			w.noted[segment] = bytes
		}}
}

func (w *world) open() {
	w.t.Helper()
	l, err := Open(w.config())
	if err != nil {
		w.t.Fatal(err)
	}
	w.log = l
}

// recorded returns records of about so many bytes, of one record each.
func recorded(r *rand.Rand, size int) []byte {
	b := binary.AppendUvarint(nil, uint64(size))
	for range size {
		b = append(b, byte(r.Uint32()))
	}
	return b
}

// chunkOf is the chunk with a number, of one record with the same number.
func chunkOf(index uint64, records []byte, big bool) journal.Chunk {
	return journal.Kept(tail.Chunk{Index: index, First: index, Flags: byte(index % 2), Records: records}, index, big)
}

func (w *world) append(size int) {
	w.t.Helper()
	b := recorded(w.r, size)
	w.records = append(w.records, b)
	c := chunkOf(uint64(len(w.records)), b, size > 10000)
	file, err := w.log.Append(&c)
	if err != nil {
		w.t.Fatal(err)
	}
	w.files = append(w.files, file)
}

func (w *world) sync() {
	w.t.Helper()
	if err := errors.Join(w.log.Flush(), w.log.Sync()); err != nil {
		w.t.Fatal(err)
	}
	w.synced = len(w.records)
}

// check reads the log from a chunk on, and returns up to which one it goes.
func (w *world) check(l *Log, from int) (last int) {
	w.t.Helper()
	r := l.Read(uint64(from))
	next := max(from, 1)
	more, err := r.Next()
	for ; more && err == nil; more, err = r.Next() {
		size := r.Size()
		_, err := r.Chunk()
		c, again := r.Chunk() // as often as is asked for
		if err := errors.Join(err, again); err != nil {
			w.t.Fatal(err)
		}
		if size > 16<<10 && !c.Own || size < 10000 && c.Own {
			w.t.Fatalf("chunk %d has %d bytes, and whether they are its own is %v", c.Index, size, c.Own)
		}
		if next == max(from, 1) && int(c.Index) > next && int(c.Index) <= w.trimmed+1 {
			next = int(c.Index) // those before are gone
		}
		records, err := c.Open()
		if err != nil || int(c.Index) != next || int(c.First) != next || c.Apart() != (next%2 == 1) || size != len(c.Bytes) || !bytes.Equal(records, w.records[next-1]) {
			w.t.Fatalf("chunk %d with record %d and %d bytes is read in the place of %d: %v", c.Index, c.First, len(records), next, err)
		}
		if c.Segment < w.files[next-1] {
			w.t.Fatalf("chunk %d is in file %d, not in %d or a later one", next, c.Segment, w.files[next-1])
		}
		next++
	}
	if err := errors.Join(err, r.Close()); err != nil {
		w.t.Fatal(err)
	}
	return next - 1
}

func (w *world) trim() {
	w.t.Helper()
	if w.synced == 0 {
		return
	}
	w.trimmed = max(w.trimmed, w.r.IntN(w.synced+1))
	if w.trimmed > 0 {
		w.from = max(w.from, w.files[w.trimmed-1])
	}
	if err := w.log.Trim(w.from); err != nil {
		w.t.Fatal(err)
	}
}

// restart begins on what a crash leaves, or an orderly end.
func (w *world) restart(percent int) {
	w.t.Helper()
	if percent < 0 {
		if err := w.log.Close(); err != nil {
			w.t.Fatal(err)
		}
		w.synced = len(w.records)
	} else {
		disk, noted := w.disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: w.r}), maps.Clone(w.noted)
		_ = w.log.Close()
		w.disk, w.noted = disk, noted
	}
	w.open()
	last := w.check(w.log, w.trimmed+1)
	if last < w.synced || last > len(w.records) {
		w.t.Fatalf("%d chunks are left of %d, of which the device had %d", last, len(w.records), w.synced)
	}
	end, err := w.log.Last()
	if err != nil || len(w.records) > 0 && last > w.trimmed && (int(end.Index) != last || int(end.LSN) != last) {
		w.t.Fatalf("the log says that it ends with %+v, want %d: %v", end, last, err)
	}
	w.records, w.files, w.synced = w.records[:last], w.files[:last], last
}

// A log has what was appended, up to some chunk behind all that the device has, whatever is done to it.
func TestLogHasThePrefixThatTheDeviceHas(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	for round := range uint64(30) {
		w := newWorld(t, seed+round)
		for range 150 {
			switch n := w.r.IntN(20); {
			case n < 10:
				w.append(w.r.IntN(3000))
			case n < 11:
				w.append(10000 + w.r.IntN(30000))
			case n < 13:
				w.sync()
			case n < 14:
				if err := w.log.Flush(); err != nil {
					t.Fatal(err)
				}
			case n < 16:
				w.trim()
			case n < 17:
				w.sync()
				w.check(w.log, 1+w.r.IntN(len(w.records)+1))
				if err := w.log.Verify(); err != nil {
					t.Fatal(err)
				}
			case n < 18:
				w.restart(-1)
			default:
				w.restart(w.r.IntN(3) * 50)
			}
		}
		if err := w.log.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A copy has what the device had.
func TestCheckpointIsALog(t *testing.T) {
	w := newWorld(t, 1)
	for range 40 {
		w.append(2000)
	}
	w.sync()
	w.append(100)
	segment, length, err := w.log.Checkpoint(w.disk, "copy", 0)
	if err != nil {
		t.Fatal(err)
	}
	cfg := w.config()
	cfg.Dir, cfg.Synced, cfg.Note = "copy", map[uint64]int64{segment: length}, nil
	l, err := View(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if last := w.check(l, 1); last != 40 {
		t.Errorf("the copy ends with %d, want 40", last)
	}
	cfg.Synced[segment]++
	if _, err := View(cfg); log.AsDamage(err) == nil {
		t.Errorf("a copy that lacks a byte: %v", err)
	}
	if err := w.log.Close(); err != nil {
		t.Fatal(err)
	}
}

// What is no chunk that is known is refused by its version, and what is too short as damage.
func TestFramesThatAreNoChunks(t *testing.T) {
	entry := append(make([]byte, format.EntryHeader), recorded(rand.New(rand.NewPCG(1, 1)), 10)...)
	for _, c := range []struct {
		kind byte
		b    []byte
		want error
	}{
		{chunk, entry, nil},
		{chunk + 1, entry, format.ErrVersion},
		{chunk, append(bytes.Repeat([]byte{0x80}, format.EntryHeader), 1), format.ErrVersion},
		{chunk, entry[:format.EntryHeader-1], format.ErrCorrupt},
	} {
		w := newWorld(t, 1)
		if _, err := w.log.Log.Append(c.kind, c.b); err != nil {
			t.Fatal(err)
		}
		w.sync()
		r := w.log.Read(0)
		if more, err := r.Next(); !errors.Is(err, c.want) || more != (c.want == nil) {
			t.Errorf("kind %d, %x: got %v, %v, want %v", c.kind, c.b, more, err, c.want)
		}
		if err := errors.Join(r.Close(), w.log.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

// A long chunk that is passed over is not read: damage in it does not matter to a replay.
func TestLongChunkIsPassedOverUnread(t *testing.T) {
	w := newWorld(t, 1)
	w.append(3 << 20)
	w.append(10)
	w.sync()
	name := "db/log/0000000001"
	b := disktest.ReadFile(t, w.disk, name)
	b[len(b)-1000] ^= 1
	disktest.WriteFile(t, w.disk, name, b)
	if last := w.check(w.log, 2); last != 2 {
		t.Errorf("the log ends with %d, want 2", last)
	}
	r := w.log.Read(1)
	if more, err := r.Next(); !more || err != nil {
		t.Fatalf("the first chunk: %v, %v", more, err)
	}
	if _, err := r.Chunk(); log.AsDamage(err) == nil {
		t.Errorf("its damage: %v", err)
	}
	if err := w.log.Verify(); log.AsDamage(err) == nil {
		t.Errorf("verified: %v", err)
	}
	if err := errors.Join(r.Close(), w.log.Close()); err != nil {
		t.Fatal(err)
	}
}

// FuzzEntries has any payload read as a chunk.
func FuzzEntries(f *testing.F) {
	f.Add(byte(1), make([]byte, format.EntryHeader+3))
	f.Add(byte(2), []byte{1})
	f.Add(byte(1), []byte{})
	f.Fuzz(func(t *testing.T, kind byte, payload []byte) {
		w := newWorld(t, 1)
		if _, err := w.log.Log.Append(max(kind, 1), payload); err != nil {
			t.Fatal(err)
		}
		w.sync()
		err := w.log.Verify()
		if err != nil && !errors.Is(err, format.ErrCorrupt) && !errors.Is(err, format.ErrVersion) {
			t.Errorf("%v", err)
		}
		if _, last := w.log.Last(); (last == nil) != (err == nil) && err != nil {
			t.Errorf("the end is %v, but read it is %v", last, err)
		}
		if err := w.log.Close(); err != nil {
			t.Fatal(err)
		}
	})
}
