package stream

import (
	"fmt"
	"slices"
	"testing"
)

// A range that was lent is read beside the stream: it shows what was there, whatever
// is added, deleted and trimmed meanwhile. The race detector looks at it too.
func TestLentEntriesStayAsTheyWere(t *testing.T) {
	s := New()
	add := func(n int) {
		for range n {
			id, _ := s.Last().Next()
			s.Add(nil, id, [][]byte{[]byte("field"), fmt.Append(nil, "value of ", id)}, PageLimits{Bytes: 512})
		}
	}
	add(300)
	for round := range 20 {
		for _, back := range []bool{false, true} {
			var want []string
			s.Each(ID{}, MaxID, func(e *Entry) bool { want = append(want, line(e)); return true })
			if back {
				slices.Reverse(want)
			}
			lent := s.Lend(ID{}, MaxID, s.Len(), back)
			read := make(chan []string, 1) // what the reader found
			go func() {
				var got []string
				lent.Each(func(e *Entry) bool { got = append(got, line(e)); return true })
				read <- got
			}()
			for i := range 40 {
				add(1)
				id := s.pages[i%len(s.pages)].first()
				s.Delete(nil, []ID{id, {id.Ms, id.Seq + 1}, s.Last()})
			}
			s.Trim(nil, Trim{Len: s.Len() - 7})
			if round == 19 {
				s.Trim(nil, Trim{})
			}
			if got := <-read; !slices.Equal(got, want) {
				t.Fatalf("round %d: got %d entries %.300q, want %d %.300q", round, len(got), got, len(want), want)
			}
			add(40)
		}
	}
}

// A small stream gives its memory to the next one that is loaded, unless it was lent.
func TestLentEntriesOutliveTheirValue(t *testing.T) {
	make := func(value string) []byte {
		s := New()
		s.Add(nil, ID{1, 1}, [][]byte{[]byte("field"), []byte(value)}, PageLimits{})
		return s.AppendCompact(nil)
	}
	s := New()
	s.LoadCompact(make("one"))
	lent := s.Lend(ID{}, MaxID, 1, false)
	s.LoadCompact(make("two"))
	lent.Each(func(e *Entry) bool {
		if got := line(e); got != `1-1 "field"="one"` {
			t.Errorf("got %s", got)
		}
		return true
	})
}
