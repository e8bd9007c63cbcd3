package slab

import (
	"testing"
	"unsafe"
)

// Quarters that are free while their pages are not whole return to the system too.
func TestFreeQuartersReturnToTheSystem(t *testing.T) {
	const pages = 4 * keptPart * leastKept
	var p Pool
	defer p.Close()
	var all []uint32
	for range pages * quarters {
		q := p.take(quarterBytes)
		*(*byte)(p.at(uint64(q) * quarterGranules)) = 1
		all = append(all, q)
	}
	resident := 0
	for i, q := range all {
		if i%quarters > 0 {
			p.give(q, quarterBytes)
		}
	}
	for i, q := range all {
		first := *(*byte)(unsafe.Pointer(p.at(uint64(q) * quarterGranules)))
		if i%quarters > 0 && first == 1 {
			resident++
		} else if i%quarters == 0 && first != 1 {
			t.Fatalf("quarter %d is in use, and has lost its content", q)
		}
	}
	if want := pages / keptPart; resident != want {
		t.Errorf("%d free quarters are resident, want %d", resident, want)
	}
}
