package hash

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/structurestest"
)

type modelField struct {
	value  string
	expiry int64
}

// hashModel is a hash next to the map that it must equal, the pages that a
// store would hold, and a copy that is fed with the records.
type hashModel struct {
	t      *testing.T
	r      *rand.Rand
	hash   *Hash
	want   map[string]modelField
	ch     structures.Change
	pages  structurestest.Shelf
	copied *Hash
	fields int // how many different ones
	sizes  int // bound on the size of values
	now    int64
	// ageless: no field gets an expiry.
	ageless bool
}

func newHashModel(t *testing.T, seed uint64, fields, sizes int) *hashModel {
	return &hashModel{t: t, r: rand.New(rand.NewPCG(seed, 1)), hash: New(structurestest.Keys(7)), copied: New(structurestest.Keys(7)),
		want: map[string]modelField{}, pages: structurestest.Shelf{}, fields: fields, sizes: sizes}
}

func (m *hashModel) field() string {
	n := m.r.IntN(m.fields)
	return fmt.Sprint("f", n) + string(bytes.Repeat([]byte{'-'}, n%97/90*70))
}

func (m *hashModel) step(growing bool) {
	f := m.field()
	old, have := m.want[f]
	n := m.r.IntN(100)
	switch {
	case n < 60 && growing || n < 15:
		value := string(bytes.Repeat([]byte{byte('a' + m.r.IntN(26))}, m.r.IntN(m.sizes)))
		expiry, set := int64(0), m.hash.Set
		if m.r.IntN(3) == 0 {
			expiry, set = old.expiry, m.hash.SetKeepTTL
		}
		if created := set(&m.ch, []byte(f), []byte(value)); created == have {
			m.t.Fatalf("Set(%q): created %v", f, created)
		}
		m.want[f] = modelField{value, expiry}
	case n < 75:
		if got := m.hash.Delete(&m.ch, []byte(f)); got != have {
			m.t.Fatalf("Delete(%q): got %v", f, got)
		}
		delete(m.want, f)
	case n < 90 && !m.ageless:
		ms := m.now + 1 + m.r.Int64N(400)
		if got := m.hash.ExpireAt(&m.ch, []byte(f), ms); got != have {
			m.t.Fatalf("ExpireAt(%q): got %v", f, got)
		}
		if have {
			m.want[f] = modelField{old.value, ms}
		}
	case n < 95:
		if got := m.hash.Persist(&m.ch, []byte(f)); got != (old.expiry != 0) {
			m.t.Fatalf("Persist(%q): got %v", f, got)
		}
		if have {
			m.want[f] = modelField{old.value, 0}
		}
	default:
		m.expire()
	}
}

func (m *hashModel) expire() {
	m.now += m.r.Int64N(20)
	due := 0
	for _, v := range m.want {
		if v.expiry != 0 && v.expiry <= m.now {
			due++
		}
	}
	limit := m.r.IntN(10)
	next, _ := m.hash.NextExpiry()
	n := m.hash.ExpireFields(&m.ch, m.now, limit, func(field []byte) {
		v, ok := m.want[string(field)]
		if !ok || v.expiry == 0 || v.expiry > m.now || next > v.expiry {
			m.t.Fatalf("expired %q with %d at %d, announced at %d", field, v.expiry, m.now, next)
		}
		delete(m.want, string(field))
	})
	if n != min(due, limit) {
		m.t.Fatalf("ExpireFields: got %d of %d due, limit %d", n, due, limit)
	}
	if n == limit {
		return
	}
	nextExpiry := int64(math.MaxInt64)
	for _, v := range m.want {
		if v.expiry != 0 {
			nextExpiry = min(nextExpiry, v.expiry)
		}
	}
	if next, ok := m.hash.NextExpiry(); next > nextExpiry || ok != (nextExpiry != math.MaxInt64) {
		m.t.Fatalf("NextExpiry: got %d, want at most %d", next, nextExpiry)
	}
}

func fieldsOf(h *Hash) map[string]modelField {
	all := map[string]modelField{}
	h.Each(0, func(field, value []byte, expiry int64) { all[string(field)] = modelField{string(value), expiry} })
	return all
}

func (m *hashModel) check() {
	m.t.Helper()
	m.checkValue(m.hash)
	structurestest.Replay(m.t, m.copied, m.ch.Encoded())
	m.ch.Reset(1 << 20)
	m.checkValue(m.copied)
	m.pages.Store(m.t, m.hash)
	h, err := Decode(m.hash.AppendHead(nil), structurestest.Keys(7))
	if err != nil {
		m.t.Fatal(err)
	}
	if a, aok := h.NextExpiry(); true {
		if b, bok := m.hash.NextExpiry(); a < b || aok != bok {
			m.t.Fatalf("NextExpiry from the head: got %d %v, want %d %v", a, aok, b, bok)
		}
	}
	m.pages.Load(m.t, h)
	if err := h.Complete(); err != nil {
		m.t.Fatal(err)
	}
	m.checkValue(h)
	if m.r.IntN(4) == 0 {
		m.hash = h
	}
}

