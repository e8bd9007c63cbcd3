package placement

import (
	"encoding/binary"
	"math"
	"slices"
)

// slots cuts the hashes into S equal slots, 16,384 as Redis Cluster has unless
// told otherwise, and gives each unit its part of them by largest remainders.
//
// Model: hash h is in slot floor(S h / 2^64); unit i of weight w_i has as many
// slots as Apportion says of w_i / sum w. On a change a unit that has too many
// gives its highest slots, and units that have too few take the freed ones in
// ascending order of both: the moved slots are the sum over i of
// max(0, old_i - new_i), the optimum for whole slots.
//
// Guarantee: shares differ from the capacities by less than 1/S; hashing the
// slots to units instead is off by a factor of 1.04 to 1.6 at n = 10 to 100.
// Moves are the optimum up to whole slots: largest remainders may lift a unit
// by one slot when a total changes.
//
// Cost: one multiplication and one load a lookup, 2 S bytes, O(S + n log n) a
// change. Which slots a unit has is history: it is the state.
type slots struct {
	roster
	owner []uint16 // by slot, never changed in place; meaningless without units
}

// defaultSlots is the number that Redis Cluster uses.
const defaultSlots = 16384

func specSlots() Spec {
	return Spec{Name: "slots", Number: 8, Weighted: true, MaxUnits: MaxUnits,
		Summary: "a table of equal slots, as Redis Cluster has",
		New: func(o Options) Strategy {
			n := o.Slots
			if n == 0 {
				n = defaultSlots
			}
			return &slots{owner: make([]uint16, n)}
		}}
}

func (s *slots) Locate(hash uint64) int {
	if len(s.units) == 0 {
		return -1
	}
	return int(s.owner[scale(hash, uint64(len(s.owner)))])
}

func (s *slots) Set(unit int, c Capacity) error { return set(s, unit, c) }

func (s *slots) Remove(unit int) error { return remove(s, unit) }

// Apply implements Batcher.
func (s *slots) Apply(changes []Change) error {
	next, err := s.apply(changes)
	if err != nil {
		return err
	}
	if len(next.units) > 0 {
		s.owner = s.reassign(&next)
	}
	s.roster = next
	return nil
}

// reassign returns the owners for other units: surplus slots go to those that
// lack some.
func (s *slots) reassign(next *roster) []uint16 {
	top := next.units[len(next.units)-1]
	if n := len(s.units); n > 0 {
		top = max(top, s.units[n-1])
	}
	want := make([]int, top+1)
	for i, n := range Apportion(len(s.owner), next.caps) {
		want[next.units[i]] = n
	}
	have := make([]int, top+1)
	if len(s.units) > 0 {
		for _, u := range s.owner {
			have[u]++
		}
	}
	return deal(slices.Clone(s.owner), have, want, next.units, len(s.units) == 0)
}

// deal gives each of some units as many slots as it wants, in place. Units that have too many, or all if nobody has any,
// give their highest ones.
func deal(owner []uint16, have, want []int, units []int32, unowned bool) []uint16 {
	free := make([]int32, 0, len(owner))
	for i := len(owner) - 1; i >= 0; i-- {
		u := owner[i]
		switch {
		case unowned:
			free = append(free, int32(i))
		case have[u] > want[u]:
			have[u]--
			free = append(free, int32(i))
		}
	}
	for _, u := range units {
		for ; have[u] < want[u]; have[u]++ {
			last := len(free) - 1 // free descends: the last is the lowest
			owner[free[last]] = uint16(u)
			free = free[:last]
		}
	}
	return owner
}

// Reassign returns the owners of slots by weights: each has as many as Apportion says. Owners are indices of weights,
// up to MaxUnits of them; any other number is none. An owner that has too many slots gives its highest ones;
// the others get them, and those of none, in ascending order of both. No fewer slots can move.
func Reassign(owner []int, weights []Capacity) []int {
	none := len(weights)
	now, have := make([]uint16, len(owner)), make([]int, none+1)
	for i, u := range owner {
		if u < 0 || u > none {
			u = none
		}
		now[i] = uint16(u)
		have[u]++
	}
	units := make([]int32, none)
	for i := range units {
		units[i] = int32(i)
	}
	next := make([]int, len(owner))
	for i, u := range deal(now, have, append(Apportion(len(owner), weights), 0), units, false) {
		next[i] = int(u)
	}
	return next
}

// Slot returns the slot of a hash.
func (s *slots) Slot(hash uint64) int { return int(scale(hash, uint64(len(s.owner)))) }

func (s *slots) owners() []uint16 { return s.owner }

func (s *slots) Clone() Strategy { c := *s; return &c }

func (s *slots) Bytes() int { return s.bytes() + 2*cap(s.owner) }

// AppendState appends runs of slots: owner and length, both uvarints.
func (s *slots) AppendState(dst []byte) []byte {
	if len(s.units) == 0 {
		return dst
	}
	for i := 0; i < len(s.owner); {
		from := i
		for i < len(s.owner) && s.owner[i] == s.owner[from] {
			i++
		}
		dst = binary.AppendUvarint(dst, uint64(s.owner[from]))
		dst = binary.AppendUvarint(dst, uint64(i-from))
	}
	return dst
}

func (s *slots) DecodeState(state []byte) error {
	if len(s.units) == 0 {
		return noState(state)
	}
	owner, at := make([]uint16, len(s.owner)), 0
	for len(state) > 0 {
		u, n := binary.Uvarint(state)
		if n <= 0 || u > math.MaxUint16 {
			return ErrCorrupt
		}
		run, m := binary.Uvarint(state[n:])
		if _, known := s.find(int(u)); !known || m <= 0 || run > uint64(len(s.owner)-at) {
			return ErrCorrupt
		}
		for range run {
			owner[at] = uint16(u)
			at++
		}
		state = state[n+m:]
	}
	if at != len(s.owner) {
		return ErrCorrupt
	}
	s.owner = owner
	return s.checkCounts()
}

// checkCounts refuses a table that does not give each unit its slots.
func (s *slots) checkCounts() error {
	have := make([]int, s.units[len(s.units)-1]+1)
	for _, u := range s.owner {
		have[u]++
	}
	for i, n := range Apportion(len(s.owner), s.caps) {
		if have[s.units[i]] != n {
			return ErrCorrupt
		}
	}
	return nil
}

func (s *slots) Moves(to Strategy, visit func(from, to int, share Fraction)) {
	t := to.(*slots)
	if len(s.units) == 0 || len(t.units) == 0 {
		return
	}
	for i, u := range s.owner {
		if v := t.owner[i]; u != v {
			visit(int(u), int(v), Fraction(1/float64(len(s.owner))))
		}
	}
}
