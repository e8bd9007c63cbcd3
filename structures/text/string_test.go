package text

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/structurestest"
)

// loaded returns the string that a store reads back.
func loaded(t *testing.T, s *String, disk structurestest.Shelf) *String {
	t.Helper()
	v, err := Decode(s.AppendHead(nil))
	if err != nil {
		t.Fatal(err)
	}
	disk.Load(t, v)
	return v
}

func TestStringEqualsSliceThroughStoreAndReplay(t *testing.T) {
	r := structurestest.Seeded(t)
	for range 30 {
		want := randomText(r, r.IntN(200_000))
		s := New(bytes.Clone(want))
		disk := structurestest.Shelf{}
		disk.Store(t, s)
		copied := New(bytes.Clone(want))
		var ch structures.Change
		for range 40 {
			want = stringStep(r, &ch, s, want)
			if !bytes.Equal(s.Bytes(), want) || s.Len() != len(want) {
				t.Fatalf("string of %d bytes differs from the model's %d", s.Len(), len(want))
			}
			if r.IntN(3) > 0 {
				continue
			}
			disk.Store(t, s)
			back := loaded(t, s, disk)
			if !bytes.Equal(back.Bytes(), want) {
				t.Fatalf("stored and read: %d bytes differ from the model's %d", back.Len(), len(want))
			}
			// Go on with the one that was read: it must know what is stored.
			s = back
		}
		structurestest.Replay(t, copied, ch.Encoded())
		if !bytes.Equal(copied.Bytes(), want) {
			t.Fatalf("replay gives %d bytes that differ from the model's %d", copied.Len(), len(want))
		}
	}
}

func stringStep(r *rand.Rand, ch *structures.Change, s *String, want []byte) []byte {
	switch r.IntN(6) {
	case 0:
		n := r.IntN(len(want) + 10)
		if r.IntN(4) == 0 {
			n = r.IntN(stringInline + 2)
		}
		s.Truncate(ch, n)
		return want[:min(n, len(want))]
	case 1: // far behind the end
		off, b := len(want)+r.IntN(300_000), randomText(r, r.IntN(10))
		s.Patch(ch, off, b)
		return append(append(want, make([]byte, off-len(want))...), b...)
	case 2: // append
		b := randomText(r, r.IntN(50_000))
		s.Patch(ch, len(want), b)
		return append(want, b...)
	default:
		off, b := r.IntN(len(want)+1), randomText(r, r.IntN(100))
		s.Patch(ch, off, b)
		if end := off + len(b); end > len(want) {
			want = append(want, make([]byte, end-len(want))...)
		}
		copy(want[off:], b)
		return want
	}
}

func randomText(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	if r.IntN(3) > 0 {
		for i := range b {
			b[i] = byte(r.Uint32())
		}
	}
	return b
}

func TestPatchOfLongStringWritesOnePage(t *testing.T) {
	s := New(bytes.Repeat([]byte("x"), 10<<20))
	s.Clean()
	var ch structures.Change
	s.Patch(&ch, 5<<20, []byte("abc"))
	var ids []uint64
	s.Pages(false, func(id uint64, page []byte) { ids = append(ids, id) })
	if len(ids) != 1 || ids[0] != 5<<20/stringPage {
		t.Errorf("pages to write: got %v, want one", ids)
	}
	if ch.Len() > 16 {
		t.Errorf("record of %d bytes for a patch of 3", ch.Len())
	}
}

func TestZeroPagesAreNotStored(t *testing.T) {
	s := New(nil)
	s.Patch(nil, 100<<20, []byte{1})
	disk := structurestest.Shelf{}
	disk.Store(t, s)
	if len(disk) != 1 {
		t.Errorf("a bit at 100 MB takes %d pages, want 1", len(disk))
	}
	if back := loaded(t, s, disk); !bytes.Equal(back.Bytes(), s.Bytes()) {
		t.Error("string differs after it was stored and read")
	}
}

func TestPatchTakesPartOfItself(t *testing.T) {
	s := New([]byte("abcdef"))
	s.Patch(nil, 6, s.Bytes()[1:4])
	s.Patch(nil, 0, s.Bytes()[2:5])
	if got := string(s.Bytes()); got != "cdedefbcd" {
		t.Errorf("got %q", got)
	}
}

func TestStringRefusesDamage(t *testing.T) {
	for _, head := range []string{"", "\x80", "\x03ab", "\x03abcd", "\x81\x20x", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"} {
		if _, err := Decode([]byte(head)); !errors.Is(err, structures.ErrCorrupt) {
			t.Errorf("head %x: got %v, want corrupt", head, err)
		}
	}
	s, err := Decode([]byte{0x80, 0x80, 0x08}) // 131072 bytes
	if err != nil {
		t.Fatal(err)
	}
	for id, n := range map[uint64]int{0: 5, 1: stringPage - 1, 2: stringPage, 1 << 63: 1} {
		if err := s.SetPage(id, make([]byte, n)); !errors.Is(err, structures.ErrCorrupt) {
			t.Errorf("page %d of %d bytes: got %v, want corrupt", id, n, err)
		}
	}
	var ch structures.Change
	ch.Op(opStringPatch, 2)
	ch.Uint(1 << 62)
	ch.String("x")
	ch.Op(99, 0)
	_, args, rest, _ := structures.NextOp(ch.Encoded())
	if err := s.Apply(opStringPatch, &args); !errors.Is(err, structures.ErrCorrupt) {
		t.Errorf("patch far away: got %v, want corrupt", err)
	}
	_, args, _, _ = structures.NextOp(rest)
	if err := s.Apply(99, &args); !errors.Is(err, structures.ErrUnknownChange) {
		t.Errorf("operation 99: got %v, want unknown change", err)
	}
}

// The bytes on disk and in the journal are frozen.
func TestStringEncodingIsFrozen(t *testing.T) {
	if got := New([]byte("abc")).AppendHead(nil); string(got) != "\x03abc" {
		t.Errorf("head of abc: got %x", got)
	}
	if got := New(make([]byte, 5000)).AppendHead(nil); string(got) != "\x88\x27" {
		t.Errorf("head of 5000 bytes: got %x", got)
	}
	var ch structures.Change
	s := New(make([]byte, 10))
	s.Patch(&ch, 300, []byte("ab"))
	s.Truncate(&ch, 4)
	if got := string(ch.Encoded()); got != "\x10\x02\x02\x2c\x01\x02ab\x11\x01\x01\x04" {
		t.Errorf("record: got %x", got)
	}
}

func FuzzDecodeString(f *testing.F) {
	f.Add([]byte("\x03abc"), uint64(0), []byte("x"))
	f.Add([]byte("\x88\x27"), uint64(0), make([]byte, 5000))
	f.Fuzz(func(t *testing.T, head []byte, id uint64, page []byte) {
		s, err := Decode(head)
		if err != nil {
			return
		}
		if s.want > 1<<24 {
			return // only the allocation of a far page would be tested
		}
		if s.SetPage(id, page) == nil {
			s.Pages(true, func(uint64, []byte) {})
		}
		if again, err := Decode(s.AppendHead(nil)); err != nil || again.want != s.want {
			t.Errorf("head of a decoded string: %v", err)
		}
	})
}

func BenchmarkStringPatch(b *testing.B) {
	s := New(make([]byte, 1<<20))
	var ch structures.Change
	one := []byte{1}
	b.ReportAllocs()
	for b.Loop() {
		ch.Reset(1 << 20)
		s.Patch(&ch, 700_000, one)
	}
}
