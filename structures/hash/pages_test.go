package hash

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/structurestest"
)

func TestHashOnDiskIsFrozen(t *testing.T) {
	h := New(structurestest.Keys(0x0102030405060708))
	h.Set(nil, []byte("f"), []byte("value"))
	h.Set(nil, []byte(""), bytes.Repeat([]byte{'z'}, 130))
	h.ExpireAt(nil, []byte("f"), 0x1234567890)
	want := "\x00\x03\x05\x90\x78\x56\x34\x12\x00\x00\x00fvalue\x00\x82\x01" + string(bytes.Repeat([]byte{'z'}, 130))
	if got := h.AppendHead(nil); string(got) != want {
		t.Errorf("head: got %q", got)
	}
	h.Set(nil, []byte(""), bytes.Repeat([]byte{'y'}, 6000))
	h.Set(nil, []byte("g"), bytes.Repeat([]byte{'x'}, 6000))
	want = "\x02\x03\x02\x90\xf1\xd9\xa2\xa3\x02"
	if got := h.AppendHead(nil); string(got) != want {
		t.Errorf("paged head: got %q, want %q", got, want)
	}
	got := ""
	h.Pages(true, func(id uint64, page []byte) {
		short := bytes.ReplaceAll(bytes.ReplaceAll(page, bytes.Repeat([]byte{'y'}, 6000), []byte("YY")), bytes.Repeat([]byte{'x'}, 6000), []byte("XX"))
		got += fmt.Sprintf("%x %q\n", id, short)
	})
	want = `4000000000000000 "\x02\xf0.gXX\x03\x05\x90xV4\x12\x00\x00\x00fvalue"
c000000000000000 "\x00\xf0.YY"
`
	if got != want {
		t.Errorf("pages: got %s", got)
	}
}

func TestHashRecordsAreFrozen(t *testing.T) {
	var ch structures.Change
	h := New(structurestest.Keys(1))
	h.Set(&ch, []byte("a"), []byte("1"))
	h.SetKeepTTL(&ch, []byte("a"), []byte("2"))
	h.ExpireAt(&ch, []byte("a"), 200)
	h.Persist(&ch, []byte("a"))
	h.Delete(&ch, []byte("a"))
	want := "\x10\x02\x01a\x011" + "\x11\x02\x01a\x012" + "\x13\x02\x01a\x02\x90\x01" + "\x14\x01\x01a" + "\x12\x01\x01a"
	if got := string(ch.Encoded()); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	h.Delete(&ch, []byte("a"))
	h.Persist(&ch, []byte("a"))
	h.ExpireAt(&ch, []byte("a"), 5)
	h.ExpireFields(&ch, 100, 5, nil)
	if ch.Len() != len(want) {
		t.Errorf("changes of missing fields were recorded: %q", ch.Encoded())
	}
}

