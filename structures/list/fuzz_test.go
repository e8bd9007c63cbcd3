package list

import (
	"bytes"
	"testing"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/structurestest"
)

func useList(t *testing.T, l *List) {
	t.Helper()
	model := &listModel{t: t}
	l.Push(nil, Head, []byte("head"))
	l.Insert(nil, After, []byte("head"), make([]byte, 5000))
	l.Set(nil, -1, []byte("last"))
	l.Remove(nil, 0, []byte("b"))
	l.Rotate(nil, Tail, Head)
	model.checkNodes(l)
	again := structurestest.Again(t, l, Decode)
	want, n := elements(l), 0
	again.Range(0, -1, func(elem []byte) {
		if want[n] != string(elem) {
			t.Fatalf("element %d: got %q, want %q", n, elem, want[n])
		}
		n++
	})
	if n != len(want) {
		t.Fatalf("%d elements stored, %d read", len(want), n)
	}
	l.Trim(nil, 1, -2)
	model.checkNodes(l)
}

// useEvicted calls what needs pages that cannot be read.
func useEvicted(l *List) {
	l.LoadAll()
	l.Push(nil, Head, []byte("head"))
	l.Pop(nil, Tail)
	l.Rotate(nil, Head, Tail)
	l.Set(nil, l.Len()/2, []byte("middle"))
	l.Insert(nil, After, []byte("a"), []byte("b"))
	l.Remove(nil, -1, []byte("a"))
	l.Range(0, -1, func([]byte) {})
	l.Find([]byte("a"), -1, 0, 0, func(int) {})
	l.PopMany(nil, Head, l.Len()/2, nil)
	l.Trim(nil, 1, -2)
}

func FuzzDecodeList(f *testing.F) {
	l := New()
	l.Push(nil, Tail, []byte("a"), []byte("b"), bytes.Repeat([]byte{'c'}, 200))
	f.Add(l.AppendHead(nil), []byte{})
	f.Add([]byte("\x01\x03\x02"), []byte("\x80\x00\x00\x00\x00\x00\x00\x00\x04\x01a\x01b\x80\x00\x00\x00\x00\x10\x00\x00\x02\x01c"))
	f.Add([]byte("\x02\x03\x02\x01\x02\x06\x01\x01\x03"), []byte("\x00\x00\x00\x00\x00\x00\x00\x01\x04\x01a\x01b\x00\x00\x00\x00\x00\x00\x00\x02\x02\x01c"))
	f.Add([]byte("\x02\x03\x02\x01\x02\x06\x01\x01\x03"), []byte{})
	f.Fuzz(func(t *testing.T, head, pages []byte) {
		l, err := Decode(head)
		if err != nil {
			return
		}
		structurestest.FuzzPages(l, pages)
		if n, _ := l.Evicted(); n > 0 {
			if l.Complete() == nil {
				t.Fatalf("complete without %d pages", n)
			}
			useEvicted(l)
			return
		}
		if size := l.Size(); size > 1000+20*(len(head)+len(pages))*nodeSize {
			t.Fatalf("%d bytes of memory for %d of input", size, len(head)+len(pages))
		}
		useList(t, l)
	})
}

func FuzzApply(f *testing.F) {
	var ch structures.Change
	l := New()
	l.Push(&ch, Head, []byte("a"), []byte("b"))
	l.Set(&ch, 0, []byte("c"))
	l.Insert(&ch, After, []byte("a"), []byte("d"))
	l.Remove(&ch, -1, []byte("a"))
	l.Trim(&ch, 1, 1)
	l.PopMany(&ch, Tail, 1, nil)
	f.Add(ch.Encoded())
	f.Fuzz(func(t *testing.T, record []byte) {
		l := New()
		_ = structurestest.Apply(l, record) // what stands before the damage stays
		useList(t, l)
	})
}
