package slots

import "testing"

func BenchmarkRanges(b *testing.B) {
	s := new(Set)
	s.Add(Range{1000, 6460})
	b.ReportAllocs()
	for b.Loop() {
		s.Ranges()
	}
}
