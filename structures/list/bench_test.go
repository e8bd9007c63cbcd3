package list

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/vigildb/vigil/structures"
)

func BenchmarkListPush(b *testing.B) {
	for _, size := range []int{3, 100, 1000} {
		b.Run(fmt.Sprintf("size=%d", size), func(b *testing.B) {
			elem := make([]byte, size)
			l := New()
			var ch structures.Change
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if i%100_000 == 0 {
					l = New()
				}
				ch.Reset(1 << 20)
				l.Push(&ch, Head, elem)
			}
		})
	}
}

// BenchmarkListQueue pushes at the head and pops at the tail of a queue that
// holds depth elements.
func BenchmarkListQueue(b *testing.B) {
	for _, depth := range []int{0, 10, 1000, 100_000} {
		b.Run(fmt.Sprintf("depth=%d", depth), func(b *testing.B) {
			elem := make([]byte, 100)
			l := New()
			for range depth {
				l.Push(nil, Head, elem)
			}
			var ch structures.Change
			b.ReportAllocs()
			for b.Loop() {
				ch.Reset(1 << 20)
				l.Push(&ch, Head, elem)
				l.Pop(&ch, Tail)
			}
		})
	}
}

func BenchmarkListAlternate(b *testing.B) {
	elem := make([]byte, 20)
	l := New()
	for range 200 {
		l.Push(nil, Head, elem)
	}
	b.ReportAllocs()
	for b.Loop() {
		l.Push(nil, Head, elem)
		l.Push(nil, Tail, elem)
		l.Pop(nil, Head)
		l.Pop(nil, Tail)
	}
}

func BenchmarkListIndex(b *testing.B) {
	for _, n := range []int{100, 100_000, 1_000_000} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			l := New()
			for i := range n {
				l.Push(nil, Tail, fmt.Appendf(nil, "element %d", i))
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if _, ok := l.Index(i * 7919 % n); !ok {
					b.Fatal("out of range")
				}
			}
		})
	}
}

func BenchmarkListRange100(b *testing.B) {
	l := New()
	for i := range 100_000 {
		l.Push(nil, Tail, fmt.Appendf(nil, "element %d", i))
	}
	b.ReportAllocs()
	size := 0
	for b.Loop() {
		l.Range(0, 99, func(elem []byte) { size += len(elem) })
	}
}

// BenchmarkListMemory reports what an element of 20 bytes costs, as counted
// and as the collector sees it.
func BenchmarkListMemory(b *testing.B) {
	for _, n := range []int{1, 10, 100, 1_000_000} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			lists := make([]*List, 1_000_000/n)
			elem := make([]byte, 20)
			var counted, real float64
			for b.Loop() {
				var before, after runtime.MemStats
				clear(lists)
				runtime.GC()
				runtime.ReadMemStats(&before)
				size := 0
				for i := range lists {
					l := New()
					for range n {
						l.Push(nil, Head, elem)
					}
					size += l.Size()
					lists[i] = l
				}
				runtime.GC()
				runtime.ReadMemStats(&after)
				elems := float64(n * len(lists))
				counted, real = float64(size)/elems, float64(after.HeapAlloc-before.HeapAlloc)/elems
			}
			b.ReportMetric(counted, "counted-B/elem")
			b.ReportMetric(real, "real-B/elem")
			runtime.KeepAlive(lists)
		})
	}
}
