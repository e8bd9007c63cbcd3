package hash

import (
	"github.com/vigildb/vigil/structures"
)

// paging is a hash as its pages see it, [paged.Tails]: a page is a segment.
type paging Hash

func (h *Hash) paging() *paging { return (*paging)(h) }

func (p *paging) Each(from uint64, visit func(id uint64, s *segment) bool) {
	if p.table != nil {
		p.table.each(from&(from-1), func(s *segment) bool { return s.id() < from || visit(s.id(), s) })
	}
}

// Decode makes a whole copy of a segment that is away of its page.
func (p *paging) Decode(id uint64, s *segment, page []byte) (*segment, error) {
	h := (*Hash)(p)
	c, err := h.load(id, page)
	if err == nil {
		h.addTo(c, s)
		err = s.matches(c)
	}
	return c, err
}

func (p *paging) Bytes(s *segment) int {
	if s.Away {
		return s.live()
	}
	return s.memory()
}

// Evict gives a segment a filter of its fields in their place.
func (p *paging) Evict(s *segment) bool {
	if len(s.slots) > maxAway {
		return false
	}
	before := s.memory()
	s.filter = structures.NewFilter(len(s.slots) + len(s.slots)/4)
	s.Away = true
	p.leave(s)
	p.table.memory += s.memory() - before
	return true
}

// leave drops the fields that are in memory, of a segment that is on disk only.
func (p *paging) leave(s *segment) {
	for _, slot := range s.slots {
		s.filter.Add(slot.tag)
	}
	s.fields += uint16(len(s.slots))
	s.disk += uint32(s.here())
	s.slots, s.buf, s.dead, s.tail = nil, nil, 0, 0
}

// Adopt gives a segment that is away what its whole copy has.
func (p *paging) Adopt(s, c *segment) {
	p.table.memory -= s.memory()
	p.pages.Due -= s.unwritten()
	s.slots, s.buf, s.dead, s.tail, s.Whole = c.slots, c.buf, c.dead, c.tail, c.Whole
	s.Away, s.fields, s.disk, s.filter = false, 0, 0, nil
	p.pages.Due += s.unwritten()
	p.table.memory += s.memory()
}

// InHead is not for a table of one segment: that has a page.
func (p *paging) InHead() bool { return p.table == nil }

func (p *paging) Append(dst []byte, s *segment) []byte { return s.appendPage(dst) }

func (p *paging) Cost(s *segment) int { return s.unwritten() }

func (p *paging) ByTail(s *segment) bool { return s.TailState.ByTail(len(s.buf)-s.tail, s.here()) }

func (p *paging) AppendTail(dst []byte, s *segment) []byte {
	return append(append(dst, tailMark...), s.buf[s.tail:]...)
}

func (p *paging) Wrote(s *segment) { s.tail = len(s.buf) }

// Kept is nothing of a segment whose filter is not known: it gained no field without being read.
func (p *paging) Kept(s *segment) int { return cap(s.buf) + cap(s.slots)*slotSize }

func (p *paging) Forget(s *segment) {
	before := s.memory()
	p.leave(s)
	p.table.memory += s.memory() - before
}

// SetPager says where pages are read that are away.
func (h *Hash) SetPager(p structures.Pager) { h.pages.Pager = p }

// Away is the number of pages that are on disk only, and their bytes.
func (h *Hash) Away() (pages int, bytes int64) { return h.pages.Away(h.paging()) }

// Whole reports that no page is away.
func (h *Hash) Whole() bool { return h.pages.Whole() }

// Changed is about how many bytes of pages are to be written.
func (h *Hash) Changed() int { return h.pages.Due }

// Gather reads every page that is away and reports whether it could.
func (h *Hash) Gather() bool { return h.pages.Gather(h.paging()) }

// Shed evicts pages, see structures.Paged.
func (h *Hash) Shed(bytes int) (freed, changed int) {
	if h.table == nil || h.table.segments == 1 {
		return 0, 0
	}
	return h.pages.Shed(h.paging(), bytes)
}

// Pages visits changed or all pages, see structures.Value.
func (h *Hash) Pages(all bool, visit func(id uint64, page []byte)) {
	h.pages.Visit(h.paging(), all, visit)
}

// Part visits up to n of the pages that changed since Clean, see structures.Value.
func (h *Hash) Part(n int, visit func(id uint64, page []byte)) (more bool) {
	return h.Portion(n, visit, nil)
}

// Portion is Part, but with tails, see structures.Tailed. Without a function for these all pages are whole.
func (h *Hash) Portion(n int, visit, tail func(id uint64, page []byte)) (more bool) {
	return h.pages.Portion(h.paging(), n, segmentBytes, visit, tail)
}

// Clean marks every page as stored.
func (h *Hash) Clean() {
	h.declared = -1
	h.pages.Clean(h.paging())
}

// Taint marks every page as changed.
func (h *Hash) Taint() { h.pages.Taint(h.paging()) }
