package persistence

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/check"
	"github.com/vigildb/vigil/persistence/disktest"
	"github.com/vigildb/vigil/persistence/fence"
	"github.com/vigildb/vigil/persistence/files"
	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/lsm"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/list"
	"github.com/vigildb/vigil/structures/testscale"
)

func checkStore(t *testing.T, fs vfs.FS, dir string) *check.Report {
	t.Helper()
	r, err := check.Run(check.Options{FS: fs, Dir: dir}, func(string, int64, int64) {})
	if err != nil {
		t.Fatalf("check: %v", err)
	}
	return r
}

// mixedStore has keys with and without pages, materialised and in the journal.
func mixedStore(t *testing.T) *disktest.Disk {
	t.Helper()
	mem := disktest.New()
	s := openMemory(t, Options{FS: mem, IdleAfter: -1})
	write := func(from, to int) {
		all(s, 1, func(tx *Tx) {
			for i := from; i < to; i++ {
				tx.Select(i % 3)
				tx.SetString(damagedKey(i), damagedValue(i), NoExpiry)
				tx.SetString(fmt.Appendf(nil, "session%d", i), nil, Expiry(1e12+int64(i)*1e6))
				l, ch, _, err := Edit(tx, fmt.Appendf(nil, "list%d", i), list.New)
				if err != nil {
					t.Fatal(err)
				}
				for range 90 { // several pages
					l.Push(ch, list.Tail, damagedValue(i))
				}
			}
		})
	}
	write(0, 100)
	materialise(t, s)
	write(100, 120)
	closeStore(t, s)
	return mem
}

func TestCheckFindsASoundStoreSoundAndLeavesItAlone(t *testing.T) {
	fs := mixedStore(t)
	before := listing(t, fs, "db")
	r := checkStore(t, fs, "db")
	if !r.Sound() || r.Heads() != 300 || r.Pages == 0 || r.Records == 0 || r.Tables == 0 {
		t.Errorf("report: %+v", r)
	}
	if n := r.Keys[check.KeyClass{DB: 1, Kind: structures.KindList}]; n != 33 {
		t.Errorf("%d lists in database 1, want 33", n)
	}
	if after := listing(t, fs, "db"); after != before {
		t.Errorf("before the check:\n%s\nafter it:\n%s", before, after)
	}
}

