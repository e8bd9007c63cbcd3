package stream

import (
	"testing"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/structurestest"
)

// seedStream is a stream with something of everything.
func seedStream(ch *structures.Change) *Stream {
	s := New()
	for i := range uint64(40) {
		s.Add(ch, ID{i / 3, 1 + i}, [][]byte{[]byte("field"), []byte("value")}, PageLimits{Entries: 16})
	}
	s.Add(ch, ID{1 << 63, 7}, [][]byte{[]byte("a"), nil, []byte("b"), []byte("c")}, PageLimits{})
	s.Delete(ch, []ID{{1, 4}, {1, 5}})
	s.Trim(ch, Trim{Len: 30})
	g := s.CreateGroup(ch, []byte("group"), ID{}, Unknown)
	c := g.CreateConsumer(ch, []byte("consumer"), 5)
	g.Deliver(ch, c, 20, 6, false, nil)
	g.Redeliver(ch, c, ID{}, 3, 7, func(ID, *Entry) {})
	g.Ack(ch, []ID{{4, 14}})
	g.Claim(ch, g.CreateConsumer(ch, []byte("another"), 8), 9, []Pending{{ID: ID{4, 15}, Time: 8, Deliveries: 3}})
	g.SetID(ch, ID{9, 9}, 12)
	s.SetID(ch, ID{1 << 63, 8}, 99, ID{1, 5})
	g.Release(ch, []Pending{{ID: ID{5, 16}, Deliveries: Endless}, {ID: ID{4, 15}}})
	s.SetWindow(ch, Window{7, 3})
	for i := range uint64(9) {
		s.Name(ch, []byte{'p', byte(i % 2)}, []byte{byte(i)}, ID{i, i}, int64(1000*i))
	}
	return s
}

// use runs every method on a stream that was made of anything.
func use(t *testing.T, s *Stream) {
	t.Helper()
	before := dump(s)
	d := &disk{pages: map[uint64]string{}}
	s.MarkAllDirty()
	d.store(s, 3)
	if got := dump(d.load(t)); got != before {
		t.Fatalf("stored and read:\n%s\nwant\n%s", got, before)
	}
	for _, g := range s.Groups() {
		c := g.CreateConsumer(nil, []byte("of the fuzzer"), 1)
		if c == nil {
			continue
		}
		g.Deliver(nil, c, 10, 2, false, nil)
		g.Redeliver(nil, c, ID{}, 5, 3, func(ID, *Entry) {})
		g.DeleteConsumer(nil, []byte("of the fuzzer"))
	}
	s.Delete(nil, []ID{s.First()})
	s.Trim(nil, Trim{Len: s.Len() / 2})
	s.Trim(nil, Trim{Len: s.Len() / 2, Pages: true})
	if next, ok := s.Last().Next(); ok && !s.Add(nil, next, [][]byte{nil, nil}, PageLimits{}) {
		t.Fatalf("no entry behind %v", s.Last())
	}
	for _, g := range s.Groups() {
		s.DestroyGroup(nil, []byte(g.Name()))
	}
	s.Trim(nil, Trim{})
	if s.names != nil {
		s.Name(nil, nil, []byte("of the fuzzer"), ID{}, 1)
		s.SetWindow(nil, Window{MaxWindowSeconds, MaxWindowNames})
		s.SetWindow(nil, Window{1, 1})
		s.memory -= namesSize
	}
	if s.Len() != 0 || len(s.pages) != 0 || s.memory != 0 {
		t.Fatalf("emptied: %d entries, %d pages, %d bytes", s.Len(), len(s.pages), s.memory)
	}
}

// Any bytes in place of a head and pages are a stream or refused.
func FuzzDecode(f *testing.F) {
	s := seedStream(nil)
	var pages []byte
	s.Pages(true, func(id uint64, page []byte) {
		pages = append(pages, byte(id>>groupShift), byte(id>>32)&0x80, byte(id), byte(len(page)>>8), byte(len(page)))
		pages = append(pages, page...)
	})
	f.Add(s.AppendHead(nil), pages)
	defer structures.SetIndexedPages(structures.SetIndexedPages(0))
	f.Add(s.AppendHead(nil), pages)
	f.Add(s.AppendHead(nil), []byte(nil))
	small := New()
	small.Add(nil, ID{1, 1}, [][]byte{nil, []byte("v")}, PageLimits{})
	f.Add(small.AppendHead(nil), []byte(nil))
	f.Fuzz(func(t *testing.T, head, pages []byte) {
		s, err := Decode(head)
		if err != nil {
			return
		}
		for len(pages) >= 5 {
			group := uint64(pages[0])
			if group == namesGroup&0xff {
				group = namesGroup
			}
			id := group<<groupShift | uint64(pages[1]&0x80)<<32 | uint64(pages[2])
			size := min(int(pages[3])<<8|int(pages[4]), len(pages)-5)
			if s.SetPage(id, pages[5:5+size]) != nil {
				return
			}
			pages = pages[5+size:]
		}
		evicted, _ := s.Evicted()
		if s.Complete() != nil {
			s.Get(new(Entry), s.First())
			s.Each(ID{}, MaxID, func(*Entry) bool { return true })
			s.Trim(nil, Trim{Len: s.Len() / 2, Pages: true})
			return
		}
		if evicted > 0 {
			t.Fatalf("complete without %d pages", evicted)
		}
		s.Clean()
		use(t, s)
	})
}

// Any bytes in place of recorded operations are applied or refused.
func FuzzApply(f *testing.F) {
	var ch structures.Change
	seedStream(&ch)
	f.Add(ch.Take())
	f.Fuzz(func(t *testing.T, record []byte) {
		s := New()
		for len(record) > 0 {
			op, args, rest, err := structures.NextOp(record)
			if err != nil {
				break
			}
			if s.Apply(op, &args) != nil {
				break
			}
			record = rest
		}
		use(t, s)
	})
}

// The operations that a stream records are known by numbers that never change.
func TestRecordedOperationsGiveTheSameStream(t *testing.T) {
	var ch structures.Change
	s := seedStream(&ch)
	twin := New()
	structurestest.Replay(t, twin, ch.Take())
	if got, want := dump(twin), dump(s); got != want {
		t.Fatalf("replayed:\n%s\nwant\n%s", got, want)
	}
}