func (m *hashModel) checkValue(h *Hash) {
	m.t.Helper()
	if got := fieldsOf(h); !maps.Equal(got, m.want) || h.Len() != len(m.want) || h.Empty() != (len(m.want) == 0) {
		m.t.Fatalf("fields: got %d of %d, Len %d, or they differ", len(got), len(m.want), h.Len())
	}
	checkTable(m.t, h)
	for range 10 {
		f := m.field()
		want, have := m.want[f]
		value, ok := h.Get([]byte(f), 0)
		if ok != have || string(value) != want.value {
			m.t.Fatalf("Get(%q): got %q %v, want %q %v", f, value, ok, want.value, have)
		}
		if _, ok := h.Get([]byte(f), m.now); ok != (have && (want.expiry == 0 || want.expiry > m.now)) {
			m.t.Fatalf("Get(%q) at %d with expiry %d: got %v", f, m.now, want.expiry, ok)
		}
		if ms, has, found := h.ExpiryOf([]byte(f)); found != have || has != (want.expiry != 0) || ms != want.expiry {
			m.t.Fatalf("ExpiryOf(%q): got %d %v %v", f, ms, has, found)
		}
	}
	live := 0
	for _, v := range m.want {
		if v.expiry == 0 || v.expiry > m.now {
			live++
		}
	}
	if got := h.Live(m.now); got != live {
		m.t.Fatalf("Live: got %d, want %d", got, live)
	}
	for _, count := range []int{1, live / 20, live / 2, live + 3} {
		got := map[string]bool{}
		h.Sample(m.now, count, m.r.IntN, func(field, value []byte) {
			v := m.want[string(field)]
			if v.value != string(value) || v.expiry != 0 && v.expiry <= m.now {
				m.t.Fatalf("Sample: got %q with expiry %d at %d", field, v.expiry, m.now)
			}
			got[string(field)] = true
		})
		if len(got) != min(count, live) {
			m.t.Fatalf("Sample(%d): got %d of %d", count, len(got), live)
		}
	}
	if field, _, ok := h.Random(m.now, m.r.IntN); ok != (live > 0) {
		m.t.Fatalf("Random: got %q of %d", field, live)
	}
}

// checkTable checks what the code takes for granted about segments, and the
// accounts of memory and expiries.
func checkTable(t *testing.T, h *Hash) {
	t.Helper()
	timed, nextExpiry := 0, int64(math.MaxInt64)
	h.walk(func(e entry) bool {
		if e.expiry != 0 {
			timed++
			nextExpiry = min(nextExpiry, e.expiry)
		}
		return true
	})
	if h.timed != timed || h.nextExpiry > nextExpiry || timed == 0 && h.nextExpiry != math.MaxInt64 {
		t.Fatalf("%d timed from %d, counted %d from %d", h.timed, h.nextExpiry, timed, nextExpiry)
	}
	if h.table == nil {
		return
	}
	memory, live, segments := 0, 0, 0
	h.table.each(0, func(s *segment) bool {
		memory += s.memory()
		live += s.live()
		segments++
		checkSegment(t, h, s)
		return true
	})
	if root := h.table.root; root != nil {
		memory += branchSize + branchMemory(root)
		if h.table.only != nil || *root == (branch{}) {
			t.Fatal("the first branch is not needed")
		}
	}
	if h.table.memory != memory || h.table.live != live || h.table.segments != segments {
		t.Fatalf("table %+v, counted %d memory, %d live, %d segments", h.table, memory, live, segments)
	}
}

func branchMemory(b *branch) (size int) {
	for _, s := range b {
		if s != nil && s.below != nil {
			size += segmentSize + branchSize + branchMemory(s.below)
		}
	}
	return size
}

func checkSegment(t *testing.T, h *Hash, s *segment) {
	t.Helper()
	if len(s.slots) == 0 || s.full() {
		t.Fatalf("segment %x has %d fields in %d bytes", s.id(), len(s.slots), s.live())
	}
	used, nextExpiry, timed := 0, int64(math.MaxInt64), 0
	for i, p := range s.slots {
		e := readEntry(s.buf, int(p.at))
		used += e.size
		if hash := h.hashOf(e.field); s.tag(hash) != p.tag || hash&^(math.MaxUint64>>s.depth) != s.prefix {
			t.Fatalf("field %q in segment %x", e.field, s.id())
		}
		if i > 0 && h.hashOf(readField(s.buf, int(s.slots[i-1].at))) > h.hashOf(e.field) {
			t.Fatalf("segment %x out of order at %d", s.id(), i)
		}
		if e.expiry != 0 {
			nextExpiry = min(nextExpiry, e.expiry)
			timed++
		}
	}
	if used != s.live() || s.nextExpiry > nextExpiry || int(s.timed) != timed {
		t.Fatalf("segment %x: live %d, counted %d; nextExpiry %d, counted %d", s.id(), s.live(), used, s.nextExpiry, nextExpiry)
	}
}

