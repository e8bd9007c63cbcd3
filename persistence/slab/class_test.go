package slab

import "testing"

func TestSizeClassesFitAndWasteLittle(t *testing.T) {
	last := -1
	for n := 1; n <= MaxRecord; n++ {
		c := Class(n)
		size := RecordBytes(n)
		if size < n || c < last || c >= classCount {
			t.Fatalf("record of %d bytes: class %d of %d bytes", n, c, size)
		}
		if size-n > n/8+granule {
			t.Errorf("record of %d bytes takes %d", n, size)
		}
		last = c
	}
}
