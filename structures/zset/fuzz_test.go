package zset

import (
	"bytes"
	"math"
	"testing"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/structurestest"
)

// use works on a set that came of fuzzed bytes, and stores and reads it.
func use(t *testing.T, s *Set) {
	t.Helper()
	check(t, s)
	s.Add(nil, []byte("member"), 1, 0)
	s.Add(nil, []byte("a"), -1, Increment)
	s.Add(nil, make([]byte, 3000), 1, 0)
	s.Remove(nil, []byte("b"))
	check(t, s)
	again, err := Decode(s.AppendHead(nil), testKeys(1))
	if err != nil {
		t.Fatal(err)
	}
	s.Pages(true, func(id uint64, page []byte) {
		if err := again.SetPage(id, page); err != nil {
			t.Fatal(err)
		}
	})
	if err := again.Complete(); err != nil {
		t.Fatal(err)
	}
	check(t, again)
	same(t, again, s)
	seen := 0
	structurestest.Scan(t, func(cursor uint64) uint64 { return s.Scan(cursor, 1, func([]byte, float64) { seen++ }) })
	if seen != s.Len() {
		t.Fatalf("scan visited %d of %d", seen, s.Len())
	}
	s.Pop(nil, Greatest, s.Len()/2, nil)
	s.RemoveRange(nil, s.Before(AfterScore(0)), math.MaxInt)
	check(t, s)
}

func FuzzDecode(f *testing.F) {
	s := New(testKeys(1))
	s.Add(nil, []byte("a"), 1, 0)
	s.Add(nil, bytes.Repeat([]byte{'c'}, 200), 2, 0)
	f.Add(s.AppendHead(nil), []byte{})
	f.Add([]byte("\x01\x03\x02"), []byte("\x00\x0a"+one+"\x01a\x01\x14"+one+"\x01b"+one+"\x01c"))
	f.Fuzz(func(t *testing.T, head, pages []byte) {
		s, err := Decode(head, testKeys(1))
		if err != nil {
			return
		}
		input := len(head) + len(pages)
		for len(pages) > 2 {
			size := min(int(pages[1]), len(pages)-2)
			if s.SetPage(uint64(pages[0]), pages[2:2+size]) != nil {
				return
			}
			pages = pages[2+size:]
		}
		if s.Complete() != nil {
			return
		}
		if size := s.Size(); size > 20_000+100*input {
			t.Fatalf("%d bytes of memory for %d of input", size, input)
		}
		use(t, s)
	})
}

func FuzzApply(f *testing.F) {
	var ch structures.Change
	s := New(testKeys(1))
	s.Add(&ch, []byte("a"), 1, 0)
	s.Add(&ch, []byte("b"), -1, 0)
	s.Remove(&ch, []byte("a"))
	s.Add(&ch, []byte("c"), 3, 0)
	s.Add(&ch, []byte("d"), 3, 0)
	s.RemoveRange(&ch, 1, 1)
	s.Pop(&ch, Least, 1, nil)
	s.Pop(&ch, Greatest, 1, nil)
	f.Add(bytes.Clone(ch.Encoded()))
	f.Fuzz(func(t *testing.T, record []byte) {
		s := New(testKeys(1))
		for len(record) > 0 {
			op, args, rest, err := structures.NextOp(record)
			if err != nil || s.Apply(op, &args) != nil {
				break
			}
			record = rest
		}
		use(t, s)
	})
}
