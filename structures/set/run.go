package set

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"unsafe"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/paged"
)

// run is a sorted sequence of different integers: their distances from base, each
// in 1<<shift bytes, little endian. A thousand user numbers take two bytes each,
// however large they are. On disk, where its page ends says how many there are:
//
//	shift (1) | base (8, little endian) | distance ...
//
// This layout is on disk and never changes.
type run struct {
	base        int64  // not above the first member
	shift       uint8  // 0 to 3
	paged.State        // evicted: there is no data
	members     uint16 // while it is evicted
	data        []byte
}

const (
	runSize   = int(unsafe.Sizeof(run{}))
	runHeader = 9
	// maxRun bounds the distances of a run. It is split when they would take more,
	// and joined with its neighbour when both take less than half of it.
	maxRun = 4096
)

// shiftOf is the shift with which a distance fits.
func shiftOf(distance uint64) uint8 {
	switch n := bits.Len64(distance); {
	case n <= 8:
		return 0
	case n <= 16:
		return 1
	case n <= 32:
		return 2
	}
	return 3
}

// distance is how far b is above a, which may be more than an int64 holds.
func distance(a, b int64) uint64 { return uint64(b) - uint64(a) }

func (r *run) len() int {
	if r.Evicted {
		return int(r.members)
	}
	return len(r.data) >> r.shift
}

func (r *run) memory() int { return runSize + cap(r.data) }

// offset is the distance of member i from base.
func (r *run) offset(i int) uint64 {
	switch r.shift {
	case 0:
		return uint64(r.data[i])
	case 1:
		return uint64(binary.LittleEndian.Uint16(r.data[2*i:]))
	case 2:
		return uint64(binary.LittleEndian.Uint32(r.data[4*i:]))
	}
	return binary.LittleEndian.Uint64(r.data[8*i:])
}

// write puts a distance at place i of data.
func write(data []byte, shift uint8, i int, offset uint64) {
	switch shift {
	case 0:
		data[i] = byte(offset)
	case 1:
		binary.LittleEndian.PutUint16(data[2*i:], uint16(offset))
	case 2:
		binary.LittleEndian.PutUint32(data[4*i:], uint32(offset))
	default:
		binary.LittleEndian.PutUint64(data[8*i:], offset)
	}
}

// at is member i.
func (r *run) at(i int) int64 { return int64(uint64(r.base) + r.offset(i)) }

// find returns the place of v, or where it belongs.
func (r *run) find(v int64) (i int, found bool) {
	if v < r.base {
		return 0, false
	}
	return r.search(0, r.len(), distance(r.base, v))
}

// findFrom is find from a place on, before which all are less. It looks at that place
// first and then further and further away: callers go through the run.
func (r *run) findFrom(from int, v int64) (i int, found bool) {
	if v < r.base {
		return from, false
	}
	want, n := distance(r.base, v), r.len()
	to, step := from, 1
	for to < n && r.offset(to) < want {
		from = to + 1
		to += step
		step *= 2
	}
	return r.search(from, min(to+1, n), want)
}

