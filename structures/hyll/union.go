package hyll

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/axiomhq/hyperloglog"

	"github.com/vigildb/vigil/structures"
)

// Union is the union of several HyperLogLogs, for PFMERGE and for PFCOUNT of
// several keys. It is an axiomhq sketch of the same 16384 registers.
//
// The sketch reads its hashes from the other end: its register index is the top
// 14 bits, and it counts leading zeros where Redis counts trailing ones. So a
// sketch that is given bit-reversed MurmurHash64A values holds Redis's registers,
// register i at the bit-reversed i. A register that is known only by its number
// is fed as the hash that would raise it to just that (see sketchHash).
//
// The sketch's own estimate is another one than Redis's; Count reads the
// registers back and takes that of estimate.go.
type Union struct {
	sketch *hyperloglog.Sketch
	dense  bool
	// raised holds the registers of dense strings, in Redis's order: they are
	// merged eight at a time, which a sketch cannot do, and may be above 51, which
	// no hash gives and no sketch takes. It is nil without such a string.
	raised []byte
	// encoded is the sketch's encoding, kept for its memory: its last 16384
	// bytes are the registers.
	encoded []byte
}

// NewUnion returns the union of nothing.
func NewUnion() *Union {
	return &Union{sketch: hyperloglog.NewNoSparse()}
}

// Reset empties the union and keeps its memory.
func (u *Union) Reset() {
	u.sketch.Reset()
	u.dense, u.raised = false, nil
}

// Merge adds a HyperLogLog string. The errors are ErrNotHYLL and
// ErrCorrupt; after the second, the union is of no more use. A missing key
// is not merged.
func (u *Union) Merge(value []byte) error {
	if err := Check(value); err != nil {
		return err
	}
	if value[encodingAt] == dense {
		u.dense = true
		u.mergeDense(value[header:])
		return nil
	}
	return eachSparse(value, func(i, n int, count uint8) {
		for j := i; j < i+n; j++ {
			u.sketch.InsertHash(sketchHash(j, count))
		}
	})
}

// mergeDense adds 12288 bytes of registers, eight from six bytes at a time.
func (u *Union) mergeDense(regs []byte) {
	if u.raised == nil {
		u.raised = make([]byte, registers)
	}
	// The last six bytes are read separately, because there are no eight bytes
	// left.
	raised, end := u.raised, len(regs)-6
	for i := 0; i < end; i += 6 {
		raised = raiseEight(raised, binary.LittleEndian.Uint64(regs[i:]))
	}
	var last [8]byte
	copy(last[:], regs[end:])
	raiseEight(raised, binary.LittleEndian.Uint64(last[:]))
}

// raiseEight raises eight registers, a byte each, to those that the low 48 bits
// of packed hold, and returns the registers after them.
func raiseEight(raised []byte, packed uint64) []byte {
	const top = 0x8080808080808080
	packed = packed&0xffffff | packed>>24&0xffffff<<32
	packed = packed&0x00000fff00000fff | packed<<4&0x0fff00000fff0000
	packed = packed&0x003f003f003f003f | packed<<2&0x3f003f003f003f00
	old := binary.LittleEndian.Uint64(raised)
	// A byte's top bit stays where old is not smaller: nothing is borrowed from
	// the next byte, as both are below 128.
	keep := ((old | top) - packed) & top
	keep -= keep >> 7 // 0x7f for each byte that stays
	binary.LittleEndian.PutUint64(raised, old&keep|packed&^keep)
	return raised[8:]
}

// Add adds one element.
func (u *Union) Add(elem []byte) {
	u.sketch.InsertHash(bits.Reverse64(structures.Murmur64A(elem, seed)))
}

// sketchHash returns a hash that raises register i of Redis to count, 1 to 51,
// in a sketch: the reversed index, count-1 zeros, a one.
func sketchHash(i int, count uint8) uint64 {
	return uint64(sketchIndex(i))<<(64-indexBits) | 1<<q>>count
}

// sketchIndex returns where a sketch keeps register i.
func sketchIndex(i int) int { return int(bits.Reverse16(uint16(i)) >> (16 - indexBits)) }

// registers returns the registers in the order of the sketch, valid until the
// next call.
func (u *Union) registers() ([]uint8, error) {
	var err error
	// The encoding is not canonical for sparse sketches; of a dense one it is
	// a header and one byte for each register.
	u.encoded, err = u.sketch.AppendBinary(u.encoded[:0])
	if err != nil {
		return nil, fmt.Errorf("read registers of sketch: %w", err)
	}
	if len(u.encoded) < registers {
		return nil, fmt.Errorf("sketch of %d bytes: %w", len(u.encoded), structures.ErrCorrupt)
	}
	regs := u.encoded[len(u.encoded)-registers:]
	for i, count := range u.raised {
		at := sketchIndex(i)
		regs[at] = max(regs[at], count)
	}
	return regs, nil
}

// Count returns the estimated number of elements in the union.
func (u *Union) Count() (uint64, error) {
	regs, err := u.registers()
	if err != nil {
		return 0, err
	}
	var h histogram
	h.addRegisters(regs)
	return h.estimate(), nil
}

// Store raises the registers of dest to the registers of the union and returns
// the new string; dest is nil for a key that does not exist and may be changed
// in place otherwise. dest itself must have been merged before. The result is
// dense if any merged string was; otherwise it is sparse as long as it fits
// sparseMax bytes, and its runs are those that adding the registers in order
// gives.
func (u *Union) Store(dest []byte, sparseMax int) ([]byte, error) {
	regs, err := u.registers()
	if err != nil {
		return nil, err
	}
	if dest == nil {
		dest = New()
	}
	if u.dense {
		if dest, _, err = ToDense(dest); err != nil {
			return nil, err
		}
	}
	t := Touched{Whole: true}
	for i := range registers {
		count := regs[sketchIndex(i)]
		if count == 0 {
			continue
		}
		if dest[encodingAt] == dense {
			denseRaise(dest[header:], i, count, &t)
		} else if dest, _, err = sparseRaise(dest, i, count, sparseMax, &t); err != nil {
			return nil, err
		}
	}
	spoilCache(dest, &t)
	return dest, nil
}
