package zset

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/vigildb/vigil/structures"
)

func TestScoresKeepTheirOrderAsBits(t *testing.T) {
	scores := []float64{math.Inf(-1), -math.MaxFloat64, -1e10, -2, -1, -math.SmallestNonzeroFloat64, math.Copysign(0, -1), 0,
		math.SmallestNonzeroFloat64, 1, 1.5, 2, 1e10, math.MaxFloat64, math.Inf(1)}
	for i, score := range scores {
		b := scoreBits(score)
		if math.Float64bits(scoreOf(b)) != math.Float64bits(score) {
			t.Errorf("%v comes back as %v", score, scoreOf(b))
		}
		if i > 0 && scoreBits(scores[i-1]) >= b {
			t.Errorf("%v and %v are out of order", scores[i-1], score)
		}
		if i > 0 && (orderOf(scoreBits(scores[i-1])) == orderOf(b)) != (scores[i-1] == score) {
			t.Errorf("%v and %v have places that differ as the scores do not", scores[i-1], score)
		}
	}
}

// -0 and 0 are the same place, so that members decide, and each is shown as it is.
func TestMinusZeroIsKeptAndEqualsZero(t *testing.T) {
	s := New(testKeys(1))
	s.Add(nil, []byte("b"), math.Copysign(0, -1), 0)
	s.Add(nil, []byte("a"), 0, 0)
	s.Add(nil, []byte("c"), 0, 0)
	want := []string{"0 a", "8000000000000000 b", "0 c"}
	if got := entriesOf(s); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

const one = "\xbf\xf0\x00\x00\x00\x00\x00\x00" // the score 1

func TestSetOnDiskIsFrozen(t *testing.T) {
	s := New(testKeys(1))
	s.Add(nil, []byte("ab"), 1, 0)
	s.Add(nil, nil, -1, 0)
	s.Add(nil, bytes.Repeat([]byte{'z'}, 130), 1, 0)
	page := "\x40\x0f\xff\xff\xff\xff\xff\xff\x00" + one + "\x02ab" + one + "\x82\x01" + string(bytes.Repeat([]byte{'z'}, 130))
	if got := s.AppendHead(nil); string(got) != "\x00"+page {
		t.Errorf("head: got %q", got)
	}
	s.Add(nil, bytes.Repeat([]byte{'y'}, 3000), 0, 0)
	if got := s.AppendHead(nil); string(got) != "\x01\x04\x03" {
		t.Errorf("paged head: got %q", got)
	}
	got := map[uint64]string{}
	s.Pages(true, func(id uint64, page []byte) { got[id] = string(page) })
	if len(got) != 3 || got[0] != page[:9] || got[1] != page[9:] {
		t.Errorf("pages: got %.200q", fmt.Sprint(got))
	}
}

func TestSetRecordsAreFrozen(t *testing.T) {
	var ch structures.Change
	s := New(testKeys(1))
	for i, name := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		s.Add(&ch, []byte(name), float64(i), 0)
	}
	ch.Reset(0)
	s.Add(&ch, []byte("a"), 1, 0)
	s.Remove(&ch, []byte("b"))
	s.Pop(&ch, Least, 1, nil)
	s.Pop(&ch, Greatest, 2, nil)
	s.RemoveRange(&ch, 1, 1)
	want := "\x10\x02\x08" + one + "\x01a" + "\x11\x01\x01b" + "\x12\x01\x01\x01" + "\x13\x01\x01\x02" + "\x14\x02\x01\x01\x01\x01"
	if got := string(ch.Encoded()); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	size := ch.Len()
	s.Add(&ch, []byte("c"), 5, OnlyNew)
	s.Add(&ch, []byte("c"), 2, 0)
	s.Add(&ch, []byte("nosuch"), 2, OnlyExisting)
	s.Remove(&ch, []byte("nosuch"))
	s.Pop(&ch, Least, 0, nil)
	s.RemoveRange(&ch, 2, 5)
	if ch.Len() != size {
		t.Errorf("changes that change nothing were recorded: %q", ch.Encoded()[size:])
	}
}

