package zset

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/structurestest"
)

func testKeys(n byte) *structures.HashKeys {
	return &structures.HashKeys{
		Fields:  structures.NewHashKey([16]byte{n}),
		Cursors: structures.NewHashKey([16]byte{n, 1}),
	}
}

// model is a set next to the map that it must equal, the pages that a store would
// hold, and a copy that is fed with the records.
type model struct {
	*testing.T
	r      *rand.Rand
	set    *Set
	want   map[string]float64
	ch     structures.Change
	pages  map[uint64]string
	copied *Set
	names  int // members are of so many
	long   int // bound on the length of most members
}

func (m *model) member() []byte {
	n := m.r.IntN(m.names)
	name := fmt.Append(nil, "m", n)
	// A name has one length, which depends on it.
	size := n % m.long
	switch {
	case n%50 == 7:
		size = 1000 + n%2000
	case n%200 == 9:
		size = leafBytes + n
	}
	return append(name, bytes.Repeat([]byte{'.'}, size)...)
}

func (m *model) score() float64 {
	switch m.r.IntN(10) {
	case 0:
		return 0
	case 1:
		return math.Copysign(0, -1)
	case 2:
		return math.Inf(m.r.IntN(2)*2 - 1)
	case 3:
		return m.r.NormFloat64() * 1e100
	}
	return float64(m.r.IntN(40) - 20)
}

// sorted are the members of the map in order.
func (m *model) sorted() []string {
	return slices.SortedFunc(maps.Keys(m.want), func(a, b string) int {
		if c := cmp.Compare(m.want[a], m.want[b]); c != 0 {
			return c
		}
		return cmp.Compare(a, b)
	})
}

func (m *model) step(growing bool) {
	n := m.r.IntN(1000)
	switch {
	case n < 950 && growing || n < 200:
		m.add()
	case n < 980:
		m.remove()
	case n < 992:
		m.pop()
	default:
		m.removeRange()
	}
}

func (m *model) add() {
	member, score, rule := m.member(), m.score(), Rule(0)
	if m.r.IntN(3) == 0 {
		rule = []Rule{OnlyNew, OnlyExisting, OnlyGreater, OnlyLess, OnlyExisting | OnlyGreater, Increment, Increment | OnlyLess}[m.r.IntN(7)]
	}
	old, exists := m.want[string(member)]
	target := score
	if rule&Increment != 0 && exists {
		target += old
	}
	outcome, now := Updated, target
	switch {
	case !exists && rule&OnlyExisting != 0:
		outcome, now = Refused, 0
	case !exists:
		outcome = Added
	case rule&OnlyNew != 0:
		outcome, now = Refused, old
	case math.IsNaN(target):
		outcome, now = NaN, old
	case rule&OnlyGreater != 0 && target <= old, rule&OnlyLess != 0 && target >= old:
		outcome, now = Refused, old
	case target == old:
		outcome, now = Kept, old
	}
	got, did := m.set.Add(&m.ch, member, score, rule)
	if did != outcome || math.Float64bits(got) != math.Float64bits(now) {
		m.Fatalf("Add %.20s %v with rule %b to %v: got %v and %v, want %v and %v", member, score, rule, old, did, got, outcome, now)
	}
	if did == Added || did == Updated {
		m.want[string(member)] = now
	}
}

func (m *model) remove() {
	member := m.member()
	_, want := m.want[string(member)]
	if got := m.set.Remove(&m.ch, member); got != want {
		m.Fatalf("Remove %.20s: got %v", member, got)
	}
	delete(m.want, string(member))
}

func (m *model) pop() {
	end, count := End(m.r.IntN(2)), m.r.IntN(8)
	all := m.sorted()
	if end == Greatest {
		slices.Reverse(all)
	}
	all = all[:min(count, len(all))]
	m.set.Pop(&m.ch, end, count, func(member []byte, score float64) {
		if len(all) == 0 || all[0] != string(member) || m.want[all[0]] != score {
			m.Fatalf("Pop: got %.20q, want one of %d", member, len(all))
		}
		delete(m.want, all[0])
		all = all[1:]
	})
	if len(all) > 0 {
		m.Fatalf("Pop left %d of %d", len(all), count)
	}
}