// search finds a distance between two places, or where it belongs there.
func (r *run) search(lo, hi int, want uint64) (i int, found bool) {
	end := hi
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		if r.offset(mid) < want {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo, lo < end && r.offset(lo) == want
}

// span is the base and the shift that the run has once v is a member.
func (r *run) span(v int64) (base int64, shift uint8) {
	n := r.len()
	if n == 0 {
		return v, 0
	}
	base = min(r.base, v)
	return base, max(r.shift, shiftOf(distance(base, max(v, r.at(n-1)))))
}

// fits reports whether the run has room for v.
func (r *run) fits(v int64) bool {
	_, shift := r.span(v)
	return (r.len()+1)<<shift <= maxRun
}

// insert puts v, for which there is room, at the place where it belongs.
func (r *run) insert(i int, v int64) {
	n := r.len()
	base, shift := r.span(v)
	r.rebase(base, shift)
	r.reserve((n + 1) << shift)
	r.data = r.data[:(n+1)<<shift]
	copy(r.data[(i+1)<<shift:], r.data[i<<shift:n<<shift])
	write(r.data, shift, i, distance(base, v))
}

// reserve makes room for size bytes. A run grows by an eighth: there are many.
func (r *run) reserve(size int) {
	if size > cap(r.data) {
		grown := slices.Grow([]byte(nil), size+min(size/8, maxRun-size))
		r.data = append(grown, r.data...)
	}
}

// rebase changes the base to one that is not above it, and the shift to one that is
// not less.
func (r *run) rebase(base int64, shift uint8) {
	n := r.len()
	if n == 0 {
		r.base, r.shift = base, shift
		return
	}
	if base == r.base && shift == r.shift {
		return
	}
	r.reserve(n << shift)
	wide, more := r.data[:n<<shift], distance(base, r.base)
	for i := n - 1; i >= 0; i-- { // from behind: wider ones do not reach those not read yet
		write(wide, shift, i, r.offset(i)+more)
	}
	r.base, r.shift, r.data = base, shift, wide
}

// remove deletes member i.
func (r *run) remove(i int) {
	r.data = slices.Delete(r.data, i<<r.shift, (i+1)<<r.shift)
	if cap(r.data) > 64 && len(r.data) < cap(r.data)/4 {
		r.data = slices.Clone(r.data)
	}
}

// part returns a run of its own of the members from one place up to another.
func (r *run) part(from, to int) *run {
	p := &run{}
	if from < to {
		p.extend(r, from, to)
	}
	return p
}

// extend appends members of another run, which are above those that are there.
func (r *run) extend(from *run, lo, hi int) {
	n := r.len()
	if n == 0 {
		r.base, r.shift = from.at(lo), 0
	}
	base := r.base
	shift := max(r.shift, shiftOf(distance(base, from.at(hi-1))))
	r.rebase(base, shift)
	r.reserve((n + hi - lo) << shift)
	r.data = r.data[:(n+hi-lo)<<shift]
	for i := lo; i < hi; i++ {
		write(r.data, shift, n+i-lo, distance(base, from.at(i)))
	}
}

// joinable reports whether the run and its upper neighbour can be one.
func (r *run) joinable(upper *run) bool {
	n := r.len() + upper.len()
	return n<<max(r.shift, shiftOf(distance(r.base, upper.at(upper.len()-1)))) <= maxRun/2
}

// appendPage appends the bytes of the run, none if it is empty.
func (r *run) appendPage(dst []byte) []byte {
	if len(r.data) == 0 {
		return dst
	}
	dst = binary.LittleEndian.AppendUint64(append(dst, r.shift), uint64(r.base))
	return append(dst, r.data...)
}

// copy makes the run that of a page that appendPage appended, in the memory that it
// has.
func (r *run) copy(page []byte) {
	*r = run{data: append(r.data[:0], page[runHeader:]...), shift: page[0],
		base: int64(binary.LittleEndian.Uint64(page[1:]))}
}

// load makes the run that of a page, whose bytes may be anything but none.
func (r *run) load(page []byte) error {
	if len(page) <= runHeader || len(page) > runHeader+maxRun || page[0] > 3 || (len(page)-runHeader)&(1<<page[0]-1) != 0 {
		return fmt.Errorf("run of integers in %d bytes: %w", len(page), structures.ErrCorrupt)
	}
	r.copy(page)
	n := r.len()
	for i := 1; i < n; i++ {
		if r.offset(i-1) >= r.offset(i) {
			return fmt.Errorf("integers out of order: %w", structures.ErrCorrupt)
		}
	}
	if r.offset(n-1) > distance(r.base, math.MaxInt64) {
		return fmt.Errorf("integer of more than 64 bits: %w", structures.ErrCorrupt)
	}
	return nil
}
