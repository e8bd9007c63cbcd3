package structures

import (
	"encoding/binary"
	"errors"
	"math/bits"
)

// A HyperLogLog is an ordinary string in the format of Redis, byte for byte, so
// that GET, SET, dumps and replicas exchange it. The functions here work on
// that string.
//
//	"HYLL" | encoding (0 dense, 1 sparse) | 3 zero bytes
//	| cached count, 8 bytes little endian; the top bit says that it is invalid
//	| registers
//
// There are 16384 registers of 6 bits. Dense, register i lies in bits 6i to
// 6i+5 of the 12288 bytes, counted from the lowest bit of each byte. Sparse,
// they are runs: see hyll_sparse.go. Source of the algorithm: Flajolet, Fusy,
// Gandouet and Meunier 2007; the estimator is from Ertl 2017.

var (
	// ErrNotHYLL is returned for a string that does not have the header, or is
	// dense and of the wrong length.
	ErrNotHYLL = errors.New("structures: not a HyperLogLog")
	// ErrHYLLCorrupt is returned for a sparse string whose runs do not give
	// 16384 registers.
	ErrHYLLCorrupt = errors.New("structures: corrupt HyperLogLog")
	// ErrHYLLDense is returned by HYLLDecode for a string without runs.
	ErrHYLLDense = errors.New("structures: HyperLogLog is not sparse")
)