// listing is the names and contents of the files of a store.
func listing(t *testing.T, fs vfs.FS, dir string) string {
	t.Helper()
	var lines []string
	for name, b := range storeFiles(t, fs, dir) {
		lines = append(lines, fmt.Sprintf("%s %x", name, castagnoliOf(b)))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func castagnoliOf(b []byte) uint32 { return format.Checksum(0, b) }

// TestCheckFindsWhatChecksumsCannot changes keys through Pebble, so that the
// files are sound and the store is not.
func TestCheckFindsWhatChecksumsCannot(t *testing.T) {
	type damage struct {
		name, want string
		change     func(db *pebble.DB, b *pebble.Batch) error
	}
	for _, c := range testscale.Some([]damage{
		{"a missing head", "keys, but there are", func(db *pebble.DB, b *pebble.Batch) error {
			return b.Delete(firstKey(db, format.PrefixHead), nil)
		}},
		{"a missing page", "key \"list", func(db *pebble.DB, b *pebble.Batch) error {
			return b.Delete(firstKey(db, format.PrefixPage), nil)
		}},
		{"a chunk of which the record is cut off", "begins with record", func(db *pebble.DB, b *pebble.Batch) error {
			return changeMeta(db, b, func(m *format.Meta) { m.Trimmed.Index-- })
		}},
		{"a missing record", "begins with record", func(db *pebble.DB, b *pebble.Batch) error {
			return changeMeta(db, b, func(m *format.Meta) { m.Trimmed.LSN-- })
		}},
		{"a missing segment", "log/0000000007: is missing", func(db *pebble.DB, b *pebble.Batch) error {
			return changeMeta(db, b, func(m *format.Meta) { m.Segment = 7 })
		}},
		{"a chunk in Pebble", "the journal is in the log", func(_ *pebble.DB, b *pebble.Batch) error {
			return b.Set(format.AppendJournalKey(nil, 9), []byte("chunk"), nil)
		}},
		{"values of the future", "values hold record 256", func(_ *pebble.DB, b *pebble.Batch) error { return new(files.Files).Seal(b, 256) }},
		{"a key in the wrong place", "not where its hash says", func(db *pebble.DB, b *pebble.Batch) error {
			return b.Set(append(firstKey(db, format.PrefixHead), 'x'), append(format.AppendHead(nil, &format.Head{Kind: structures.KindString, Short: true}), 'v'), nil)
		}},
		{"a head of the future", "but the journal ends with", func(db *pebble.DB, b *pebble.Batch) error {
			return b.Set(firstKey(db, format.PrefixHead), format.AppendHead(nil, &format.Head{Kind: structures.KindString, Short: true, LSN: 1 << 40}), nil)
		}},
		{"an unknown kind", "kind 99", func(db *pebble.DB, b *pebble.Batch) error {
			return b.Set(firstKey(db, format.PrefixHead), format.AppendHead(nil, &format.Head{Kind: 99}), nil)
		}},
		{"an expiry that no list has", "no list of heads that expire names it", func(db *pebble.DB, b *pebble.Batch) error {
			return b.Delete(firstKey(db, format.PrefixExpiry), nil)
		}},
		{"a changed list of expiries", "its sum is wrong", func(db *pebble.DB, b *pebble.Batch) error {
			return b.Set(firstKey(db, format.PrefixExpiry), format.AppendExpiring(nil, format.Expiring{}), nil)
		}},
		{"a mark of the future", "hold record", func(_ *pebble.DB, b *pebble.Batch) error {
			return b.Set(format.AppendMarkKey(nil, 3), []byte{0, 0, 0, 0, 0, 1, 0, 0}, nil)
		}},
		{"pages of nobody", "which has no head", func(db *pebble.DB, b *pebble.Batch) error {
			return b.Set(format.AppendPageKey(nil, 0, 5, []byte("nobody"), 1), []byte("page"), nil)
		}},
		{"a changed meta", "checksum of meta", func(_ *pebble.DB, b *pebble.Batch) error {
			return b.Set(format.AppendMetaKey(nil), []byte{2, 0, 0, 0, 0, 0, 0, 0, 1}, nil)
		}},
	}) {
		fs := mixedStore(t)
		db, err := pebble.Open("db", &pebble.Options{FS: fs, Logger: quietLog(fence.New(fs, "db"))})
		if err != nil {
			t.Fatal(err)
		}
		b := db.NewBatch()
		if err := errors.Join(c.change(db, b), b.Commit(pebble.Sync), db.Close()); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if r := checkStore(t, fs, "db"); !strings.Contains(strings.Join(r.Damage, "\n"), c.want) {
			t.Errorf("%s: got %q, want %q", c.name, r.Damage, c.want)
		}
	}
}

// changeMeta writes another meta.
func changeMeta(db *pebble.DB, b *pebble.Batch, change func(*format.Meta)) error {
	m, err := lsm.ReadMeta(db, format.Meta{})
	change(&m)
	return errors.Join(err, b.Set(format.AppendMetaKey(nil), m.Append(nil), nil))
}

// firstKey is a copy of the lowest key with a prefix.
func firstKey(db *pebble.DB, prefix byte) []byte {
	it, err := db.NewIter(&pebble.IterOptions{LowerBound: format.AppendGroup(nil, prefix), UpperBound: format.AppendGroupEnd(nil, prefix)})
	if err != nil {
		return nil
	}
	defer it.Close()
	it.First()
	return append([]byte(nil), it.Key()...)
}

// TestCheckFindsDamagedBytes changes bits all over the files: what the check
// calls sound must be all there.
func TestCheckFindsDamagedBytes(t *testing.T) {
	c := crashStore(t, SyncAlways, 100)
	for file, b := range c.files(t) {
		found := 0
		for i := 0; i < len(b); i += testscale.By * max(1, min(*damageStride, len(b)/10)) {
			fs := c.copy()
			bad := append([]byte(nil), b...)
			bad[i] ^= 1 << (i % 8)
			disktest.WriteFile(t, fs, "db/"+file, bad)
			if r := checkStore(t, fs, "db"); !r.Sound() {
				found++
			} else if out, text := c.open(t, fs, Options{}); out != equal {
				t.Errorf("%s, byte %d: the check calls it sound, but %v: %s", file, i, out, text)
			}
		}
		t.Logf("%s of %d bytes: damage found %d times", file, len(b), found)
	}
}

func TestCheckRefusesWhatIsNoStoreOrInUse(t *testing.T) {
	fs := vfs.NewMem()
	if err := fs.MkdirAll("empty", 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := check.Run(check.Options{FS: fs, Dir: "empty"}, nil); !errors.Is(err, check.ErrNoStore) {
		t.Errorf("empty directory: %v", err)
	}
	s := openMemory(t, Options{FS: fs})
	if _, err := check.Run(check.Options{FS: fs, Dir: "db"}, nil); !errors.Is(err, ErrLocked) {
		t.Errorf("store in use: %v", err)
	}
	closeStore(t, s)
}

func TestCheckReadsASnapshotWithoutMakingALockFile(t *testing.T) {
	fs := vfs.NewMem()
	s := openMemory(t, Options{FS: fs})
	all(s, 1, func(tx *Tx) { tx.SetString([]byte("k"), []byte("v"), NoExpiry) })
	if err := s.Snapshot("copy", nil); err != nil {
		t.Fatal(err)
	}
	before := listing(t, fs, "copy")
	if r := checkStore(t, fs, "copy"); !r.Sound() || r.Records != 1 {
		t.Errorf("snapshot: %+v", r)
	}
	if after := listing(t, fs, "copy"); after != before {
		t.Errorf("before the check:\n%s\nafter it:\n%s", before, after)
	}
	closeStore(t, s)
}

func TestRestoreMakesAStoreOfASnapshot(t *testing.T) {
	fs := mixedStore(t)
	s := openMemory(t, Options{FS: fs, IdleAfter: -1})
	if err := s.Snapshot("copy", nil); err != nil {
		t.Fatal(err)
	}
	closeStore(t, s)
	before := listing(t, fs, "copy")
	quiet := func(string, int64, int64) {}
	if _, err := Restore(Options{FS: fs, Dir: "db"}, "copy", quiet); err == nil {
		t.Error("restored over a store")
	}
	if err := fs.RemoveAll("db"); err != nil {
		t.Fatal(err)
	}
	if _, err := Restore(Options{FS: fs, Dir: "db"}, "copy", quiet); err != nil {
		t.Fatal(err)
	}
	s = openMemory(t, Options{FS: fs, IdleAfter: -1})
	all(s, 1, func(tx *Tx) {
		for i := range 120 {
			tx.Select(i % 3)
			if b, _, err := tx.String(damagedKey(i)); string(b) != string(damagedValue(i)) || err != nil {
				t.Errorf("key %d: %q, %v", i, b, err)
			}
		}
		tx.Databases().FlushAll()
	})
	materialise(t, s)
	closeStore(t, s)
	if after := listing(t, fs, "copy"); after != before {
		t.Errorf("the snapshot changed from\n%s\nto\n%s", before, after)
	}
	if r := checkStore(t, fs, "copy"); !r.Sound() {
		t.Errorf("snapshot after its restored copy was used: %q", r.Damage)
	}
}

func TestRestoreRefusesADamagedSnapshot(t *testing.T) {
	c := crashStore(t, SyncAlways, 100)
	log := newestLog(c.files(t))
	b := c.files(t)[log]
	b[len(b)/2] ^= 1
	disktest.WriteFile(t, c.fs, "db/"+log, b)
	r, err := Restore(Options{FS: c.fs, Dir: "new"}, "db", func(string, int64, int64) {})
	if !errors.Is(err, ErrDamaged) || r == nil || len(r.Damage) == 0 {
		t.Errorf("damaged snapshot: %v, %+v", err, r)
	}
	if _, err := c.fs.List("new"); err == nil {
		t.Error("something is left of the restore")
	}
}
