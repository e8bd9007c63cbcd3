package structures

import "unsafe"

// Spread is implemented by values whose elements lie far apart in memory, so that
// most of the time of a look-up is waiting for it. Somebody who knows which elements
// are about to be looked up can have their memory fetched first, all at once.
type Spread interface {
	// Place is where an element lies, if it is there; ok is false if its
	// memory cannot be told. It stays the same for as long as the value is in memory.
	Place(element []byte) (place uint64, ok bool)
	// Ahead returns the addresses of the first and the last byte of what a look-up at a
	// place reads, nil if there is nothing. Steps count from 0; to find the addresses of
	// a step, the memory of the step before is read. They are good for a prefetch only.
	Ahead(place uint64, step int) (first, last unsafe.Pointer)
}

// AheadSteps is the number of steps that Ahead has addresses for.
const AheadSteps = 3
