package structures

import (
	"encoding/binary"
	"unsafe"

	"github.com/dchest/siphash"

	"github.com/vigildb/vigil/structures/shapes"
)

// HashKey is the key of a hash function and of a permutation. Clients choose what
// is hashed and see in which order it lies, so both are made to be used against
// an adversary: the hash is SipHash-2-4 (Aumasson and Bernstein 2012), a
// pseudorandom function, and no number of chosen inputs and seen orders makes the
// hash of another input easier to find than by guessing.
type HashKey struct{ k0, k1 uint64 }

// NewHashKey makes a key of 16 secret bytes.
func NewHashKey(b [16]byte) HashKey {
	return HashKey{binary.LittleEndian.Uint64(b[:]), binary.LittleEndian.Uint64(b[8:])}
}

// Sum is the hash of b.
func (k HashKey) Sum(b []byte) uint64 { return siphash.Hash(k.k0, k.k1, b) }

// SumString is the hash of s.
func (k HashKey) SumString(s string) uint64 {
	return k.Sum(unsafe.Slice(unsafe.StringData(s), len(s))) // which does not keep it
}

// HashKeys are what the hashes of a store share.
type HashKeys struct {
	Fields  HashKey        // where a field lies
	Cursors HashKey        // how a cursor hides it
	Shapes  *shapes.Shapes // of the names of fields, nil if each value keeps its own
}

const (
	// CursorBits are the bits of a position, and of a cursor: redis-cli keeps it in an
	// int of C, and other clients in what has no more bits.
	CursorBits = 31
	cursorEnd  = 1 << CursorBits
	// The network works on two parts of a position, of 15 bits and of 16.
	lowBits, highBits = 16, CursorBits - 16
	// cursorRounds is twice what Luby and Rackoff (1988) need against chosen
	// cursors, since parts of 16 bits leave their bound little room.
	cursorRounds = 8
)

// Hide returns the cursor that stands for a position of 31 bits: a permutation
// that keeps 0, which begins and ends a scan, for itself. A cursor reveals
// nothing of its position but whether two are the same.
func (k HashKey) Hide(position uint64) uint64 {
	if position %= cursorEnd; position == 0 {
		return 0
	}
	if c := k.encipher(position); c != 0 {
		return c
	}
	return k.encipher(0) // what maps to 0 takes the place of what 0 maps to
}

// Reveal returns the position of a cursor. What Hide never returned is a cursor
// too, of some position. One that has more bits begins anew: it is from a version
// whose positions were others, and a scan that went on from one of ours would miss
// elements.
func (k HashKey) Reveal(cursor uint64) uint64 {
	if cursor == 0 || cursor >= cursorEnd {
		return 0
	}
	if p := k.decipher(cursor); p != 0 {
		return p
	}
	return k.decipher(0)
}

// encipher is a Feistel network: the parts are changed by turns, each by what the other is.
func (k HashKey) encipher(p uint64) uint64 {
	high, low := p>>lowBits, p&(1<<lowBits-1)
	for round := uint64(0); round < cursorRounds; round += 2 {
		high ^= k.round(round, low, highBits)
		low ^= k.round(round+1, high, lowBits)
	}
	return high<<lowBits | low
}

func (k HashKey) decipher(c uint64) uint64 {
	high, low := c>>lowBits, c&(1<<lowBits-1)
	for round := uint64(cursorRounds); round > 0; round -= 2 {
		low ^= k.round(round-1, high, lowBits)
		high ^= k.round(round-2, low, highBits)
	}
	return high<<lowBits | low
}

// round is so many bits that depend on a part and on the number of the round.
func (k HashKey) round(n, part uint64, bits int) uint64 {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], n<<lowBits|part)
	return k.Sum(b[:]) >> (64 - bits)
}