func TestHashEqualsMap(t *testing.T) {
	for _, c := range []struct{ fields, sizes, steps int }{{30, 20, 4000}, {100, 100, 6000}, {5000, 60, 30000}, {900, 6000, 6000}} {
		t.Run(fmt.Sprintf("fields=%d/sizes=%d", c.fields, c.sizes), func(t *testing.T) {
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			m := newHashModel(t, seed, c.fields, c.sizes)
			for i := range c.steps {
				m.step(i*4/c.steps%2 == 0)
				if i%(c.steps/50) == 0 {
					m.check()
				}
			}
			for len(m.want) > 0 {
				for f := range m.want {
					m.hash.Delete(&m.ch, []byte(f))
					delete(m.want, f)
					if len(m.want)%(c.fields/8) == 0 {
						break
					}
				}
				m.check()
			}
		})
	}
}

func TestScanVisitsFieldsThatStay(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 2))
	for _, plan := range []struct{ start, grow, shrink int }{{2000, 0, 0}, {100, 300, 0}, {5000, 0, 300}, {500, 40, 40}, {70, 0, 30}, {20, 50, 0}} {
		h := New(structurestest.Keys(seed))
		for i := range plan.start {
			h.Set(nil, fmt.Append(nil, "start", i), []byte("v"))
		}
		stay := map[string]bool{}
		for i := 0; i < plan.start; i += 17 {
			stay[fmt.Sprint("start", i)] = true
		}
		seen, calls, added, next := map[string]int{}, 0, 0, 0
		structurestest.Scan(t, func(cursor uint64) uint64 {
			cursor = h.Scan(cursor, 10, 0, func(field, _ []byte) { seen[string(field)]++ })
			calls++
			for range min(plan.grow, 100000-added) {
				h.Set(nil, fmt.Append(nil, "added", added), []byte("v"))
				added++
			}
			for range plan.shrink {
				if f := fmt.Append(nil, "start", next%plan.start); !stay[string(f)] {
					h.Delete(nil, f)
				}
				next++
			}
			if added > 0 && r.IntN(3) == 0 {
				h.Delete(nil, fmt.Append(nil, "added", r.IntN(added)))
			}
			return cursor
		})
		for f := range stay {
			if seen[f] == 0 {
				t.Errorf("plan %v: %s was never visited in %d calls", plan, f, calls)
			}
		}
		if plan.grow == 0 && plan.shrink == 0 {
			for f, n := range seen {
				if n != 1 {
					t.Errorf("%s was visited %d times", f, n)
				}
			}
			if calls != 200 {
				t.Errorf("%d calls, want 200", calls)
			}
		}
	}
}

func TestScanSkipsExpiredFields(t *testing.T) {
	h := New(structurestest.Keys(1))
	for i := range 500 {
		h.Set(nil, fmt.Append(nil, i), nil)
		if i%2 == 0 {
			h.ExpireAt(nil, fmt.Append(nil, i), 100)
		}
	}
	for _, c := range []struct {
		now  int64
		want int
	}{{0, 500}, {99, 500}, {100, 250}} {
		n := 0
		structurestest.Scan(t, func(cursor uint64) uint64 { return h.Scan(cursor, 7, c.now, func(_, _ []byte) { n++ }) })
		if n != c.want {
			t.Errorf("at %d: got %d fields, want %d", c.now, n, c.want)
		}
	}
}

func TestRandomIsNearlyUniform(t *testing.T) {
	for _, n := range []int{20, 1000, 30000} {
		h, r := New(structurestest.Keys(3)), rand.New(rand.NewPCG(1, 2))
		for i := range n {
			h.Set(nil, fmt.Append(nil, i), []byte("some value of usual length"))
		}
		// Fields are counted by classes, so that the expected count is large.
		const classes, draws = 20, 40000
		var counts [classes]int
		for range draws {
			field, _, ok := h.Random(0, r.IntN)
			if !ok {
				t.Fatal("no field")
			}
			class := 0
			fmt.Sscan(string(field), &class)
			counts[class*classes/n]++
		}
		for class, got := range counts {
			// Five standard deviations of the binomial distribution.
			if want := draws / classes; math.Abs(float64(got-want)) > 5*math.Sqrt(draws/classes) {
				t.Errorf("%d fields, class %d: got %d, want about %d", n, class, got, want)
			}
		}
	}
}

