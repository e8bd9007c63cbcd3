package set

import (
	"fmt"
	"slices"

	"github.com/vigildb/vigil/structures"
)

// paging is the integers as their pages see them, [paged.Pages]: a page is a run.
type paging integers

func (s *integers) paging() *paging { return (*paging)(s) }

func (p *paging) Each(from uint64, visit func(id uint64, r *run) bool) {
	for k := p.search(from); k < len(p.runs) && visit(pageOf(p.bounds[k]), p.runs[k]); k++ {
	}
}

// search returns the first run whose page has a number that is not below one.
func (p *paging) search(id uint64) int {
	k, _ := slices.BinarySearch(p.bounds, boundOf(max(id, intPage)))
	return k
}

// InHead reports that the integers have no pages.
func (p *paging) InHead() bool { return len(p.runs) <= 1 }

func (p *paging) Bytes(r *run) int {
	if r.Evicted {
		return r.len() << r.shift
	}
	return cap(r.data)
}

func (p *paging) Append(dst []byte, r *run) []byte { return r.appendPage(dst) }

// Decode makes a run of a page, which has to be what is known of a run.
func (p *paging) Decode(id uint64, r *run, page []byte) (*run, error) {
	k, c := p.search(id), &run{}
	if err := c.load(page); err != nil {
		return nil, err
	}
	if c.len() != r.len() || c.shift != r.shift || c.at(0) < p.bounds[k] || k+1 < len(p.runs) && c.last() >= p.bounds[k+1] {
		return nil, fmt.Errorf("run from %d of %d integers of shift %d has %d of %d from %d: %w",
			p.bounds[k], r.len(), r.shift, c.len(), c.shift, c.at(0), structures.ErrCorrupt)
	}
	return c, nil
}

func (p *paging) Evict(r *run) bool {
	r.members = uint16(r.len())
	p.memory -= cap(r.data)
	r.data = nil
	return true
}

func (p *paging) Adopt(r, c *run) {
	r.base, r.data = c.base, c.data
	p.memory += cap(r.data)
}
