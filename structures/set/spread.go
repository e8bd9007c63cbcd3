package set

import "github.com/vigildb/vigil/structures"

// Approach is that of the hash of the members that are no integers: integers are close
// together.
func (s *Set) Approach(list []structures.Sought, step int) bool {
	return s.rest.Approach(list, step)
}
