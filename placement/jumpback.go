package placement

import "math/bits"

// jumpback computes the same as jump, from above: it begins at the
// largest numbers and goes back (JumpBackHash, Ertl 2024).
//
// Model: an object has a set of numbers, j being one of them with probability
// 1/(j+1), independently, and is on the largest below n. Of the numbers of level
// l, from q = 2^l to 2q-1, it has one with probability 1/2, which a bit of its
// hash says; the largest is then uniform among them. If 2q > n, and that one is not
// below n, the next smaller one is what further draws from [0, 2q) give, the
// first below n: if it is below q too, the levels below go on.
//
// Guarantee: shares 1/n exactly, but for the hash; a join moves the optimum
// 1/(n+1), all to the new unit, as does the last number leaving. Another unit
// leaving costs as in jump.
//
// Cost: two draws a lookup in the mean at any n, without division. 8 bytes a
// unit, O(n) a change.
type jumpback struct {
	ordering
}

func specJumpBack() Spec {
	return Spec{Name: "jumpback", Number: 12, MaxUnits: MaxUnits,
		Summary: "jump consistent hash from above: equal units, no table, constant time",
		New:     func(Options) Strategy { return &jumpback{} }}
}

// backStream is the stream of the draws of levels.
const backStream = 0xD6E8FEB86659FD93

// jumpBack returns a number below n, which is at least 1 and at most 2^32.
func jumpBack(hash uint64, n int) int {
	active := hash & (1<<bits.Len(uint(n-1)) - 1)
	for active != 0 {
		level := bits.Len64(active) - 1
		q := uint64(1) << level
		key := bits.RotateLeft64(backStream, 3*level)
		at := q | attraction(hash, key)>>1>>(63-level)
		for at >= uint64(n) {
			key += phi64
			at = attraction(hash, key) >> (63 - level)
		}
		if at >= q {
			return int(at)
		}
		active ^= q
	}
	return 0
}

func (j *jumpback) Locate(hash uint64) int {
	if len(j.order) == 0 {
		return -1
	}
	return int(j.order[jumpBack(hash, len(j.order))])
}

func (j *jumpback) Set(unit int, c Capacity) error { return set(j, unit, c) }

func (j *jumpback) Remove(unit int) error { return remove(j, unit) }

// Apply implements Batcher.
func (j *jumpback) Apply(changes []Change) error {
	next, err := j.apply(changes)
	if err == nil {
		j.ordering = next
	}
	return err
}

func (j *jumpback) Clone() Strategy { c := *j; return &c }

func (j *jumpback) Bytes() int { return j.bytes() }

func (j *jumpback) DecodeState(state []byte) error {
	order, err := j.decodeOrder(state)
	if err == nil {
		j.order = order
	}
	return err
}

// Moves implements Strategy: see ordering.moves.
func (j *jumpback) Moves(to Strategy, visit func(from, to int, share Fraction)) {
	j.moves(&to.(*jumpback).ordering, visit)
}
