package hash

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/shapes"
	"github.com/vigildb/vigil/structures/structurestest"
)

// filledHash returns a hash of n fields like "field:123456" with values of
// size bytes, and the fields.
func filledHash(n, size int) (*Hash, [][]byte) {
	h := New(structurestest.Keys(1))
	fields := make([][]byte, n)
	value := make([]byte, size)
	for i := range fields {
		fields[i] = fmt.Appendf(nil, "field:%06d", i*7919%n)
		h.Set(nil, fields[i], value)
	}
	return h, fields
}

func BenchmarkHashSet(b *testing.B) {
	for _, n := range []int{10, 60, 100_000, 1_000_000} {
		b.Run(fmt.Sprintf("overwrite/n=%d", n), func(b *testing.B) {
			h, fields := filledHash(n, 20)
			value := []byte("01234567890123456789")
			var ch structures.Change
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				ch.Reset(1 << 20)
				h.Set(&ch, fields[i%n], value)
			}
		})
		b.Run(fmt.Sprintf("resize/n=%d", n), func(b *testing.B) {
			h, fields := filledHash(n, 20)
			value := []byte("0123456789012345678901234567890123456789")
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				h.Set(nil, fields[i%n], value[:10+i*31%30])
			}
		})
	}
}

func BenchmarkHashInsert(b *testing.B) {
	for _, n := range []int{10, 1000, 1_000_000} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			_, fields := filledHash(n, 20)
			value := []byte("01234567890123456789")
			h := New(structurestest.Keys(1))
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if i%n == 0 {
					h = New(structurestest.Keys(1))
				}
				h.Set(nil, fields[i%n], value)
			}
		})
	}
}

func BenchmarkHashGet(b *testing.B) {
	for _, n := range []int{10, 60, 100_000, 1_000_000} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			h, fields := filledHash(n, 20)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if _, ok := h.Get(fields[i%n], 1); !ok {
					b.Fatal("missing field")
				}
			}
		})
	}
}

// BenchmarkHashMemory reports what a field costs, as counted and as the
// collector sees it.
func BenchmarkHashMemory(b *testing.B) {
	for _, n := range []int{10, 60, 1000, 1_000_000} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			hashes := make([]*Hash, 1_000_000/n)
			var counted, real float64
			for b.Loop() {
				var before, after runtime.MemStats
				clear(hashes)
				runtime.GC()
				runtime.ReadMemStats(&before)
				size := 0
				for i := range hashes {
					hashes[i] = benchHash(n)
					size += hashes[i].Size()
				}
				runtime.GC()
				runtime.ReadMemStats(&after)
				fields := float64(n * len(hashes))
				counted, real = float64(size)/fields, float64(after.HeapAlloc-before.HeapAlloc)/fields
			}
			b.ReportMetric(counted, "counted-B/field")
			b.ReportMetric(real, "real-B/field")
			runtime.KeepAlive(hashes)
		})
	}
}

// benchHash fills a hash without keeping its fields: 12 bytes and 20 of value.
func benchHash(n int) *Hash {
	h := New(structurestest.Keys(1))
	field, value := make([]byte, 0, 16), make([]byte, 20)
	for i := range n {
		field = fmt.Appendf(field[:0], "field:%06d", i)
		h.Set(nil, field, value)
	}
	return h
}

func BenchmarkHashRandom(b *testing.B) {
	h, _ := filledHash(1_000_000, 20)
	state := uint64(1)
	draw := func(n int) int {
		state = state*6364136223846793005 + 1442695040888963407
		return int(state>>33) % n
	}
	b.ReportAllocs()
	for b.Loop() {
		h.Random(0, draw)
	}
}

// What a command on a small hash that rests costs, with its fields in it and without.
func BenchmarkHashRest(b *testing.B) {
	fields, value := [][]byte{[]byte("userid"), []byte("address"), []byte("useragent"), []byte("created_at"), []byte("page_count")}, make([]byte, 13)
	for _, table := range []*shapes.Shapes{nil, new(shapes.Shapes)} {
		keys := *structurestest.Keys(1)
		keys.Shapes = table
		h := New(&keys)
		rest := func() []byte {
			h.Reset()
			for _, field := range fields {
				h.Set(nil, field, value)
			}
			return h.AppendCompact(nil)
		}
		rest()
		resting := rest()
		name := map[bool]string{false: "fields", true: "shape"}[table != nil]
		scratch := make([]byte, 0, 512)
		b.Run("get/"+name, func(b *testing.B) {
			b.ReportMetric(float64(len(resting)), "bytes")
			for b.Loop() {
				h.LoadCompact(resting)
				h.Get(fields[3], 0)
			}
		})
		b.Run("all/"+name, func(b *testing.B) {
			for b.Loop() {
				h.LoadCompact(resting)
				h.Each(0, func(field, value []byte, _ int64) {})
			}
		})
		b.Run("set/"+name, func(b *testing.B) {
			for b.Loop() {
				h.LoadCompact(resting)
				h.Set(nil, fields[3], value)
				scratch = h.AppendCompact(scratch[:0])
			}
		})
		b.Run("create/"+name, func(b *testing.B) {
			for b.Loop() {
				h.Reset()
				for _, field := range fields {
					h.Set(nil, field, value)
				}
				scratch = h.AppendCompact(scratch[:0])
			}
		})
	}
}

// What a change of a hash costs that rests with more fields than it would have as a new one without a table.
func BenchmarkHashRestLarge(b *testing.B) {
	for _, n := range []int{50, 100} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			resting, h := benchHash(n).AppendCompact(nil), New(structurestest.Keys(1))
			var scratch []byte
			field, value := []byte("field:000025"), make([]byte, 20)
			for b.Loop() {
				h.LoadCompact(resting)
				h.Set(nil, field, value)
				scratch = h.AppendCompact(scratch[:0])
			}
		})
	}
}
