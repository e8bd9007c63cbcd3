package placemap

import (
	"math/bits"
	"sync/atomic"

	"github.com/vigildb/vigil/placement"
)

// race is the strategy whose lookup looks at every unit.
const race = "rendezvous"

// State is what a map is between two changes. Any number of goroutines may look
// up and preview at once.
type State struct {
	// Map is to be read, never changed: Hash, Locate, Choices, Name, Units,
	// PreviewSet and the like.
	Map     *placement.Map
	Domains int // how many copies of an object there can be: domains, each unit without one counting as one

	races   bool          // a lookup looks at all units
	sampled atomic.Uint64 // bit k-1: the table for k copies is made
}

// newState describes a map whose units are in so many domains.
func newState(m *placement.Map, domains int) *State {
	s := &State{Map: m, Domains: domains}
	spec, _ := placement.Lookup(m.Options().Strategy)
	s.races = spec.Name == race
	return s
}

// maxSamplers is for how many numbers of copies a map keeps tables. Callers use
// one or two, and each table has samplerBytes a unit.
const maxSamplers = 4

func (s *State) samplers() int { return bits.OnesCount64(s.sampled.Load()) }

// Ready says whether k copies can be looked up without making a table first.
func (s *State) Ready(k int) bool { return k <= 1 || s.sampled.Load()>>(k-1)&1 != 0 }

// LocateCopies is placement.Map.LocateCopies.
func (s *State) LocateCopies(hash uint64, k int, dst []int) ([]int, error) {
	dst, err := s.Map.LocateCopies(hash, k, dst)
	if err == nil && !s.Ready(k) {
		s.sampled.Or(1 << (k - 1))
	}
	return dst, err
}

// Steps is how many units a lookup of k copies looks at, about. It is 1 for
// tables, and all of them for a race between units; copies race between domains,
// eight of which are seen at a glance, and then within their domains.
func (s *State) Steps(k int) int {
	n, steps := s.Map.Len(), 1
	if s.races {
		steps = n
	}
	switch {
	case k <= 1:
	case s.Domains == n:
		steps += k + n/2
	case s.Domains > 0:
		steps += s.Domains + (k-1)*n/s.Domains
	}
	return steps
}

// Pairs is how many pairs of units may have objects that a change of so many
// units moves, about: it is what a preview costs.
func (s *State) Pairs(changed int) int { return s.Map.PreviewPairs(changed) }

// ForCopies is State for a lookup of k copies: it forgets the tables for other
// numbers if there are too many.
func (v *Map) ForCopies(k int) *State {
	if !v.state.Ready(k) && v.state.samplers() >= maxSamplers {
		v.state, v.lent = newState(v.state.Map.Clone(), v.state.Domains), false
	}
	return v.state
}
