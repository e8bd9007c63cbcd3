package persistence

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/journal"
	"github.com/vigildb/vigil/structures/thrift"
)

// recovered starts a damaged store with RecoverTruncate, and returns how many of
// its keys are left, which must be the first ones, and what was logged.
func (c crashed) recovered(t *testing.T, fs vfs.FS) (left int, log string) {
	t.Helper()
	var lines strings.Builder
	o := Options{FS: fs, Recover: RecoverTruncate, IdleAfter: -1, Logf: func(level int, format string, args ...any) {
		if level >= LevelWarn {
			fmt.Fprintf(&lines, format+"\n", args...)
		}
	}}
	s := openMemory(t, o)
	left = c.prefix(t, s)
	// It works on, and the next start finds nothing wrong.
	lsn := all(s, 1, func(tx *Tx) { tx.SetString([]byte("after"), []byte("v"), NoExpiry) })
	if err := s.WaitDurable(lsn); err != nil {
		t.Fatalf("write after the recovery: %v", err)
	}
	materialise(t, s)
	closeStore(t, s)
	s = openMemory(t, Options{FS: fs, IdleAfter: -1})
	if n := c.prefix(t, s); n != left {
		t.Errorf("%d keys after the recovery, %d after the next start", left, n)
	}
	closeStore(t, s)
	return left, lines.String()
}

// prefix is how many keys there are. They must be the first that were written.
func (c crashed) prefix(t *testing.T, s *Store) (n int) {
	t.Helper()
	all(s, 1, func(tx *Tx) {
		for i := range c.all {
			b, ok, err := tx.String(damagedKey(i))
			if err != nil {
				t.Fatalf("key %d: %v", i, err)
			}
			if ok && (n != i || string(b) != string(damagedValue(i))) {
				t.Fatalf("key %d is there with %.20q, but of those before only %d", i, b, n)
			}
			if ok {
				n++
			}
		}
	})
	return n
}

func TestRecoveryKeepsWhatIsBeforeTheDamage(t *testing.T) {
	for name, policy := range damagePolicies {
		c := crashStore(t, policy, 100)
		files := c.files(t)
		log := newestLog(files)
		before := -1
		mark, _, err := readMark(c.copy(), "db")
		if err != nil {
			t.Fatal(err)
		}
		// What is behind the last sync may pass for torn.
		for i := 100; i < int(mark.synced(logNamed(t, log))); i += 9973 * thrift.By {
			fs := c.copy()
			bad := append([]byte(nil), files[log]...)
			bad[i] ^= 4
			writeWhole(t, fs, "db/"+log, bad)
			if out, _ := c.open(t, fs, Options{}); out != refused {
				t.Fatalf("%s: byte %d of %s changed: %v", name, i, log, out)
			}
			left, text := c.recovered(t, fs)
			if left < before || left >= c.all {
				t.Errorf("%s: byte %d changed: %d keys are left, %d with damage further ahead", name, i, left, before)
			}
			before = left
			kept := readWhole(t, fs, "db/damaged-19700101T000000Z/"+log)
			if string(kept) != string(bad) {
				t.Errorf("%s: the copy of the damaged log is not what was damaged", name)
			}
			if !strings.Contains(text, log) || !strings.Contains(text, "lost: ") {
				t.Errorf("%s: logged %q", name, text)
			}
			if i == 100 {
				t.Logf("%s: %d of %d keys are left; %s", name, left, c.all, text)
			}
		}
	}
}

