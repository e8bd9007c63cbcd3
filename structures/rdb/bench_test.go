package rdb

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/hash"
	"github.com/vigildb/vigil/structures/list"
)

// benchValues are values of n elements of 20 bytes.
func benchValues(n int) map[string]any {
	l, h, s := list.New(), hash.New(new(structures.HashKeys)), []byte(nil)
	for i := range n {
		elem := fmt.Appendf(nil, "element %012d", i)
		l.Push(nil, list.Tail, elem)
		h.Set(nil, elem, elem)
		s = append(s, elem...)
	}
	return map[string]any{"string": s, "list": l, "hash": h}
}

func BenchmarkAppend(b *testing.B) {
	for _, n := range []int{10, 10000} {
		for name, v := range benchValues(n) {
			b.Run(fmt.Sprintf("%s/n=%d", name, n), func(b *testing.B) {
				b.ReportAllocs()
				var dst []byte
				for b.Loop() {
					if s, ok := v.([]byte); ok {
						dst = AppendString(dst[:0], s)
					} else {
						dst, _ = Append(dst[:0], v.(structures.Value))
					}
				}
				b.SetBytes(int64(len(dst)))
			})
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	for _, n := range []int{10, 10000} {
		for name, v := range benchValues(n) {
			payload := encode(b, v)
			b.Run(fmt.Sprintf("%s/n=%d", name, n), func(b *testing.B) {
				b.ReportAllocs()
				b.SetBytes(int64(len(payload)))
				for b.Loop() {
					if _, err := Decode(payload, roomy); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkShrink is of text as sessions have it, and of bytes that nothing makes shorter.
func BenchmarkShrink(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, n := range []int{64, 1024, 65536} {
		random := make([]byte, n)
		for i := range random {
			random[i] = byte(r.Uint32())
		}
		var text []byte
		for len(text) < n {
			text = fmt.Appendf(text, `{"user":%d,"page":"/shop/%d","seen":%d},`, r.IntN(1000), r.IntN(100), r.IntN(1e9))
		}
		for name, src := range map[string][]byte{"random": random, "text": text[:n]} {
			b.Run(fmt.Sprintf("%s/n=%d", name, n), func(b *testing.B) {
				b.ReportAllocs()
				b.SetBytes(int64(n))
				var s shrinker
				left := n
				for b.Loop() {
					if packed, ok := s.shrink(src); ok {
						left = len(packed)
					}
				}
				b.ReportMetric(float64(left)/float64(n), "left")
			})
		}
	}
}
