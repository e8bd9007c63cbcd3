package persistence

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/set"
)

// setMember is member i of pagedSet: an integer of eight bytes or a word of 200.
func setMember(i int) []byte {
	if i%10 != 0 {
		return fmt.Append(nil, int64(i)<<40)
	}
	return fmt.Appendf(nil, "word-%0195d", i)
}

// pagedSet makes a store on a failing disk with a set of 3000 members, a tenth of them
// words, whose pages are evicted.
func pagedSet(t *testing.T) (*Store, *failingDisk) {
	t.Helper()
	indexPages(t)
	disk := newFailingDisk(vfs.NewMem(), faultRead, -1, false)
	s := openMemory(t, Options{FS: disk, Databases: 2, IdleAfter: -1, LargeBytes: 1, CacheBytes: 1})
	all(s, 1, func(tx *Tx) {
		v, ch, _, err := Edit(tx, []byte("s"), func() *set.Set { return set.New(tx.HashKeys()) })
		if err != nil {
			t.Fatal(err)
		}
		for i := range 3000 {
			v.Add(ch, setMember(i))
		}
	})
	onDiskOnly(t, s)
	return s, disk
}

// editSet has f change the set.
func editSet(f func(s *set.Set, ch *structures.Change)) func(tx *Tx) {
	return func(tx *Tx) {
		if s, ch, ok, err := Edit[*set.Set](tx, []byte("s"), nil); ok && err == nil {
			f(s, ch)
		}
	}
}

func wantPagedSet(t *testing.T, tx *Tx) {
	t.Helper()
	s, ok, err := View[*set.Set](tx, []byte("s"))
	if !ok || err != nil || s.Len() != 3000 || tx.Kind([]byte("other")) != structures.KindNone {
		t.Fatalf("%v, %v, other %v", ok, err, tx.Kind([]byte("other")))
	}
	for i := range 3000 {
		if !s.Has(setMember(i)) {
			t.Fatalf("member %d is missing", i)
		}
	}
	n := 0
	s.Each(func([]byte) bool { n++; return true })
	if n != 3000 {
		t.Fatalf("%d members visited", n)
	}
}

func TestUnreadablePageOfASetChangesNothing(t *testing.T) {
	names := func(from, to int) (names [][]byte) {
		for i := from; i < to; i++ {
			names = append(names, setMember(i))
		}
		return names
	}
	unreadable(t, pagedSet, map[string]func(tx *Tx){
		"add": editSet(func(s *set.Set, ch *structures.Change) { s.Add(ch, []byte("17")) }),
		"add a word that fills its page": editSet(func(s *set.Set, ch *structures.Change) {
			s.Add(ch, bytes.Repeat([]byte("word"), 2000))
		}),
		"remove":        editSet(func(s *set.Set, ch *structures.Change) { s.Remove(ch, setMember(1234)) }),
		"remove a word": editSet(func(s *set.Set, ch *structures.Change) { s.Remove(ch, setMember(1230)) }),
		"remove many": editSet(func(s *set.Set, ch *structures.Change) {
			if many := names(0, 1000); s.Ready(many...) {
				for _, name := range many {
					s.Remove(ch, name)
				}
			}
		}),
		"remove all": editSet(func(s *set.Set, ch *structures.Change) {
			if many := names(0, 3000); s.Ready(many...) {
				for _, name := range many {
					s.Remove(ch, name)
				}
			}
		}),
		"draw, then remove": editSet(func(s *set.Set, ch *structures.Change) {
			if member, ok := s.Random(func(int) int { return 0 }); ok {
				s.Remove(ch, member)
			}
		}),
		"read, then add": editSet(func(s *set.Set, ch *structures.Change) {
			s.Each(func([]byte) bool { return true })
			for i := range 40 {
				s.Add(ch, fmt.Append(nil, i+1))
				s.Add(ch, fmt.Append(nil, "word-", i))
				s.Remove(ch, setMember(i))
			}
		}),
		"rename": func(tx *Tx) { tx.Transfers().Rename([]byte("s"), []byte("other")) },
		"copy":   func(tx *Tx) { tx.Transfers().Copy([]byte("s"), 0, []byte("other"), true) },
		"move":   func(tx *Tx) { tx.Transfers().Move([]byte("s"), 1) },
	}, wantPagedSet)
}

func TestSetComesBackByItsHead(t *testing.T) {
	s, disk := pagedSet(t)
	closeStore(t, s)
	s = openUnread(t, disk)
	defer closeStore(t, s)
	all(s, 1, func(tx *Tx) {
		v, ch, _, err := Edit[*set.Set](tx, []byte("s"), nil)
		if err != nil || v.Len() != 3000 || s.writer.PageReads.Load() != 0 {
			t.Errorf("%v, length %d, %d pages read", err, v.Len(), s.writer.PageReads.Load())
			return
		}
		if !v.Has(setMember(1501)) || !v.Remove(ch, setMember(1501)) || !v.Add(ch, []byte("17")) {
			t.Error("a member is missing, or one is there that is not")
		}
	})
	if n := s.writer.PageReads.Load(); n != 2 {
		t.Errorf("%d pages were read, want the runs of two integers", n)
	}
	checkAccounts(t, s)
}

// Of a set that an older version stored the head has no index of integers: they are read
// with it, though the words are not.
func TestIntegersWithoutIndexAreReadWithTheHead(t *testing.T) {
	s := openMemory(t, Options{IdleAfter: -1})
	defer closeStore(t, s)
	v, pages := set.New(&structures.HashKeys{}), map[uint64][]byte{}
	for i := range 3000 {
		v.Add(nil, setMember(i))
	}
	v.Pages(true, func(id uint64, page []byte) { pages[id] = append([]byte(nil), page...) })
	old := v.AppendHead(nil)
	if old[0] != 1 {
		t.Fatalf("head of form %d", old[0])
	}
	indexPages(t)
	words := set.New(&structures.HashKeys{})
	for i := range 3000 {
		if i%10 == 0 {
			words.Add(nil, setMember(i))
		}
	}
	// The head of the hash begins behind the form, 2700 and the pages, which take four bytes.
	mixed := append(old[:4:4], words.AppendHead(nil)[2:]...)
	again, err := set.Decode(mixed, &structures.HashKeys{})
	if err != nil {
		t.Fatal(err)
	}
	if n, _ := again.Evicted(); n == 0 || again.ResidentFrom() != 1<<63 {
		t.Fatalf("%d pages evicted, resident from %x", n, again.ResidentFrom())
	}
	for id, page := range pages {
		if err := again.SetPage(id, page); err != nil {
			t.Fatal(err)
		}
	}
	if err := again.Complete(); err != nil || again.Len() != 3000 {
		t.Errorf("%v, %d members", err, again.Len())
	}
}
