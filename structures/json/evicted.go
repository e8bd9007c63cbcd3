package json

import (
	"cmp"
	"slices"

	"github.com/vigildb/vigil/structures"
)

// Pages of a large document can be evicted: on disk only. Such a run has no bytes. It keeps how many
// members and bytes it has, the names that a filter has of them, and which chains hang in it, so
// that others are found, and it can be removed, without it.

// SetPager sets what reads evicted pages.
func (d *Document) SetPager(p structures.Pager) { d.pager = p }

// Evicted is the number of pages that are on disk only, and their bytes.
func (d *Document) Evicted() (pages int, bytes int64) { return d.evicted, d.distant }

// Changed is about how many bytes of pages changed since Clean.
func (d *Document) Changed() int { return d.changed }

// peek returns a copy of an evicted page, nil if it cannot be read.
func (d *Document) peek(c *chain, r *run) (b []byte) {
	d.pager.ReadPage(r.id, func(page []byte) error {
		if err := d.match(c, r, page); err != nil {
			return err
		}
		b = slices.Clone(page)
		return nil
	})
	return b
}

// bringIn makes a copy of a page the page.
func (d *Document) bringIn(r *run, b []byte) {
	r.b, r.evicted, r.recent, r.shared = b, false, true, false
	d.chars += cap(b)
	d.evicted--
	d.distant -= int64(r.size)
}

func (d *Document) visitEvicted(r *run, visit func(id uint64, page []byte)) bool {
	return d.pager != nil && d.pager.ReadPage(r.id, func(page []byte) error {
		visit(r.id, page)
		return nil
	})
}

// LoadAll reads every evicted page and reports whether it could.
func (d *Document) LoadAll() bool {
	for _, c := range d.chains {
		for _, r := range c.runs {
			if !d.pin(c, r) {
				return false
			}
		}
	}
	return true
}

// evictLooks bounds how many pages one call of Evict looks at for each that it is to evict.
const evictLooks = 256

// Evict evicts pages, see structures.Paged. It goes round in the order of their numbers.
func (d *Document) Evict(bytes int) (freed, changed int) {
	if len(d.pages) == 0 {
		return 0, 0
	}
	at, _ := slices.BinarySearchFunc(d.pages, d.hand, func(r *run, id uint64) int { return cmp.Compare(r.id, id) })
	for looks := min(evictLooks*(1+bytes/nearBytes), 2*len(d.pages)); looks > 0 && freed < bytes; looks-- {
		if at == len(d.pages) {
			at = 0
		}
		r := d.pages[at]
		at++
		switch {
		case r.evicted || r.gone:
		case r.dirty || !r.stored:
			changed += r.size
		case r.recent:
			r.recent = false
		case d.pager != nil && d.pager.Held(r.id):
		default:
			freed += r.size
			d.chars -= cap(r.b)
			d.evicted++
			d.distant += int64(r.size)
			r.b, r.evicted = nil, true
		}
	}
	d.hand = 0
	if at < len(d.pages) {
		d.hand = d.pages[at].id
	}
	return freed, changed
}
