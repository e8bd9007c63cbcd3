package persistence

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/zset"
)

// zsetMember is member i of pagedZSet, 200 bytes, whose score is i/2: two have each.
func zsetMember(i int) []byte { return fmt.Appendf(nil, "%0200d", i) }

// pagedZSet makes a store on a failing disk with a sorted set of 400 members in some 50
// pages, evicted where that is possible.
func pagedZSet(t *testing.T) (*Store, *failingDisk) {
	t.Helper()
	indexPages(t)
	disk := newFailingDisk(vfs.NewMem(), faultRead, -1, false)
	s := openMemory(t, Options{FS: disk, Databases: 2, IdleAfter: -1, LargeBytes: 1, CacheBytes: 1})
	all(s, 1, func(tx *Tx) {
		z, ch, _, err := Edit(tx, []byte("z"), func() *zset.Set { return zset.New(tx.HashKeys()) })
		if err != nil {
			t.Fatal(err)
		}
		for i := range 400 {
			z.Add(ch, zsetMember(i), float64(i/2), 0)
		}
	})
	onDiskOnly(t, s)
	onDiskOnly(t, s) // what the first one made pages of
	return s, disk
}

// editZSet has f change the sorted set.
func editZSet(f func(z *zset.Set, ch *structures.Change)) func(tx *Tx) {
	return func(tx *Tx) {
		if z, ch, ok, err := Edit[*zset.Set](tx, []byte("z"), nil); ok && err == nil {
			f(z, ch)
		}
	}
}

func wantPagedZSet(t *testing.T, tx *Tx) {
	t.Helper()
	z, ok, err := View[*zset.Set](tx, []byte("z"))
	if !ok || err != nil || z.Len() != 400 || tx.Kind([]byte("other")) != structures.KindNone {
		t.Fatalf("%v, %v, other %v", ok, err, tx.Kind([]byte("other")))
	}
	i := 0
	z.Range(0, 400, func(member []byte, score float64) bool {
		if string(member) != string(zsetMember(i)) || score != float64(i/2) {
			t.Fatalf("member %d: %q, %v", i, member, score)
		}
		i++
		return true
	})
	for i := range 400 {
		if rank, _, ok := z.Rank(zsetMember(i)); !ok || rank != i {
			t.Fatalf("rank of member %d: %d, %v, %v", i, rank, ok, tx.Err())
		}
	}
	if i != 400 || tx.Err() != nil {
		t.Fatalf("%d members, %v", i, tx.Err())
	}
}

func TestUnreadablePageOfASortedSetChangesNothing(t *testing.T) {
	fresh := []byte("a member that is not there")
	unreadable(t, pagedZSet, map[string]func(tx *Tx){
		"add one that fills its page": editZSet(func(z *zset.Set, ch *structures.Change) {
			z.Add(ch, bytes.Repeat(fresh, 70), 100.25, 0)
		}),
		"update": editZSet(func(z *zset.Set, ch *structures.Change) { z.Add(ch, zsetMember(7), 100, 0) }),
		"increment in its leaf": editZSet(func(z *zset.Set, ch *structures.Change) {
			z.Add(ch, zsetMember(7), 0.25, zset.Increment)
		}),
		"increment":       editZSet(func(z *zset.Set, ch *structures.Change) { z.Add(ch, zsetMember(7), 90, zset.Increment) }),
		"add a large one": editZSet(func(z *zset.Set, ch *structures.Change) { z.Add(ch, make([]byte, 3000), 100, 0) }),
		"split":           editZSet(func(z *zset.Set, ch *structures.Change) { z.Add(ch, make([]byte, 1800), 100, 0) }),
		"remove":          editZSet(func(z *zset.Set, ch *structures.Change) { z.Remove(ch, zsetMember(7)) }),
		"pop":             editZSet(func(z *zset.Set, ch *structures.Change) { z.Pop(ch, zset.Least, 1, func([]byte, float64) {}) }),
		"pop many":        editZSet(func(z *zset.Set, ch *structures.Change) { z.Pop(ch, zset.Greatest, 70, func([]byte, float64) {}) }),
		"pop all":         editZSet(func(z *zset.Set, ch *structures.Change) { z.Pop(ch, zset.Greatest, 400, func([]byte, float64) {}) }),
		"pop all but one": editZSet(func(z *zset.Set, ch *structures.Change) { z.Pop(ch, zset.Least, 399, func([]byte, float64) {}) }),
		"remove by rank":  editZSet(func(z *zset.Set, ch *structures.Change) { z.RemoveRange(ch, 100, 50) }),
		"remove by score": editZSet(func(z *zset.Set, ch *structures.Change) {
			rank, count := z.Between(zset.BeforeScore(50), zset.AfterScore(60))
			z.RemoveRange(ch, rank, count)
		}),
		"read, then remove": editZSet(func(z *zset.Set, ch *structures.Change) {
			z.Range(0, 400, func([]byte, float64) bool { return true })
			z.RemoveRange(ch, 0, 400)
		}),
		"rename": func(tx *Tx) { tx.Transfers().Rename([]byte("z"), []byte("other")) },
		"copy":   func(tx *Tx) { tx.Transfers().Copy([]byte("z"), 0, []byte("other"), true) },
		"move":   func(tx *Tx) { tx.Transfers().Move([]byte("z"), 1) },
	}, wantPagedZSet)
}

func TestSortedSetComesBackByItsHead(t *testing.T) {
	s, disk := pagedZSet(t)
	closeStore(t, s)
	s = openUnread(t, disk)
	defer closeStore(t, s)
	all(s, 1, func(tx *Tx) {
		z, ch, _, err := Edit[*zset.Set](tx, []byte("z"), nil)
		if err != nil || z.Len() != 400 || s.writer.PageReads.Load() != 0 {
			t.Errorf("%v, length %d, %d pages read", err, z.Len(), s.writer.PageReads.Load())
			return
		}
		z.Pop(ch, zset.Least, 1, func(member []byte, _ float64) {
			if string(member) != string(zsetMember(0)) {
				t.Errorf("first member: %q", member)
			}
		})
	})
	if n := s.writer.PageReads.Load(); n != 2 {
		t.Errorf("%d pages were read, want a leaf and a section", n)
	}
	checkAccounts(t, s)
}

// A sorted set that nothing changes must be able to leave memory page by page too.
func TestSortedSetThatIsOnlyReadBecomesPages(t *testing.T) {
	indexPages(t)
	s := openMemory(t, Options{IdleAfter: -1, LargeBytes: 1})
	defer closeStore(t, s)
	all(s, 1, func(tx *Tx) {
		z, ch, _, _ := Edit(tx, []byte("z"), func() *zset.Set { return zset.New(tx.HashKeys()) })
		for i := range 400 {
			z.Add(ch, zsetMember(i), float64(i/2), 0)
		}
	})
	for range 3 {
		onDiskOnly(t, s)
	}
	all(s, 1, func(tx *Tx) {
		z, _, err := View[*zset.Set](tx, []byte("z"))
		if n, _ := z.Evicted(); n < 40 || err != nil {
			t.Errorf("%d pages are evicted, %v", n, err)
		}
	})
	checkAccounts(t, s)
}
