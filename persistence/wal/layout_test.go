package wal

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/disktest"
	"github.com/vigildb/vigil/persistence/format"
)

// inspect reads a database without damage.
func inspect(t *testing.T, disk vfs.FS) *Layout {
	t.Helper()
	l, err := Inspect(disk, "db", t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// begin opens a database behind its mark.
func begin(t *testing.T, l *Layout) (*pebble.DB, *FS) {
	t.Helper()
	fs, err := l.GoOn(t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	db, err := pebble.Open("db", &pebble.Options{FS: fs, Logger: disktest.Silent{}, FormatMajorVersion: pebble.FormatNewest})
	if err != nil {
		t.Fatal(err)
	}
	return db, fs
}

// written is a disk with a database that has n chunks of one record each, as a crash leaves it.
func written(t *testing.T, n int) *disktest.Disk {
	t.Helper()
	disk := disktest.New()
	if err := disk.MkdirAll("db", 0o700); err != nil {
		t.Fatal(err)
	}
	db, fs := begin(t, inspect(t, disk))
	if err := errors.Join(db.Set([]byte("first"), nil, pebble.Sync), db.Flush(), fs.Mark.Complete()); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		chunk := append(make([]byte, format.ChunkHeader), 2, format.OpDelete, 0)
		format.SealChunk(chunk, uint64(i+1), 0)
		if err := db.Set(format.AppendJournalKey(nil, uint64(i+1)), chunk, pebble.Sync); err != nil {
			t.Fatal(err)
		}
	}
	crashed := disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))}) // the mark too
	if err := errors.Join(db.Close(), fs.Mark.Close()); err != nil {
		t.Fatal(err)
	}
	return crashed
}

// A log is damaged where a byte of it changed, and is cut there: what is before is kept, what
// follows is counted and put aside.
func TestLogIsCutWhereItIsDamaged(t *testing.T) {
	const all = 20
	disk := written(t, all)
	logs := inspect(t, disk).Logs
	log := logs[len(logs)-1]
	name := "db/" + log.Name
	bad := disktest.ReadFile(t, disk, name)
	bad[log.End/2] ^= 1
	disktest.WriteFile(t, disk, name, bad)

	l, err := Inspect(disk, "db", t.Logf)
	d := AsDamage(err)
	if d == nil || !d.Truncatable || d.File != log.Name || d.Offset > log.End/2 || !errors.Is(err, format.ErrCorrupt) {
		t.Fatalf("byte %d of %s changed: %v", log.End/2, log.Name, err)
	}
	aside, err := l.PutAside(d, 0)
	if err != nil || string(disktest.ReadFile(t, disk, aside+"/"+log.Name)) != string(bad) {
		t.Fatalf("put aside in %q: %v", aside, err)
	}
	lost, err := l.Cut(d)
	if err != nil || lost == nil {
		t.Fatalf("cut: %v, %v", lost, err)
	}
	if text := lost.Report(0); !strings.Contains(text, "lost: ") {
		t.Errorf("reported %q", text)
	}
	db, fs := begin(t, l)
	left := 0
	it, err := db.NewIter(&pebble.IterOptions{LowerBound: format.AppendGroup(nil, format.PrefixJournal)})
	if err != nil {
		t.Fatal(err)
	}
	for it.First(); it.Valid(); it.Next() {
		left++
	}
	if err := errors.Join(it.Close(), db.Close(), fs.Mark.Close()); err != nil {
		t.Fatal(err)
	}
	if left == 0 || left >= all {
		t.Errorf("%d of %d chunks are left", left, all)
	}
}

// Without its mark a store is damaged, and can go on with its logs as they are. A directory
// without a store needs none.
func TestMissingMarkIsDamage(t *testing.T) {
	disk := written(t, 1)
	if err := disk.Remove("db/" + MarkName); err != nil {
		t.Fatal(err)
	}
	l, err := Inspect(disk, "db", t.Logf)
	d := AsDamage(err)
	if d == nil || !d.Truncatable || d.File != MarkName {
		t.Fatalf("without the mark: %v", err)
	}
	if lost, err := l.Cut(d); lost != nil || err != nil {
		t.Errorf("going on without the mark: %v, %v", lost, err)
	}
	empty := vfs.NewMem()
	if err := empty.MkdirAll("db", 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Inspect(empty, "db", t.Logf); err != nil || StoreIn(nil) || !StoreIn([]string{MarkName}) {
		t.Errorf("an empty directory: %v", err)
	}
}

// A copy of a store has a mark of its own, and lacks nothing that the mark of the store said.
func TestCopyGetsAMark(t *testing.T) {
	disk := written(t, 3)
	db, fs := begin(t, inspect(t, disk))
	if err := errors.Join(db.Set([]byte("k"), nil, pebble.Sync), db.Flush(), db.Set([]byte("l"), nil, pebble.Sync)); err != nil {
		t.Fatal(err)
	}
	before := fs.Mark.State()
	err := errors.Join(db.Checkpoint("copy"), MarkCopy(disk, "copy", before), db.Close(), fs.Mark.Close())
	if err != nil {
		t.Fatal(err)
	}
	l, err := Inspect(disk, "copy", t.Logf)
	if err != nil || !l.mark.Made || len(l.mark.Files) == 0 {
		t.Fatalf("the copy: %+v, %v", l.mark, err)
	}
	for _, e := range l.Logs {
		disktest.WriteFile(t, disk, "copy/"+e.Name, disktest.ReadFile(t, disk, "copy/"+e.Name)[:e.End/2])
	}
	if _, err := Inspect(disk, "copy", t.Logf); AsDamage(err) == nil {
		t.Errorf("the copy with half of its logs: %v", err)
	}
}
