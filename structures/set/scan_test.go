package set

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/vigildb/vigil/structures/structurestest"
)

func TestPositionsAreInTheOrderOfIntegers(t *testing.T) {
	const exact = 1 << 24
	values := []int64{math.MinInt64, math.MinInt64 + 1, -exact, -1, 0, 1, exact - 1, exact, math.MaxInt64 - 1, math.MaxInt64}
	r := rand.New(rand.NewPCG(4, 0))
	for range 10_000 {
		v, _ := strconv.ParseInt(wide(r), 10, 64)
		values = append(values, v)
	}
	slices.Sort(values)
	for i, v := range values {
		at := position(v)
		first := firstAt(at)
		if at == 0 || at >= intPosition || first > v || position(first) != at || first > math.MinInt64 && position(first-1) == at {
			t.Fatalf("%d: position %x begins at %d", v, at, first)
		}
		if i > 0 && position(values[i-1]) > at {
			t.Fatalf("position of %d is above that of %d", values[i-1], v)
		}
		if v > -exact && v < exact && first != v {
			t.Fatalf("%d shares its position with %d", v, first)
		}
	}
	// Positions that no integer has are bounds too, as clients may make cursors up.
	last := int64(math.MinInt64)
	for at := uint64(0); at < intPosition; at += 997 {
		if first := firstAt(at); first < last {
			t.Fatalf("position %x begins at %d, one before it at %d", at, first, last)
		} else {
			last = first
		}
	}
}

// Members that stay are visited, whatever comes and goes between the calls.
func TestScanVisitsMembersThatStay(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 2))
	for _, plan := range []struct {
		start, grow, shrink int
		base, step          int64 // of the integers
	}{
		{8000, 0, 0, 0, 5}, {100, 300, 0, 0, 5}, {8000, 0, 300, 0, 5}, {6000, 40, 40, 0, 5}, {20, 50, 0, 0, 5},
		{40_000, 0, 0, 1 << 60, 5}, {100, 300, 0, 1 << 60, 5}, {40_000, 0, 3000, 1 << 60, 5}, {30_000, 400, 400, -1 << 62, 100_000},
	} {
		s := New(testKeys(3))
		name := func(i int) []byte {
			if i%3 == 0 {
				return fmt.Append(nil, "word", i)
			}
			return fmt.Append(nil, plan.base+int64(i-plan.start/2)*plan.step)
		}
		for i := range plan.start {
			s.Add(nil, name(i))
		}
		seen, calls, added, next := map[string]bool{}, 0, 0, 0
		structurestest.Scan(t, func(cursor uint64) uint64 {
			most, bound := 0, 200
			if plan.base != 0 {
				bound += fewInts + maxRun
			}
			cursor = s.Scan(cursor, 10, func(member []byte) { seen[string(member)] = true; most++ })
			if calls++; cursor != 0 && most > bound {
				t.Fatalf("plan %v: a call visited %d", plan, most)
			}
			for range min(plan.grow, 60_000-added) {
				s.Add(nil, name(plan.start+added))
				added++
			}
			for range plan.shrink {
				if next++; next%17 != 0 {
					s.Remove(nil, name(next%plan.start/17*17+1+r.IntN(16)))
				}
			}
			return cursor
		})
		for i := 0; i < plan.start; i += 17 {
			if !seen[string(name(i))] {
				t.Errorf("plan %v: %s was never visited in %d calls", plan, name(i), calls)
			}
		}
	}
}

// Members that are removed as they are returned, as a queue does it, make runs join. The others
// are all visited, and the scan ends.
func TestScanOfCrowdedIntegersThatAreRemoved(t *testing.T) {
	const n = 60_000
	for _, keep := range []int{2, 10, 1000, n + 1} {
		s := New(testKeys(5))
		for i := range n {
			s.Add(nil, fmt.Append(nil, int64(1)<<61+int64(i)*1000))
		}
		kept, replies := map[string]bool{}, 0
		structurestest.Scan(t, func(cursor uint64) uint64 {
			var reply [][]byte
			cursor = s.Scan(cursor, 10, func(member []byte) { reply = append(reply, slices.Clone(member)) })
			if replies++; len(reply) > fewInts+maxRun {
				t.Fatalf("keep every %d: a reply of %d", keep, len(reply))
			}
			for _, member := range reply {
				if v, _ := parse(member); (v-1<<61)/1000%int64(keep) == 0 {
					kept[string(member)] = true
				} else {
					s.Remove(nil, member)
				}
			}
			return cursor
		})
		if len(kept) != s.Len() || replies < 10 {
			t.Errorf("keep every %d: %d of %d were visited, in %d replies", keep, len(kept), s.Len(), replies)
		}
	}
}

