package set

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/structurestest"
)

func TestSetOnDiskIsFrozen(t *testing.T) {
	s := New(testKeys(1))
	for _, member := range []string{"word", "1000", "-5", "258"} {
		s.Add(nil, []byte(member))
	}
	want := "\x00\x0f\x01\xfb\xff\xff\xff\xff\xff\xff\xff\x00\x00\x07\x01\xed\x03" + "\x00\x08\x00word"
	if got := string(s.AppendHead(nil)); got != want {
		t.Errorf("head: got %q, want %q", got, want)
	}
	for i := range 600 {
		s.Add(nil, fmt.Append(nil, int64(i)<<40))
	}
	s.Add(nil, bytes.Repeat([]byte{'y'}, 5000))
	want = "\x01\xdb\x04\x02" + "\x02\x02\x01\x00"
	if got := string(s.AppendHead(nil)); got != want {
		t.Errorf("paged head: got %q, want %q", got, want)
	}
	got := ""
	s.Pages(true, func(id uint64, page []byte) {
		if len(page) > 21 {
			page = append(page[:20:20], fmt.Sprintf("+%d", len(page)-20)...)
		}
		got += fmt.Sprintf("%x %q\n", id, page)
	})
	want = `4000000000000000 "\b\x00word\x90N\x00yyyyyyyyyyy+4989"
8000000000000000 "\x03\xfb\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x00\x00\x00\x00\x00\x05\x00\x00+4085"
c000fe8000000000 "\x03\x00\x00\x00\x00\x00\xfd\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00+717"
`
	if got != want {
		t.Errorf("pages: got %s, want %s", got, want)
	}
}

func TestSetRecordsAreFrozen(t *testing.T) {
	var ch structures.Change
	s := New(testKeys(1))
	for range 2 { // the second time records nothing
		s.Add(&ch, []byte("a"))
		s.Add(&ch, []byte("17"))
	}
	for range 2 {
		s.Remove(&ch, []byte("17"))
		s.Remove(&ch, []byte("a"))
	}
	if got, want := string(ch.Encoded()), "\x10\x01\x01a\x10\x01\x0217\x11\x01\x0217\x11\x01\x01a"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	structurestest.Replay(t, s, []byte("\x10\x03\x01a\x011\x01a\x11\x02\x01a\x01b"))
	if got := members(t, s); !maps.Equal(got, map[string]bool{"1": true}) {
		t.Errorf("operations on several members: got %v", got)
	}
	_, args, _, _ := structures.NextOp([]byte("\x14\x01\x01a"))
	if err := s.Apply(20, &args); !errors.Is(err, structures.ErrUnknownChange) {
		t.Errorf("unknown operation: got %v", err)
	}
}

// numbers is a set of integers in pages and those pages.
func numbers() (s *Set, ids []uint64, pages map[uint64]string) {
	s, pages = New(testKeys(1)), map[uint64]string{}
	for i := range 2000 {
		s.Add(nil, fmt.Append(nil, int64(i)<<33))
	}
	s.Pages(true, func(id uint64, page []byte) { pages[id], ids = string(page), append(ids, id) })
	return s, ids, pages
}

