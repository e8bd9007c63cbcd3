package placement

import (
	"fmt"
	"testing"
)

var benchSizes = []int{10, 100, 1000, 10000}

// BenchmarkLocate locates random hashes: capacities 1 to 100, or equal ones
// where a strategy needs them.
func BenchmarkLocate(b *testing.B) {
	for _, spec := range Strategies() {
		for _, n := range benchSizes {
			b.Run(fmt.Sprintf("strategy=%s/n=%d", spec.Name, n), func(b *testing.B) {
				s := newStrategy(b, spec, 1)
				setAll(b, s, capacities(spec, n))
				b.ReportAllocs()
				sum, i := 0, uint64(0)
				for b.Loop() {
					i += phi64
					sum += s.Locate(Mix(i))
				}
				if sum < 0 {
					b.Fatal("no unit")
				}
				b.ReportMetric(float64(s.Bytes())/1024, "KiB")
			})
		}
	}
}

// BenchmarkChange adds and removes a unit.
func BenchmarkChange(b *testing.B) {
	for _, spec := range Strategies() {
		for _, n := range benchSizes[:3] {
			b.Run(fmt.Sprintf("strategy=%s/n=%d", spec.Name, n), func(b *testing.B) {
				s := newStrategy(b, spec, 1)
				setAll(b, s, capacities(spec, n))
				b.ReportAllocs()
				for b.Loop() {
					setAll(b, s, []Change{{n, 1 << 30}})
					setAll(b, s, []Change{{n, 0}})
				}
			})
		}
	}
}

// BenchmarkHash hashes keys of several lengths.
func BenchmarkHash(b *testing.B) {
	for _, n := range []int{8, 16, 40, 100} {
		b.Run(fmt.Sprintf("bytes=%d", n), func(b *testing.B) {
			key := make([]byte, n)
			b.ReportAllocs()
			b.SetBytes(int64(n))
			for b.Loop() {
				key[0] = byte(Hash(key, 1))
			}
		})
	}
}

// BenchmarkPreview tells the moves of a new unit.
func BenchmarkPreview(b *testing.B) {
	for _, spec := range Strategies() {
		for _, n := range benchSizes[1:3] {
			b.Run(fmt.Sprintf("strategy=%s/n=%d", spec.Name, n), func(b *testing.B) {
				m := newMap(b, spec.Name, n)
				b.ReportAllocs()
				for b.Loop() {
					if _, err := m.PreviewSet(Unit{Name: "new", Capacity: 10}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