// A run that a cursor stands for joins the one before it when both lose their members. The
// scan then begins again with the least integer.
func TestScanGoesOnWhenItsRunIsGone(t *testing.T) {
	s := New(testKeys(5))
	for i := range 10_000 {
		s.Add(nil, fmt.Append(nil, int64(1)<<61+int64(i)*1000))
	}
	seen, gone := map[string]bool{}, false
	structurestest.Scan(t, func(cursor uint64) uint64 {
		cursor = s.Scan(cursor, 10, func(member []byte) { seen[string(member)] = true })
		at := s.rest.Keys().Cursors.Reveal(cursor)
		if gone || at < runPosition || at >= intPosition {
			return cursor
		}
		k := s.runAt(at - runPosition)
		for _, r := range []*run{s.ints.runs[k], s.ints.runs[k-1]} {
			for n := r.len(); n > 10; n-- {
				s.Remove(nil, fmt.Append(nil, r.at(0)))
			}
		}
		if gone = s.runAt(at-runPosition) < 0; !gone {
			t.Fatal("the run did not join another")
		}
		return cursor
	})
	missed := 0
	s.Each(func(member []byte) bool {
		if !seen[string(member)] {
			missed++
		}
		return true
	})
	if !gone || missed > 0 {
		t.Errorf("the run of a cursor was gone: %v; %d of %d missed", gone, missed, s.Len())
	}
}

// Two runs that are found by the same bits are never what a cursor stands for: the scan
// would not get past the first of them.
func TestRunsThatLookAlikeAreNotInCursors(t *testing.T) {
	s := New(testKeys(6))
	r, seen := rand.New(rand.NewPCG(7, 0)), map[uint64]int64{}
	a, b := int64(0), int64(0)
	for b-a < 10_000 { // some 30,000 times; in one place of 2^38 integers
		bound := 1<<61 + r.Int64N(1<<37)&^1
		bits := s.runBits(bound)
		if other, twice := seen[bits]; twice {
			a, b = min(other, bound), max(other, bound)
		}
		seen[bits] = bound
	}
	bounds := []int64{math.MinInt64, a, (a + b) / 2 &^ 1, b, b + 10_000}
	for k, bound := range bounds {
		r := &run{}
		first := bound
		if k == 0 {
			first = a - 10_000
		}
		for i := range int64(700) {
			r.insert(int(i), first+i)
			s.ints.count++
		}
		s.ints.insertRun(k, bound, r)
	}
	checkIntegers(t, &s.ints)
	visits := map[string]int{}
	replies := 0
	structurestest.Scan(t, func(cursor uint64) uint64 {
		replies++
		return s.Scan(cursor, 10, func(member []byte) { visits[string(member)]++ })
	})
	for member, n := range visits {
		if n != 1 {
			t.Fatalf("%s was visited %d times", member, n)
		}
	}
	// The first reply ends before the run in the middle, the next before the last one.
	if len(visits) != s.Len() || replies != 3 {
		t.Errorf("%d of %d visited in %d replies, want 3", len(visits), s.Len(), replies)
	}
}

// What a client sends as a cursor may be anything: the scan goes on from somewhere, and ends.
func TestScanTakesAnyCursor(t *testing.T) {
	s := New(testKeys(3))
	for i := range 3000 {
		s.Add(nil, fmt.Append(nil, i*7))
		s.Add(nil, fmt.Append(nil, int64(1)<<60+int64(i)))
		s.Add(nil, fmt.Append(nil, "word", i))
	}
	r := rand.New(rand.NewPCG(5, 0))
	for range 300 {
		made := r.Uint64() >> r.IntN(64)
		structurestest.Scan(t, func(cursor uint64) uint64 {
			if cursor == 0 {
				cursor = made
			}
			return s.Scan(cursor, 100, func([]byte) {})
		})
	}
	for _, at := range []uint64{1, runPosition - 1, runPosition, intPosition - 1, intPosition, intPosition<<1 - 1} {
		if next := s.scanFrom(at, 10, func([]byte) {}); next != 0 && next <= at && at >= intPosition {
			t.Errorf("from %x to %x", at, next)
		}
	}
}
