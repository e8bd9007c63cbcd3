package persistence

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/keyspace"
	"github.com/vigildb/vigil/persistence/writeback"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/hash"
	"github.com/vigildb/vigil/structures/testscale"
)

// In stores with an odd seed every value that can have pages on disk only has them
// there whenever evictEverything is called, and there is room for hardly any.

func pagedLarge(seed uint64) int { return max(1, int(1-seed%2)<<20) }

func pagedLimit(seed uint64) int64 { return int64(seed%2) << 16 }

// indexPages has the heads of values of a few pages say what these are.
func indexPages(t *testing.T) {
	was := structures.SetIndexedPages(2)
	t.Cleanup(func() { structures.SetIndexedPages(was) })
}

// evictEverything evicts all pages that the disk has.
func evictEverything(s *Store) {
	eachLarge(s, func(o *keyspace.Object) {
		for range 3 {
			writeback.PagerOf(o).Evict(1 << 30)
		}
	})
}

// onDiskOnly evicts all pages.
func onDiskOnly(t *testing.T, s *Store) {
	t.Helper()
	materialise(t, s)
	flushed, err := s.files.Disk.Flush() // else they are read from Pebble's memory
	if err != nil {
		t.Fatal(err)
	}
	<-flushed
	evictEverything(s)
}

// openUnread opens what is on a disk. Nothing is read of it but what the test asks for: the
// tasks of the store, one of which warms it, do not run.
func openUnread(t *testing.T, disk vfs.FS) *Store {
	t.Helper()
	return openMemory(t, Options{FS: disk, Databases: 2, IdleAfter: -1, LargeBytes: 1, CacheBytes: 1, MaxMemory: 1 << 16, Background: func(Task) {}})
}

// pagedHash makes a store on a failing disk with a hash whose pages are evicted.
func pagedHash(t *testing.T) (*Store, *failingDisk) {
	t.Helper()
	indexPages(t)
	disk := newFailingDisk(vfs.NewMem(), faultRead, -1, false)
	s := openMemory(t, Options{FS: disk, Databases: 2, IdleAfter: -1, LargeBytes: 1, CacheBytes: 1})
	all(s, 1, func(tx *Tx) {
		h, ch, _, err := Edit(tx, []byte("h"), func() *hash.Hash { return hash.New(tx.HashKeys()) })
		if err != nil {
			t.Fatal(err)
		}
		for i := range 400 {
			h.Set(ch, fmt.Append(nil, i), bytes.Repeat([]byte{byte(i)}, 200))
		}
		h.ExpireAt(ch, []byte("7"), 1<<40)
	})
	onDiskOnly(t, s)
	return s, disk
}

// pagesEvicted is the number of pages of the hash that are on disk only.
func pagesEvicted(t *testing.T, s *Store) (evicted int) {
	t.Helper()
	all(s, 1, func(tx *Tx) {
		v, err := tx.Value([]byte("h"))
		if err != nil || v == nil {
			t.Fatalf("no hash: %v", err)
		}
		evicted, _ = v.(structures.Paged).Evicted()
	})
	return evicted
}

func TestOneElementReadsOnePage(t *testing.T) {
	s, _ := pagedHash(t)
	defer closeStore(t, s)
	before, reads := pagesEvicted(t, s), s.Stats().PageReads
	all(s, 1, func(tx *Tx) {
		h, ch, _, _ := Edit[*hash.Hash](tx, []byte("h"), nil)
		if v, ok := h.Get([]byte("11"), 1); !ok || v[0] != 11 {
			t.Errorf("got %.5q, %v", v, ok)
		}
		h.Set(ch, []byte("11"), []byte("new"))
		if n := h.Len(); n != 400 {
			t.Errorf("length %d", n)
		}
	})
	if n := s.Stats().PageReads - reads; n != 1 || pagesEvicted(t, s) != before-1 || before < 10 {
		t.Errorf("%d pages were read, %d of %d are evicted", n, pagesEvicted(t, s), before)
	}
	checkAccounts(t, s)
}

// Its values and their memory would be kept for ever.
func TestLargeValuesThatAreGoneAreForgotten(t *testing.T) {
	for name, remove := range map[string]func(tx *Tx){
		"deleted":  func(tx *Tx) { tx.Delete([]byte("h")) },
		"replaced": func(tx *Tx) { tx.SetString([]byte("h"), []byte("string"), NoExpiry) },
		"flushed":  func(tx *Tx) { tx.Databases().FlushAll() },
	} {
		s, _ := pagedHash(t)
		all(s, 1, func(tx *Tx) {
			tx.Transfers().Rename([]byte("h"), []byte("other"))
			tx.Transfers().Rename([]byte("other"), []byte("h"))
		})
		if n := s.writer.Large().Values; n != 1 {
			t.Errorf("%d values are known, want the hash", n)
		}
		all(s, 1, remove)
		s.purger.Drain()
		for limit := time.After(10 * time.Second); s.writer.Large().Values > 0; runtime.Gosched() {
			select {
			case <-limit:
				t.Fatalf("%s: %d values are known", name, s.writer.Large().Values)
			default:
			}
		}
		closeStore(t, s)
	}
}

