package prefetch

import (
	"testing"
	"unsafe"
)

func TestAnyAddressMayBeAskedFor(t *testing.T) {
	b := make([]byte, 1<<12)
	for i := range b {
		Line(unsafe.Pointer(&b[i]))
	}
	Line(nil)
	Line(unsafe.Pointer(unsafe.SliceData(b[len(b):])))
}

func BenchmarkLine(b *testing.B) {
	p := unsafe.Pointer(new([64]byte))
	for b.Loop() {
		Line(p)
	}
}