func TestRandomFindsTheFieldThatIsNotExpired(t *testing.T) {
	h, r := New(structurestest.Keys(3)), rand.New(rand.NewPCG(1, 2))
	for i := range 5000 {
		h.Set(nil, fmt.Append(nil, i), nil)
		if i != 7 {
			h.ExpireAt(nil, fmt.Append(nil, i), 5)
		}
	}
	if field, _, ok := h.Random(5, r.IntN); !ok || string(field) != "7" {
		t.Errorf("got %q %v", field, ok)
	}
	h.Delete(nil, []byte("7"))
	if field, _, ok := h.Random(5, r.IntN); ok {
		t.Errorf("got %q of expired fields", field)
	}
	if n := h.ExpireFields(nil, 5, 10000, nil); n != 4999 || !h.Empty() || h.table != nil {
		t.Errorf("expired %d, %d left", n, h.Len())
	}
}

func TestHashEncodingFollowsRedis(t *testing.T) {
	h := New(structurestest.Keys(1))
	for i := range 128 {
		h.Set(nil, fmt.Append(nil, i), make([]byte, 64))
	}
	if got := h.Encoding(128, 64); got != "listpack" {
		t.Errorf("128 fields: got %s", got)
	}
	h.ExpireAt(nil, []byte("5"), 99)
	h.Persist(nil, []byte("5"))
	if got := h.Encoding(128, 64); got != "listpackex" {
		t.Errorf("after an expiry: got %s", got)
	}
	h.Set(nil, []byte("5"), make([]byte, 65))
	h.Set(nil, []byte("5"), nil)
	if got := h.Encoding(128, 64); got != "hashtable" {
		t.Errorf("after a long value: got %s", got)
	}
	if got := h.Encoding(127, 100); got != "hashtable" {
		t.Errorf("128 fields, limit 127: got %s", got)
	}
}

func TestFieldsWithNearlyEqualHashesShareASegment(t *testing.T) {
	// Entries with chosen hashes cannot be had through the hash function:
	// the deepest segments are tested by themselves.
	s := &segment{depth: maxDepth, nextExpiry: math.MaxInt64}
	for i := range uint32(2000) {
		var field [4]byte
		binary.LittleEndian.PutUint32(field[:], i)
		s.put(structurestest.Keys(7).Fields, uint64(i%3)<<(32-tagStep), field[:], make([]byte, 100), 0, nil)
	}
	if s.full() || !slices.IsSortedFunc(s.slots, func(a, b slot) int { return int(a.tag) - int(b.tag) }) {
		t.Error("a segment at the greatest depth is to be split, or out of order")
	}
	for i := range uint32(2000) {
		var field [4]byte
		binary.LittleEndian.PutUint32(field[:], i)
		at, e, found := s.find(i%3, field[:])
		if !found {
			t.Fatalf("field %d is missing", i)
		}
		s.remove(at, &e)
	}
	if len(s.slots) != 0 || s.live() != 0 {
		t.Errorf("%d fields, %d bytes left", len(s.slots), s.live())
	}
}

// A small hash that has rested may have more fields than another, as making a table of it for one change would take longer than the
// change; one that goes on being changed becomes a table.
func TestRestedHashIsNoTableForOneChange(t *testing.T) {
	h, again := New(structurestest.Keys(1)), New(structurestest.Keys(1))
	for i := range 100 {
		h.Set(new(structures.Change), fmt.Appendf(nil, "field:%d", i), []byte("value"))
	}
	if h.table == nil {
		t.Fatal("a hash of 100 fields is small")
	}
	again.LoadCompact(h.AppendCompact(nil))
	for i := range restedPuts {
		again.Set(new(structures.Change), fmt.Appendf(nil, "field:%d", 90+i), []byte("new"))
		if again.table != nil {
			t.Fatalf("it is a table after %d changes", i+1)
		}
	}
	if again.Set(new(structures.Change), []byte("field:0"), []byte("new")); again.table == nil || again.Len() != 90+restedPuts {
		t.Errorf("after %d changes it is no table of %d fields", restedPuts+1, 90+restedPuts)
	}
	again.LoadCompact(h.AppendCompact(nil))
	for i := range compactFields - 100 {
		again.patience = 2
		again.Set(new(structures.Change), fmt.Appendf(nil, "more:%d", i), nil)
	}
	if again.table != nil {
		t.Errorf("it is a table with %d fields", again.Len())
	}
	again.patience = 2
	if again.Set(new(structures.Change), []byte("one more"), nil); again.table == nil {
		t.Errorf("it is small with %d fields", again.Len())
	}
}
