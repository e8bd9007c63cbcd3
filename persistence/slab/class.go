package slab

import "math/bits"

const (
	// MaxRecord is the number of bytes of the largest record: a quarter of a page.
	MaxRecord = largestRoom / 4 * granule

	granule = 8
	// Up to evenRecord bytes the classes are evenly spread, above it they divide a
	// page: of a page that holds few records, much would be lost otherwise.
	evenRecord, evenClasses = 4096, 56
	classCount              = evenClasses + 4
	largestRoom             = (pageBytes - headerBytes) / granule
	// Classes below smallClasses, of up to 384 bytes, have quarters of pages: there are
	// many tables, and each has a page of every class that is not full.
	smallClasses = 28
)

// pageSize is the size in bytes of the pages of a class.
func pageSize(c int) int {
	if c < smallClasses {
		return quarterBytes
	}
	return pageBytes
}

// Class returns the size class of a record of n bytes, 1 <= n <= MaxRecord: every
// granule up to 16 has its own class, above there are eight to a doubling, so
// that at most an eighth of a record is lost to rounding, and a quarter of one that is
// larger than 4 KiB. Records of one class take the same room, so one may be
// rewritten as another in place.
func Class(n int) int {
	if n > evenRecord {
		return evenClasses + 7 - largestRoom/((n+granule-1)/granule)
	}
	g := uint(n-1) / granule
	if g < 16 {
		return int(g)
	}
	shift := uint(bits.Len(g)) - 4
	return int(shift*8 + g>>shift)
}

// classGranules is the size of a record of class c in granules.
func classGranules(c int) int {
	if c < 16 {
		return c + 1
	}
	if c >= evenClasses {
		return largestRoom / (evenClasses + 7 - c)
	}
	shift := c/8 - 1
	return (c%8 + 9) << shift
}

// RecordBytes returns the bytes that a record of n bytes takes, 1 <= n <= MaxRecord.
func RecordBytes(n int) int { return classGranules(Class(n)) * granule }
