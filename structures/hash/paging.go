package hash

import (
	"github.com/vigildb/vigil/structures"
)

// paging is a hash as its pages see it, [paged.DeltaPages]: a page is a segment.
type paging Hash

func (h *Hash) paging() *paging { return (*paging)(h) }

func (p *paging) Each(from uint64, visit func(id uint64, s *segment) bool) {
	if p.table != nil {
		p.table.each(from&(from-1), func(s *segment) bool { return s.id() < from || visit(s.id(), s) })
	}
}

// Decode makes a whole copy of an evicted segment of its page.
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
	if s.Evicted {
		return s.live()
	}
	return s.memory()
}

// Evict gives a segment a filter of its fields in their place.
func (p *paging) Evict(s *segment) bool {
	if len(s.slots) > maxEvicted {
		return false
	}
	before := s.memory()
	s.filter = structures.NewFilter(len(s.slots) + len(s.slots)/4)
	s.Evicted = true
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
	s.slots, s.buf, s.dead, s.delta = nil, nil, 0, 0
}

// Adopt gives an evicted segment what its whole copy has.
func (p *paging) Adopt(s, c *segment) {
	p.table.memory -= s.memory()
	p.pages.Due -= s.unwritten()
	s.slots, s.buf, s.dead, s.delta, s.Whole = c.slots, c.buf, c.dead, c.delta, c.Whole
	s.Evicted, s.fields, s.disk, s.filter = false, 0, 0, nil
	p.pages.Due += s.unwritten()
	p.table.memory += s.memory()
}

// InHead is not for a table of one segment: that has a page.
func (p *paging) InHead() bool { return p.table == nil }

func (p *paging) Append(dst []byte, s *segment) []byte { return s.appendPage(dst) }

func (p *paging) Cost(s *segment) int { return s.unwritten() }

func (p *paging) ByDelta(s *segment) bool { return s.DeltaState.ByDelta(len(s.buf)-s.delta, s.here()) }

func (p *paging) AppendDelta(dst []byte, s *segment) []byte {
	return append(append(dst, deltaMark...), s.buf[s.delta:]...)
}

func (p *paging) Wrote(s *segment) { s.delta = len(s.buf) }

// Kept is nothing of a segment whose filter is not known: it gained no field without being read.
func (p *paging) Kept(s *segment) int { return cap(s.buf) + cap(s.slots)*slotSize }

func (p *paging) Forget(s *segment) {
	before := s.memory()
	p.leave(s)
	p.table.memory += s.memory() - before
}

// SetPager sets what reads evicted pages.
func (h *Hash) SetPager(p structures.Pager) { h.pages.Pager = p }

// Evicted is the number of pages that are on disk only, and their bytes.
func (h *Hash) Evicted() (pages int, bytes int64) { return h.pages.Evicted(h.paging()) }

// Whole reports that no page is evicted.
func (h *Hash) Whole() bool { return h.pages.Whole() }

// Changed is about how many bytes of pages are to be written.
func (h *Hash) Changed() int { return h.pages.Due }

// LoadAll reads every evicted page and reports whether it could.
func (h *Hash) LoadAll() bool { return h.pages.LoadAll(h.paging()) }

// Evict evicts pages, see structures.Paged.
func (h *Hash) Evict(bytes int) (freed, changed int) {
	if h.table == nil || h.table.segments == 1 {
		return 0, 0
	}
	return h.pages.Evict(h.paging(), bytes)
}

// Pages visits changed or all pages, see structures.Value.
func (h *Hash) Pages(all bool, visit func(id uint64, page []byte)) {
	h.pages.Visit(h.paging(), all, visit)
}

// Flush visits up to n of the pages that changed since Clean, see structures.Value.
func (h *Hash) Flush(n int, visit func(id uint64, page []byte)) (more bool) {
	return h.FlushDeltas(n, visit, nil)
}

// FlushDeltas is Flush, but with deltas, see structures.Incremental. Without a function for these all pages are whole.
func (h *Hash) FlushDeltas(n int, visit, delta func(id uint64, page []byte)) (more bool) {
	return h.pages.FlushDeltas(h.paging(), n, segmentBytes, visit, delta)
}

// Clean marks every page as stored.
func (h *Hash) Clean() {
	h.declared = -1
	h.pages.Clean(h.paging())
}

// MarkAllDirty marks every page as changed.
func (h *Hash) MarkAllDirty() { h.pages.MarkAllDirty(h.paging()) }
