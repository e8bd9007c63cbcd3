package set

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/structurestest"
)

func testKeys(n byte) *structures.HashKeys {
	return &structures.HashKeys{Fields: structures.NewHashKey([16]byte{n, 1}), Cursors: structures.NewHashKey([16]byte{n, 2})}
}

// members returns the set as a map, and fails if Each visits one twice.
func members(t testing.TB, s *Set) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	s.Each(func(member []byte) bool {
		if all[string(member)] {
			t.Fatalf("%q visited twice", member)
		}
		all[string(member)] = true
		return true
	})
	if len(all) != s.Len() {
		t.Fatalf("Len: got %d of %d members", s.Len(), len(all))
	}
	return all
}

// checkIntegers checks what the code takes for granted about runs, and the account
// of memory.
func checkIntegers(t testing.TB, s *integers) {
	t.Helper()
	count, memory := 0, 0
	for k, r := range s.runs {
		n := r.len()
		count += n
		memory += r.memory()
		if n == 0 || len(r.data) > maxRun || len(r.data)%(1<<r.shift) != 0 || r.at(0) < s.bounds[k] || r.at(0) < r.base ||
			k > 0 && (s.bounds[k]&1 != 0 || s.runs[k-1].last() >= s.bounds[k]) {
			t.Fatalf("run %d of %d bounded by %d: %d of shift %d from %d", k, len(s.runs), s.bounds[k], n, r.shift, r.base)
		}
		for i := 1; i < n; i++ {
			if r.at(i-1) >= r.at(i) {
				t.Fatalf("run %d: %d before %d", k, r.at(i-1), r.at(i))
			}
		}
	}
	if count != s.count || memory != s.memory || count > 0 && s.bounds[0] != math.MinInt64 || len(s.bounds) != len(s.runs) {
		t.Fatalf("%d integers in %d bytes, counted %d in %d", s.count, s.memory, count, memory)
	}
}

// model is a set next to the map that it must equal, the pages that a store would
// hold, and a copy that is fed with the records.
type model struct {
	t      *testing.T
	r      *rand.Rand
	member func(r *rand.Rand) string
	set    *Set
	copied *Set
	want   map[string]bool
	ch     structures.Change
	pages  map[uint64]string
	most   int // runs of integers

	timed bool             // members get an expiry
	due   map[string]int64 // when members go
	now   int64
	done  map[string]int // changes of expiries
}

// step adds or removes a member, or a random one that the set returns.
func (m *model) step(growing bool) {
	member := m.member(m.r)
	n := m.r.IntN(100)
	before := m.ch.Len()
	changed := true
	defer m.forget()
	switch {
	case m.timed && n%4 == 0:
		m.now++
		changed = m.stepExpiry(member)
	case n < 90 && growing || n < 25:
		if changed = m.set.Add(&m.ch, []byte(member)); changed == m.want[member] {
			m.t.Fatalf("Add(%q): got %v", member, changed)
		}
		m.want[member] = true
	case n < 60:
		if changed = m.set.Remove(&m.ch, []byte(member)); changed != m.want[member] {
			m.t.Fatalf("Remove(%q): got %v", member, changed)
		}
		delete(m.want, member)
	default:
		drawn, ok := m.set.Random(m.r.IntN)
		if !m.want[string(drawn)] && ok || ok != (len(m.want) > 0) {
			m.t.Fatalf("Random: got %q %v of %d", drawn, ok, len(m.want))
		}
		if changed = ok; ok {
			delete(m.want, string(drawn))
			if !m.set.Remove(&m.ch, drawn) {
				m.t.Fatalf("Remove of a drawn member: got false")
			}
		}
	}
	if changed == (m.ch.Len() == before) {
		m.t.Fatalf("changed %v, recorded %d bytes", changed, m.ch.Len()-before)
	}
	m.most = max(m.most, len(m.set.ints.runs))
}

// check compares the set, its replayed copy, and what the disk would give back.
func (m *model) check() {
	m.t.Helper()
	m.checkValue(m.set)
	structurestest.Replay(m.t, m.copied, m.ch.Encoded())
	m.ch.Reset(1 << 20)
	m.checkValue(m.copied)
	m.store()
	m.set.Clean()
	s, err := Decode(m.set.AppendHead(nil), testKeys(7))
	if err != nil {
		m.t.Fatal(err)
	}
	for id, page := range m.pages {
		if err := s.SetPage(id, []byte(page)); err != nil {
			m.t.Fatal(err)
		}
	}
	if err := s.Complete(); err != nil {
		m.t.Fatal(err)
	}
	s.Clean()
	m.checkValue(s)
	if m.r.IntN(4) == 0 {
		m.set = s
	}
}

