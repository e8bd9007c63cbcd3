package set

import (
	"encoding/binary"
	"math"

	"github.com/vigildb/vigil/structures"
)

// Reset makes s an empty set.
func (s *Set) Reset() {
	s.rest.Reset()
	s.ints.loadCompact(nil)
	*s = Set{rest: s.rest, ints: s.ints, promised: -1}
}

// IsCompact reports whether the set has no pages and up to about limit bytes.
func (s *Set) IsCompact(limit int) bool {
	ints := 0
	if len(s.ints.runs) == 1 {
		ints = len(s.ints.runs[0].data)
	}
	return s.ints.inHead() && ints <= limit && s.rest.IsCompact(limit-ints)
}

// AppendCompact appends a small set:
//
//	most members while all were integers, since one was not << 1 | timed | length of run (uvarints) | run | compact hash
func (s *Set) AppendCompact(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(s.peakInts))
	dst = binary.AppendUvarint(dst, uint64(s.peakMixed)<<1|uint64(s.Form()))
	return s.rest.AppendCompact(s.appendRun(dst))
}

// LoadCompact makes s the set that AppendCompact appended.
func (s *Set) LoadCompact(b []byte) {
	var numbers [3]uint64
	for i := range numbers {
		v, n := binary.Uvarint(b)
		numbers[i], b = v, b[n:]
	}
	ints := b[:numbers[2]]
	s.rest.LoadCompact(b[len(ints):])
	s.ints.loadCompact(ints)
	*s = Set{rest: s.rest, ints: s.ints, promised: -1, peakInts: uint32(numbers[0]), peakMixed: uint32(numbers[1] >> 1), timed: numbers[1]&1 != 0}
}

// loadCompact makes the integers those of a run, or none. The memory of a run that was
// alone before is used again.
func (s *integers) loadCompact(b []byte) {
	if len(s.runs) > 1 {
		*s = integers{}
	}
	bounds, runs := s.bounds[:0], s.runs[:0]
	if len(b) > 0 {
		var r *run
		if cap(runs) > 0 {
			r = runs[:1][0]
		}
		if r == nil {
			r = new(run)
		}
		r.copy(b)
		bounds, runs = append(bounds, math.MinInt64), append(runs, r)
		*s = integers{count: r.len(), memory: r.memory()}
	} else {
		*s = integers{}
	}
	s.bounds, s.runs = bounds, runs
}

var _ structures.Reusable = (*Set)(nil)
