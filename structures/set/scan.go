package set

import (
	"math"
	"math/bits"
)

// A scan goes through the words in the order of their hashes and then through the
// integers in their own. Its cursor hides a position of 31 bits, which is one of
//
//	below 2^29    the first 29 bits of the hash of the next word
//	2^29 to 2^30  a run, by 29 bits that are drawn from its bound
//	from 2^30     a place among the integers: what position returns, of 30 bits
//	              and above the least of these, which no integer has: the first 27 bits
//	              of the hash of the next integer in the hash of a timed set
//
// Integers come to the hash while a scan goes on, as they get an expiry, so that those there are
// visited last.
//
// A place among the integers means the same whatever comes and goes. But many integers
// can have one place, such as a million that were made of the same hour's time. A reply
// that would become long ends where a run ends instead. The run is found again by its
// bound, which does not move; if it has joined another meanwhile, the scan goes on
// from the least integer.
const (
	wordBits    = 29
	runBits     = 29
	runPosition = 1 << wordBits
	intPosition = 1 << 30
	timedBits   = 27
	// A position of an integer has a sign, and as many bits of its amount as are
	// left for it.
	positionSign = 1 << 29
	positionBits = 23
	// fewInts are returned together: Redis has an intset of so many, which it returns
	// whole.
	fewInts = 512
)

// position is where an integer stands in the order of a scan. It grows with the
// integers, as floating-point numbers do: up to 2^24 each has a position of its own,
// above it those have one that differ in nothing but their last bits.
func position(v int64) uint64 {
	if v < 0 {
		return positionSign - 1 - amount(^uint64(v))
	}
	return positionSign + amount(uint64(v))
}

func amount(u uint64) uint64 {
	dropped := max(bits.Len64(u)-positionBits-1, 0)
	return uint64(dropped)<<positionBits + u>>dropped
}

// firstAt is the least integer at a position, or a lower bound of it: positions that no
// integer has come from clients.
func firstAt(position uint64) int64 {
	if position >= positionSign {
		return int64(min(leastOf(position-positionSign), math.MaxInt64))
	}
	return ^int64(min(leastOf(positionSign-position)-1, math.MaxInt64))
}

// leastOf is the least number of an amount, or more than any integer's.
func leastOf(amount uint64) uint64 {
	if amount < 1<<(positionBits+1) {
		return amount
	}
	dropped := amount>>positionBits - 1
	if dropped > 63-positionBits-1 {
		return 1 << 63
	}
	return (amount - dropped<<positionBits) << dropped
}

// Scan visits about count members, at least one, and returns the cursor for the next
// call. Cursor 0 begins, and is returned at the end. A small set is visited whole.
//
// Members that are there from the first call to the last are visited at least once,
// however the set grows or shrinks meanwhile, and more than once only if it shrinks.
func (s *Set) Scan(cursor uint64, count int, visit func(member []byte)) (next uint64) {
	keys := s.rest.Keys().Cursors
	return keys.Hide(s.scanFrom(keys.Reveal(cursor), max(count, 1), visit))
}

func (s *Set) scanFrom(at uint64, count int, visit func(member []byte)) (next uint64) {
	if at < runPosition {
		next = s.rest.ScanFrom(at, wordBits, count, 0, func(member, _ []byte) {
			if count--; !s.timed || !isInteger(member) {
				visit(member)
			}
		})
		if next != 0 {
			return next
		}
		at = intPosition
	}
	if !s.timed || at <= intPosition || at > intPosition+1<<timedBits {
		if next = s.scanInts(at, count, visit); next != 0 || !s.timed {
			return next
		}
		at, count = intPosition, 1
	}
	return s.scanTimed(at-intPosition, count, visit)
}

// scanTimed visits about count of the integers in the hash of a timed set, from a position on.
func (s *Set) scanTimed(at uint64, count int, visit func(member []byte)) (next uint64) {
	next = s.rest.ScanFrom(at, timedBits, count, 0, func(member, _ []byte) {
		if isInteger(member) {
			visit(member)
		}
	})
	if next != 0 {
		next |= intPosition
	}
	return next
}

func isInteger(member []byte) bool {
	_, ok := parse(member)
	return ok
}

// scanInts visits about count integers from a position on, those with the same
// position together unless they are many.
func (s *Set) scanInts(from uint64, count int, visit func(member []byte)) (next uint64) {
	whole := s.ints.inHead() && s.ints.count <= fewInts
	last, c := uint64(0), cursor{s: &s.ints}
	if from >= intPosition {
		last = from - intPosition
		c = s.ints.seek(firstAt(last))
	} else if k := s.runAt(from - runPosition); k > 0 {
		c.enter(k)
	}
	for ; c.ok(); c.next() {
		at := position(c.value())
		switch {
		case count > 0 || whole:
		case at > last:
			return intPosition | at
		case count <= -fewInts && c.i == 0:
			if bits := s.runBits(s.ints.bounds[c.k]); s.runAt(bits) == c.k {
				return runPosition | bits
			}
		}
		visit(s.spell(c.value()))
		last = at
		count--
	}
	return 0
}

// runBits are those by which a run is found again. They depend on a secret, so that no
// client can make many runs that have the same (multiply-shift, Dietzfelbinger 1996).
func (s *Set) runBits(bound int64) uint64 { return pageOf(bound) * s.runFactor() >> (64 - runBits) }

func (s *Set) runFactor() uint64 { return s.rest.Keys().Cursors.SumString("runs of integers") | 1 }

// runAt is the run with these bits, -1 if there is none, or more than one.
func (s *Set) runAt(bits uint64) int {
	found, factor := -1, s.runFactor()
	for k, bound := range s.ints.bounds {
		if pageOf(bound)*factor>>(64-runBits) != bits {
			continue
		}
		if found >= 0 {
			return -1
		}
		found = k
	}
	return found
}
