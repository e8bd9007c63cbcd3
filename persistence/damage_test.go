package persistence

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/disktest"
	"github.com/vigildb/vigil/persistence/wal"
	"github.com/vigildb/vigil/structures/testscale"
)

// damageStride is the distance of the bytes that are changed: the whole of every
// file with 1, in some minutes.
var damageStride = flag.Int("damage.stride", 9973, "change every n-th byte of a store's files")

// crashed is a store as a crash left it.
type crashed struct {
	fs    *disktest.Disk
	acked int // keys k0 to k<acked-1> had been confirmed as durable
	all   int // and so many were written
}

func damagedKey(i int) []byte   { return fmt.Appendf(nil, "k%d", i) }
func damagedValue(i int) []byte { return fmt.Appendf(nil, "%d-%s", i, strings.Repeat("v", 40+i*7%900)) }

// crashStore writes a store with tables, a log that is closed and one that is
// in use, and takes it as a crash leaves it which keeps so many percent of what
// was not synced.
func crashStore(t testing.TB, policy SyncPolicy, percent int) crashed {
	t.Helper()
	mem := disktest.New()
	s := openMemory(t, Options{FS: mem, Sync: policy, IdleAfter: -1})
	n := 0
	write := func(count int) (lsn uint64) {
		for range count {
			lsn = all(s, 1, func(tx *Tx) { tx.SetString(damagedKey(n), damagedValue(n), NoExpiry) })
			n++
		}
		return lsn
	}
	durable := func(lsn uint64) {
		if err := s.commits.WaitDurable(lsn); err != nil {
			t.Fatalf("WaitDurable: %v", err)
		}
	}
	for range 10 {
		durable(write(3))
	}
	materialise(t, s)
	if err := s.files.Disk.DB.Flush(); err != nil {
		t.Fatalf("flush: %v", err)
	}
	for range 10 {
		durable(write(3))
	}
	materialise(t, s)
	for range 20 {
		durable(write(3))
	}
	acked := n
	if err := s.commits.AwaitSync(write(15)); err != nil {
		t.Fatalf("awaitSync: %v", err)
	}
	if policy == SyncAlways {
		durable(s.commits.Journal.Newest())
		acked = n
	}
	clone := mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rand.New(rand.NewPCG(uint64(percent), 1))})
	closeStore(t, s)
	return crashed{clone, acked, n}
}

// copy is another store like it.
func (c crashed) copy() *disktest.Disk {
	return c.fs.CrashClone(vfs.CrashCloneCfg{})
}

func (c crashed) files(t testing.TB) map[string][]byte {
	t.Helper()
	return storeFiles(t, c.fs, "db")
}

// storeFiles is what is in the files of a store, and in those of its log.
func storeFiles(t testing.TB, fs vfs.FS, db string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for _, dir := range []string{"", "log/"} {
		names, err := fs.List(db + "/" + dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			name = dir + name
			info, err := fs.Stat(db + "/" + name)
			if err != nil || info.IsDir() {
				continue
			}
			files[name] = disktest.ReadFile(t, fs, db+"/"+name)
		}
	}
	return files
}

// outcome is what a start on a damaged store comes to.
type outcome int

const (
	refused outcome = iota
	equal           // everything that had been confirmed is there
	told            // it opens, and reading what is damaged is an error
	silent          // something is missing or wrong without a word
)

// open starts the store in fs and reads every key that had been confirmed.
func (c crashed) open(t testing.TB, fs vfs.FS, o Options) (out outcome, text string) {
	t.Helper()
	o.FS, o.Dir, o.IdleAfter = fs, "db", -1
	s, err := Open(o)
	if err != nil {
		return refused, err.Error()
	}
	defer s.Close()
	out = equal
	all(s, 1, func(tx *Tx) {
		for i := range c.acked {
			b, ok, err := tx.String(damagedKey(i))
			switch {
			case err != nil:
				out, text = max(out, told), err.Error()
			case !ok || string(b) != string(damagedValue(i)):
				out, text = silent, fmt.Sprintf("key %d of %d: got %.20q", i, c.acked, b)
				return
			}
		}
	})
	return out, text
}

var damagePolicies = map[string]SyncPolicy{"always": SyncAlways, "everysec": SyncEverySecond, "no": SyncNever}

// TestDamagedBytesAreNoticed changes bits all over the files of a store that
// crashed: each start is refused or finds everything that had been confirmed.
func TestDamagedBytesAreNoticed(t *testing.T) {
	for name, policy := range damagePolicies {
		t.Run(name, func(t *testing.T) {
			c := crashStore(t, policy, 100)
			if out, text := c.open(t, c.copy(), Options{}); out != equal {
				t.Fatalf("undamaged: %v %s", out, text)
			}
			for file, b := range c.files(t) {
				counts := [4]int{}
				for i := 0; i < len(b); i += testscale.By * max(1, min(*damageStride, len(b)/12)) {
					fs := c.copy()
					bad := append([]byte(nil), b...)
					bad[i] ^= 1 << (i % 8)
					disktest.WriteFile(t, fs, "db/"+file, bad)
					out, text := c.open(t, fs, Options{})
					if out == silent {
						t.Errorf("%s of %d bytes, bit %d of byte %d: %s", file, len(b), i%8, i, text)
					}
					if out != equal && !strings.Contains(text, strings.TrimSuffix(file, ".sst")) {
						t.Errorf("%s, bit %d of byte %d: the file is not named: %s", file, i%8, i, text)
					}
					counts[out]++
				}
				t.Logf("%s of %d bytes: %d refused, %d equal, %d told on reading, %d silent",
					file, len(b), counts[refused], counts[equal], counts[told], counts[silent])
			}
		})
	}
}

