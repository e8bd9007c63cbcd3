package placement

import (
	"fmt"
	"testing"
)

// benchHashes are too many for a branch predictor to learn.
func benchHashes() []uint64 {
	hashes := make([]uint64, 1<<16)
	for i := range hashes {
		hashes[i] = Mix(uint64(i))
	}
	return hashes
}

func benchLocate(b *testing.B, s Strategy, hashes []uint64) {
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		i++
		s.Locate(hashes[i&(1<<16-1)])
	}
}

// BenchmarkSieveLocate is a lookup in SIEVE, in both ways.
func BenchmarkSieveLocate(b *testing.B) {
	hashes := benchHashes()
	for _, levels := range []int{0, 20} {
		for _, n := range []int{10, 100, 1000, 10000} {
			s := newSieve(Options{Levels: levels})
			setAll(b, s, capacities(specSieve(), n))
			b.Run(fmt.Sprintf("levels=%d/n=%d", levels, n), func(b *testing.B) {
				benchLocate(b, s, hashes)
			})
		}
	}
}

// BenchmarkSieveAbsLocate is a lookup at all occupancies of a domain: units of
// capacities 1 to 100 join or leave until so many percent of it are in use. A
// growing table is between 44 % and all of it, a shrinking one from 37.5 %.
func BenchmarkSieveAbsLocate(b *testing.B) {
	hashes := benchHashes()
	for _, percent := range []uint64{38, 50, 60, 75, 87, 95} {
		s := new(sieveAbs)
		setAll(b, s, capacities(specSieveAbs(), 1000))
		for u := 0; s.total*100/s.domain() < percent; u++ {
			setAll(b, s, []Change{{Unit: u, Capacity: 100 << 24}})
		}
		for u := 0; s.total*100/s.domain() > percent; u++ {
			setAll(b, s, []Change{{Unit: u, Capacity: 1 << 24}})
		}
		b.Run(fmt.Sprintf("n=%d/used=%d%%", s.n, s.total*100/s.domain()), func(b *testing.B) {
			benchLocate(b, s, hashes)
			b.ReportMetric(float64(len(s.table)), "ranges")
		})
	}
	for _, n := range []int{10, 100, 1000, 10000} {
		s := new(sieveAbs)
		setAll(b, s, capacities(specStatic(), n))
		b.Run(fmt.Sprintf("n=%d/equal", n), func(b *testing.B) { benchLocate(b, s, hashes) })
	}
}

// BenchmarkSieveAbsChange is a change of one capacity of a thousand, and back.
func BenchmarkSieveAbsChange(b *testing.B) {
	s := new(sieveAbs)
	setAll(b, s, capacities(specSieveAbs(), 1000))
	b.ReportAllocs()
	for b.Loop() {
		if err := s.Set(500, 7<<24); err != nil {
			b.Fatal(err)
		}
		if err := s.Set(500, 60<<24); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSieveBuild is n units in one change.
func BenchmarkSieveBuild(b *testing.B) {
	for _, n := range []int{1000, 65536} {
		for _, spec := range []Spec{specSieve(), specSieveAbs()} {
			changes := capacities(spec, n)
			b.Run(fmt.Sprintf("%s/n=%d", spec.Name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					s := spec.New(Options{})
					setAll(b, s, changes)
					b.ReportMetric(float64(s.Bytes())/float64(n), "B/unit")
				}
			})
		}
	}
}

// BenchmarkSieveMoves compares two tables before and after one change.
func BenchmarkSieveMoves(b *testing.B) {
	for _, spec := range []Spec{specSieve(), specSieveAbs()} {
		s := spec.New(Options{})
		setAll(b, s, capacities(spec, 1000))
		next := s.Clone()
		setAll(b, next, []Change{{Unit: 500, Capacity: 99 << 24}})
		b.Run(spec.Name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s.(interface{ Moved(Strategy) Fraction }).Moved(next)
			}
		})
	}
}
