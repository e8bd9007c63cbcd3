package list

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/vigildb/vigil/structures"
)

func TestListRefusesBadPages(t *testing.T) {
	for _, head := range []string{"", "\x02", "\x01", "\x01\x05", "\x01\x01\x02", "\x01\x01\x01\x01", "\x00\x05ab", "\x00\x80",
		// An index: too few pages, too many, no number between, no elements, more than fit, another length, cut off.
		"\x02\x03\x02\x01\x03\x09", "\x02\x03\x01\x01\x03\x09\x01", "\x02\x03\x02\x01\x02\x06\x00\x01\x03", "\x02\x03\x02\x01\x03\x09\x01\x00\x03",
		"\x02\x03\x01\x01\x03\x05", "\x02\x03\x01\x01\x02\x06", "\x02\x03\x01\x01\x03\x80"} {
		if _, err := Decode([]byte(head)); !errors.Is(err, structures.ErrCorrupt) {
			t.Errorf("head %q: got %v", head, err)
		}
	}
	l, err := Decode([]byte("\x01\x03\x02"))
	if err != nil {
		t.Fatal(err)
	}
	if err := l.SetPage(7, []byte("\x01a\x01b")); err != nil {
		t.Fatal(err)
	}
	for id, page := range map[uint64]string{7: "\x01c", 8: "", 9: "\x05a"} {
		if err := l.SetPage(id, []byte(page)); !errors.Is(err, structures.ErrCorrupt) {
			t.Errorf("page %d %q: got %v", id, page, err)
		}
	}
	if err := l.Complete(); !errors.Is(err, structures.ErrCorrupt) {
		t.Errorf("a missing page: got %v", err)
	}
	if err := l.SetPage(1, []byte("\x01c")); err != nil {
		t.Fatal(err)
	}
	if got := elements(l); !slices.Equal(got, []string{"c", "a", "b"}) || l.Complete() != nil {
		t.Errorf("got %q, %v", got, l.Complete())
	}
	if err := New().SetPage(1, []byte("\x01c")); !errors.Is(err, structures.ErrCorrupt) {
		t.Errorf("page for a list in its head: got %v", err)
	}
}

func TestListRefusesPagesThatItsIndexDoesNotDescribe(t *testing.T) {
	for _, page := range []string{"", "\x01a", "\x01a\x02bc", "\x01a\x01b\x01c", "\x01a\x05b"} {
		l, err := Decode([]byte("\x02\x02\x01\x07\x02\x06"))
		if err != nil {
			t.Fatal(err)
		}
		if err := l.SetPage(7, []byte(page)); !errors.Is(err, structures.ErrCorrupt) {
			t.Errorf("page %q: got %v", page, err)
		}
		if err := l.Complete(); !errors.Is(err, structures.ErrCorrupt) {
			t.Errorf("without its page: got %v", err)
		}
	}
}

func TestListOnDiskIsFrozen(t *testing.T) {
	l := New()
	l.Push(nil, Tail, []byte("ab"), []byte(""), bytes.Repeat([]byte{'z'}, 130))
	want := "\x00\x02ab\x00\x82\x01" + string(bytes.Repeat([]byte{'z'}, 130))
	if got := l.AppendHead(nil); string(got) != want {
		t.Errorf("head: got %q", got)
	}
	l.Push(nil, Head, bytes.Repeat([]byte{'y'}, 9000))
	if got := l.AppendHead(nil); string(got) != "\x01\x04\x02" {
		t.Errorf("paged head: got %q", got)
	}
	var ids []uint64
	l.Pages(true, func(id uint64, page []byte) {
		ids = append(ids, id)
		if len(ids) == 2 && string(page) != want[1:] {
			t.Errorf("page: got %q", page)
		}
	})
	if !slices.Equal(ids, []uint64{1<<63 - 1<<20, 1 << 63}) {
		t.Errorf("ids: got %x", ids)
	}
}

func TestListRecordsAreFrozen(t *testing.T) {
	var ch structures.Change
	l := New()
	l.Push(&ch, Head, []byte("a"), []byte("b"))
	l.Push(&ch, Tail, []byte("c"))
	l.Pop(&ch, Head)
	l.PopMany(&ch, Tail, 1, nil)
	l.Set(&ch, -1, []byte("d"))
	l.Insert(&ch, After, []byte("d"), []byte("e"))
	l.Remove(&ch, -1, []byte("d"))
	l.Push(&ch, Tail, []byte("f"))
	l.Trim(&ch, 1, 1)
	want := "\x10\x02\x01a\x01b" + "\x11\x01\x01c" + "\x12\x00" + "\x13\x01\x01\x01" + "\x14\x02\x00\x01d" +
		"\x15\x02\x01\x02\x01e" + "\x16\x02\x01\x01\x01d" + "\x11\x01\x01f" + "\x17\x02\x01\x01\x01\x01"
	if got := string(ch.Encoded()); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	ch.Reset(0)
	l.Pop(&ch, Head)
	size := ch.Len()
	l.Pop(&ch, Head)
	l.Set(&ch, 0, nil)
	l.Insert(&ch, Before, nil, nil)
	l.Remove(&ch, 0, nil)
	l.Trim(&ch, 0, 0)
	l.Rotate(&ch, Head, Tail)
	l.PopMany(&ch, Tail, 3, nil)
	if ch.Len() != size {
		t.Errorf("changes of an empty list were recorded: %q", ch.Encoded())
	}
}
