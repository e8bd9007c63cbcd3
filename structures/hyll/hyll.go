// Package hyll counts different elements approximately. A HyperLogLog is an ordinary string in the format of Redis, byte for byte, so
// that GET, SET, dumps and replicas exchange it. The functions here work on
// that string.
//
//	"HYLL" | encoding (0 dense, 1 sparse) | 3 zero bytes
//	| cached count, 8 bytes little endian; the top bit says that it is invalid
//	| registers
//
// There are 16384 registers of 6 bits. Dense, register i lies in bits 6i to
// 6i+5 of the 12288 bytes, counted from the lowest bit of each byte. Sparse,
// they are runs: see sparse.go. Source of the algorithm: Flajolet, Fusy,
// Gandouet and Meunier 2007; the estimator is from Ertl 2017.
package hyll

import (
	"encoding/binary"
	"errors"
	"math/bits"

	"github.com/vigildb/vigil/structures"
)

var (
	// ErrNotHYLL is returned for a string that does not have the header, or is
	// dense and of the wrong length.
	ErrNotHYLL = errors.New("structures: not a HyperLogLog")
	// ErrCorrupt is returned for a sparse string whose runs do not give
	// 16384 registers.
	ErrCorrupt = errors.New("structures: corrupt HyperLogLog")
	// ErrDense is returned by Decode for a string without runs.
	ErrDense = errors.New("structures: HyperLogLog is not sparse")
)

const (
	indexBits = 14
	registers = 1 << indexBits
	q         = 64 - indexBits // a register holds at most q+1
	header    = 16
	denseLen  = header + registers*6/8
	seed      = 0xadc83b19

	encodingAt = 4
	cacheAt    = 8
	staleAt    = 15
	stale      = 0x80

	dense  = 0
	sparse = 1
)

// ByteRange is the bytes [Off, End) of a string.
type ByteRange struct{ Off, End int }

// Touched collects which bytes of a string a call changed, so that the journal
// can hold a few bytes rather than the whole string: the string before the
// call, continued by zeros to its new length, gives the string after it when
// Ranges are copied over it. If Whole is true, they do not, and all of it must
// be recorded. The zero value is ready, and several calls may add to one.
type Touched struct {
	Whole  bool
	n      int
	ranges [8]ByteRange
}

// Ranges returns the changed ranges, which do not overlap. There are none if
// Whole is true.
func (t *Touched) Ranges() []ByteRange {
	if t.Whole {
		return nil
	}
	return t.ranges[:t.n]
}

// Any reports whether anything changed.
func (t *Touched) Any() bool { return t.Whole || t.n > 0 }

func (t *Touched) add(off, end int) {
	if t.Whole {
		return
	}
	// Adjacent ranges become one, which can then be adjacent to another.
	for i := 0; i < t.n; {
		r := t.ranges[i]
		if end < r.Off || off > r.End {
			i++
			continue
		}
		off, end = min(off, r.Off), max(end, r.End)
		t.n--
		t.ranges[i] = t.ranges[t.n]
		i = 0
	}
	if t.n == len(t.ranges) {
		t.Whole = true
		return
	}
	t.ranges[t.n] = ByteRange{off, end}
	t.n++
}

// New returns an empty HyperLogLog as PFADD leaves it on a new key: sparse,
// one run of zeros, the cached count invalid. 18 bytes.
func New() []byte {
	return append(make([]byte, 0, 32),
		'H', 'Y', 'L', 'L', sparse, 0, 0, 0,
		0, 0, 0, 0, 0, 0, 0, stale,
		0x7f, 0xff)
}

// Check returns ErrNotHYLL if value does not look like a HyperLogLog. It
// does not read the runs of a sparse one.
func Check(value []byte) error {
	if len(value) < header || string(value[:4]) != "HYLL" || value[encodingAt] > sparse ||
		value[encodingAt] == dense && len(value) != denseLen {
		return ErrNotHYLL
	}
	return nil
}

// Place returns the register that elem belongs to and the number that it
// raises the register to, 1 to 51.
func Place(elem []byte) (index int, count uint8) {
	h := structures.Murmur64A(elem, seed)
	return int(h & (registers - 1)), uint8(bits.TrailingZeros64(h>>indexBits|1<<q)) + 1
}