func TestSetRefusesBadPages(t *testing.T) {
	big := string(bytes.Repeat([]byte{'b'}, 2100))
	for _, head := range []string{"", "\x02", "\x01", "\x01\x05", "\x01\x01\x02", "\x01\x01\x01\x01", "\x01\x00\x00", "\x00\x05ab",
		"\x00" + one + "\x05ab", "\x00" + one + "\x01b" + one + "\x01a", "\x00" + one + "\x01a" + one + "\x01a",
		"\x00" + one + "\x01a\xbf\xf1\x00\x00\x00\x00\x00\x00\x01a", "\x00\xff\xff\x00\x00\x00\x00\x00\x00\x01a", "\x00" + one + "\xb4\x10" + big} {
		if s, err := Decode([]byte(head), testKeys(1)); !errors.Is(err, structures.ErrCorrupt) {
			t.Errorf("head %.40q: got %v, %v", head, s, err)
		}
	}
	type pages map[uint64]string
	for name, c := range map[string]struct {
		head  string
		pages pages
	}{
		"a page too few":       {"\x01\x02\x02", pages{0: one + "\x01a"}},
		"a page too many":      {"\x01\x02\x01", pages{0: one + "\x01a", 1: one + "\x01b"}},
		"a member too few":     {"\x01\x03\x02", pages{0: one + "\x01a", 1: one + "\x01b"}},
		"an empty page":        {"\x01\x01\x01", pages{0: ""}},
		"a number too large":   {"\x01\x01\x01", pages{66: one + "\x01a"}},
		"a huge number":        {"\x01\x01\x01", pages{1 << 63: one + "\x01a"}},
		"pages that overlap":   {"\x01\x03\x02", pages{0: one + "\x01a" + one + "\x01c", 1: one + "\x01b"}},
		"a page out of order":  {"\x01\x03\x02", pages{0: one + "\x01b" + one + "\x01a", 1: one + "\x01c"}},
		"a member given twice": {"\x01\x02\x02", pages{0: one + "\x01a", 1: "\xbf\xf1\x00\x00\x00\x00\x00\x00\x01a"}},
		"half an entry":        {"\x01\x01\x01", pages{0: one + "\x02a"}},
		"a large page":         {"\x01\x02\x01", pages{0: one + "\xb4\x10" + big + one + "\x01c"}},
	} {
		s, err := Decode([]byte(c.head), testKeys(1))
		if err != nil {
			t.Fatal(name, err)
		}
		for id, page := range c.pages {
			if err == nil {
				err = s.SetPage(id, []byte(page))
			}
		}
		if err == nil {
			err = s.Complete()
		}
		if !errors.Is(err, structures.ErrCorrupt) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if err := New(testKeys(1)).SetPage(1, []byte(one+"\x01a")); !errors.Is(err, structures.ErrCorrupt) {
		t.Errorf("page for a set in its head: got %v", err)
	}
}

// A leaf that was stored in the head gets a page when the set gets a second leaf, though
// its own entries are the same.
func TestTheLeafOfAHeadGetsAPage(t *testing.T) {
	s := New(testKeys(1))
	s.Add(nil, []byte("small"), 1, 0)
	for _, visit := range []func(func(id uint64, page []byte)) bool{
		func(visit func(uint64, []byte)) bool { return s.Flush(1, visit) },
		func(visit func(uint64, []byte)) bool { s.Pages(true, visit); s.Pages(false, visit); return false },
	} {
		if visit(func(id uint64, _ []byte) { t.Errorf("page %d of a set in its head", id) }) {
			t.Error("there are more parts of a set in its head")
		}
	}
	s.Clean()
	s.Add(nil, bytes.Repeat([]byte{'b'}, 3000), 2, 0)
	var ids []uint64
	s.Pages(false, func(id uint64, page []byte) { ids = append(ids, id) })
	if !slices.Equal(ids, []uint64{0, 1}) {
		t.Errorf("pages %v were written, want 0 and 1", ids)
	}
}

// Changing one member of many writes a page or two.
func TestOneChangeWritesFewPages(t *testing.T) {
	s := New(testKeys(1))
	for i := range 20_000 {
		s.Add(nil, fmt.Append(nil, "member", i), float64(i*7919%20_000), 0)
	}
	s.Clean()
	for i, c := range []struct {
		change func()
		most   int
	}{
		{func() {}, 0},
		{func() { s.Add(nil, []byte("member77"), .5, Increment) }, 1}, // which stays between its neighbours
		{func() { s.Add(nil, []byte("member77"), 3, 0) }, 2},
		{func() { s.Remove(nil, []byte("member78")) }, 2},
		{func() { s.Pop(nil, Least, 1, nil) }, 1},
	} {
		c.change()
		n := 0
		if s.Pages(false, func(uint64, []byte) { n++ }); n > c.most {
			t.Errorf("change %d wrote %d pages, want %d", i, n, c.most)
		}
		s.Clean()
	}
}

func TestUnknownOperationsAreToldFromBadOnes(t *testing.T) {
	for record, want := range map[string]error{
		"\x0f\x00": structures.ErrUnknownChange, "\x20\x00": structures.ErrUnknownChange,
		"\x10\x01\x01a": structures.ErrCorrupt, "\x10\x02\x01a\x01b": structures.ErrCorrupt,
		"\x10\x02\x08\xff\xff\x00\x00\x00\x00\x00\x00\x01a": structures.ErrCorrupt,
		"\x12\x00": structures.ErrCorrupt, "\x14\x01\x00": structures.ErrCorrupt,
	} {
		op, args, _, err := structures.NextOp([]byte(record))
		if err != nil {
			t.Fatal(err)
		}
		if err := New(testKeys(1)).Apply(op, &args); !errors.Is(err, want) {
			t.Errorf("%q: got %v, want %v", record, err, want)
		}
	}
}
