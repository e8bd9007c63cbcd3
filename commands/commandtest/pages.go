package commandtest

import (
	"slices"

	"github.com/vigildb/vigil/structures"
)

// Pages is a disk with the pages of a value: some reads succeed, and then none.
type Pages struct {
	pages  map[uint64][]byte
	left   int // pages that can be read
	failed bool
}

func (p *Pages) ReadPage(id uint64, use func([]byte) error) bool {
	if p.left--; p.left < 0 || use(p.pages[id]) != nil {
		p.failed = true
	}
	return !p.failed
}

func (p *Pages) Failed() bool     { return p.failed }
func (p *Pages) Room() bool       { return false }
func (p *Pages) Held(uint64) bool { return false }
func (p *Pages) Tight() bool      { return false }

// PutEvicted puts a value under a key. All its pages that can be evicted are, to a disk from
// which a number of pages can be read.
func (r *Rig) PutEvicted(key string, v structures.Paged, readable int) *Pages {
	p := &Pages{pages: map[uint64][]byte{}, left: 1 << 30}
	v.Evict(1) // sorted sets make pages of their index
	v.Pages(true, func(id uint64, page []byte) { p.pages[id] = slices.Clone(page) })
	v.Clean()
	v.SetPager(p)
	for range 3 {
		v.Evict(1 << 20)
	}
	r.Put(key, v)
	p.left = readable
	return p
}