// Add adds elem to value, which it changes in place where it can and
// reallocates where it must; sparse strings become dense when they would grow
// beyond sparseMax bytes (hll-sparse-max-bytes). It reports whether a register
// changed; bytes change only then, and t says which.
// The errors are ErrNotHYLL and ErrCorrupt; value is then as it was.
func Add(value, elem []byte, sparseMax int, t *Touched) (out []byte, changed bool, err error) {
	if err := Check(value); err != nil {
		return value, false, err
	}
	index, count := Place(elem)
	if value[encodingAt] == sparse {
		value, changed, err = sparseRaise(value, index, count, sparseMax, t)
	} else {
		changed = denseRaise(value[header:], index, count, t)
	}
	if changed {
		spoilCache(value, t)
	}
	return value, changed, err
}

// spoilCache marks the cached count as invalid.
func spoilCache(value []byte, t *Touched) {
	if value[staleAt]&stale == 0 {
		value[staleAt] |= stale
		t.add(staleAt, staleAt+1)
	}
}

// denseGet returns register i of the 12288 bytes of registers.
func denseGet(regs []byte, i int) uint8 {
	at, shift := i*6>>3, i*6&7
	v := uint(regs[at]) >> shift
	// A register that lies in one byte must not look at the next: the last
	// register ends with the last byte.
	if shift > 2 {
		v |= uint(regs[at+1]) << (8 - shift)
	}
	return uint8(v & 63)
}

func densePut(regs []byte, i int, count uint8) {
	at, shift := i*6>>3, i*6&7
	regs[at] = regs[at]&^byte(63<<shift) | count<<shift
	if shift > 2 {
		regs[at+1] = regs[at+1]&^byte(63>>(8-shift)) | count>>(8-shift)
	}
}

// denseRaise sets register i to count if that is more.
func denseRaise(regs []byte, i int, count uint8, t *Touched) bool {
	if denseGet(regs, i) >= count {
		return false
	}
	densePut(regs, i, count)
	t.add(header+i*6>>3, header+(i*6+5)>>3+1)
	return true
}

// Cached returns the count that value carries, if that is valid.
func Cached(value []byte) (n uint64, ok bool) {
	if Check(value) != nil || value[staleAt]&stale != 0 {
		return 0, false
	}
	return binary.LittleEndian.Uint64(value[cacheAt:]), true
}

// Count returns the estimated number of elements. A valid cached count is
// returned as it is. Otherwise the count is computed and kept in bytes 8 to 15
// of value, and t says so: that is a change of the key, as in Redis.
// The errors are ErrNotHYLL and ErrCorrupt; value is then as it was.
func Count(value []byte, t *Touched) (uint64, error) {
	if err := Check(value); err != nil {
		return 0, err
	}
	if n, ok := Cached(value); ok {
		return n, nil
	}
	var h histogram
	if value[encodingAt] == dense {
		h.addDense(value[header:])
	} else if err := h.addSparse(value); err != nil {
		return 0, err
	}
	n := h.estimate()
	binary.LittleEndian.PutUint64(value[cacheAt:], n)
	t.add(cacheAt, header)
	return n, nil
}

// Registers returns the 16384 registers (PFDEBUG GETREG). The errors are
// ErrNotHYLL and ErrCorrupt.
func Registers(value []byte) ([]uint8, error) {
	if err := Check(value); err != nil {
		return nil, err
	}
	regs := make([]uint8, registers)
	err := each(value, func(i, n int, count uint8) {
		for j := i; j < i+n; j++ {
			regs[j] = count
		}
	})
	if err != nil {
		return nil, err
	}
	return regs, nil
}

// Encoding returns "sparse" or "dense" (PFDEBUG ENCODING), or ErrNotHYLL.
func Encoding(value []byte) (string, error) {
	if err := Check(value); err != nil {
		return "", err
	}
	if value[encodingAt] == sparse {
		return "sparse", nil
	}
	return "dense", nil
}

// ToDense returns value in the dense encoding (PFDEBUG TODENSE), which
// keeps the header and so the cached count. A value that is dense already is
// returned as it is, with changed false. The errors are ErrNotHYLL and
// ErrCorrupt.
func ToDense(value []byte) (out []byte, changed bool, err error) {
	if err := Check(value); err != nil {
		return value, false, err
	}
	if value[encodingAt] == dense {
		return value, false, nil
	}
	out, err = densify(value)
	if err != nil {
		return value, false, err
	}
	return out, true, nil
}

// each visits the runs of nonzero registers: n registers of that count
// from index i on, in order of index. If it returns an error, runs may have
// been visited before the damage was seen.
func each(value []byte, visit func(i, n int, count uint8)) error {
	if value[encodingAt] == sparse {
		return eachSparse(value, visit)
	}
	regs := value[header:]
	for i := range registers {
		if count := denseGet(regs, i); count > 0 {
			visit(i, 1, count)
		}
	}
	return nil
}
