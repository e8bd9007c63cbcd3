package structures

import (
	"bytes"
	"testing"
)

// fuzzPages reads pages from fuzzed bytes: 8 bytes of number, one of length.
func fuzzPages(v Value, pages []byte) {
	for len(pages) > 9 {
		var id uint64
		for _, x := range pages[:8] {
			id = id<<8 | uint64(x)
		}
		size := min(int(pages[8]), len(pages)-9)
		if v.SetPage(id, pages[9:9+size]) != nil {
			return
		}
		pages = pages[9+size:]
	}
}

// fuzzRecord applies the operations that fuzzed bytes hold.
func fuzzRecord(v Value, record []byte) {
	for len(record) > 0 {
		op, args, rest, err := NextOp(record)
		if err != nil {
			return
		}
		if v.Apply(op, &args) != nil {
			return
		}
		record = rest
	}
}

// sameAgain stores a value and returns its encoding, which must be accepted.
func sameAgain(t *testing.T, v Value, decode func(head []byte) (Value, error)) Value {
	t.Helper()
	pages := map[uint64]string{}
	v.Pages(true, func(id uint64, page []byte) { pages[id] = string(page) })
	again, err := decode(v.AppendHead(nil))
	if err != nil {
		t.Fatal(err)
	}
	loadPages(t, again, pages)
	return again
}

func useList(t *testing.T, l *List) {
	t.Helper()
	list := &listModel{t: t}
	l.Push(nil, Head, []byte("head"))
	l.Insert(nil, After, []byte("head"), make([]byte, 5000))
	l.Set(nil, -1, []byte("last"))
	l.Remove(nil, 0, []byte("b"))
	l.Rotate(nil, Tail, Head)
	list.checkNodes(l)
	again := sameAgain(t, l, func(head []byte) (Value, error) { return DecodeList(head) }).(*List)
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
	list.checkNodes(l)
}

func FuzzDecodeList(f *testing.F) {
	l := NewList()
	l.Push(nil, Tail, []byte("a"), []byte("b"), bytes.Repeat([]byte{'c'}, 200))
	f.Add(l.AppendHead(nil), []byte{})
	f.Add([]byte("\x01\x03\x02"), []byte("\x80\x00\x00\x00\x00\x00\x00\x00\x04\x01a\x01b\x80\x00\x00\x00\x00\x10\x00\x00\x02\x01c"))
	f.Fuzz(func(t *testing.T, head, pages []byte) {
		l, err := DecodeList(head)
		if err != nil {
			return
		}
		fuzzPages(l, pages)
		if size := l.Size(); size > 1000+20*(len(head)+len(pages))*nodeSize {
			t.Fatalf("%d bytes of memory for %d of input", size, len(head)+len(pages))
		}
		useList(t, l)
	})
}

func FuzzDecodeHash(f *testing.F) {
	h := NewHash(testKeys(1))
	h.Set(nil, []byte("field"), []byte("value"))
	h.Set(nil, []byte("g"), bytes.Repeat([]byte{'c'}, 200))
	h.ExpireAt(nil, []byte("g"), 1000)
	f.Add(h.AppendHead(nil), []byte{})
	f.Add([]byte("\x01\x01\x00\x00\x00\x00\x00\x00\x00\x02\x02\x00"), []byte("\x80\x00\x00\x00\x00\x00\x00\x00\x04\x02\x01ab"))
	f.Add([]byte("\x01\x01\x00\x00\x00\x00\x00\x00\x00\x02\x02\x05"), []byte("\x40\x00\x00\x00\x00\x00\x00\x00\x0c\x03\x01\x09\x00\x00\x00\x00\x00\x00\x00ab"))
	f.Fuzz(func(t *testing.T, head, pages []byte) {
		h, err := DecodeHash(head, testKeys(1))
		if err != nil {
			return
		}
		fuzzPages(h, pages)
		if size := h.Size(); size > 10_000+(len(head)+len(pages))*1000 {
			t.Fatalf("%d bytes of memory for %d of input", size, len(head)+len(pages))
		}
		useHash(t, h)
	})
}

func useHash(t *testing.T, h *Hash) {
	t.Helper()
	h.Set(nil, []byte("field"), make([]byte, 5000))
	h.ExpireAt(nil, []byte("g"), 2000)
	h.SetKeepTTL(nil, []byte("g"), []byte("2"))
	h.Delete(nil, []byte("a"))
	checkTable(t, h)
	again := sameAgain(t, h, func(head []byte) (Value, error) { return DecodeHash(head, testKeys(1)) }).(*Hash)
	want, got := fieldsOf(h), fieldsOf(again)
	if len(want) != h.Len() || len(got) != len(want) {
		t.Fatalf("%d fields of %d, %d stored", len(want), h.Len(), len(got))
	}
	for field, v := range want {
		if got[field] != v {
			t.Fatalf("field %q: got %v, want %v", field, got[field], v)
		}
	}
	for cursor, first := uint64(0), true; first || cursor != 0; first = false {
		cursor = h.Scan(cursor, 1, 0, func(field, _ []byte) { delete(want, string(field)) })
	}
	if len(want) != 0 {
		t.Fatalf("scan missed %d fields", len(want))
	}
	h.Random(1500, func(n int) int { return n / 2 })
	h.ExpireFields(nil, 1500, 3, nil)
	checkTable(t, h)
}

func FuzzApply(f *testing.F) {
	var ch Change
	l := NewList()
	l.Push(&ch, Head, []byte("a"), []byte("b"))
	l.Set(&ch, 0, []byte("c"))
	l.Insert(&ch, After, []byte("a"), []byte("d"))
	l.Remove(&ch, -1, []byte("a"))
	l.Trim(&ch, 1, 1)
	l.PopMany(&ch, Tail, 1, nil)
	f.Add(bytes.Clone(ch.Encoded()))
	ch.Reset(0)
	h := NewHash(testKeys(1))
	h.Set(&ch, []byte("a"), []byte("b"))
	h.SetKeepTTL(&ch, []byte("a"), []byte("b"))
	h.ExpireAt(&ch, []byte("a"), 10)
	h.Persist(&ch, []byte("a"))
	h.Delete(&ch, []byte("a"))
	f.Add(bytes.Clone(ch.Encoded()))
	f.Fuzz(func(t *testing.T, record []byte) {
		l, h := NewList(), NewHash(testKeys(1))
		fuzzRecord(l, record)
		useList(t, l)
		fuzzRecord(h, record)
		useHash(t, h)
	})
}
