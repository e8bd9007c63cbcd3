package persistence

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/disktest"
	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/wal"
	"github.com/vigildb/vigil/structures/testscale"
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
	if err := s.commits.WaitDurable(lsn); err != nil {
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
		log := newestSegment(files)
		before := -1
		mark, _, err := wal.ReadMark(c.copy(), "db")
		if err != nil {
			t.Fatal(err)
		}
		// What is behind the last sync may pass for torn.
		for i := 100; i < int(mark.Segments()[1]); i += 9973 * testscale.By {
			fs := c.copy()
			bad := append([]byte(nil), files[log]...)
			bad[i] ^= 4
			disktest.WriteFile(t, fs, "db/"+log, bad)
			if out, _ := c.open(t, fs, Options{}); out != refused {
				t.Fatalf("%s: byte %d of %s changed: %v", name, i, log, out)
			}
			left, text := c.recovered(t, fs)
			if left < before || left >= c.all {
				t.Errorf("%s: byte %d changed: %d keys are left, %d with damage further ahead", name, i, left, before)
			}
			before = left
			kept := disktest.ReadFile(t, fs, "db/damaged-19700101T000000Z/"+log)
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
func logNamed(t *testing.T, name string) wal.File {
	t.Helper()
	id, ok := wal.ParseFile(name)
	if !ok {
		t.Fatalf("%s is no log", name)
	}
	return id
}

// newestSegment is the last file of the store's own log.
func newestSegment(files map[string][]byte) (name string) {
	for f := range files {
		if strings.HasPrefix(f, "log/0") {
			name = max(name, f)
		}
	}
	return name
}

// newestLog is Pebble's log with the highest number.
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
	log := newestSegment(c.files(t))
	fs := c.copy()
	if err := fs.Remove("db/" + log); err != nil {
		t.Fatal(err)
	}
	if left, text := c.recovered(t, fs); left == 0 || left == c.all || !strings.Contains(text, log) {
		t.Errorf("without %s: %d of %d keys, logged %q", log, left, c.all, text)
	}
	fs, log = c.copy(), newestLog(c.files(t))
	if err := fs.Remove("db/" + log); err != nil {
		t.Fatal(err)
	}
	if left, text := c.recovered(t, fs); left != c.all || !strings.Contains(text, log) {
		t.Errorf("without %s: %d of %d keys, of which the store's own log has all, logged %q", log, left, c.all, text)
	}
	fs = c.copy()
	if err := fs.Remove("db/" + wal.MarkName); err != nil {
		t.Fatal(err)
	}
	if left, text := c.recovered(t, fs); left != c.all || !strings.Contains(text, wal.MarkName) {
		t.Errorf("without the mark: %d of %d keys, logged %q", left, c.all, text)
	}
}

// TestRecoveryRefusesWhatTruncationCannotMend: a table or manifest has no state
// before the damage.
func TestRecoveryRefusesWhatTruncationCannotMend(t *testing.T) {
	c := crashStore(t, SyncAlways, 100)
	for file, b := range c.files(t) {
		if !strings.HasPrefix(file, "MANIFEST-") {
			continue
		}
		fs := c.copy()
		disktest.WriteFile(t, fs, "db/"+file, b[:len(b)-1])
		_, err := Open(Options{FS: fs, Dir: "db", Recover: RecoverTruncate})
		if d := wal.AsDamage(err); d == nil || d.Truncatable || d.File != file {
			t.Errorf("%s cut short: %v", file, err)
		}
	}
}

// landShards writes the values of n shards to the object store, as a pass does that is cut short.
func landShards(t *testing.T, s *Store, first, n int) {
	t.Helper()
	s.writer.Lock()
	defer s.writer.Unlock()
	for i := range n {
		if err := s.writer.WriteShard(t.Context(), first+i); err != nil {
			t.Error(err)
		}
	}
	if err := s.writer.Commit(); err != nil {
		t.Error(err)
	}
}

// A log that has lost even its directory is recovered like one that has lost its first file: only the object store is
// left, if it is whole by itself.
func TestRecoveryGoesOnWithoutTheLog(t *testing.T) {
	for _, whole := range []bool{true, false} {
		fs := disktest.New()
		s := openMemory(t, Options{FS: fs, Sync: SyncAlways, IdleAfter: -1})
		setKeys(s, 0, 100, []byte("v"))
		materialise(t, s)
		last := s.commits.Newest()
		if !whole { // the pass below writes a value, and does not cut the journal
			setKeys(s, 0, 1, []byte("w"))
			landShards(t, s, format.ShardOf(s.Hash(benchKey(nil, 0))), 1)
		}
		closeStore(t, s)
		if err := fs.RemoveAll("db/log"); err != nil {
			t.Fatal(err)
		}
		for _, o := range []Options{{}, {Recover: RecoverTruncate}} {
			o.FS, o.Dir, o.IdleAfter = fs, "db", -1
			s, err := Open(o)
			if d := wal.AsDamage(err); (err == nil) != (whole && o.Recover == RecoverTruncate) || err != nil && (d == nil || !strings.HasPrefix(d.File, "log/")) {
				t.Fatalf("whole %v, recovery %v: %v", whole, o.Recover, err)
			}
			if err != nil {
				continue
			}
			if n, got := countKeys(s), s.commits.Newest(); n != 100 || got != last {
				t.Errorf("%d keys and record %d, want 100 and %d", n, got, last)
			}
			closeStore(t, s)
		}
	}
}

// What values already hold a part of is not cut off: they would be ahead of the log.
func TestRecoveryRefusesToLeaveValuesWithoutTheirRecords(t *testing.T) {
	fs := disktest.New()
	s := openMemory(t, Options{FS: fs, Sync: SyncAlways, IdleAfter: -1})
	for i := range 600 {
		lsn := all(s, 1, func(tx *Tx) { tx.SetString(damagedKey(i), damagedValue(i), NoExpiry) })
		if i%50 > 0 {
			continue
		}
		if err := s.commits.WaitDurable(lsn); err != nil { // which a later frame says: what is damaged is not taken for torn
			t.Fatal(err)
		}
	}
	landShards(t, s, 0, 100)
	c := crashed{fs: fs.CrashClone(vfs.CrashCloneCfg{}), acked: 600, all: 600}
	closeStore(t, s)
	files := c.files(t)
	log := newestSegment(files)
	bad := files[log]
	bad[len(bad)/2] ^= 1
	disktest.WriteFile(t, c.fs, "db/"+log, bad)
	for range 2 { // the refusal changes nothing
		_, err := Open(Options{FS: c.fs, Dir: "db", Recover: RecoverTruncate})
		d := wal.AsDamage(err)
		if d == nil || d.Truncatable || d.File != log || !strings.Contains(d.Reason, "as values hold changes up to record 600") {
			t.Errorf("a log that values are ahead of: %v", err)
		}
	}
	if got := disktest.ReadFile(t, c.fs, "db/"+log); string(got) != string(bad) {
		t.Error("the log was changed")
	}
}

// Nor is the record of a flush whose database is gone from the object store: its keys would be counted, and not be there.
func TestRecoveryRefusesToLeaveAPurgeWithoutItsFlush(t *testing.T) {
	fs := disktest.New()
	s := openMemory(t, Options{FS: fs, Sync: SyncAlways, IdleAfter: -1})
	setKeys(s, 0, 100, []byte("v"))
	materialise(t, s)
	flush := all(s, 1, func(tx *Tx) { tx.Databases().FlushAll() })
	if err := s.commits.WaitDurable(flush); err != nil {
		t.Fatal(err)
	}
	if err := s.purger.Run(); err != nil {
		t.Fatal(err)
	}
	closeStore(t, s)
	name := newestSegment(storeFiles(t, fs, "db"))
	b := disktest.ReadFile(t, fs, "db/"+name)
	b[len(b)-1] ^= 1
	disktest.WriteFile(t, fs, "db/"+name, b)
	_, err := Open(Options{FS: fs, Dir: "db", Recover: RecoverTruncate})
	if d := wal.AsDamage(err); d == nil || d.Truncatable || !strings.Contains(d.Reason, fmt.Sprintf("values hold changes up to record %d", flush)) {
		t.Errorf("a log that lacks the flush: %v", err)
	}
}