func (m *model) removeRange() {
	if len(m.want) == 0 {
		return
	}
	rank, count := m.r.IntN(len(m.want)), m.r.IntN(20)
	if m.r.IntN(10) == 0 {
		count = m.r.IntN(len(m.want))
	}
	all := m.sorted()[rank:]
	all = all[:min(count, len(all))]
	if got := m.set.RemoveRange(&m.ch, rank, count); got != len(all) {
		m.Fatalf("RemoveRange(%d, %d): got %d, want %d", rank, count, got, len(all))
	}
	for _, name := range all {
		delete(m.want, name)
	}
}

// replay feeds the copy with what was recorded.
func (m *model) replay() {
	for rest := m.ch.Encoded(); len(rest) > 0; {
		op, args, behind, err := structures.NextOp(rest)
		if err == nil {
			err = m.copied.Apply(op, &args)
		}
		if err != nil {
			m.Fatal(err)
		}
		rest = behind
	}
	m.ch.Reset(0)
	same(m.T, m.copied, m.set)
}

// same fails unless two sets have the same members, and scores to the bit.
func same(t *testing.T, got, want *Set) {
	t.Helper()
	g, w := entriesOf(got), entriesOf(want)
	if len(g) != len(w) {
		t.Fatalf("%d members, want %d", len(g), len(w))
	}
	for i := range w {
		if g[i] != w[i] {
			t.Fatalf("member %d: got %.40s, want %.40s", i, g[i], w[i])
		}
	}
}

func entriesOf(s *Set) (all []string) {
	s.Range(0, s.Len(), func(member []byte, score float64) bool {
		all = append(all, fmt.Sprintf("%x %s", math.Float64bits(score), member))
		return true
	})
	return all
}

// store keeps the pages that changed, sometimes in parts.
func (m *model) store() {
	keep := func(id uint64, page []byte) {
		if page == nil {
			delete(m.pages, id)
			return
		}
		m.pages[id] = string(page)
	}
	if m.r.IntN(2) == 0 {
		if m.r.IntN(4) == 0 {
			clear(m.pages) // as if the whole of it were another value's
			m.set.MarkAllDirty()
		}
		for m.set.Flush(3, keep) {
			m.step(true)
		}
		m.replay()
	}
	m.set.Pages(false, keep)
	m.set.Clean()
	again := m.load()
	check(m.T, again)
	same(m.T, again, m.set)
	if !bytes.Equal(again.AppendHead(nil), m.set.AppendHead(nil)) {
		m.Fatalf("head %x, want %x", again.AppendHead(nil), m.set.AppendHead(nil))
	}
	if m.r.IntN(4) == 0 {
		m.set = again
	}
}

// load makes a set of the pages that are stored, in any order.
func (m *model) load() *Set {
	s, err := Decode(m.set.AppendHead(nil), testKeys(1))
	if err != nil {
		m.Fatal(err)
	}
	for id, page := range m.pages {
		if err := s.SetPage(id, []byte(page)); err != nil {
			m.Fatal(err)
		}
	}
	if err := s.Complete(); err != nil {
		m.Fatal(err)
	}
	return s
}

// compare compares all that reads with the map.
func (m *model) compare() {
	all := m.sorted()
	if m.set.Len() != len(all) || m.set.Empty() != (len(all) == 0) {
		m.Fatalf("%d members, want %d", m.set.Len(), len(all))
	}
	i := 0
	m.set.Range(0, math.MaxInt, func(member []byte, score float64) bool {
		if all[i] != string(member) || m.want[all[i]] != score {
			m.Fatalf("member %d: got %.20q", i, member)
		}
		i++
		return true
	})
	m.set.Reverse(len(all)-1, math.MaxInt, func(member []byte, _ float64) bool {
		if i--; all[i] != string(member) {
			m.Fatalf("backwards, member %d: got %.20q", i, member)
		}
		return true
	})
	if i != 0 {
		m.Fatalf("backwards, %d were not visited", i)
	}
	for range 20 {
		name := string(m.member())
		want, exists := m.want[name]
		rank, score, ok := m.set.Rank([]byte(name))
		if ok != exists || ok && (score != want || all[rank] != name) {
			m.Fatalf("Rank %.20s: got %d, %v, %v", name, rank, score, ok)
		}
		bound := m.score()
		before := sort.Search(len(all), func(i int) bool { return m.want[all[i]] >= bound })
		upTo := sort.Search(len(all), func(i int) bool { return m.want[all[i]] > bound })
		m.set.From(BeforeScore(bound), func(member []byte, _ float64) bool {
			if all[before] != string(member) {
				m.Fatalf("from %v: got %.20q, want %.20q", bound, member, all[before])
			}
			before++
			return before < upTo
		})
		before = sort.Search(len(all), func(i int) bool { return m.want[all[i]] >= bound })
		if from, count := m.set.Between(BeforeScore(bound), AfterScore(bound)); from != before && len(all) > 0 || count != upTo-before {
			m.Fatalf("score %v: got %d and %d, want %d and %d", bound, from, count, before, upTo-before)
		}
	}
	seen := map[string]bool{}
	structurestest.Scan(m, func(cursor uint64) uint64 {
		return m.set.Scan(cursor, 1+m.r.IntN(30), func(member []byte, score float64) {
			if m.want[string(member)] != score || seen[string(member)] {
				m.Fatalf("scan visited %.20q with %v, before: %v", member, score, seen[string(member)])
			}
			seen[string(member)] = true
		})
	})
	if len(seen) != len(all) {
		m.Fatalf("scan visited %d of %d", len(seen), len(all))
	}
}