// logNamed is the log of a file name.
func logNamed(t *testing.T, name string) appended {
	t.Helper()
	num, err := strconv.ParseUint(strings.TrimSuffix(name, ".log"), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return appended{markLog, num}
}

// newestLog is the log with the highest number.
func newestLog(files map[string][]byte) (name string) {
	for f := range files {
		if strings.HasSuffix(f, ".log") {
			name = max(name, f)
		}
	}
	return name
}

func TestRecoveryGoesOnWithoutAMissingFile(t *testing.T) {
	c := crashStore(t, SyncAlways, 100)
	log := newestLog(c.files(t))
	fs := c.copy()
	if err := fs.Remove("db/" + log); err != nil {
		t.Fatal(err)
	}
	if left, text := c.recovered(t, fs); left == 0 || left == c.all || !strings.Contains(text, log) {
		t.Errorf("without %s: %d of %d keys, logged %q", log, left, c.all, text)
	}
	fs = c.copy()
	if err := fs.Remove("db/" + markName); err != nil {
		t.Fatal(err)
	}
	if left, text := c.recovered(t, fs); left != c.all || !strings.Contains(text, markName) {
		t.Errorf("without the mark: %d of %d keys, logged %q", left, c.all, text)
	}
}

// TestRecoveryRefusesWhatTruncationCannotMend: a table or manifest has no state
// before the damage.
func TestRecoveryRefusesWhatTruncationCannotMend(t *testing.T) {
	c := crashStore(t, SyncAlways, 100)
	for file, b := range c.files(t) {
		if !strings.HasPrefix(file, manifestPrefix) {
			continue
		}
		fs := c.copy()
		writeWhole(t, fs, "db/"+file, b[:len(b)-1])
		_, err := Open(Options{FS: fs, Dir: "db", Recover: RecoverTruncate})
		if d := asDamage(err); d == nil || d.Truncatable || d.File != file {
			t.Errorf("%s cut short: %v", file, err)
		}
	}
}

func FuzzMark(f *testing.F) {
	m := marked{generation: 3, made: true, files: []syncedFile{{appended{markLog, 7}, 100}, {appended{markManifest, 1}, 5}}}
	f.Add(m.append(nil))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := decodeMarked(b)
		if err != nil {
			return
		}
		again, err := decodeMarked(m.append(nil))
		if err != nil || again.generation != m.generation || again.made != m.made || len(again.files) != len(m.files) {
			t.Errorf("%x: %v became %v, %v", b, m, again, err)
		}
	})
}

func FuzzOldestLog(f *testing.F) {
	f.Add([]byte{1, 3, 'a', 'b', 'c', 2, 9})
	f.Add([]byte{2, 200, 1})
	f.Fuzz(func(_ *testing.T, b []byte) { oldestLog(b) })
}

func FuzzDecodeMeta(f *testing.F) {
	m := format.Meta{Secret: [16]byte{1}, Trimmed: journal.Position{LSN: 2, Index: 1}, Mapped: 3, Next: 5, Phys: []uint32{0, 4}}
	f.Add(m.Append(nil))
	f.Fuzz(func(_ *testing.T, b []byte) { _, _ = format.DecodeMeta(b) })
}

func TestMarkHasRoomForManyFiles(t *testing.T) {
	var m marked
	for i := range 2 * markFiles {
		m.files = append(m.files, syncedFile{appended{markLog, uint64(i)}, 1})
	}
	b := m.append(nil)
	got, err := decodeMarked(b)
	if err != nil || len(b) > markSlot || len(got.files) != markFiles || got.files[markFiles-1].num != 2*markFiles-1 {
		t.Errorf("%d files in %d bytes: %v", len(got.files), len(b), err)
	}
}

// TestTornMarkStillTells cuts writes of the mark short at every byte: what is
// read then is what was promised before or after.
func TestTornMarkStillTells(t *testing.T) {
	fs := vfs.NewMem()
	if err := fs.MkdirAll("db", 0o700); err != nil {
		t.Fatal(err)
	}
	m, err := openMark(fs, "db", marked{made: true}, func(int, string, ...any) {})
	if err != nil {
		t.Fatal(err)
	}
	defer m.close()
	log := appended{markLog, 7}
	m.begin(log)
	for n := int64(1); n < 20; n++ {
		before := readWhole(t, fs, "db/"+markName)
		m.grow(log, n)
		after := readWhole(t, fs, "db/"+markName)
		for cut := range len(after) {
			if cut < len(before) && before[cut] == after[cut] {
				continue
			}
			torn := append(append([]byte(nil), after[:cut]...), before[min(cut, len(before)):]...)
			if err := fs.MkdirAll("torn", 0o700); err != nil {
				t.Fatal(err)
			}
			writeWhole(t, fs, "torn/"+markName, torn)
			got, _, err := readMark(fs, "torn")
			if err != nil || got.synced(log) != n-1 && got.synced(log) != n {
				t.Fatalf("write %d cut at byte %d: %d bytes of the log are promised, %v", n, cut, got.synced(log), err)
			}
		}
	}
}