func TestHashRefusesBadPages(t *testing.T) {
	for _, head := range []string{"", "\x01", "\x02", "\x03", "\x02\x03", "\x02\x03\x04\x00", "\x01\x08\x07\x06\x05\x04\x03\x02\x01\x03\x02\x00",
		"\x00\x02", "\x00\x02\x05ab", "\x00\x03\x00a", "\x00\x02\x00a\x02\x00a", "\x00\x03\x00\x00\x00\x00\x00\x00\x00\x00\x00a"} {
		if _, err := Decode([]byte(head), structurestest.Keys(1)); !errors.Is(err, structures.ErrCorrupt) {
			t.Errorf("head %q: got %v", head, err)
		}
	}
	h := New(structurestest.Keys(5))
	for i := range 1000 {
		h.Set(nil, fmt.Append(nil, i), []byte("value"))
	}
	pages, ids := structurestest.Shelf{}, []uint64{}
	h.Pages(true, func(id uint64, page []byte) { pages[id], ids = string(page), append(ids, id) })
	empty := func() *Hash {
		h, err := Decode(h.AppendHead(nil), structurestest.Keys(5))
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	refused := func(why string, h *Hash, id uint64, page string) {
		t.Helper()
		if err := h.SetPage(id, []byte(page)); !errors.Is(err, structures.ErrCorrupt) {
			t.Errorf("%s: got %v", why, err)
		}
	}
	first := pages[ids[0]]
	refused("number 0", empty(), 0, first)
	refused("another page's number", empty(), ids[1], first)
	refused("no fields", empty(), ids[0], "")
	refused("cut off", empty(), ids[0], first[:len(first)-1])
	refused("twice the same field", empty(), ids[0], first+first)
	refused("too deep", empty(), ids[0]>>40, first)
	foreign, err := Decode(h.AppendHead(nil), structurestest.Keys(6))
	if err != nil {
		t.Fatal(err)
	}
	refused("another store's keys", foreign, ids[0], first)
	other := empty()
	structurestest.Shelf{ids[0]: first}.Load(t, other)
	refused("given twice", other, ids[0], first)
	const whole = 1 << 63 // the number of the page of a hash that has one
	refused("a part and the whole", other, whole, first)
	short := empty()
	structurestest.Shelf{whole: first}.Load(t, short)
	refused("the whole and a part", short, ids[1], pages[ids[1]])
	if err := other.Complete(); !errors.Is(err, structures.ErrCorrupt) {
		t.Errorf("missing pages: got %v", err)
	}
	refused("hash without pages", New(structurestest.Keys(1)), ids[0], first)
	// A hash with pages that are missing can still be used.
	for i := range 1000 {
		other.Set(nil, fmt.Append(nil, i), []byte("again"))
	}
	checkTable(t, other)
	if other.Len() != 1000 {
		t.Errorf("Len: got %d, want 1000", other.Len())
	}
}

// A second delta has what came after the first one, and a page that changed otherwise is whole.
func TestDeltasOnDiskAreFrozen(t *testing.T) {
	h := New(structurestest.Keys(5))
	for i := range 40 {
		h.Set(nil, fmt.Append(nil, i), bytes.Repeat([]byte{'v'}, 100))
	}
	var pages, deltas []string
	write := func() {
		pages, deltas = nil, nil
		h.FlushDeltas(100, func(_ uint64, page []byte) { pages = append(pages, string(page)) },
			func(_ uint64, delta []byte) { deltas = append(deltas, string(delta)) })
	}
	write()
	if len(pages) != 1 || len(deltas) != 0 || h.Changed() != 0 {
		t.Fatalf("new page: %d pages, %d deltas, %d bytes are to be written", len(pages), len(deltas), h.Changed())
	}
	for _, field := range []string{"a", "b"} {
		h.Set(nil, []byte(field), []byte("1"))
		if write(); len(pages) != 0 || len(deltas) != 1 || deltas[0] != "\x80\x00\x02\x01"+field+"1" {
			t.Errorf("new field: %d pages, deltas %q", len(pages), deltas)
		}
		if h.Changed() != 0 {
			t.Errorf("%d bytes are to be written behind a delta", h.Changed())
		}
	}
	h.Set(nil, []byte("a"), []byte("2"))
	if write(); len(pages) != 1 || len(deltas) != 0 {
		t.Errorf("changed field: %d pages, deltas %q", len(pages), deltas)
	}
}

// What was to be written of the pages of a hash that is packed again is forgotten with them.
func TestPackedHashHasNoPagesToWrite(t *testing.T) {
	h := New(structurestest.Keys(1))
	for i := range 1000 {
		h.Set(nil, fmt.Append(nil, i), []byte("value"))
	}
	for i := range 999 {
		h.Delete(nil, fmt.Append(nil, i))
	}
	if n := h.PageCount(); n != 0 || h.Changed() != 0 {
		t.Errorf("%d pages, %d bytes to write", n, h.Changed())
	}
}
