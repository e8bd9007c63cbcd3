package placement

// jump is the consistent hash of Lamping and Veach (2014), a peer of cutpaste
// for equal units.
//
// Model: units have numbers 1 to n as in cutpaste. An object that is on unit b
// of n jumps to unit n+1, when that joins, with probability 1/(n+1); a linear
// congruential generator seeded with the hash tells the next jump at once:
// b' = floor((b+1) 2^31 / r) with r uniform in 1..2^31. The original divides
// in floating point; here it is one integer division, exact on every machine.
//
// Guarantee: shares 1/n up to 2^-31 a jump; a join moves the optimum 1/(n+1),
// all to the new unit; the last number leaving, the optimum too. Another unit
// leaving costs as in cutpaste, (1/n)(2 - 1/(n-1)): the last takes its number.
//
// Cost: ln n + 0.6 jumps a lookup, 8 bytes a unit, O(n) a change.
type jump struct {
	ordering
}

func specJump() Spec {
	return Spec{Name: "jump", Number: 9, MaxUnits: MaxUnits,
		Summary: "jump consistent hash: equal units, no table",
		New:     func(Options) Strategy { return &jump{} }}
}

func (j *jump) Locate(hash uint64) int {
	n := int64(len(j.order))
	if n == 0 {
		return -1
	}
	b, next := int64(0), int64(0)
	for next < n {
		b = next
		hash = hash*2862933555777941757 + 1
		next = int64((uint64(b+1) << 31) / (hash>>33 + 1))
	}
	return int(j.order[b])
}

func (j *jump) Set(unit int, c Capacity) error { return set(j, unit, c) }

func (j *jump) Remove(unit int) error { return remove(j, unit) }

// Apply implements Batcher.
func (j *jump) Apply(changes []Change) error {
	next, err := j.apply(changes)
	if err == nil {
		j.ordering = next
	}
	return err
}

func (j *jump) Clone() Strategy { c := *j; return &c }

func (j *jump) Bytes() int { return j.bytes() }

func (j *jump) DecodeState(state []byte) error {
	order, err := j.decodeOrder(state)
	if err == nil {
		j.order = order
	}
	return err
}

// Moves implements Strategy: see ordering.moves.
func (j *jump) Moves(to Strategy, visit func(from, to int, share Fraction)) {
	j.moves(&to.(*jump).ordering, visit)
}