// store brings pages up to date as a store does.
func (m *model) store() {
	m.t.Helper()
	last := uint64(0)
	m.set.Pages(false, func(id uint64, page []byte) {
		if id <= last {
			m.t.Fatalf("page %x visited after %x", id, last)
		}
		if last = id; page == nil {
			delete(m.pages, id)
		} else {
			m.pages[id] = string(page)
		}
	})
	all := map[uint64]string{}
	m.set.Pages(true, func(id uint64, page []byte) { all[id] = string(page) })
	if !maps.Equal(all, m.pages) {
		m.t.Fatalf("%d pages stored by changes, %d pages in all, or they differ", len(m.pages), len(all))
	}
}

func (m *model) checkValue(s *Set) {
	m.t.Helper()
	checkIntegers(m.t, &s.ints)
	m.checkExpiries(s)
	if !maps.Equal(members(m.t, s), m.want) || s.Empty() != (len(m.want) == 0) {
		m.t.Fatalf("%d members, want %d, or they differ", s.Len(), len(m.want))
	}
	for range 10 {
		if member := m.member(m.r); s.Has([]byte(member)) != m.want[member] {
			m.t.Fatalf("Has(%q): want %v", member, m.want[member])
		}
	}
	n := len(m.want)
	for _, count := range []int{0, 1, n / 20, n / 2, n - 1, n + 3} {
		got := map[string]bool{}
		s.Sample(count, m.r.IntN, func(member []byte) {
			if !m.want[string(member)] {
				m.t.Fatalf("Sample: got %q", member)
			}
			got[string(member)] = true
		})
		if len(got) != min(max(count, 0), n) {
			m.t.Fatalf("Sample(%d): got %d of %d", count, len(got), n)
		}
	}
	seen := map[string]bool{}
	structurestest.Scan(m.t, func(cursor uint64) uint64 {
		return s.Scan(cursor, 1+m.r.IntN(100), func(member []byte) { seen[string(member)] = true })
	})
	if !maps.Equal(seen, m.want) {
		m.t.Fatalf("scan: got %d of %d", len(seen), n)
	}
}

func word(r *rand.Rand) string {
	n := r.IntN(3000)
	return fmt.Sprint("word-", n, strings.Repeat("-", n%97/90*70))
}

// wide draws integers of every size, at the limits too.
func wide(r *rand.Rand) string {
	v := r.Int64() >> r.IntN(64)
	if r.IntN(2) == 0 {
		v = ^v
	}
	return strconv.FormatInt(v, 10)
}

func TestSetEqualsMap(t *testing.T) {
	both := func(r *rand.Rand) string {
		if r.IntN(2) == 0 {
			return wide(r)
		}
		return word(r)
	}
	for name, c := range map[string]struct {
		steps, runs int // runs: so many at a time at least
		member      func(r *rand.Rand) string
	}{
		"timed few":   {3000, 1, func(r *rand.Rand) string { return fmt.Sprint(r.IntN(40)) }},
		"timed dense": {8000, 1, func(r *rand.Rand) string { return fmt.Sprint(r.IntN(20_000) - 10_000) }},
		"timed both":  {5000, 1, both},
		"few":         {3000, 1, func(r *rand.Rand) string { return fmt.Sprint(r.IntN(40)) }},
		"dense":       {30_000, 2, func(r *rand.Rand) string { return fmt.Sprint(r.IntN(20_000) - 10_000) }},
		"wide":        {12_000, 3, wide},
		// Many have one place in a scan.
		"crowded": {20_000, 4, func(r *rand.Rand) string { return fmt.Sprint(1<<60 + r.Int64N(20_000)*70_000) }},
		"outlier": {12_000, 2, func(r *rand.Rand) string { return fmt.Sprint(r.Int64N(6000) << (r.IntN(8) / 7 * 50)) }},
		"words":   {8000, 0, word},
		"both":    {8000, 1, both},
	} {
		t.Run(name, func(t *testing.T) {
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			m := &model{t: t, r: rand.New(rand.NewPCG(seed, 1)), member: c.member, set: New(testKeys(7)), copied: New(testKeys(7)),
				want: map[string]bool{}, pages: map[uint64]string{},
				timed: strings.HasPrefix(name, "timed"), due: map[string]int64{}, done: map[string]int{}}
			for i := range c.steps {
				m.step(i*4/c.steps%2 == 0)
				if i%(c.steps/30) == 0 {
					m.check()
				}
			}
			for len(m.want) > 0 {
				for _, member := range slices.Sorted(maps.Keys(m.want))[:(len(m.want)+1)/2] {
					m.set.Remove(&m.ch, []byte(member))
					delete(m.want, member)
				}
				m.forget()
				m.check()
			}
			for _, what := range []string{"expire", "persist", "expired"} {
				if m.timed && m.done[what] < 3 {
					t.Errorf("%s took effect %d times", what, m.done[what])
				}
			}
			if m.most < c.runs {
				t.Errorf("at most %d runs of integers, want %d for a trial", m.most, c.runs)
			}
		})
	}
}

