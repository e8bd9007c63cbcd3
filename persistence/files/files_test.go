package files

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/disktest"
	"github.com/vigildb/vigil/persistence/journal"
	"github.com/vigildb/vigil/persistence/reserve"
	"github.com/vigildb/vigil/persistence/tail"
	"github.com/vigildb/vigil/persistence/wal"
)

// said is an operator's log.
type said struct{ lines []string }

func (s *said) Debugf(string, ...any) {}
func (s *said) Infof(format string, args ...any) {
	s.lines = append(s.lines, fmt.Sprintf(format, args...))
}
func (s *said) Warnf(format string, args ...any) { s.Infof(format, args...) }
func (s *said) Warn(kind string, err error)      { s.Infof("%s: %v", kind, err) }
func (s *said) Error(kind string, err error)     { s.Warn(kind, err) }

// open opens the files of a directory as a store does.
func open(fsys vfs.FS, truncate bool) (*Files, *said, error) {
	f, operator := new(Files), new(said)
	r := new(reserve.Reserve)
	r.Init(fsys, "db", 0, operator)
	f.Init(Config{FS: fsys, Dir: "db", Truncate: truncate, OpenFiles: 100, CacheBytes: 1 << 20, MemTableBytes: 1 << 20, SegmentBytes: 8 << 10,
		Reserve: r, Operator: operator, Now: func() int64 { return 0 }, Ctx: context.Background(), Closing: func() bool { return false }})
	if err := f.Open(); err != nil {
		return nil, operator, err
	}
	err := errors.Join(f.LoadMeta(), f.OpenLog(), f.LoadMarks())
	if err == nil {
		err = errors.Join(f.CheckMarks(f.LastChunk.LSN), f.Complete())
	}
	if err != nil {
		if f.Log != nil {
			err = errors.Join(err, f.Log.Close())
		}
		return nil, operator, errors.Join(err, f.Close())
	}
	return f, operator, nil
}

func mustOpen(t *testing.T, fsys vfs.FS) *Files {
	t.Helper()
	f, _, err := open(fsys, false)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func mustClose(t *testing.T, f *Files) {
	t.Helper()
	if err := errors.Join(f.Log.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
}

// chunk is one of a single record.
func chunk(index uint64, size int) journal.Chunk {
	records := append(binary.AppendUvarint(nil, uint64(size)), make([]byte, size)...)
	return journal.Kept(tail.Chunk{Index: index, First: index, Records: records}, index, false)
}

// What was written and synced is there when the files are opened again, and a cut drops what is before it.
func TestFilesAreOpenedAgain(t *testing.T) {
	fsys := vfs.NewMem()
	f := mustOpen(t, fsys)
	if f.LastChunk != (journal.Position{}) {
		t.Fatalf("the last chunk of a new store is %+v", f.LastChunk)
	}
	var chunks []journal.Chunk
	for i := uint64(1); i <= 20; i++ {
		chunks = append(chunks, chunk(i, 1<<10))
	}
	if err := f.writeChunks(chunks); err != nil {
		t.Fatal(err)
	}
	files, _ := f.Log.Size()
	meta := f.Meta
	meta.Trimmed = journal.Position{LSN: 19, Index: 19}
	last := f.Log.Segments()[files-1].Number
	if err := errors.Join(f.Cut(meta, last, func(b *pebble.Batch) error { return f.Seal(b, 20) }), f.Trim()); err != nil {
		t.Fatal(err)
	}
	if left, _ := f.Log.Size(); files < 2 || left != 1 {
		t.Errorf("%d segments of %d are left", left, files)
	}
	mustClose(t, f)
	f = mustOpen(t, fsys)
	if f.LastChunk != (journal.Position{LSN: 20, Index: 20}) || f.Meta.Segment != last || f.newest() != 20 {
		t.Errorf("the last chunk is %+v, the segment %d, the newest record %d", f.LastChunk, f.Meta.Segment, f.newest())
	}
	mustClose(t, f)
}

// A log whose end is damaged is refused, or cut on request, unless values may hold what would be cut off.
func TestDamagedLogIsCutOnRequest(t *testing.T) {
	for _, sealed := range []uint64{1, 4} {
		fsys := vfs.NewMem()
		f := mustOpen(t, fsys)
		if err := f.writeChunks([]journal.Chunk{chunk(1, 100), chunk(2, 100), chunk(3, 100), chunk(4, 100)}); err != nil {
			t.Fatal(err)
		}
		if err := f.WriteMeta(&f.Meta, func(b *pebble.Batch) error { return f.Seal(b, sealed) }); err != nil {
			t.Fatal(err)
		}
		end := f.Log.Synced()
		mustClose(t, f)
		name := fmt.Sprintf("db/log/%010d", end.Segment)
		b := disktest.ReadFile(t, fsys, name)
		b[end.Offset-20]++
		disktest.WriteFile(t, fsys, name, b)
		if _, _, err := open(fsys, false); wal.AsDamage(err) == nil {
			t.Fatalf("sealed up to %d: opened: %v", sealed, err)
		}
		f, operator, err := open(fsys, true)
		if sealed == 4 {
			if err == nil || !strings.Contains(err.Error(), "cannot be cut off") {
				t.Errorf("records that values hold were cut off: %v", err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if f.LastChunk.LSN < sealed || f.LastChunk.LSN >= 4 || f.Lost == nil || len(operator.lines) == 0 {
			t.Errorf("cut behind %+v, lost %v, said %q", f.LastChunk, f.Lost, operator.lines)
		}
		mustClose(t, f)
	}
}
