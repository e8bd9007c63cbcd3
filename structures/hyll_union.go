package structures

import (
	"fmt"
	"math/bits"

	"github.com/axiomhq/hyperloglog"
)

// HYLLUnion is the union of several HyperLogLogs, for PFMERGE and for PFCOUNT of
// several keys. It is an axiomhq sketch of the same 16384 registers.
//
// The sketch reads its hashes from the other end: its register index is the top
// 14 bits, and it counts leading zeros where Redis counts trailing ones. So a
// sketch that is given bit-reversed MurmurHash64A values holds Redis's registers,
// register i at the bit-reversed i. A register that is known only by its number
// is fed as the hash that would raise it to just that (see sketchHash).
//
// The sketch's own estimate is another one than Redis's; Count reads the
// registers back and takes that of hyll_estimate.go.
type HYLLUnion struct {
	sketch *hyperloglog.Sketch
	dense  bool
	// over holds registers above 51, which no hash gives and no sketch takes,
	// but which a string that was written by SET can hold. It is nil without
	// such a string.
	over []uint8
	// encoded is the sketch's encoding, kept for its memory: its last 16384
	// bytes are the registers.
	encoded []byte
}

// NewHYLLUnion returns the union of nothing.
func NewHYLLUnion() *HYLLUnion {
	return &HYLLUnion{sketch: hyperloglog.NewNoSparse()}
}

// Reset empties the union and keeps its memory.
func (u *HYLLUnion) Reset() {
	u.sketch.Reset()
	u.dense, u.over = false, nil
}

// Merge adds a HyperLogLog string. The errors are ErrNotHYLL and
// ErrHYLLCorrupt; after the second, the union is of no more use. A missing key
// is not merged.
func (u *HYLLUnion) Merge(value []byte) error {
	if err := CheckHYLL(value); err != nil {
		return err
	}
	if value[hyllEncodingAt] == hyllDense {
		u.dense = true
		u.mergeDense(value[hyllHeader:])
		return nil
	}
	return hyllEachSparse(value, func(i, n int, count uint8) {
		for j := i; j < i+n; j++ {
			u.sketch.InsertHash(sketchHash(j, count))
		}
	})
}

// mergeDense adds 12288 bytes of registers, four from three bytes at a time.
func (u *HYLLUnion) mergeDense(regs []byte) {
	for i := 0; len(regs) >= 3; i, regs = i+4, regs[3:] {
		w := uint32(regs[0]) | uint32(regs[1])<<8 | uint32(regs[2])<<16
		for j := i; w != 0; j, w = j+1, w>>6 {
			switch count := uint8(w & 63); {
			case count > hyllQ+1:
				u.setOver(j, count)
			case count > 0:
				u.sketch.InsertHash(sketchHash(j, count))
			}
		}
	}
}

// Add adds one element.
func (u *HYLLUnion) Add(elem []byte) {
	u.sketch.InsertHash(bits.Reverse64(murmur64A(elem, hyllSeed)))
}

func (u *HYLLUnion) setOver(i int, count uint8) {
	if u.over == nil {
		u.over = make([]uint8, hyllRegisters)
	}
	u.over[i] = max(u.over[i], count)
}

// sketchHash returns a hash that raises register i of Redis to count, 1 to 51,
// in a sketch: the reversed index, count-1 zeros, a one.
func sketchHash(i int, count uint8) uint64 {
	return uint64(sketchIndex(i))<<(64-hyllBits) | 1<<hyllQ>>count
}

// sketchIndex returns where a sketch keeps register i.
func sketchIndex(i int) int { return int(bits.Reverse16(uint16(i)) >> (16 - hyllBits)) }

// registers returns the registers in the order of the sketch, valid until the
// next call, and without those of over.
func (u *HYLLUnion) registers() ([]uint8, error) {
	var err error
	// The encoding is not canonical for sparse sketches; of a dense one it is
	// a header and one byte for each register.
	u.encoded, err = u.sketch.AppendBinary(u.encoded[:0])
	if err != nil {
		return nil, fmt.Errorf("read registers of sketch: %w", err)
	}
	if len(u.encoded) < hyllRegisters {
		return nil, fmt.Errorf("sketch of %d bytes: %w", len(u.encoded), ErrCorrupt)
	}
	regs := u.encoded[len(u.encoded)-hyllRegisters:]
	for i, count := range u.over {
		at := sketchIndex(i)
		regs[at] = max(regs[at], count)
	}
	return regs, nil
}

// Count returns the estimated number of elements in the union.
func (u *HYLLUnion) Count() (uint64, error) {
	regs, err := u.registers()
	if err != nil {
		return 0, err
	}
	var h hyllHistogram
	h.addRegisters(regs)
	return h.estimate(), nil
}

// Store raises the registers of dest to those of the union and returns the new
// string; dest is nil for a key that does not exist and may be changed in place
// otherwise. dest itself must have been merged before. The result is dense if
// any merged string was; otherwise it is sparse as long as it fits sparseMax
// bytes, and its runs are those that adding the registers in order gives.
func (u *HYLLUnion) Store(dest []byte, sparseMax int) ([]byte, error) {
	regs, err := u.registers()
	if err != nil {
		return nil, err
	}
	if dest == nil {
		dest = NewHYLL()
	}
	if u.dense {
		if dest, _, err = HYLLToDense(dest); err != nil {
			return nil, err
		}
	}
	t := Touched{Whole: true}
	for i := range hyllRegisters {
		count := regs[sketchIndex(i)]
		if count == 0 {
			continue
		}
		if dest[hyllEncodingAt] == hyllDense {
			hyllDenseRaise(dest[hyllHeader:], i, count, &t)
		} else if dest, _, err = hyllSparseRaise(dest, i, count, sparseMax, &t); err != nil {
			return nil, err
		}
	}
	hyllSpoilCache(dest, &t)
	return dest, nil
}
