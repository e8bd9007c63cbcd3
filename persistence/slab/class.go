package slab

import "math/bits"

const (
	// MaxRecord is the number of bytes of the largest record: a quarter of a page.
	MaxRecord = pageRoom / 4 * granule

	granule = 8
	// What a page and a quarter of one have for records, in granules.
	pageRoom    = (pageBytes - headerBytes) / granule
	quarterRoom = (quarterBytes - headerBytes) / granule

	// The classes, in four ranges by size: up to evenSmall bytes they are evenly spread;
	// then they divide a quarter of a page, into mostOfQuarter records to leastOfQuarter;
	// to evenLarge bytes they are evenly spread again, and above it they divide a page: of
	// one that holds few records, much would be lost otherwise.
	evenSmall        = 384
	mostOfQuarter    = quarterRoom / (evenSmall/granule + 1)
	leastOfQuarter   = 8
	largestOfQuarter = quarterRoom / leastOfQuarter * granule
	evenLarge        = 4096

	quarterClasses = 28 // where the second range begins, and so on
	smallClasses   = quarterClasses + mostOfQuarter - leastOfQuarter + 1
	largeClasses   = smallClasses + 16
	classCount     = largeClasses + 4

	// evenClass would go on with the third range from number thirdRange on, of records
	// that are larger than thirdGranules.
	thirdGranules = 1024 / granule
	thirdRange    = 40
)

// pageSize is the size in bytes of the pages of a class. Classes below smallClasses, of up
// to a kilobyte, have quarters of pages: there are many tables, and each has a page of every
// class that is not full.
func pageSize(c int) int {
	if c < smallClasses {
		return quarterBytes
	}
	return pageBytes
}

// Class returns the size class of a record of n bytes, 1 <= n <= MaxRecord: every
// granule up to 16 has its own class, above there are eight to a doubling or about as many,
// so that at most an eighth of a record is lost to rounding, and a quarter of one that is
// larger than 4 KiB. Records of one class take the same room, so one may be
// rewritten as another in place.
func Class(n int) int {
	g := uint(n-1) / granule
	switch {
	case g < 16:
		return int(g)
	case n <= evenSmall:
		return evenClass(g)
	case n <= largestOfQuarter:
		return quarterClasses + mostOfQuarter - quarterRoom/int(g+1)
	case n <= evenLarge:
		return evenClass(max(g, thirdGranules)) - thirdRange + smallClasses
	}
	return largeClasses + 7 - pageRoom/int(g+1)
}

// evenClass numbers sizes from 16 granules on so that there are eight to a doubling.
func evenClass(g uint) int {
	shift := uint(bits.Len(g)) - 4
	return int(shift*8 + g>>shift)
}

// classGranules is the size of a record of class c in granules.
func classGranules(c int) int {
	switch {
	case c < 16:
		return c + 1
	case c < quarterClasses:
		return evenGranules(c)
	case c < smallClasses:
		return quarterRoom / (mostOfQuarter + quarterClasses - c)
	case c < largeClasses:
		return evenGranules(c - smallClasses + thirdRange)
	}
	return pageRoom / (largeClasses + 7 - c)
}

// evenGranules is the largest size that evenClass gives a number.
func evenGranules(c int) int { return (c%8 + 9) << (c/8 - 1) }

// RecordBytes returns the bytes that a record of n bytes takes, 1 <= n <= MaxRecord.
func RecordBytes(n int) int { return classGranules(Class(n)) * granule }