// TestMissingAndShortFilesAreNoticed deletes each file of a store that crashed,
// and cuts it at several lengths.
func TestMissingAndShortFilesAreNoticed(t *testing.T) {
	for name, policy := range damagePolicies {
		t.Run(name, func(t *testing.T) {
			c := crashStore(t, policy, 100)
			for file, b := range c.files(t) {
				fs := c.copy()
				if err := fs.Remove("db/" + file); err != nil {
					t.Fatal(err)
				}
				out, text := c.open(t, fs, Options{})
				if out == silent || out == refused && !strings.Contains(text, file) && !strings.Contains(text, "marker.") {
					t.Errorf("%s missing: %v %s", file, out, text)
				}
				for _, size := range testscale.Some([]int{len(b) / 2, 0, 1, len(b) / 4, len(b) - 100, len(b) - 1}) {
					if size < 0 || size >= len(b) {
						continue
					}
					fs := c.copy()
					disktest.WriteFile(t, fs, "db/"+file, b[:size])
					if out, text := c.open(t, fs, Options{}); out == silent {
						t.Errorf("%s with %d of %d bytes: %v %s", file, size, len(b), out, text)
					} else if out == refused && !strings.Contains(text, file) {
						t.Errorf("%s with %d of %d bytes: the file is not named: %s", file, size, len(b), text)
					}
				}
			}
		})
	}
}

// TestTornTailsAreNoDamage lets power failures keep parts of what was not synced.
func TestTornTailsAreNoDamage(t *testing.T) {
	for name, policy := range damagePolicies {
		for percent := 0; percent < 11; percent += testscale.By {
			c := crashStore(t, policy, 10*percent)
			if out, text := c.open(t, c.fs, Options{}); out != equal {
				t.Errorf("%s, %d %% kept: %v %s", name, 10*percent, out, text)
			}
		}
	}
}

// TestConfirmedPartsOfATornRecordAreNoDamage cuts a log inside a record of several
// blocks, as a crash does while the record is written. The device had confirmed the
// first blocks of it, with the record before.
func TestConfirmedPartsOfATornRecordAreNoDamage(t *testing.T) {
	mem := disktest.New()
	s := openMemory(t, Options{FS: mem, Sync: SyncAlways, IdleAfter: -1})
	small := all(s, 1, func(tx *Tx) { tx.SetString([]byte("small"), []byte("v"), NoExpiry) })
	if err := s.commits.WaitDurable(small); err != nil { // in a chunk of its own
		t.Fatal(err)
	}
	big := all(s, 1, func(tx *Tx) { tx.SetString([]byte("big"), incompressible(5*wal.BlockBytes/2), NoExpiry) })
	if err := s.commits.WaitDurable(big); err != nil {
		t.Fatal(err)
	}
	materialise(t, s) // in one batch of Pebble's
	c := crashed{fs: mem.CrashClone(vfs.CrashCloneCfg{})}
	closeStore(t, s)
	mark, _, err := wal.ReadMark(c.fs, "db")
	if err != nil {
		t.Fatal(err)
	}
	name := newestLog(c.files(t))
	log := disktest.ReadFile(t, c.fs, "db/"+name)
	for _, test := range []struct {
		name        string
		cut, synced int
		damaged     bool
	}{
		{"one block", wal.BlockBytes, wal.BlockBytes, false},
		{"two blocks", 2 * wal.BlockBytes, 2 * wal.BlockBytes, false},
		{"one block, and half of another that was not confirmed", 3 * wal.BlockBytes / 2, wal.BlockBytes, false},
		{"one block of two that were confirmed", wal.BlockBytes, 2 * wal.BlockBytes, true},
		{"half a block of one that was confirmed", wal.BlockBytes / 2, wal.BlockBytes, true},
	} {
		fs := c.copy()
		disktest.WriteFile(t, fs, "db/"+name, log[:test.cut])
		m := mark
		m.Files = []wal.Synced{{File: logNamed(t, name), Bytes: int64(test.synced)}}
		disktest.WriteFile(t, fs, "db/"+wal.MarkName, m.Append(nil))
		s, err := Open(Options{FS: fs, Dir: "db", IdleAfter: -1})
		if damage := (*wal.Damage)(nil); errors.As(err, &damage) != test.damaged || err != nil && !test.damaged {
			t.Errorf("%s: %v", test.name, err)
		}
		if err != nil {
			continue
		}
		if got := s.Stats().LSN; got != big {
			t.Errorf("%s: record %d is the last, want %d", test.name, got, big)
		}
		closeStore(t, s)
	}
}

// incompressible is n bytes that take as many in a log.
func incompressible(n int) []byte {
	b := make([]byte, n)
	r := rand.New(rand.NewPCG(1, uint64(n)))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}
