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
		// What it takes of a page, the rest of the page included.
		room := pageSize(c) - headerBytes
		taken, part := room/(room/size), 8
		if n > evenLarge {
			part = 4
		}
		if taken-n > n/part+granule+size*size/pageSize(c) {
			t.Errorf("record of %d bytes takes %d", n, taken)
		}
		last = c
	}
}
