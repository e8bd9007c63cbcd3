package countmin

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/cells"
)

var (
	// ErrMemory is returned when the cells would exceed the bytes allowed.
	ErrMemory = errors.New("structures: count-min sketch too large")
	// ErrOverflow is returned by Merge when a cell or the count leaves its range.
	ErrOverflow = errors.New("structures: count-min sketch overflows")
	// ErrShape is returned by Merge for sketches of unequal width or depth.
	ErrShape = errors.New("structures: count-min sketches of unequal shape")
	// ErrUnread is returned by Merge when a page cannot be read.
	ErrUnread = errors.New("structures: page of a count-min sketch cannot be read")
)

// cellBytes is the length of a cell.
const cellBytes = 4

// Operations of a sketch. These numbers are on disk and never change.
const (
	opInit  = 16 // width, depth
	opCount = 17 // item, increment ...
)

// Sketch is a count-min sketch, whose cells are the one array of its stack. A new one has none, and must be
// given its shape by Init before anything else.
type Sketch struct {
	cells.Stack
	width, depth, count uint64
}

// New returns a sketch without cells.
func New() *Sketch { return &Sketch{} }

// Shape returns width and depth.
func (s *Sketch) Shape() (width, depth uint64) { return s.width, s.depth }

// Count is the sum of all increments, modulo 2^64.
func (s *Sketch) Count() uint64 { return s.count }

// SetCount sets the sum of all increments, of a sketch that is loaded.
func (s *Sketch) SetCount(n uint64) { s.count = n }

// Init gives a new sketch its shape. limit bounds the bytes of its cells. The error is ErrMemory; the sketch
// is then as new.
func (s *Sketch) Init(ch *structures.Change, width, depth, limit uint64) error {
	high, n := bits.Mul64(width, depth)
	if high != 0 || n == 0 || n > min(limit, cells.MaxBytes)/cellBytes {
		return ErrMemory
	}
	s.width, s.depth = width, depth
	s.Push(n * cellBytes)
	ch.Op(opInit, 2)
	ch.Uint(width)
	ch.Uint(depth)
	return nil
}

// ShapeFor returns the shape of a sketch that overestimates by more than rate times its count with at most that
// probability, both above 0 and below 1.
//
// RedisBloom computes the depth with logarithms of 32 bits, so that the values where it
// changes are those of float32: at powers of 1/2 the quotient is exact.
func ShapeFor(rate, probability float64) (width, depth float64) {
	p := float32(probability)
	return math.Ceil(2 / rate), math.Ceil(float64(log10(p) / log10(0.5)))
}

// log10 is the common logarithm, rounded to float32. The logarithm of 64 bits has far more digits
// than are needed to round it.
func log10(x float32) float32 { return float32(math.Log10(float64(x))) }

// cell returns where the cell of an item in a row is.
func (s *Sketch) cell(item []byte, row uint64) uint64 {
	return (row*s.width + uint64(structures.Murmur32(item, uint32(row)))%s.width) * cellBytes
}

// Ready makes sure that Add of items does not fail half way. It reports false if a page cannot be read.
func (s *Sketch) Ready(items ...[]byte) bool {
	if evicted, _ := s.Evicted(); evicted == 0 {
		return !s.Unread()
	}
	for _, item := range items {
		for row := range s.depth {
			if !s.Array(0).Fetch(s.cell(item, row), cellBytes) {
				return false
			}
		}
	}
	return true
}

// Add counts an item n times more, for which the sketch is Ready, and returns its estimate. A cell stays
// at the greatest number that it can have.
func (s *Sketch) Add(ch *structures.Change, item []byte, n uint64) (estimate uint32) {
	estimate = s.add(item, n)
	if n > 0 {
		ch.Op(opCount, 2)
		ch.Bytes(item)
		ch.Uint(n)
	}
	return estimate
}

func (s *Sketch) add(item []byte, n uint64) (estimate uint32) {
	if n == 0 {
		return s.Estimate(item)
	}
	estimate = math.MaxUint32
	a := s.Array(0)
	for row := range s.depth {
		estimate = min(estimate, a.AddUint32(s.cell(item, row), uint32(min(n, math.MaxUint32))))
	}
	s.count += n
	return estimate
}

// Estimate returns how often an item was counted, or more.
func (s *Sketch) Estimate(item []byte) uint32 {
	estimate := uint32(math.MaxUint32)
	for row := range s.depth {
		estimate = min(estimate, s.Array(0).Uint32(s.cell(item, row)))
	}
	return estimate
}

// Merge returns a new sketch, the sum of others of one shape, each times its weight. The errors are ErrShape,
// ErrOverflow, and ErrUnread.
func Merge(sketches []*Sketch, weights []int64) (*Sketch, error) {
	sum := New()
	first := sketches[0]
	if err := sum.Init(nil, first.width, first.depth, math.MaxUint64); err != nil {
		return nil, err
	}
	total := int64(0)
	for i, s := range sketches {
		if s.width != sum.width || s.depth != sum.depth {
			return nil, ErrShape
		}
		if t, ok := addProduct(total, int64(s.count), weights[i]); ok {
			total = t
		} else {
			return nil, ErrOverflow
		}
	}
	if total < 0 {
		return nil, ErrOverflow
	}
	sum.count = uint64(total)
	var out, part []byte
	line := make([]int64, mergeBytes/cellBytes)
	for off, size := uint64(0), sum.Bytes(); off < size; off += mergeBytes {
		n := min(size-off, mergeBytes)
		clear(line)
		for i, s := range sketches {
			var ok bool
			if part, ok = s.Array(0).Append(part[:0], off, n); !ok {
				return nil, ErrUnread
			}
			if !addWeighted(line, part, weights[i]) {
				return nil, ErrOverflow
			}
		}
		out = out[:0]
		for _, v := range line[:n/cellBytes] {
			if v < 0 || v > math.MaxUint32 {
				return nil, ErrOverflow
			}
			out = binary.LittleEndian.AppendUint32(out, uint32(v))
		}
		sum.Array(0).Write(off, out)
	}
	return sum, nil
}

