package set

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/paged"
)

// Runs of a large set can be evicted: on disk only. Such a run has no data. Its bound, its
// width and the number of its members stay, which the head of the set has too if there
// are many pages.

// touch makes sure that run k is in memory, which fails if it cannot be read.
func (s *integers) touch(k int) bool {
	return s.runs[k].Recent || s.pages.Touch(s.paging(), pageOf(s.bounds[k]), s.runs[k])
}

// pin reads run k, if it is evicted.
func (s *integers) pin(k int) bool { return s.pages.Pin(s.paging(), pageOf(s.bounds[k]), s.runs[k]) }

// view returns run k for a walk, nil if it cannot be read. One that is evicted stays so
// unless memory has room.
func (s *integers) view(k int) *run {
	r := s.runs[k]
	if !r.Evicted {
		return r
	}
	if c, ok := s.pages.View(s.paging(), pageOf(s.bounds[k]), r, paged.Walking); ok {
		return c
	}
	return nil
}

// ready makes sure that what is done to integers does not fail half way: that their runs
// are in memory, and what takes the place of the first run, or goes into the head, if
// all in these are removed.
func (s *integers) ready(values []int64) bool {
	if s.pages.Whole() {
		return true
	}
	if len(s.runs) <= len(values)+1 {
		return s.pages.LoadAll(s.paging())
	}
	for _, v := range values {
		if !s.pin(s.locate(v)) {
			return false
		}
	}
	for k := 0; k+1 < len(s.runs); k++ {
		named := 0
		for _, v := range values {
			if s.locate(v) == k {
				named++
			}
		}
		if named < s.runs[k].len() {
			break
		}
		if !s.pin(k + 1) {
			return false
		}
	}
	return true
}

// readyRemove makes sure that run k can lose a member: if that is its last, the next run
// takes the place of the first, and a run that is left alone goes into the head.
func (s *integers) readyRemove(k int) bool {
	switch {
	case s.runs[k].len() > 1 || len(s.runs) == 1:
		return true
	case k == 0:
		return s.pin(1)
	case len(s.runs) == 2:
		return s.pin(0)
	}
	return true
}

// mark notes that a run is about to change.
func (s *integers) mark(r *run) {
	if !r.Dirty {
		s.pages.Alter(r)
	}
}

// appendIndex appends what the head of a set with many pages has of each run: half of how
// far its bound is behind the one before, and its members and its shift.
func (s *integers) appendIndex(dst []byte) []byte {
	before := int64(math.MinInt64)
	for k, r := range s.runs {
		dst = binary.AppendUvarint(dst, distance(before, s.bounds[k])>>1)
		dst = binary.AppendUvarint(dst, uint64(r.len())<<2|uint64(r.shift))
		before = s.bounds[k]
	}
	return dst
}

// loadIndex makes the runs of an index, all of them evicted, and returns what follows it.
func (s *integers) loadIndex(b []byte, count, pages uint64) (rest []byte, err error) {
	bound := uint64(0) // above the least integer
	for k := range pages {
		step, w := binary.Uvarint(b)
		size, v := binary.Uvarint(b[max(w, 0):])
		if w <= 0 || v <= 0 {
			return nil, fmt.Errorf("index of integers: %w", structures.ErrCorrupt)
		}
		b = b[w+v:]
		n, shift := size>>2, uint8(size&3)
		if (step == 0) != (k == 0) || step > (math.MaxUint64-bound)>>1 || n == 0 || n > maxRun>>shift {
			return nil, fmt.Errorf("run %d bytes behind another, of %d integers of shift %d: %w", step, n, shift, structures.ErrCorrupt)
		}
		bound += step << 1
		s.insertRun(len(s.runs), int64(bound^1<<63), &run{shift: shift, members: uint16(n), State: paged.State{Stored: true, Evicted: true}})
		s.pages.Found()
		s.count += int(n)
	}
	if uint64(s.count) != count {
		return nil, fmt.Errorf("index of %d integers has %d: %w", count, s.count, structures.ErrCorrupt)
	}
	return b, nil
}
