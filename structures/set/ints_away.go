package set

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/vigildb/vigil/structures"
)

// Runs of a large set can be away: on disk only. Such a run has no data. Its bound, its
// width and the number of its members stay, which the head of the set has too if there
// are many pages.

// present makes sure that run k is in memory, which fails if it cannot be read.
func (s *integers) present(k int) bool {
	r := s.runs[k]
	r.used = true
	if !r.away {
		return true
	}
	if s.pager != nil && s.pager.Tight() {
		s.shed(maxRun)
	}
	return s.fetch(k)
}

// fetch reads run k, if it is away.
func (s *integers) fetch(k int) bool {
	r := s.runs[k]
	if !r.away {
		return true
	}
	c := s.peek(k)
	if c == nil {
		return false
	}
	s.bring(r, c)
	return true
}

// bring puts a run that was read in the place of the one that is away.
func (s *integers) bring(r, c *run) {
	s.memory += c.memory() - r.memory()
	s.away--
	c.used, c.stored = true, true
	*r = *c
}

// peek returns a copy of run k, which is away, nil if it cannot be read.
func (s *integers) peek(k int) *run {
	if s.pager == nil {
		return nil
	}
	c := &run{}
	if !s.pager.ReadPage(pageOf(s.bounds[k]), func(page []byte) error { return s.readRun(k, c, page) }) {
		return nil
	}
	return c
}

// readRun makes c the run of a page, which has to be what is known of run k.
func (s *integers) readRun(k int, c *run, page []byte) error {
	if err := c.load(page); err != nil {
		return err
	}
	r := s.runs[k]
	if c.len() != r.len() || c.shift != r.shift || c.at(0) < s.bounds[k] || k+1 < len(s.runs) && c.last() >= s.bounds[k+1] {
		return fmt.Errorf("run from %d of %d integers of shift %d has %d of %d from %d: %w",
			s.bounds[k], r.len(), r.shift, c.len(), c.shift, c.at(0), structures.ErrCorrupt)
	}
	return nil
}

// view returns run k for a walk, nil if it cannot be read. One that is away stays so
// unless memory has room.
func (s *integers) view(k int) *run {
	if r := s.runs[k]; !r.away {
		return r
	}
	if s.pager != nil && !s.pager.Room() {
		return s.peek(k)
	}
	if !s.fetch(k) {
		return nil
	}
	return s.runs[k]
}

// ready makes sure that what is done to integers does not fail half way: that their runs
// are in memory, and what takes the place of the first run, or goes into the head, if
// all in these are removed.
func (s *integers) ready(values []int64) bool {
	if s.away == 0 {
		return true
	}
	if len(s.runs) <= len(values)+1 {
		return s.gather()
	}
	for _, v := range values {
		if !s.fetch(s.locate(v)) {
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
		if !s.fetch(k + 1) {
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
		return s.fetch(1)
	case len(s.runs) == 2:
		return s.fetch(0)
	}
	return true
}

// gather reads every run that is away.
func (s *integers) gather() bool {
	for k := 0; k < len(s.runs) && s.away > 0; k++ {
		if !s.fetch(k) {
			return false
		}
	}
	return true
}

// shedLooks bounds how many runs one call of shed looks at for each that it is to let go
// of.
const shedLooks = 64

// shed lets go of runs, see structures.Paged. It goes round over them.
func (s *integers) shed(bytes int) (freed, changed int) {
	if s.inHead() {
		return 0, 0
	}
	looks := min(shedLooks*(1+bytes/maxRun), 2*len(s.runs))
	for ; looks > 0 && freed < bytes; looks-- {
		if s.hand++; s.hand >= len(s.runs) {
			s.hand = 0
		}
		switch r := s.runs[s.hand]; {
		case r.away:
		case r.dirty || !r.stored:
			changed += r.memory()
		case r.used:
			r.used = false
		case s.pager == nil || !s.pager.Held(pageOf(s.bounds[s.hand])):
			n := cap(r.data)
			r.members, r.data, r.away = uint16(r.len()), nil, true
			s.memory -= n
			s.away++
			freed += n
		}
	}
	return freed, changed
}

// awayBytes is what is on disk only.
func (s *integers) awayBytes() (bytes int64) {
	if s.away == 0 {
		return 0
	}
	for _, r := range s.runs {
		if r.away {
			bytes += int64(r.len()) << r.shift
		}
	}
	return bytes
}

// taint marks every page as changed. None is away: all that are have been stored as they
// are.
func (s *integers) taint() {
	for _, r := range s.runs {
		s.mark(r)
	}
}

// mark notes that a run changes.
func (s *integers) mark(r *run) {
	if !r.dirty && !r.away {
		r.dirty = true
		s.changed++
	}
}

// part visits changed pages, see Set.Part. Few integers are in the head.
func (s *integers) partOf(n int, visit func(id uint64, page []byte)) (more bool) {
	if s.inHead() {
		return false
	}
	k, most := s.locate(s.part), n
	s.part = math.MinInt64
	var buf []byte
	for ; k < len(s.runs); k++ {
		r := s.runs[k]
		if !r.dirty && r.stored {
			continue
		}
		if n == 0 {
			s.part = s.bounds[k]
			return true
		}
		n--
		buf = r.appendPage(buf[:0])
		visit(pageOf(s.bounds[k]), buf)
		r.dirty, r.stored = false, true
	}
	for k := 0; k < len(s.runs) && most >= 0; k++ {
		if r := s.runs[k]; r.dirty || !r.stored {
			most--
		}
	}
	return most < 0
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

// loadIndex makes the runs of an index, all of them away, and returns what follows it.
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
		s.insertRun(len(s.runs), int64(bound^1<<63), &run{shift: shift, members: uint16(n), stored: true, away: true})
		s.away++
		s.count += int(n)
	}
	if uint64(s.count) != count {
		return nil, fmt.Errorf("index of %d integers has %d: %w", count, s.count, structures.ErrCorrupt)
	}
	return b, nil
}

// supply takes the page of a run that is away.
func (s *integers) supply(id uint64, page []byte) error {
	bound, c := boundOf(id), &run{}
	if k := s.locate(bound); s.bounds[k] == bound && s.runs[k].away {
		if err := s.readRun(k, c, page); err != nil {
			return err
		}
		s.bring(s.runs[k], c)
		return nil
	}
	return fmt.Errorf("run from %d is not in the index or was given twice: %w", bound, structures.ErrCorrupt)
}