func TestSetIsTheModel(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for i, c := range []struct{ names, long, steps int }{{30, 10, 3000}, {400, 30, 6000}, {20_000, 15, 30_000}, {10_000, 400, 30_000}} {
		t.Run(fmt.Sprint(c.names), func(t *testing.T) {
			m := &model{T: t, r: rand.New(rand.NewPCG(seed, uint64(i))), set: New(testKeys(1)), copied: New(testKeys(1)),
				want: map[string]float64{}, pages: map[uint64]string{}, names: c.names, long: c.long}
			largest := 0
			for n := range c.steps {
				m.step(n/(c.steps/6)%2 == 0)
				largest = max(largest, m.set.Len())
				if m.r.IntN(c.steps/50) == 0 {
					check(t, m.set)
					m.compare()
					m.replay()
				}
				if m.r.IntN(c.steps/30) == 0 {
					m.replay()
					m.store()
				}
			}
			t.Logf("%d members at the most, %d at the end", largest, m.set.Len())
		})
	}
}

// Sets that grow at an end, which is where most grow, fill their leaves.
func TestSetsThatGrowAtTheEndAreFull(t *testing.T) {
	s := New(testKeys(1))
	for i := range 50_000 {
		s.Add(nil, fmt.Append(nil, "member", i), float64(i), 0)
	}
	check(t, s)
	bytes := 0
	s.Pages(true, func(_ uint64, page []byte) { bytes += len(page) })
	if filled := float64(bytes) / float64(s.live*leafBytes); filled < 0.9 {
		t.Errorf("pages are filled to %.2f", filled)
	}
	for s.Len() > 10 {
		s.Pop(nil, Least, 7, nil)
	}
	check(t, s)
	s.Clean() // what is gone is remembered until then
	if s.Size() > 3000 || len(s.numbered) > sparse+2 {
		t.Errorf("ten members left: %d bytes, %d numbers", s.Size(), len(s.numbered))
	}
}

// Enough leaves for three levels of branches.
func TestTallSetsStayInOrder(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	var entries []Entry
	for i := range 180_000 {
		entries = append(entries, Entry{fmt.Appendf(nil, "%0150d", i), float64(r.IntN(50_000))})
	}
	s, err := Build(testKeys(1), entries)
	if err != nil {
		t.Fatal(err)
	}
	if s.root.leaves != nil || s.root.below[0].leaves != nil {
		t.Fatal("the set has two levels")
	}
	check(t, s)
	for n := 0; s.Len() > 1000; n++ {
		for range 2000 {
			member := fmt.Appendf(nil, "%0150d", r.IntN(200_000))
			if s.Add(nil, member, float64(r.IntN(50_000)), 0); r.IntN(3) == 0 {
				s.Remove(nil, member)
			}
		}
		rank := r.IntN(s.Len())
		s.RemoveRange(nil, rank, r.IntN(s.Len()-rank))
		s.Pop(nil, End(r.IntN(2)), 3000, nil)
		check(t, s)
	}
}

func TestBuildRefusesAMemberGivenTwice(t *testing.T) {
	for _, n := range []int{1, 1000} {
		entries := []Entry{{[]byte("twin"), 1}, {[]byte("twin"), 2}}
		for i := range n {
			entries = append(entries, Entry{fmt.Append(nil, i), float64(i)})
		}
		if _, err := Build(testKeys(1), entries); !errors.Is(err, structures.ErrCorrupt) {
			t.Errorf("%d others: got %v", n, err)
		}
	}
}