const (
	hyllBits      = 14
	hyllRegisters = 1 << hyllBits
	hyllQ         = 64 - hyllBits // a register holds at most hyllQ+1
	hyllHeader    = 16
	hyllDenseLen  = hyllHeader + hyllRegisters*6/8
	hyllSeed      = 0xadc83b19

	hyllEncodingAt = 4
	hyllCacheAt    = 8
	hyllStaleAt    = 15
	hyllStale      = 0x80

	hyllDense  = 0
	hyllSparse = 1
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

// NewHYLL returns an empty HyperLogLog as PFADD leaves it on a new key: sparse,
// one run of zeros, the cached count invalid. 18 bytes.
func NewHYLL() []byte {
	return append(make([]byte, 0, 32),
		'H', 'Y', 'L', 'L', hyllSparse, 0, 0, 0,
		0, 0, 0, 0, 0, 0, 0, hyllStale,
		0x7f, 0xff)
}

// CheckHYLL returns ErrNotHYLL if value does not look like a HyperLogLog. It
// does not read the runs of a sparse one.
func CheckHYLL(value []byte) error {
	if len(value) < hyllHeader || string(value[:4]) != "HYLL" || value[hyllEncodingAt] > hyllSparse ||
		value[hyllEncodingAt] == hyllDense && len(value) != hyllDenseLen {
		return ErrNotHYLL
	}
	return nil
}

// HYLLPlace returns the register that elem belongs to and the number that it
// raises the register to, 1 to 51.
func HYLLPlace(elem []byte) (index int, count uint8) {
	h := murmur64A(elem, hyllSeed)
	return int(h & (hyllRegisters - 1)), uint8(bits.TrailingZeros64(h>>hyllBits|1<<hyllQ)) + 1
}

// HYLLAdd adds elem to value, which it changes in place where it can and
// reallocates where it must; sparse strings become dense when they would grow
// beyond sparseMax bytes (hll-sparse-max-bytes). It reports whether a register
// changed; only then have bytes changed, and t says which.
// The errors are ErrNotHYLL and ErrHYLLCorrupt; value is then as it was.
func HYLLAdd(value, elem []byte, sparseMax int, t *Touched) (out []byte, changed bool, err error) {
	if err := CheckHYLL(value); err != nil {
		return value, false, err
	}
	index, count := HYLLPlace(elem)
	if value[hyllEncodingAt] == hyllSparse {
		value, changed, err = hyllSparseRaise(value, index, count, sparseMax, t)
	} else {
		changed = hyllDenseRaise(value[hyllHeader:], index, count, t)
	}
	if changed {
		hyllSpoilCache(value, t)
	}
	return value, changed, err
}

// hyllSpoilCache marks the cached count as invalid.
func hyllSpoilCache(value []byte, t *Touched) {
	if value[hyllStaleAt]&hyllStale == 0 {
		value[hyllStaleAt] |= hyllStale
		t.add(hyllStaleAt, hyllStaleAt+1)
	}
}

// hyllDenseGet returns register i of the 12288 bytes of registers.
func hyllDenseGet(regs []byte, i int) uint8 {
	at, shift := i*6>>3, i*6&7
	v := uint(regs[at]) >> shift
	// A register that lies in one byte must not look at the next: the last
	// register ends with the last byte.
	if shift > 2 {
		v |= uint(regs[at+1]) << (8 - shift)
	}
	return uint8(v & 63)
}

func hyllDensePut(regs []byte, i int, count uint8) {
	at, shift := i*6>>3, i*6&7
	regs[at] = regs[at]&^byte(63<<shift) | count<<shift
	if shift > 2 {
		regs[at+1] = regs[at+1]&^byte(63>>(8-shift)) | count>>(8-shift)
	}
}

// hyllDenseRaise sets register i to count if that is more.
func hyllDenseRaise(regs []byte, i int, count uint8, t *Touched) bool {
	if hyllDenseGet(regs, i) >= count {
		return false
	}
	hyllDensePut(regs, i, count)
	t.add(hyllHeader+i*6>>3, hyllHeader+(i*6+5)>>3+1)
	return true
}

// HYLLCached returns the count that value carries, if that is valid.
func HYLLCached(value []byte) (n uint64, ok bool) {
	if CheckHYLL(value) != nil || value[hyllStaleAt]&hyllStale != 0 {
		return 0, false
	}
	return binary.LittleEndian.Uint64(value[hyllCacheAt:]), true
}

// HYLLCount returns the estimated number of elements. A valid cached count is
// returned as it is. Otherwise the count is computed and kept in bytes 8 to 15
// of value, and t says so: that is a change of the key, as in Redis.
// The errors are ErrNotHYLL and ErrHYLLCorrupt; value is then as it was.
func HYLLCount(value []byte, t *Touched) (uint64, error) {
	if err := CheckHYLL(value); err != nil {
		return 0, err
	}
	if n, ok := HYLLCached(value); ok {
		return n, nil
	}
	var h hyllHistogram
	if value[hyllEncodingAt] == hyllDense {
		h.addDense(value[hyllHeader:])
	} else if err := h.addSparse(value); err != nil {
		return 0, err
	}
	n := h.estimate()
	binary.LittleEndian.PutUint64(value[hyllCacheAt:], n)
	t.add(hyllCacheAt, hyllHeader)
	return n, nil
}

// HYLLRegisters returns the 16384 registers (PFDEBUG GETREG). The errors are
// ErrNotHYLL and ErrHYLLCorrupt.
func HYLLRegisters(value []byte) ([]uint8, error) {
	if err := CheckHYLL(value); err != nil {
		return nil, err
	}
	regs := make([]uint8, hyllRegisters)
	err := hyllEach(value, func(i, n int, count uint8) {
		for j := i; j < i+n; j++ {
			regs[j] = count
		}
	})
	if err != nil {
		return nil, err
	}
	return regs, nil
}

// HYLLEncoding returns "sparse" or "dense" (PFDEBUG ENCODING), or ErrNotHYLL.
func HYLLEncoding(value []byte) (string, error) {
	if err := CheckHYLL(value); err != nil {
		return "", err
	}
	if value[hyllEncodingAt] == hyllSparse {
		return "sparse", nil
	}
	return "dense", nil
}

// HYLLToDense returns value in the dense encoding (PFDEBUG TODENSE), which
// keeps the header and so the cached count. A value that is dense already is
// returned as it is, with changed false. The errors are ErrNotHYLL and
// ErrHYLLCorrupt.
func HYLLToDense(value []byte) (out []byte, changed bool, err error) {
	if err := CheckHYLL(value); err != nil {
		return value, false, err
	}
	if value[hyllEncodingAt] == hyllDense {
		return value, false, nil
	}
	out, err = hyllDensify(value)
	if err != nil {
		return value, false, err
	}
	return out, true, nil
}

// hyllEach visits the runs of nonzero registers: n registers of that count
// from index i on, in order of index. If it returns an error, runs may have
// been visited before the damage was seen.
func hyllEach(value []byte, visit func(i, n int, count uint8)) error {
	if value[hyllEncodingAt] == hyllSparse {
		return hyllEachSparse(value, visit)
	}
	regs := value[hyllHeader:]
	for i := range hyllRegisters {
		if count := hyllDenseGet(regs, i); count > 0 {
			visit(i, 1, count)
		}
	}
	return nil
}