func TestUnreadablePageFailsTheCommandAndChangesNothing(t *testing.T) {
	edit := func(f func(h *hash.Hash, ch *structures.Change)) func(tx *Tx) {
		return func(tx *Tx) {
			if h, ch, ok, err := Edit[*hash.Hash](tx, []byte("h"), nil); ok && err == nil {
				f(h, ch)
			}
		}
	}
	unreadable(t, pagedHash, map[string]func(tx *Tx){
		"set": edit(func(h *hash.Hash, ch *structures.Change) { h.Set(ch, []byte("3"), []byte("new")) }),
		"set a new one that fills its page": edit(func(h *hash.Hash, ch *structures.Change) {
			h.SetKeepTTL(ch, []byte("some new field"), make([]byte, 8000))
		}),
		"delete":  edit(func(h *hash.Hash, ch *structures.Change) { h.Delete(ch, []byte("3")) }),
		"expire":  edit(func(h *hash.Hash, ch *structures.Change) { h.ExpireAt(ch, []byte("3"), 9) }),
		"persist": edit(func(h *hash.Hash, ch *structures.Change) { h.Persist(ch, []byte("7")) }),
		"fields expire": edit(func(h *hash.Hash, ch *structures.Change) {
			h.ExpireFields(ch, 1<<41, 1000, nil)
		}),
		"rename": func(tx *Tx) { tx.Transfers().Rename([]byte("h"), []byte("other")) },
		"copy":   func(tx *Tx) { tx.Transfers().Copy([]byte("h"), 0, []byte("other"), true) },
		"move":   func(tx *Tx) { tx.Transfers().Move([]byte("h"), 1) },
		"read, then write": edit(func(h *hash.Hash, ch *structures.Change) {
			h.Each(1, func(_, _ []byte, _ int64) {})
			for i := range 20 {
				h.Set(ch, fmt.Append(nil, i), []byte("new"))
			}
			h.Delete(ch, []byte("30"))
		}),
	}, wantPagedHash)
}

func wantPagedHash(t *testing.T, tx *Tx) {
	t.Helper()
	h, ok, err := View[*hash.Hash](tx, []byte("h"))
	if !ok || err != nil || h.Len() != 400 || tx.Kind([]byte("other")) != structures.KindNone {
		t.Fatalf("%v, %v, other %v", ok, err, tx.Kind([]byte("other")))
	}
	for i := range 400 {
		if v, ok := h.Get(fmt.Append(nil, i), 1); !ok || len(v) != 200 || v[0] != byte(i) {
			t.Fatalf("field %d: %.5q, %v", i, v, ok)
		}
	}
	if ms, has, _ := h.ExpiryOf([]byte("7")); !has || ms != 1<<40 {
		t.Errorf("expiry %d", ms)
	}
}

// A value several times as large as memory is written and read within its bound.
func TestLargeValueKeepsToTheBound(t *testing.T) {
	const bound = 2 << 20 / testscale.By
	s := openMemory(t, Options{MaxMemory: bound, LargeBytes: 64 << 10, IdleAfter: -1})
	defer closeStore(t, s)
	r := rand.New(rand.NewPCG(1, 2))
	most := int64(0)
	for i := range testscale.Rounds(400) {
		all(s, 1, func(tx *Tx) {
			h, ch, _, err := Edit(tx, []byte("h"), func() *hash.Hash { return hash.New(tx.HashKeys()) })
			if err != nil {
				t.Fatal(err)
			}
			for j := range 100 {
				h.Set(ch, fmt.Append(nil, i*100+j), bytes.Repeat([]byte{byte(i)}, 100))
			}
			for range 20 {
				n := r.IntN(100 * (i + 1))
				if v, ok := h.Get(fmt.Append(nil, n), 1); !ok || v[0] != byte(n/100) {
					t.Fatalf("field %d: %.5q, %v", n, v, ok)
				}
			}
		})
		s.eviction.MakeRoom()
		if s.writer.Asked() {
			materialise(t, s)
			s.eviction.MakeRoom()
		}
		most = max(most, s.Memory())
	}
	if most > bound+bound/8 {
		t.Errorf("up to %d bytes in memory, want %d", most, bound)
	}
	if n := pagesEvicted(t, s); n < 200/testscale.By {
		t.Errorf("%d pages are evicted", n)
	}
	checkAccounts(t, s)
}
