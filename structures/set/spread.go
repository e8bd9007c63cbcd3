package set

import "unsafe"

// Place is where a member lies that is no integer: those are close together.
func (s *Set) Place(member []byte) (place uint64, ok bool) {
	if _, integer := parse(member); integer {
		return 0, false
	}
	return s.rest.Place(member)
}

// Ahead is that of the hash of the members.
func (s *Set) Ahead(place uint64, step int) (first, last unsafe.Pointer) {
	return s.rest.Ahead(place, step)
}