// mergeBytes of cells are added up together.
const mergeBytes = 16 << 10

// addWeighted adds cells times a weight to sums. It reports false if one of these overflows.
func addWeighted(sums []int64, cells []byte, weight int64) bool {
	for i := range len(cells) / cellBytes {
		v := int64(binary.LittleEndian.Uint32(cells[i*cellBytes:]))
		if v == 0 {
			continue
		}
		sum, ok := addProduct(sums[i], v, weight)
		if !ok {
			return false
		}
		sums[i] = sum
	}
	return true
}

// addProduct returns sum + a*b; ok is false if that is not an int64, or if the product is not.
func addProduct(sum, a, b int64) (_ int64, ok bool) {
	product := a * b
	if a != 0 && (product/a != b || a == -1 && b == math.MinInt64) {
		return 0, false
	}
	total := sum + product
	return total, (total > sum) == (product > 0) || product == 0
}

// On disk a sketch is
//
//	head: width | depth | count (uvarints) | the array of cells, as package cells has it
//
// A sketch that was never given a shape has two zeros, and no array. These numbers are on disk and never
// change.

// Decode makes a sketch from its head. SetPage must be called for every stored page before the sketch is used,
// or SetPager.
func Decode(head []byte) (*Sketch, error) {
	s := New()
	if err := s.decode(head); err != nil {
		return nil, fmt.Errorf("head of count-min sketch: %w", err)
	}
	return s, nil
}

func (s *Sketch) decode(head []byte) error {
	r := structures.Reader{B: head}
	width, depth, count := r.Uint(math.MaxUint64), r.Uint(math.MaxUint64), r.Uint(math.MaxUint64)
	if r.Bad {
		return fmt.Errorf("%d bytes: %w", len(head), structures.ErrCorrupt)
	}
	if width != 0 || depth != 0 {
		if err := s.Init(nil, width, depth, cells.MaxBytes); err != nil {
			return fmt.Errorf("%d x %d: %w: %w", width, depth, err, structures.ErrCorrupt)
		}
	}
	s.count = count
	return s.LoadArrays(r.B)
}

// Kind is KindCountMin.
func (s *Sketch) Kind() structures.Kind { return structures.KindCountMin }

// Fork returns a copy.
func (s *Sketch) Fork() (structures.Value, bool) {
	t := &Sketch{width: s.width, depth: s.depth, count: s.count}
	return t, s.ForkTo(&t.Stack)
}

// Empty returns false: a sketch that counted nothing is still a sketch.
func (s *Sketch) Empty() bool { return false }

// Size estimates the memory held.
func (s *Sketch) Size() int {
	const own = 256
	return own + s.Memory()
}

// AppendHead appends the head.
func (s *Sketch) AppendHead(dst []byte) []byte {
	for _, v := range [...]uint64{s.width, s.depth, s.count} {
		dst = binary.AppendUvarint(dst, v)
	}
	return s.AppendArrays(dst)
}

// IsCompact reports whether the sketch has few bytes.
func (s *Sketch) IsCompact(limit int) bool {
	const header = 32
	bytes, ok := s.IsInline()
	return ok && header+bytes <= limit
}

// AppendCompact appends a sketch of few bytes as its head.
func (s *Sketch) AppendCompact(dst []byte) []byte { return s.AppendHead(dst) }

// LoadCompact makes s the sketch that AppendCompact appended.
func (s *Sketch) LoadCompact(b []byte) {
	s.Recycle()
	s.width, s.depth, s.count = 0, 0, 0
	_ = s.decode(b) // it is what AppendCompact appended
}

// Apply replays an operation.
func (s *Sketch) Apply(op byte, args *structures.Args) error {
	switch op {
	case opInit:
		width, depth := args.Uint(), args.Uint()
		err := args.Done()
		if err == nil && s.Arrays() > 0 {
			err = structures.ErrCorrupt
		}
		if err == nil {
			err = s.Init(nil, width, depth, cells.MaxBytes)
		}
		if err != nil {
			return fmt.Errorf("make count-min sketch: %w: %w", err, structures.ErrCorrupt)
		}
		return nil
	case opCount:
		item, n := args.Bytes(), args.Uint()
		if err := args.Done(); err != nil {
			return err
		}
		if s.Arrays() == 0 {
			return fmt.Errorf("count in a sketch without cells: %w", structures.ErrCorrupt)
		}
		if s.Ready(item) {
			s.add(item, n)
		}
		return nil
	}
	return fmt.Errorf("operation %d of a count-min sketch: %w", op, structures.ErrUnknownChange)
}
