package hash

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/structurestest"
)

func useHash(t *testing.T, h *Hash) {
	t.Helper()
	h.Set(nil, []byte("field"), make([]byte, 5000))
	h.ExpireAt(nil, []byte("g"), 2000)
	h.SetKeepTTL(nil, []byte("g"), []byte("2"))
	h.Delete(nil, []byte("a"))
	checkTable(t, h)
	again := structurestest.Again(t, h, func(head []byte) (*Hash, error) { return Decode(head, structurestest.Keys(1)) })
	want, got := fieldsOf(h), fieldsOf(again)
	if len(want) != h.Len() || len(got) != len(want) {
		t.Fatalf("%d fields of %d, %d stored", len(want), h.Len(), len(got))
	}
	for field, v := range want {
		if got[field] != v {
			t.Fatalf("field %q: got %v, want %v", field, got[field], v)
		}
	}
	structurestest.Scan(t, func(cursor uint64) uint64 {
		return h.Scan(cursor, 1, 0, func(field, _ []byte) { delete(want, string(field)) })
	})
	if len(want) != 0 {
		t.Fatalf("scan missed %d fields", len(want))
	}
	h.Random(1500, func(n int) int { return n / 2 })
	h.ExpireFields(nil, 1500, 3, nil)
	checkTable(t, h)
}

func FuzzDecodeHash(f *testing.F) {
	h := New(structurestest.Keys(1))
	h.Set(nil, []byte("field"), []byte("value"))
	h.Set(nil, []byte("g"), bytes.Repeat([]byte{'c'}, 200))
	h.ExpireAt(nil, []byte("g"), 1000)
	f.Add(h.AppendHead(nil), []byte{})
	defer structures.SetIndexedPages(structures.SetIndexedPages(0))
	for i := range 70 {
		h.Set(nil, fmt.Append(nil, "many ", i), nil)
	}
	h.Delete(nil, []byte("g"))
	for i := 20; i < 70; i++ { // a page of less than 256 bytes
		h.Delete(nil, fmt.Append(nil, "many ", i))
	}
	var page []byte
	h.Pages(true, func(id uint64, b []byte) {
		page = append(append(binary.BigEndian.AppendUint64(page, id), byte(len(b))), b...)
	})
	f.Add(h.AppendHead(nil), page)
	f.Add(h.AppendHead(nil), []byte{})
	f.Add([]byte("\x01\x01\x00\x00\x00\x00\x00\x00\x00\x02\x02\x00"), []byte("\x80\x00\x00\x00\x00\x00\x00\x00\x04\x02\x01ab"))
	f.Add([]byte("\x01\x01\x00\x00\x00\x00\x00\x00\x00\x02\x02\x05"), []byte("\x40\x00\x00\x00\x00\x00\x00\x00\x0c\x03\x01\x09\x00\x00\x00\x00\x00\x00\x00ab"))
	f.Fuzz(func(t *testing.T, head, pages []byte) {
		h, err := Decode(head, structurestest.Keys(1))
		if err != nil {
			return
		}
		structurestest.FuzzPages(h, pages)
		if n, _ := h.Evicted(); n > 0 {
			if h.Complete() == nil {
				t.Fatalf("complete without %d pages", n)
			}
			h.Get([]byte("field"), 0)
			h.Set(nil, []byte("field"), []byte("value"))
			h.Random(0, func(int) int { return 0 })
			h.Scan(0, 10, 0, func(_, _ []byte) {})
			return
		}
		if size := h.Size(); size > 10_000+(len(head)+len(pages))*1000 {
			t.Fatalf("%d bytes of memory for %d of input", size, len(head)+len(pages))
		}
		useHash(t, h)
	})
}

func FuzzApply(f *testing.F) {
	var ch structures.Change
	h := New(structurestest.Keys(1))
	h.Set(&ch, []byte("a"), []byte("b"))
	h.SetKeepTTL(&ch, []byte("a"), []byte("b"))
	h.ExpireAt(&ch, []byte("a"), 10)
	h.Persist(&ch, []byte("a"))
	h.Delete(&ch, []byte("a"))
	f.Add(ch.Encoded())
	f.Fuzz(func(t *testing.T, record []byte) {
		h := New(structurestest.Keys(1))
		_ = structurestest.Apply(h, record) // what stands before the damage stays
		useHash(t, h)
	})
}
