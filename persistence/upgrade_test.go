package persistence

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/vigildb/vigil/persistence/chunklog"
	"github.com/vigildb/vigil/persistence/disktest"
	"github.com/vigildb/vigil/persistence/fence"
	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/lsm"
	"github.com/vigildb/vigil/persistence/storelog"
	"github.com/vigildb/vigil/persistence/wal"
	"github.com/vigildb/vigil/structures/testscale"
)

// formerly makes a store that is closed one in format 2, as the version before left it: chunks are in Pebble, long
// ones in pieces.
func formerly(t *testing.T, fs vfs.FS) {
	t.Helper()
	l, err := wal.Inspect(fs, "db", t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	marked, err := l.GoOn(t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	f := fence.New(marked, "db")
	db, err := lsm.Open("db", lsm.Options(f, quietLog(f)), f, func() bool { return false })
	if err != nil {
		t.Fatal(err)
	}
	meta, err := lsm.ReadMeta(db, format.Meta{})
	if err != nil {
		t.Fatal(err)
	}
	chunks, err := chunklog.View(storelog.Config{FS: fs, Dir: "db", Secret: meta.Secret, From: meta.Segment, Synced: marked.Mark.State().Segments()})
	if err != nil {
		t.Fatal(err)
	}
	r := chunks.Read(meta.Trimmed.Index + 1)
	more, err := r.Next()
	for ; more && err == nil; more, err = r.Next() {
		var c format.Chunk
		if c, err = r.Chunk(); err == nil {
			storeFormerly(t, db, &c)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	meta.Pebble = true
	marked.Mark.Segment(0, 0)
	err = errors.Join(r.Close(), chunks.Close(), db.Set(format.AppendMetaKey(nil), meta.Append(nil), pebble.Sync),
		db.Delete(format.AppendNewestKey(nil), pebble.Sync), db.Flush(), lsm.Close("db", db, f), marked.Mark.Close(), fs.RemoveAll("db/log"))
	if err != nil {
		t.Fatal(err)
	}
}

// storeFormerly writes a chunk under its own key.
func storeFormerly(t *testing.T, db *pebble.DB, c *format.Chunk) {
	t.Helper()
	records, err := c.Open()
	if err != nil {
		t.Fatal(err)
	}
	flags := byte(0)
	if c.Apart() {
		flags = format.ChunkApart
	}
	value := append(make([]byte, format.ChunkHeader), records...)
	format.SealChunk(value, c.First, flags)
	if len(records) >= bigRecord {
		value = format.AppendPieced(nil, c.First, flags, len(records))
		for id := uint32(0); len(records) > 0; id++ {
			n := min(len(records), format.PieceBytes)
			piece := append(make([]byte, format.PieceCRC), records[:n]...)
			format.SealPiece(piece)
			if err := db.Set(format.AppendPieceKey(nil, c.Index, id), piece, pebble.Sync); err != nil {
				t.Fatal(err)
			}
			records = records[n:]
		}
	}
	if err := db.Set(format.AppendJournalKey(nil, c.Index), value, pebble.Sync); err != nil {
		t.Fatal(err)
	}
}

// formerStore is a store in format 2 with small values, a flush and a long value, in the object store and in the journal.
func formerStore(t *testing.T, fs *disktest.Disk) (check func(s *Store)) {
	t.Helper()
	long := bytes.Repeat([]byte("0123456789"), 110_000) // in two pieces
	s := openMemory(t, Options{FS: fs, IdleAfter: -1})
	write := func(prefix string) {
		all(s, 1, func(tx *Tx) {
			for i := range 100 {
				tx.SetString(fmt.Appendf(nil, "%s%d", prefix, i), damagedValue(i), NoExpiry)
			}
		})
		all(s, 1, func(tx *Tx) { tx.SetString([]byte(prefix+"long"), long, NoExpiry) })
	}
	write("a")
	materialise(t, s)
	all(s, 1, func(tx *Tx) {
		tx.Select(1)
		tx.SetString([]byte("gone"), nil, NoExpiry)
	})
	all(s, 1, func(tx *Tx) { tx.Databases().Flush(1) })
	write("b")
	last := s.commits.Newest()
	closeStore(t, s)
	formerly(t, fs)
	return func(s *Store) {
		t.Helper()
		if got := s.commits.Newest(); got != last {
			t.Errorf("record %d is the last, want %d", got, last)
		}
		all(s, 1, func(tx *Tx) {
			if n := tx.Databases().Size(1); n != 0 {
				t.Errorf("database 1 has %d keys", n)
			}
			for _, prefix := range []string{"a", "b"} {
				if b, _, err := tx.String([]byte(prefix + "long")); !bytes.Equal(b, long) {
					t.Errorf("%slong has %d bytes: %v", prefix, len(b), err)
				}
				for i := range 100 {
					if b, _, _ := tx.String(fmt.Appendf(nil, "%s%d", prefix, i)); string(b) != string(damagedValue(i)) {
						t.Errorf("%s%d: %.20q", prefix, i, b)
					}
				}
			}
		})
	}
}

func format2(t *testing.T, fs vfs.FS) bool {
	t.Helper()
	r := checkStore(t, fs, "db")
	if !r.Sound() {
		t.Errorf("the store is damaged: %q", r.Damage)
	}
	_, err := fs.Stat("db/log")
	return err != nil
}

// A store in format 2 is in format 3 once it was opened, with everything, and has its journal in the log.
func TestFormat2BecomesFormat3(t *testing.T) {
	fs := disktest.New()
	check := formerStore(t, fs)
	if !format2(t, fs) {
		t.Fatal("the store has a log already")
	}
	for range 2 {
		s := openMemory(t, Options{FS: fs, IdleAfter: -1})
		check(s)
		if n := chunksOf(t, s); n == 0 {
			t.Error("no chunk is in the log")
		}
		if some, err := lsm.Any(s.files.Disk.DB, format.AppendGroup(nil, format.PrefixJournal), format.AppendGroupEnd(nil, format.PrefixJournal)); some || err != nil {
			t.Errorf("chunks are in Pebble: %v, %v", some, err)
		}
		closeStore(t, s)
		if format2(t, fs) {
			t.Error("there is no log")
		}
	}
}

// A crash at any moment of that leaves a store in one of the two formats, with everything.
func TestCrashWhileFormat2BecomesFormat3(t *testing.T) {
	fs := disktest.New()
	check := formerStore(t, fs)
	for k := 1; ; k += 3 * testscale.By {
		mem := fs.CrashClone(vfs.CrashCloneCfg{})
		disk := newFailingDisk(mem, faultEIO, k, false)
		s, err := Open(Options{FS: disk, Dir: "db", IdleAfter: -1, Background: func(Task) {}})
		if err == nil {
			_ = s.Close()
		}
		_, hits := disk.count()
		crashed := mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: k % 2 * 100, RNG: rand.New(rand.NewPCG(uint64(k), 1))})
		s = openMemory(t, Options{FS: crashed, IdleAfter: -1})
		check(s)
		closeStore(t, s)
		if hits == 0 {
			return
		}
	}
}

// The chunks are in one of their two places whatever the device did not get: what is in Pebble goes when the log is there.
func TestFormat2IsLeftWhenTheDeviceHasTheLog(t *testing.T) {
	fs := disktest.New()
	check := formerStore(t, fs)
	var s *Store
	amid := &amidDisk{}
	crashes, err := amid.crashes(fs, func() (err error) {
		s, err = Open(Options{FS: errorfs.Wrap(fs, amid), Dir: "db", IdleAfter: -1, Background: func(Task) {}})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	former, next := 0, 0
	for _, disk := range testscale.Some(crashes) {
		if _, err := disk.Stat("db/log"); err == nil {
			next++
		} else {
			former++
		}
		s := openMemory(t, Options{FS: disk, IdleAfter: -1})
		check(s)
		closeStore(t, s)
	}
	if former == 0 || next == 0 {
		t.Errorf("%d crashes leave a store without a log, and %d one with it", former, next)
	}
	closeStore(t, s)
}

// Without room a store in format 2 stays in it, and says why it cannot be opened.
func TestFormat2OnAFullDiskStaysAsItIs(t *testing.T) {
	fs := disktest.New()
	check := formerStore(t, fs)
	// Which removes logs of Pebble's that are not needed, so that there is no more room later.
	db, err := pebble.Open("db", &pebble.Options{FS: fs, Logger: disktest.Silent{}, FormatMajorVersion: pebble.FormatNewest})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	disk := &smallDisk{FS: fs, total: smallTotal}
	disk.fill(512 << 10)
	for range 2 {
		_, err := Open(Options{FS: disk, Dir: "db", IdleAfter: -1})
		if !errors.Is(err, syscall.ENOSPC) || wal.AsDamage(err) != nil || !strings.Contains(err.Error(), "format 2") {
			t.Errorf("on a full disk: %v", err)
		}
		if !format2(t, fs) {
			t.Error("a log is left")
		}
	}
	s := openMemory(t, Options{FS: fs, IdleAfter: -1})
	check(s)
	closeStore(t, s)
}

// A piece of a long chunk that is damaged or missing is refused, and nothing is changed.
func TestDamagedPiecesOfFormat2AreRefused(t *testing.T) {
	for _, missing := range []bool{false, true} {
		fs := disktest.New()
		formerStore(t, fs)
		db, err := pebble.Open("db", &pebble.Options{FS: fs, Logger: disktest.Silent{}, FormatMajorVersion: pebble.FormatNewest})
		if err != nil {
			t.Fatal(err)
		}
		it, err := db.NewIter(&pebble.IterOptions{LowerBound: format.AppendGroup(nil, format.PrefixJournal)})
		if err != nil {
			t.Fatal(err)
		}
		for it.First(); !format.IsPiece(it.Key()); it.Next() {
		}
		b := db.NewBatch()
		if err = b.Delete(it.Key(), nil); !missing {
			err = b.Set(it.Key(), make([]byte, format.PieceBytes+4), nil)
		}
		if err := errors.Join(err, it.Close(), b.Commit(nil), db.Close()); err != nil {
			t.Fatal(err)
		}
		if s, err := Open(Options{FS: fs, Dir: "db"}); !errors.Is(err, ErrCorrupt) {
			t.Errorf("missing %v: %v", missing, err)
			_ = s.Close()
		}
		if _, err := fs.Stat("db/log"); err == nil {
			t.Error("a log is left")
		}
	}
}
