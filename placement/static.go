package placement

import "slices"

// static places a hash h on unit floor(n h / 2^64) of n units in ascending
// order of their numbers (section 8.1 of the notes: static hashing).
//
// Model: h uniform in [0, 2^64), m objects, n equal units. Each unit's expected
// share is 1/n, exactly up to 2^-64.
//
// Theorem 8.1: the fullest of n units holds at most
// m/n + O(sqrt((m/n) log n) + log n / log log n) of m objects, with high
// probability. Measured constant of the bound: 0.4 to 1.25.
//
// Cost: one multiplication a lookup, 4 bytes a unit, O(n) a change. A change
// of n moves almost everything: about half of all objects when a unit is added
// at the end. For a fixed number of units nothing is simpler or faster; the
// notes use it as the starting point that dynamic hashing improves on.
type static struct {
	roster
}

func specStatic() Spec {
	return Spec{Name: "static", Number: 1, MaxUnits: MaxUnits,
		Summary: "floor(n h): for a number of equal units that never changes",
		New:     func(Options) Strategy { return &static{} }}
}

func (s *static) Locate(hash uint64) int {
	if len(s.units) == 0 {
		return -1
	}
	return int(s.units[scale(hash, uint64(len(s.units)))])
}

func (s *static) Set(unit int, c Capacity) error { return set(s, unit, c) }

func (s *static) Remove(unit int) error { return remove(s, unit) }

// Apply implements Batcher.
func (s *static) Apply(changes []Change) error {
	r, err := s.applyEqual(changes)
	if err == nil {
		s.roster = r
	}
	return err
}

func (s *static) Clone() Strategy { c := *s; return &c }

func (s *static) Bytes() int { return s.bytes() }

func (s *static) AppendState(dst []byte) []byte { return dst }

func (s *static) DecodeState(state []byte) error { return noState(state) }

func (s *static) Moves(to Strategy, visit func(from, to int, share Fraction)) {
	equalMoves(s.units, to.(*static).units, visit)
}

// noState is DecodeState of strategies without history.
func noState(state []byte) error {
	if len(state) != 0 {
		return ErrCorrupt
	}
	return nil
}

// equalMoves visits the moves between two lists of units with equal arcs.
func equalMoves(from, to []int32, visit func(from, to int, share Fraction)) {
	if len(from) == 0 || len(to) == 0 || slices.Equal(from, to) {
		return
	}
	end := func(units []int32) func(int) uint64 {
		return func(i int) uint64 { return equalEnd(i, len(units)) }
	}
	overlay(end(from), end(to), func(a, b int, share Fraction) {
		if from[a] != to[b] {
			visit(int(from[a]), int(to[b]), share)
		}
	})
}
