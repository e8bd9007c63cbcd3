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
	for i := range b {
		Range(unsafe.Pointer(&b[i]), unsafe.Pointer(&b[max(i, len(b)-1-i)]))
	}
	Range(nil, nil)
}

func BenchmarkLine(b *testing.B) {
	p := unsafe.Pointer(new([64]byte))
	for b.Loop() {
		Line(p)
	}
}
