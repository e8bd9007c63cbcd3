package persistence

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/disktest"
	"github.com/vigildb/vigil/structures/testscale"
)

var testBoot = [16]byte{7}

func openKept(t testing.TB, fs vfs.FS, m *disktest.Memory, o Options) *Store {
	t.Helper()
	o.FS, o.MapTail, o.Boot = fs, m.Map, testBoot
	if o.IdleAfter == 0 {
		o.IdleAfter = -1
	}
	return openMemory(t, o)
}

// huge is a key that nobody was told of.
const huge = "huge"

// checkKeys compares the strings of a store with what was acknowledged.
func checkKeys(t *testing.T, s *Store, want map[string]string) {
	t.Helper()
	all(s, 1, func(tx *Tx) {
		n := tx.Databases().Size(0)
		if _, ok, err := tx.String([]byte(huge)); ok && err == nil {
			n--
		}
		if n != len(want) {
			t.Errorf("%d keys, want %d", n, len(want))
		}
		for k, v := range want {
			if got, _, err := tx.String([]byte(k)); err != nil || string(got) != v {
				t.Fatalf("%s has %d bytes, want %d: %v", k, len(got), len(v), err)
			}
		}
	})
}

// A process dies at any time, and of the files nothing is left but what was synced: nothing that was acknowledged is
// lost, under each policy. What the store says that clients have to wait for is waited for.
func TestDeathOfTheProcessLosesNothing(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	for _, policy := range testscale.Some([]SyncPolicy{SyncEverySecond, SyncNever}) {
		mem, m := vfs.NewCrashableMem(), &disktest.Memory{}
		want := map[string]string{}
		waits, kept := 0, 0
		// More lives than that follow if each was synced in the instant between its last change and its death.
		for life, lives := 0, max(3, 8/testscale.By); life < lives || life < 40 && (kept == 0 || waits == 0); life++ {
			var log strings.Builder
			s := openKept(t, mem, m, Options{Sync: policy, JournalBound: 1 << 20, MaxMemory: 32 << 20,
				Logf: func(_ int, format string, args ...any) { fmt.Fprintf(&log, format+"\n", args...) }})
			checkKeys(t, s, want)
			kept += strings.Count(log.String(), "the process before was killed")
			// Each life has a change that has to wait, and one thereafter that need not.
			ops := 2 + r.IntN(100)
			for i, at := 0, ops-2-r.IntN(min(ops-1, 5)); i < ops; i++ {
				if i == at { // what is not copied, and is not waited for: what follows has to wait
					all(s, 1, func(tx *Tx) { tx.SetString([]byte(huge), make([]byte, 5<<20), NoExpiry) })
				}
				n := 1 + r.IntN([]int{10, 1000, 70_000, 1 << 20}[r.IntN(20)*r.IntN(20)/100])
				if i == ops-1 {
					n = 10
				}
				k, v := fmt.Sprint("key-", r.IntN(40)), strings.Repeat(string(rune('a'+r.IntN(26))), n)
				tx := s.NewTx()
				var set Shards
				set.AddAll()
				tx.Lock(&set, 1)
				lsn := uint64(0)
				if i != at && i != ops-1 && r.IntN(5) == 0 {
					tx.Delete([]byte(k))
					delete(want, k)
				} else {
					tx.SetString([]byte(k), []byte(v), NoExpiry)
					want[k] = v
				}
				lsn = tx.Commit()
				heavy := tx.Heavy()
				tx.Unlock()
				if heavy && lsn > 0 {
					waits++
					if err := s.commits.WaitDurable(lsn); err != nil {
						t.Fatal(err)
					}
				}
			}
			m = m.Clone() // first: what is freed meanwhile is on the disk
			disk := mem.CrashClone(vfs.CrashCloneCfg{})
			closeStore(t, s)
			mem = disk
		}
		if kept == 0 || waits == 0 {
			t.Errorf("policy %v: %d starts found something in the tail, %d changes had to wait", policy, kept, waits)
		}
	}
}

// killed writes keys, and returns what a process that is killed then leaves.
func killed(t *testing.T, o Options, keys int) (*vfs.MemFS, *disktest.Memory) {
	t.Helper()
	mem, m := vfs.NewCrashableMem(), &disktest.Memory{}
	s := openKept(t, mem, m, o)
	for i := range keys {
		all(s, 1, func(tx *Tx) { tx.SetString(fmt.Append(nil, i), []byte("value"), NoExpiry) })
	}
	m = m.Clone()
	clone := mem.CrashClone(vfs.CrashCloneCfg{})
	closeStore(t, s)
	return clone, m
}

func countKeys(s *Store) (n int) {
	all(s, 1, func(tx *Tx) { n = tx.Databases().Size(0) })
	return n
}

// What another boot, another store or another life left in the tail is not taken, and what is damaged is an error that names the file.
func TestTailThatIsNotOfThisLifeIsNotTaken(t *testing.T) {
	p := newPump() // nothing is written unless it is asked to
	defer close(p.stop)
	disk, m := killed(t, Options{Background: p.run}, 10)
	for _, c := range []struct {
		name   string
		change func(o *Options, b []byte)
		keys   int
	}{
		{"as it is", func(*Options, []byte) {}, 10},
		{"another boot", func(o *Options, _ []byte) { o.Boot = [16]byte{8} }, 0},
		{"a system that does not tell boots apart", func(o *Options, _ []byte) { o.Boot = [16]byte{} }, 0},
		{"no tail", func(o *Options, _ []byte) { o.MapTail = nil }, 0},
		{"another store", func(_ *Options, b []byte) { b[16]++ }, 0},
		{"a chunk before is missing", func(_ *Options, b []byte) { binary.LittleEndian.PutUint64(b[4096+8:], 2) }, 0},
		{"a record before is missing", func(_ *Options, b []byte) { binary.LittleEndian.PutUint64(b[4096+16:], 2) }, 0},
		{"an empty file", func(_ *Options, b []byte) { clear(b) }, 0},
	} {
		copied := m.Clone()
		o := Options{FS: disk.CrashClone(vfs.CrashCloneCfg{}), Dir: "db", IdleAfter: -1, MapTail: copied.Map, Boot: testBoot}
		copied.Each(func(b []byte) { c.change(&o, b) })
		s := openMemory(t, o)
		if n := countKeys(s); n != c.keys {
			t.Errorf("%s: %d keys, want %d", c.name, n, c.keys)
		}
		closeStore(t, s)
	}
	copied := m.Clone()
	copied.Each(func(b []byte) { b[len(b)-mostTail+5]++ }) // in the first slot
	_, err := Open(Options{FS: disk.CrashClone(vfs.CrashCloneCfg{}), Dir: "db", MapTail: copied.Map, Boot: testBoot})
	if err == nil || !strings.Contains(err.Error(), "db/vigil-tail: chunk 1, which the disk lacks, is damaged") {
		t.Errorf("damaged: %v", err)
	}
}