func TestIntegersInOrderFillTheirRuns(t *testing.T) {
	const n = 100_000
	for name, at := range map[string]func(i int) int64{
		"ascending":  func(i int) int64 { return int64(i) * 3 },
		"descending": func(i int) int64 { return -int64(i) * 3 },
		"odd":        func(i int) int64 { return int64(2*i + 1) },
		"shuffled":   func(i int) int64 { return int64(i) * 7919 % 100_003 },
		"neighbours": func(i int) int64 { return math.MaxInt64 - int64(i) },
	} {
		s := New(testKeys(1))
		for i := range n {
			if !s.Add(nil, strconv.AppendInt(nil, at(i), 10)) {
				t.Fatalf("%s: %d is not new", name, at(i))
			}
		}
		checkIntegers(t, &s.ints)
		if perMember := float64(s.Size()) / n; perMember > 3 {
			t.Errorf("%s: %.2f bytes a member in %d runs", name, perMember, len(s.ints.runs))
		}
	}
}

func TestOnlyCanonicalIntegersAreNumbers(t *testing.T) {
	for text, want := range map[string]bool{
		"0": true, "-1": true, "12345678901234567": true, "9223372036854775807": true, "-9223372036854775808": true,
		"": false, "-": false, "-0": false, "00": false, "01": false, "+1": false, "1 ": false, " 1": false, "1a": false, "0x1": false,
		"9223372036854775808": false, "-9223372036854775809": false, "18446744073709551617": false, "99999999999999999999": false, "-00": false,
	} {
		v, ok := parse([]byte(text))
		if ok != want || ok && strconv.FormatInt(v, 10) != text {
			t.Errorf("%q: got %d %v", text, v, ok)
		}
		s := New(testKeys(1))
		if !s.Add(nil, []byte(text)) || !s.Has([]byte(text)) || !members(t, s)[text] || (s.ints.count == 1) != want || !s.Remove(nil, []byte(text)) {
			t.Errorf("%q: is not a member like others", text)
		}
	}
}

func TestEachMemberIsDrawnAlike(t *testing.T) {
	const draws = 400_000
	s := New(testKeys(9))
	for i := range 1500 {
		s.Add(nil, fmt.Append(nil, i*i*i*1_000_003))
	}
	for i := range 500 {
		s.Add(nil, fmt.Append(nil, "word", i))
	}
	if len(s.ints.runs) < 3 {
		t.Fatalf("%d runs", len(s.ints.runs))
	}
	r := rand.New(rand.NewPCG(11, 0))
	one, many := map[string]int{}, map[string]int{}
	for range draws {
		member, _ := s.Random(r.IntN)
		one[string(member)]++
	}
	for range draws / 100 {
		s.Sample(100, r.IntN, func(member []byte) { many[string(member)]++ })
	}
	for how, drawn := range map[string]map[string]int{"Random": one, "Sample": many} {
		chi := 0.0
		for member := range members(t, s) {
			d := float64(drawn[member]) - draws/2000.0
			chi += d * d / (draws / 2000.0)
		}
		// 1999 degrees of freedom: mean 1999, deviation 63.
		if chi > 2300 {
			t.Errorf("%s: chi-squared %.0f of 2000 members", how, chi)
		}
	}
}

func TestSizeIsWhatMembersTake(t *testing.T) {
	const n = 200_000
	words, ids := New(testKeys(1)), New(testKeys(1))
	r := rand.New(rand.NewPCG(1, 0))
	for i := range n {
		words.Add(nil, fmt.Appendf(nil, "member-%08d", i))
		ids.Add(nil, strconv.AppendInt(nil, r.Int64(), 10))
	}
	if got := float64(words.Size()) / n; got > 32 {
		t.Errorf("words of 15 bytes: %.1f bytes each", got)
	}
	if got := float64(ids.Size()) / n; got > 10 {
		t.Errorf("random integers: %.1f bytes each", got)
	}
	for i := range n {
		words.Remove(nil, fmt.Appendf(nil, "member-%08d", i))
	}
	ids.Each(func(member []byte) bool { defer words.Add(nil, bytes.Clone(member)); return true })
	words.Each(func(member []byte) bool { ids.Remove(nil, bytes.Clone(member)); return true })
	if !ids.Empty() || ids.Size() > 2000 {
		t.Errorf("nothing left: %d bytes", ids.Size())
	}
}
