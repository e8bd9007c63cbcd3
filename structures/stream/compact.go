package stream

import (
	"encoding/binary"

	"github.com/vigildb/vigil/structures/paged"
)

// IsCompact reports whether the stream has no groups and no names, and one small page at most.
func (s *Stream) IsCompact(limit int) bool {
	return len(s.groups) == 0 && s.names == nil && (len(s.pages) == 0 || len(s.pages) == 1 && len(s.pages[0].buf) <= limit)
}

// AppendCompact appends a small stream:
//
//	state as in the head | entries | and, if there are any, of the page:
//	entries | names | body | from | base | last ID | its bytes
func (s *Stream) AppendCompact(dst []byte) []byte {
	dst = s.appendCounts(dst)
	dst = binary.AppendUvarint(dst, uint64(s.len))
	if s.len == 0 {
		return dst
	}
	p := s.pages[0]
	for _, n := range []int{p.count, p.same, p.names, p.body, p.from} {
		dst = binary.AppendUvarint(dst, uint64(n))
	}
	dst = appendID(appendID(dst, p.span.base), p.last)
	return p.appendPage(dst)
}

// LoadCompact makes s the stream that AppendCompact appended.
func (s *Stream) LoadCompact(b []byte) {
	var p *page
	if len(s.pages) == 1 && !s.pages[0].lent {
		p = s.pages[0]
	}
	pages, dirty := s.pages[:0], s.dirty[:0]
	r := reader{b: b}
	*s = Stream{nextPage: 1, nextGroup: 1, last: r.id(), maxDeleted: r.id(), added: r.uvarint(), len: int(r.uvarint())}
	if s.len == 0 {
		return
	}
	if p == nil {
		p = new(page)
	}
	buf := p.buf[:0]
	*p = page{leaf: leaf{id: 1, State: paged.State{Dirty: true}}, live: s.len, count: int(r.uvarint()),
		span: span{same: int(r.uvarint()), names: int(r.uvarint()), body: int(r.uvarint()), from: int(r.uvarint()), base: r.id()},
		last: r.id()}
	p.buf = append(buf, b[r.at:]...)
	s.pages, s.dirty = append(pages, p), append(dirty, p)
	s.nextPage = 2
	s.memory = p.memory()
}
