package persistence

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/list"
)

// listElement is element i of pagedList, 200 bytes.
func listElement(i int) []byte { return fmt.Appendf(nil, "%0200d", i) }

// pagedList makes a store on a failing disk with a list of 400 elements in 10 evicted
// pages.
func pagedList(t *testing.T) (*Store, *failingDisk) {
	t.Helper()
	indexPages(t)
	disk := newFailingDisk(vfs.NewMem(), faultRead, -1, false)
	s := openMemory(t, Options{FS: disk, Databases: 2, IdleAfter: -1, LargeBytes: 1, CacheBytes: 1})
	all(s, 1, func(tx *Tx) {
		l, ch, _, err := Edit(tx, []byte("l"), list.New)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 400 {
			l.Push(ch, list.Tail, listElement(i))
		}
	})
	onDiskOnly(t, s)
	return s, disk
}

// editList has f change the list.
func editList(f func(l *list.List, ch *structures.Change)) func(tx *Tx) {
	return func(tx *Tx) {
		if l, ch, ok, err := Edit[*list.List](tx, []byte("l"), nil); ok && err == nil {
			f(l, ch)
		}
	}
}

func TestUnreadablePageOfAListChangesNothing(t *testing.T) {
	unreadable(t, pagedList, map[string]func(tx *Tx){
		"push at the head": editList(func(l *list.List, ch *structures.Change) { l.Push(ch, list.Head, []byte("x")) }),
		"push at the tail": editList(func(l *list.List, ch *structures.Change) { l.Push(ch, list.Tail, []byte("x")) }),
		"pop":              editList(func(l *list.List, ch *structures.Change) { l.Pop(ch, list.Head) }),
		"pop many":         editList(func(l *list.List, ch *structures.Change) { l.PopMany(ch, list.Tail, 70, func([]byte) {}) }),
		"rotate":           editList(func(l *list.List, ch *structures.Change) { l.Rotate(ch, list.Head, list.Tail) }),
		"set":              editList(func(l *list.List, ch *structures.Change) { l.Set(ch, 200, []byte("x")) }),
		"insert":           editList(func(l *list.List, ch *structures.Change) { l.Insert(ch, list.After, listElement(300), []byte("x")) }),
		"remove":           editList(func(l *list.List, ch *structures.Change) { l.Remove(ch, -1, listElement(0)) }),
		"trim":             editList(func(l *list.List, ch *structures.Change) { l.Trim(ch, 50, -50) }),
		"read, then push": editList(func(l *list.List, ch *structures.Change) {
			l.Range(0, -1, func([]byte) {})
			l.Push(ch, list.Head, []byte("x"))
		}),
		"read, then change": editList(func(l *list.List, ch *structures.Change) {
			l.Range(0, -1, func([]byte) {})
			l.Pop(ch, list.Head)
			l.PopMany(ch, list.Head, 3, func([]byte) {})
			l.Set(ch, 1, []byte("x"))
			l.Insert(ch, list.After, listElement(3), []byte("x"))
			l.Remove(ch, 1, listElement(4))
			l.Trim(ch, 5, -1)
			l.Rotate(ch, list.Tail, list.Head)
		}),
		"rename": func(tx *Tx) { tx.Transfers().Rename([]byte("l"), []byte("other")) },
		"copy":   func(tx *Tx) { tx.Transfers().Copy([]byte("l"), 0, []byte("other"), true) },
		"move":   func(tx *Tx) { tx.Transfers().Move([]byte("l"), 1) },
	}, wantPagedList)
}

func wantPagedList(t *testing.T, tx *Tx) {
	t.Helper()
	l, ok, err := View[*list.List](tx, []byte("l"))
	if !ok || err != nil || l.Len() != 400 || tx.Kind([]byte("other")) != structures.KindNone {
		t.Fatalf("%v, %v, other %v", ok, err, tx.Kind([]byte("other")))
	}
	i := 0
	l.Range(0, -1, func(e []byte) {
		if !bytes.Equal(e, listElement(i)) {
			t.Fatalf("element %d: %q", i, e)
		}
		i++
	})
	if i != 400 {
		t.Fatalf("%d elements", i)
	}
}

func TestListComesBackByItsHead(t *testing.T) {
	s, disk := pagedList(t)
	closeStore(t, s)
	s = openUnread(t, disk)
	defer closeStore(t, s)
	all(s, 1, func(tx *Tx) {
		l, ch, _, err := Edit[*list.List](tx, []byte("l"), nil)
		if err != nil || l.Len() != 400 || s.writer.PageReads.Load() != 0 {
			t.Errorf("%v, length %d, %d pages read", err, l.Len(), s.writer.PageReads.Load())
			return
		}
		if e, _ := l.Pop(ch, list.Head); !bytes.Equal(e, listElement(0)) {
			t.Errorf("first element: %q", e)
		}
		l.Push(ch, list.Tail, []byte("last"))
		l.Range(-2, -1, func([]byte) {})
	})
	if n := s.writer.PageReads.Load(); n != 2 {
		t.Errorf("%d pages were read, want 2", n)
	}
	checkAccounts(t, s)
}
