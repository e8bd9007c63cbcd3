package persistence

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vigildb/vigil/persistence/tail"
	"github.com/vigildb/vigil/placement"
	"github.com/vigildb/vigil/scheduler"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/bloom"
	"github.com/vigildb/vigil/structures/hash"
	"github.com/vigildb/vigil/structures/hyll"
	"github.com/vigildb/vigil/structures/list"
	"github.com/vigildb/vigil/structures/placemap"
	"github.com/vigildb/vigil/structures/schedule"
)

// The stores in testdata were written once and are opened for ever: a version
// that cannot read them cannot read what users have. Those in format 3 are written anew, which a
// new format alone may ask for, by
//
//	go test ./persistence -run TestGoldenStore -golden
//
// Those in format 2, which were written by the version before it, never are: see TestStoresOfFormat2AreUnchanged.
var writeGolden = flag.Bool("golden", false, "write the golden store anew")

const (
	goldenDir  = "testdata/format3"
	goldenNow  = int64(1_700_000_000_000)
	goldenLate = int64(4_000_000_000_000)
	goldenMany = 150
)

func openGolden(t *testing.T, dir string) *Store {
	t.Helper()
	o := Options{Dir: dir, IdleAfter: -1, Secret: [16]byte{3, 1, 4, 1, 5}, Now: func() int64 { return goldenNow }}
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// makeGolden writes keys of every kind under names that begin with prefix.
func makeGolden(t *testing.T, tx *Tx, prefix string) {
	t.Helper()
	name := func(s string) []byte { return []byte(prefix + s) }
	tx.SetString(name("short"), []byte("value"), NoExpiry)
	tx.SetString(name("long"), bytes.Repeat([]byte("long"), 1100), Expiry(goldenLate))
	tx.SetString(name("expiring"), []byte("soon"), Expiry(goldenLate+1))
	tx.SetString(name("expired"), []byte("over"), Expiry(goldenNow+1000))
	tx.SetString(append(name("k"), make([]byte, 4200)...), []byte("key"), NoExpiry)
	hll := hyll.New()
	for i := range 100 {
		hll, _, _ = hyll.Add(hll, fmt.Append(nil, i), 3000, new(hyll.Touched))
	}
	tx.SetString(name("hll"), hll, NoExpiry)
	elements, lch, _, err := Edit(tx, name("list"), list.New)
	h, ch, _, err2 := Edit(tx, name("hash"), func() *hash.Hash { return hash.New(tx.HashKeys()) })
	small, sch, _, err3 := Edit(tx, name("small"), func() *hash.Hash { return hash.New(tx.HashKeys()) })
	if err != nil || err2 != nil || err3 != nil {
		t.Fatal(err, err2, err3)
	}
	for i := range goldenMany {
		elements.Push(lch, list.Tail, fmt.Append(nil, "element-", i))
		h.Set(ch, fmt.Append(nil, "field-", i), fmt.Append(nil, "value-", i))
	}
	h.ExpireAt(ch, []byte("field-7"), goldenLate)
	h.ExpireAt(ch, []byte("field-8"), goldenNow+1000)
	small.Set(sch, []byte("f"), []byte("v"))
	filter := bloom.New()
	if err := filter.Reserve(nil, bloom.Shape{Error: .01, Capacity: 100, Expansion: 2}, 1<<30); err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		if _, err := filter.Add(nil, fmt.Append(nil, i), 1<<30); err != nil {
			t.Fatal(err)
		}
	}
	Replace(tx, name("bloom"), filter, NoExpiry)
	sched, cfg := schedule.New(tx.HashKeys().Fields), schedule.DefaultConfig()
	if err := sched.Create(nil, cfg, goldenNow); err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		if _, err := sched.Add(nil, fmt.Append(nil, "node-", i), scheduler.DefaultParams(), goldenNow); err != nil {
			t.Fatal(err)
		}
	}
	Replace(tx, name("schedule"), sched, Expiry(goldenLate))
	place, err := placemap.New(placement.Options{Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := place.Set(nil, []placement.Unit{{Name: "a", Capacity: 1}, {Name: "b", Capacity: 2}}); err != nil {
		t.Fatal(err)
	}
	Replace(tx, name("place"), place, NoExpiry)
}

// checkGolden checks them, all but small.
func checkGolden(t *testing.T, tx *Tx, prefix string) {
	t.Helper()
	name := func(s string) []byte { return []byte(prefix + s) }
	for key, want := range map[string]string{
		string(name("short")): "value", string(name("long")): string(bytes.Repeat([]byte("long"), 1100)),
		string(name("expiring")): "soon", string(append(name("k"), make([]byte, 4200)...)): "key",
	} {
		if b, ok, err := tx.String([]byte(key)); !ok || err != nil || string(b) != want {
			t.Errorf("%.20s: got %.20q, %v, %v", key, b, ok, err)
		}
	}
	for key, want := range map[string]int64{"short": 0, "long": goldenLate, "expiring": goldenLate + 1, "schedule": goldenLate} {
		if ms, ok := tx.ExpireAt(name(key)); !ok || ms != want {
			t.Errorf("%s%s expires at %d, %v, want %d", prefix, key, ms, ok, want)
		}
	}
	hll, _, _ := tx.String(name("hll"))
	if n, err := hyll.Count(bytes.Clone(hll), new(hyll.Touched)); n != 100 || err != nil {
		t.Errorf("%shll: got %d, %v", prefix, n, err)
	}
	list, _, err := View[*list.List](tx, name("list"))
	h, _, err2 := View[*hash.Hash](tx, name("hash"))
	bloom, _, err4 := View[*bloom.Filter](tx, name("bloom"))
	sched, _, err5 := View[*schedule.Schedule](tx, name("schedule"))
	place, _, err6 := View[*placemap.Map](tx, name("place"))
	for _, err := range []error{err, err2, err4, err5, err6, tx.Err()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if list.Len() != goldenMany || h.Live(goldenNow) != goldenMany || h.Live(goldenNow+1000) != goldenMany-1 || sched.Len() != 5 || bloom.Card() != 50 {
		t.Errorf("%s: %d elements, %d fields, %d nodes, %d items", prefix, list.Len(), h.Live(goldenNow), sched.Len(), bloom.Card())
	}
	for i := range goldenMany {
		if b, _ := list.Index(i); string(b) != fmt.Sprint("element-", i) {
			t.Errorf("%slist: element %d is %q", prefix, i, b)
		}
		if b, _ := h.Get(fmt.Append(nil, "field-", i), 0); string(b) != fmt.Sprint("value-", i) {
			t.Errorf("%shash: field %d is %q", prefix, i, b)
		}
		if i < 50 && !bloom.Exists(fmt.Append(nil, i)) {
			t.Errorf("%sbloom: %d is not there", prefix, i)
		}
	}
	if ms, has, _ := h.ExpiryOf([]byte("field-7")); !has || ms != goldenLate {
		t.Errorf("%shash: field-7 expires at %d", prefix, ms)
	}
	if p, ok := sched.Params([]byte("node-4")); !ok || p != scheduler.DefaultParams() {
		t.Errorf("%sschedule: node-4 has %v, %v", prefix, p, ok)
	}
	m := place.State().Map
	if got := m.Name(m.Locate(m.Hash([]byte("object-1")))); m.Len() != 2 || got != goldenUnit {
		t.Errorf("%splace: object-1 is on %q of %d units", prefix, got, m.Len())
	}
}

const goldenUnit = "a" // of object-1

func TestGoldenStore(t *testing.T) {
	if *writeGolden {
		clearGolden(t, goldenDir)
		s := openGolden(t, goldenDir)
		all(s, goldenNow, func(tx *Tx) {
			tx.Select(2)
			makeGolden(t, tx, "old-")
			tx.Databases().Swap(2, 5)
			tx.Select(0)
			tx.SetString([]byte("k"), []byte("v"), NoExpiry)
		})
		materialise(t, s)
		all(s, goldenNow, func(tx *Tx) { // in the journal only
			tx.Select(5)
			makeGolden(t, tx, "new-")
			tx.Delete([]byte("old-small"))
			tx.Databases().Flush(7)
		})
		closeStore(t, s)
		closeStore(t, openGolden(t, goldenDir)) // which removes a log of Pebble's that is not needed
		tidyGolden(t, goldenDir)
	}
	for _, golden := range bothFormats(goldenDir) {
		checkGoldenStore(t, golden)
	}
}

// clearGolden removes a golden store that is to be written anew.
func clearGolden(t *testing.T, dir string) {
	t.Helper()
	if !strings.HasPrefix(dir, goldenDir) {
		t.Fatalf("%s was written by another version, and no version can write it again", dir)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
}

// bothFormats returns where a golden store is in format 2 and in format 3. Types that came with format 3 have none in
// format 2.
func bothFormats(golden string) []string {
	earlier := strings.Replace(golden, "format3", "format2", 1)
	if _, err := os.Stat(earlier); err != nil {
		return []string{golden} // of a type that is newer
	}
	return []string{earlier, golden}
}

// tidyGolden takes from a store what says nothing: the tail, and from the files of the log what was not written yet.
func tidyGolden(t *testing.T, dir string) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(dir, tail.Name)); err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(dir + "/log/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err == nil {
			err = os.WriteFile(name, bytes.TrimRight(b, "\x00"), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func checkGoldenStore(t *testing.T, golden string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(golden)); err != nil {
		t.Fatal(err)
	}
	for range 2 { // with the journal, and without
		s := openGolden(t, filepath.Clean(dir))
		all(s, goldenNow, func(tx *Tx) {
			tx.Select(0)
			if b, _, _ := tx.String([]byte("k")); string(b) != "v" {
				t.Errorf("k: got %q", b)
			}
			tx.Select(5)
			checkGolden(t, tx, "old-")
			checkGolden(t, tx, "new-")
			small, _, _ := View[*hash.Hash](tx, []byte("new-small"))
			if b, ok := small.Get([]byte("f"), 0); !ok || string(b) != "v" {
				t.Errorf("new-small: got %q", b)
			}
			for db, want := range map[int]int{0: 1, 2: 0, 5: 23, 7: 0} {
				if n := tx.Databases().Size(db); n != want {
					t.Errorf("database %d has %d keys, want %d", db, n, want)
				}
			}
			if tx.Kind([]byte("old-small")) != structures.KindNone || tx.Kind([]byte("old-hash")) != structures.KindHash {
				t.Error("old-small was deleted, old-hash was not")
			}
		})
		checkIndex(t, s)
		materialise(t, s)
		checkIndex(t, s)
		closeStore(t, s)
	}
	s := openGolden(t, dir)
	if n := cycles(t, s, goldenNow+2000, 3); n != 2 {
		t.Errorf("%d keys expired, want 2", n)
	}
	closeStore(t, s)
}

// testGolden opens a copy of the store in dir twice, with its journal and without, and has
// check look at the keys with either prefix. With -golden it first writes the store
// anew: values of make are under "old-" in the object store, under "new-" in the journal.
func testGolden(t *testing.T, dir string, make, check func(t *testing.T, tx *Tx, prefix string)) {
	t.Helper()
	if *writeGolden {
		clearGolden(t, dir)
		s := openGolden(t, dir)
		goldenKeys(t, s, "old-", make)
		materialise(t, s)
		goldenKeys(t, s, "new-", make)
		closeStore(t, s)
		closeStore(t, openGolden(t, dir)) // which removes a log of Pebble's that is not needed
		tidyGolden(t, dir)
	}
	for _, golden := range bothFormats(dir) {
		opened := t.TempDir()
		if err := os.CopyFS(opened, os.DirFS(golden)); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			s := openGolden(t, opened)
			for _, prefix := range []string{"old-", "new-"} {
				goldenKeys(t, s, prefix, check)
			}
			materialise(t, s)
			closeStore(t, s)
		}
	}
}

// goldenKeys calls f in a transaction on database 0.
func goldenKeys(t *testing.T, s *Store, prefix string, f func(t *testing.T, tx *Tx, prefix string)) {
	t.Helper()
	all(s, goldenNow, func(tx *Tx) {
		tx.Select(0)
		f(t, tx, prefix)
	})
}

// openTight opens a copy of a golden store with so little memory that pages stay on disk.
func openTight(t *testing.T, golden string, look func(s *Store, tx *Tx)) {
	t.Helper()
	for _, golden := range bothFormats(golden) {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(golden)); err != nil {
			t.Fatal(err)
		}
		s, err := Open(Options{Dir: dir, IdleAfter: -1, MaxMemory: 8 << 10, LargeBytes: 1, Now: func() int64 { return goldenNow }})
		if err != nil {
			t.Fatal(err)
		}
		all(s, goldenNow, func(tx *Tx) { look(s, tx) })
		closeStore(t, s)
	}
}
