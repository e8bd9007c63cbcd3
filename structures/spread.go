package structures

import "unsafe"

// Spread is implemented by values whose elements lie far apart in memory, so that
// most of the time of a look-up is waiting for it. Somebody who knows which elements
// are about to be looked up can fetch their memory first, all at once.
type Spread interface {
	// Approach takes a step towards each element of the list, and says in its First and
	// Last what memory the next step reads, and after the last one a look-up. Steps count
	// from 0, and each reads what the step before named. The value may not change between
	// the steps. It returns false if there is nothing to fetch, for any element.
	Approach(list []Sought, step int) bool
}

// ApproachSteps is the number of steps of Approach.
const ApproachSteps = 3

// Sought is an element that is about to be looked up.
type Sought struct {
	Name        []byte
	First, Last unsafe.Pointer // of what will be read, for a prefetch only; nil: nothing is

	// For the value, between two steps.
	Place uint64
	Part  unsafe.Pointer // nil: there is nothing more to find
}