func TestSetRefusesBadPages(t *testing.T) {
	const first8 = "\x00\x00\x00\x00\x00\x00\x00\x00"
	for _, head := range []string{"", "\x00", "\x02\x00\x00", "\x00\x80", "\x00\x05\x00", "\x00\x01\x00\x00", "\x00\x00", "\x00\x00\x09",
		"\x00\x09\x00" + first8 + "\x00", "\x00\x0a\x04" + first8 + "\x00\x00", "\x00\x0c\x01" + first8 + "\x00\x00\x00\x00",
		"\x00\x0b\x00" + first8 + "\x01\x01\x00", "\x00\x0b\x00" + first8 + "\x02\x01\x00",
		"\x00\x0a\x00\xff\xff\xff\xff\xff\xff\xff\x7f\x01\x00", "\x00\x00\x00\x02\x00a\x02\x00a",
		"\x01", "\x01\x05", "\x01\x05\x01\x00", "\x01\x05\x06\x00", "\x01\x05\x02", "\x01\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x02\x00"} {
		if _, err := Decode([]byte(head), testKeys(1)); !errors.Is(err, structures.ErrCorrupt) {
			t.Errorf("head %q: got %v", head, err)
		}
	}
	s, ids, pages := numbers()
	empty := func() *Set {
		s, err := Decode(s.AppendHead(nil), testKeys(1))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	refused := func(why string, s *Set, id uint64, page string) {
		t.Helper()
		if err := s.SetPage(id, []byte(page)); !errors.Is(err, structures.ErrCorrupt) {
			t.Errorf("%s: got %v", why, err)
		}
	}
	first, second := pages[ids[0]], pages[ids[1]]
	refused("no members", empty(), ids[0], "")
	refused("no distance", empty(), ids[0], first[:runHeader])
	refused("cut off", empty(), ids[0], first[:len(first)-1])
	refused("too long", empty(), ids[0], first+strings.Repeat("\xff", 8))
	refused("below its bound", empty(), ids[1], first)
	refused("page of a hash that has none", empty(), ids[0]>>1, first)
	reaching := empty()
	if err := reaching.SetPage(ids[1], []byte(second)); err != nil {
		t.Fatal(err)
	}
	refused("given twice", reaching, ids[1], second)
	refused("beyond the next bound", reaching, ids[0], second)
	if err := reaching.Complete(); !errors.Is(err, structures.ErrCorrupt) {
		t.Errorf("missing pages: got %v", err)
	}
	later := empty()
	if err := later.SetPage(ids[0], []byte(second)); err != nil {
		t.Fatal(err)
	}
	refused("below the end of the page before", later, ids[1], second)
	refused("set without pages", New(testKeys(1)), ids[0], first)
}

// setState is all that a set tells of itself.
func setState(t *testing.T, s *Set) string {
	t.Helper()
	out := fmt.Sprintf("%x %d", s.AppendHead(nil), s.Len())
	s.Pages(true, func(id uint64, page []byte) { out += fmt.Sprintf(" %x:%x", id, page) })
	return out + s.Encoding(3) + s.Encoding(512)
}

// A set that was compacted and loaded again, into one that was something else before,
// is the set: the same changes have the same results.
func TestCompactSetIsTheSet(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	change := func(r *rand.Rand, s *Set) {
		member := wide(r)
		if r.IntN(2) == 0 {
			member = fmt.Sprint("word", r.IntN(20), strings.Repeat("-", r.IntN(r.IntN(100)+1)))
		}
		if r.IntN(4) == 0 {
			s.Each(func(m []byte) bool { member = string(m); return r.IntN(5) != 0 })
			s.Remove(nil, []byte(member))
			return
		}
		s.Add(nil, []byte(member))
	}
	other, small, large := New(testKeys(1)), 0, 0 // other is loaded again and again
	for range 300 {
		s := New(testKeys(1))
		for range 1 + r.IntN(60) {
			change(r, s)
			if !s.IsCompact(1024) {
				large++
				continue
			}
			small++
			b := s.AppendCompact([]byte("x"))
			if b[0] != 'x' || len(b) > 1024+48 {
				t.Fatalf("appended %d bytes", len(b))
			}
			other.LoadCompact(b[1:])
			checkIntegers(t, &other.ints)
			if got, want := setState(t, other), setState(t, s); got != want {
				t.Fatalf("loaded\n%s, want\n%s", got, want)
			}
			seed := r.Uint64()
			change(rand.New(rand.NewPCG(seed, 1)), s)
			change(rand.New(rand.NewPCG(seed, 1)), other)
			if got, want := setState(t, other), setState(t, s); got != want {
				t.Fatalf("after a change\n%s, want\n%s", got, want)
			}
		}
		if r.IntN(10) == 0 { // a large one before
			for i := range 3000 {
				other.Add(nil, fmt.Append(nil, i*i))
			}
		}
	}
	if small == 0 || large == 0 {
		t.Errorf("%d were small and %d large", small, large)
	}
	paged, _, _ := numbers()
	if paged.IsCompact(math.MaxInt) {
		t.Error("a set with pages is said to be small")
	}
}

func TestLoadingACompactSetAllocatesNothing(t *testing.T) {
	s, other := New(testKeys(1)), New(testKeys(1))
	for i := range 20 {
		s.Add(nil, fmt.Append(nil, "word", i))
		s.Add(nil, fmt.Append(nil, i*1000))
	}
	b := s.AppendCompact(nil)
	other.LoadCompact(b)
	dst := slices.Clone(b)
	if n := testing.AllocsPerRun(100, func() {
		other.LoadCompact(b)
		dst = other.AppendCompact(dst[:0])
	}); n != 0 {
		t.Errorf("%.0f allocations", n)
	}
}

func TestEncodingNamesAreThoseOfRedis(t *testing.T) {
	add := func(s *Set, all ...string) *Set {
		for _, member := range all {
			s.Add(nil, []byte(member))
		}
		return s
	}
	many := func(s *Set, n int) *Set {
		for i := range n {
			s.Add(nil, fmt.Append(nil, i))
		}
		return s
	}
	shrunk := many(New(testKeys(1)), 10)
	shrunk.Remove(nil, []byte("9"))
	words := add(New(testKeys(1)), "a", "1")
	words.Remove(nil, []byte("a"))
	later := add(New(testKeys(1)), "a")
	later.Remove(nil, []byte("a"))
	for name, c := range map[string]struct {
		set  *Set
		want string
	}{
		"many integers after a word":     {many(later, 6), "hashtable"},
		"integers":                       {many(New(testKeys(1)), 9), "intset"},
		"many integers":                  {many(New(testKeys(1)), 10), "hashtable"},
		"integers that were many":        {shrunk, "hashtable"},
		"a word and integers":            {many(add(New(testKeys(1)), "a"), 4), "hashtable"},
		"integers and a word":            {add(many(New(testKeys(1)), 4), "a"), "hashtable"},
		"integers beside a word once":    {words, "hashtable"},
		"an integer of more than 64 bit": {add(New(testKeys(1)), "99999999999999999999"), "hashtable"},
	} {
		if got := c.set.Encoding(9); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}

func FuzzDecodeSet(f *testing.F) {
	s, ids, pages := numbers()
	f.Add(s.AppendHead(nil), ids[0], []byte(pages[ids[0]]), ids[1], []byte(pages[ids[1]]))
	small := New(testKeys(1))
	for _, member := range []string{"a", "b", "1", "-70000"} {
		small.Add(nil, []byte(member))
	}
	f.Add(small.AppendHead(nil), uint64(0), []byte{}, uint64(0), []byte{})
	f.Add([]byte("\x01\x04\x02\x02\x02\x01\x00"), uint64(intPage), []byte("\x00\x00\x00\x00\x00\x00\x00\x00\x80\x01\x02"),
		uint64(1)<<62, []byte("\x02\x00a\x02\x00b"))
	f.Add([]byte("\x02\x05\x02\x00\x08\x01\x0c\x00"), uint64(intPage), []byte("\x00\x00\x00\x00\x00\x00\x00\x00\x80\x00\x01"),
		uint64(intPage)+1, []byte("\x00\x02\x00\x00\x00\x00\x00\x00\x80\x01\x02\x03"))
	f.Fuzz(func(t *testing.T, head []byte, id1 uint64, page1 []byte, id2 uint64, page2 []byte) {
		s, err := Decode(head, testKeys(1))
		if err != nil {
			return
		}
		if s.SetPage(id1, page1) == nil {
			_ = s.SetPage(id2, page2)
		}
		if s.whole() {
			use(t, s)
			return
		}
		// What is evicted cannot be read, or is anything.
		s.SetPager(&drawer{pages: map[uint64][]byte{id1: page1, id2: page2}, room: len(page1)%2 == 0})
		for i := range int64(20) {
			m := fmt.Append(nil, i<<58)
			s.Has(m)
			s.Add(nil, m)
			s.Ready(m, []byte("word"))
			s.Remove(nil, m)
			s.Evict(maxRun)
		}
		s.Random(func(n int) int { return n / 2 })
		s.Each(func([]byte) bool { return true })
		s.LoadAll()
		s.Pages(true, func(uint64, []byte) {})
		s.AppendHead(nil)
	})
}

func FuzzApplySet(f *testing.F) {
	f.Add([]byte("\x10\x03\x01a\x011\x01a\x11\x02\x01a\x01b"))
	f.Fuzz(func(t *testing.T, record []byte) {
		s := New(testKeys(1))
		for len(record) > 0 {
			op, args, rest, err := structures.NextOp(record)
			if err != nil || s.Apply(op, &args) != nil {
				break
			}
			record = rest
		}
		checkIntegers(t, &s.ints)
		use(t, s)
	})
}

// use changes a set, stores it and reads it back. A set is left alone if its hash has what
// Add would have made a number.
func use(t *testing.T, s *Set) {
	t.Helper()
	sound := true
	s.rest.EachField(func(member []byte) bool {
		_, number := parse(member)
		sound = !number
		return sound
	})
	if !sound {
		return
	}
	s.Add(nil, []byte("word"))
	for i := range 600 {
		s.Add(nil, fmt.Append(nil, int64(i)<<40))
	}
	s.Remove(nil, []byte("a"))
	s.Remove(nil, []byte("1"))
	s.Random(func(n int) int { return n / 2 })
	again, err := Decode(s.AppendHead(nil), testKeys(1))
	if err != nil {
		t.Fatal(err)
	}
	s.Pages(true, func(id uint64, page []byte) {
		if err := again.SetPage(id, page); err != nil {
			t.Fatal(err)
		}
	})
	if s.promised < 0 || s.ints.bounds[0] == math.MinInt64 {
		if err := again.Complete(); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := members(t, again), members(t, s); !maps.Equal(got, want) {
		t.Fatalf("%d members stored, %d read", len(want), len(got))
	}
}
