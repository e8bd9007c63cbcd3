package placement

import (
	"math/bits"
	"math/rand/v2"
	"testing"
)

// newAbs returns a table of the given capacities, units 0, 1, ...
func newAbs(t testing.TB, capacities ...Capacity) *sieveAbs {
	t.Helper()
	s := new(sieveAbs)
	for i, c := range capacities {
		if err := s.Set(i, c); err != nil {
			t.Fatalf("Set(%d, %d): %v", i, c, err)
		}
	}
	return s
}

// checkAbs verifies every invariant of a table.
func checkAbs(t *testing.T, s *sieveAbs) {
	t.Helper()
	if s.n == 0 {
		return
	}
	owners := make(map[uint32]int)
	var total, taken uint64
	n := 0
	for i := range s.units {
		u := &s.units[i]
		measure, parts := uint64(0), 0
		for k, r := range u.ranges {
			if k > 0 && u.ranges[k-1] >= r {
				t.Fatalf("unit %d: ranges do not ascend", i)
			}
			if other, ok := owners[r]; ok {
				t.Fatalf("range %d has two owners, %d and %d", r, other, i)
			}
			owners[r] = i
			fill := s.width(r)
			taken += fill
			if int64(r) == u.part {
				parts++
				fill = u.fill
				if fill == 0 || fill >= s.width(r) {
					t.Fatalf("unit %d fills its part with %d of %d", i, fill, s.width(r))
				}
			}
			measure += fill
			c := coarseness(s.segmentOf(r).width)
			if want := uint32(i)<<16 | uint32(min(fill>>c, 65535)); s.table[r] != want {
				t.Fatalf("range %d: entry %x, want %x", r, s.table[r], want)
			}
		}
		if measure != u.weight {
			t.Fatalf("unit %d measures %d, want %d", i, measure, u.weight)
		}
		if (u.part >= 0) != (parts == 1) {
			t.Fatalf("unit %d: part %d is not its range", i, u.part)
		}
		if u.weight > 0 {
			n++
		}
		total += measure
	}
	if total != s.total || taken != s.taken || n != s.n {
		t.Fatalf("total %d taken %d n %d, want %d %d %d", s.total, s.taken, s.n, total, taken, n)
	}
	for r := range s.table {
		free := s.free.words[r/64]>>(r%64)&1 == 1
		if _, owned := owners[uint32(r)]; owned == free {
			t.Fatalf("range %d: owned %v and free %v", r, owned, free)
		}
		if free && (s.table[r] != 0 || r/64 < s.free.hint) {
			t.Fatalf("free range %d: entry %x, hint %d", r, s.table[r], s.free.hint)
		}
	}
	if !enough(s.total, bits.Len64(s.mask)) {
		t.Fatalf("%d of %d are in use, less than 3/8", s.total, s.domain())
	}
	last := s.segments[len(s.segments)-1]
	if end := s.startOf(uint32(len(s.table)-1)) + 1<<last.width; end != s.domain() {
		t.Fatalf("ranges end at %d, want %d", end, s.domain())
	}
}

// absOracle is Locate as the definition has it: a sequence a level, drawn
// recursively, and a search in the units' intervals.
func absOracle(s *sieveAbs, hash uint64) int {
	var given [64]uint64 // points taken of each level
	var last [64]uint64  // the word of the last element of S_j
	for j := range last {
		last[j] = hash
	}
	var next func(j int) (p, word uint64)
	next = func(j int) (p, word uint64) {
		if j > 0 && last[j]>>(j-1)&1 == 0 {
			p, word = next(j - 1)
		} else {
			given[j]++
			id := 64*given[j] + uint64(j)
			word = draw(hash + id*absCoin)
			if j > 0 {
				p = 1<<(j-1) + draw(hash+id*absPoint)&^(1<<63)>>(64-j)
			}
		}
		last[j] = word
		return p, word
	}
	for range absRounds {
		p, _ := next(bits.Len64(s.mask))
		for i := range s.units {
			for _, r := range s.units[i].ranges {
				fill := s.width(r)
				if int64(r) == s.units[i].part {
					fill = s.units[i].fill
				}
				if lo := s.startOf(r); p >= lo && p < lo+fill {
					return i
				}
			}
		}
	}
	return s.last
}

func TestSieveAbsLocatesAsDefined(t *testing.T) {
	tables := map[string]*sieveAbs{
		"one unit of 1":    newAbs(t, 1),
		"one unit of 2^60": newAbs(t, MaxCapacity),
		"tiny":             newAbs(t, 1, 2, 3),
		"equal":            newAbs(t, 1<<40, 1<<40, 1<<40, 1<<40, 1<<40),
		"ragged":           newAbs(t, 1<<40+12345, 3<<38+1, 99, 1<<20, 77<<30+5),
		"growing":          newAbs(t, 1<<20, 1<<30, 1<<40, 1<<50, 1<<60),
		"falling":          newAbs(t, 1<<60, 1<<50, 1<<40, 1<<30),
	}
	for name, s := range tables {
		checkAbs(t, s)
		for i := range uint64(3000) {
			h := Mix(i)
			if got, want := s.Locate(h), absOracle(s, h); got != want {
				t.Fatalf("%s: Locate(%x) = %d, want %d", name, h, got, want)
			}
		}
	}
}

func TestSieveAbsKeepsItsInvariants(t *testing.T) {
	seed := uint64(20260101)
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for run := range 12 {
		s, model := new(sieveAbs), map[int]Capacity{}
		for step := range 150 {
			changeOneUnit(t, rng, s, model, run%2 == 0)
			checkAbs(t, s)
			for i := range uint64(5) {
				h := Mix(uint64(step)<<32 + i)
				got := s.Locate(h)
				if _, ok := model[got]; ok != (len(model) > 0) {
					t.Fatalf("Locate answers unit %d, which is not there", got)
				}
				if want := -1; len(model) > 0 {
					want = absOracle(s, h)
					if got != want {
						t.Fatalf("Locate(%x) = %d, want %d", h, got, want)
					}
				}
			}
		}
	}
}
