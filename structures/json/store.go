package json

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/vigildb/vigil/structures"
)

// Bytes on disk. These numbers are on disk and never change.
//
//	head   0 | value                                     a document without chains
//	head   1 | length (uvarint) | value | last | chains  a document with chains
//	chain  number | type (1) | home | pages | for each page, in the order of its members:
//	       number | members | bytes                      uvarints, but for the type
//	page   value ..., { name | value } ... or bytes      as the type of its chain says
//
// The value in the head and those in pages have the number of a chain in the place of a value that
// is one. Its home is the page where that is, 0 for the head. The type is 4 for a string, 5 for an
// array and 6 for an object; members of a string are its bytes. Chains and pages have numbers of
// one sequence, and last is the greatest of them; chains stand in the order of theirs.
const (
	headPlain  = 0
	headChains = 1
)

// AppendHead appends the encoding of the head.
func (d *Document) AppendHead(dst []byte) []byte {
	if d.root == nil {
		return dst
	}
	if len(d.chains) == 0 {
		return append(append(dst, headPlain), d.root...)
	}
	dst = binary.AppendUvarint(append(dst, headChains), uint64(len(d.root)))
	dst = append(dst, d.root...)
	dst = binary.AppendUvarint(dst, d.last)
	dst = binary.AppendUvarint(dst, uint64(len(d.chains)))
	for _, c := range sorted(d.chains) {
		home := uint64(0)
		if c.home != nil {
			home = c.home.id
		}
		dst = append(binary.AppendUvarint(dst, c.id), byte(c.typ))
		dst = binary.AppendUvarint(dst, home)
		dst = binary.AppendUvarint(dst, uint64(len(c.runs)))
		for _, r := range c.runs {
			dst = binary.AppendUvarint(dst, r.id)
			dst = binary.AppendUvarint(dst, uint64(r.n))
			dst = binary.AppendUvarint(dst, uint64(r.size))
		}
	}
	return dst
}

// sorted returns chains in the order of their numbers.
func sorted(chains map[uint64]*chain) []*chain {
	return slices.SortedFunc(maps.Values(chains), func(a, b *chain) int { return cmp.Compare(a.id, b.id) })
}

// Decode makes a document of its head. If it has chains, their pages are evicted: SetPage must follow
// for each, or SetPager. A bad head gives ErrCorrupt.
func Decode(head []byte, keys *structures.HashKeys) (*Document, error) {
	d := New(keys)
	if len(head) == 0 {
		return d, nil
	}
	switch head[0] {
	case headPlain:
		if err := checkValues(head[1:], false, 1, maxStored, func(uint64) bool { return false }); err != nil {
			return nil, fmt.Errorf("head of JSON document: %w", err)
		}
		d.root = slices.Clone(head[1:])
		return d, nil
	case headChains:
		r := structures.Reader{B: head[1:]}
		root := r.Bytes(int(r.Uint(math.MaxInt32)))
		homes := d.readChains(&r)
		if !r.Bad && len(r.B) == 0 && d.settle(homes) && len(root) > 0 && d.refersTo(root, false, 1, nil) {
			d.root = slices.Clone(root)
			return d, nil
		}
	}
	return nil, fmt.Errorf("head of JSON document of %d bytes: %w", len(head), structures.ErrCorrupt)
}

// readChains reads the index, and returns the homes of its chains.
func (d *Document) readChains(r *structures.Reader) map[*chain]uint64 {
	const least = 7 // bytes of a chain of one page
	d.last = r.Uint(math.MaxUint64 / 2)
	n := r.Uint(uint64(len(r.B) / least))
	d.chains = make(map[uint64]*chain, n)
	homes := make(map[*chain]uint64, n)
	before := uint64(0)
	for ; n > 0 && !r.Bad; n-- {
		c := &chain{id: r.Uint(d.last), before: -1}
		typ := r.Bytes(1)
		if r.Bad || typ[0] < byte(String) || typ[0] > byte(Object) || c.id <= before {
			r.Bad = true
			break
		}
		before, c.typ = c.id, Type(typ[0])
		d.chains[c.id] = c
		homes[c] = r.Uint(d.last)
		d.readRuns(r, c)
	}
	r.Bad = r.Bad || len(d.chains) == 0
	return homes
}

func (d *Document) readRuns(r *structures.Reader, c *chain) {
	n := r.Uint(uint64(len(r.B) / 3))
	r.Bad = r.Bad || n == 0
	for ; n > 0 && !r.Bad; n-- {
		p := &run{id: r.Uint(d.last), n: int(r.Uint(math.MaxUint32)), size: int(r.Uint(math.MaxUint32)), stored: true, evicted: true}
		if p.id == 0 || p.n == 0 || p.size < p.n || c.typ == String && p.size != p.n {
			r.Bad = true
			return
		}
		c.runs, d.pages = append(c.runs, p), append(d.pages, p)
		c.count += p.n
		c.size += p.size
		d.evicted++
		d.distant += int64(p.size)
	}
}

// settle gives chains their homes. It reports false if one has none, or two pages have one number.
func (d *Document) settle(homes map[*chain]uint64) bool {
	slices.SortFunc(d.pages, func(a, b *run) int { return cmp.Compare(a.id, b.id) })
	for i := 1; i < len(d.pages); i++ {
		if d.pages[i].id == d.pages[i-1].id {
			return false
		}
	}
	for _, c := range sorted(d.chains) {
		if id := homes[c]; id != 0 {
			home := d.page(id)
			if home == nil {
				return false
			}
			d.setHome(c, home)
		}
	}
	return true
}

// page returns the page of a number, nil if there is none.
func (d *Document) page(id uint64) *run {
	i, ok := slices.BinarySearchFunc(d.pages, id, func(r *run, id uint64) int { return cmp.Compare(r.id, id) })
	if !ok || d.pages[i].gone {
		return nil
	}
	return d.pages[i]
}

// refersTo reports whether b is n sound members that refer to each chain once whose home is r, and
// to no others.
func (d *Document) refersTo(b []byte, named bool, n int, r *run) bool {
	seen := map[uint64]bool{}
	err := checkValues(b, named, n, maxStored, func(id uint64) bool {
		c := d.chains[id]
		ok := c != nil && c.home == r && !seen[id]
		seen[id] = true
		return ok
	})
	want := 0
	if r != nil {
		want = len(r.inner)
	} else {
		for _, c := range d.chains {
			if c.home == nil {
				want++
			}
		}
	}
	return err == nil && len(seen) == want
}

// SetPage takes a stored page of a document that was just decoded.
func (d *Document) SetPage(id uint64, page []byte) error {
	r := d.page(id)
	if r == nil || !r.evicted {
		return fmt.Errorf("page %d of a JSON document: %w", id, structures.ErrCorrupt)
	}
	c := d.chainOf(r)
	if err := d.match(c, r, page); err != nil {
		return err
	}
	d.bringIn(r, slices.Clone(page))
	return nil
}

// chainOf is the chain of a run, which is looked for once.
func (d *Document) chainOf(r *run) *chain {
	if r.of == nil {
		for _, c := range d.chains {
			for _, r := range c.runs {
				r.of = c
			}
		}
	}
	return r.of
}

// match returns an error unless a page is what the index says of it.
func (d *Document) match(c *chain, r *run, page []byte) error {
	sound := len(page) == r.size && (c.typ == String || d.refersTo(page, c.typ == Object, r.n, r))
	if !sound {
		return fmt.Errorf("page %d of a JSON document, of %d bytes: %w", r.id, len(page), structures.ErrCorrupt)
	}
	return nil
}

// Complete reports an error if pages are missing. To be asked once after the last SetPage.
func (d *Document) Complete() error {
	if d.evicted > 0 && d.pager == nil {
		return fmt.Errorf("JSON document lacks %d pages: %w", d.evicted, structures.ErrCorrupt)
	}
	return nil
}

// Pages visits changed or all pages, see structures.Value.
func (d *Document) Pages(all bool, visit func(id uint64, page []byte)) {
	var free []uint64
	if !all {
		free = slices.Compact(slices.Sorted(slices.Values(d.free)))
	}
	for _, r := range d.pages {
		if r.gone {
			continue
		}
		for len(free) > 0 && free[0] <= r.id {
			if free[0] < r.id { // else it was given out again
				visit(free[0], nil)
			}
			free = free[1:]
		}
		switch {
		case r.evicted:
			if all && !d.visitEvicted(r, visit) {
				return
			}
		case all || r.dirty || !r.stored:
			visit(r.id, r.b)
		}
	}
	for _, id := range free {
		visit(id, nil)
	}
}

// Clean marks every page as stored.
func (d *Document) Clean() {
	d.free, d.changed, d.part = nil, 0, 0
	for _, r := range d.pages {
		r.dirty, r.stored = false, true
	}
}

// MarkAllDirty marks every page as changed. None is evicted: those that are have been stored as they are.
func (d *Document) MarkAllDirty() {
	for _, r := range d.pages {
		if !r.gone && !r.evicted && !r.dirty {
			r.dirty = true
			d.changed += r.size
		}
	}
}

// Flush visits up to n of the pages that changed since Clean, marks them as stored, and reports
// whether there may be more than n others. It goes round again for pages that changed behind it.
func (d *Document) Flush(n int, visit func(id uint64, page []byte)) (more bool) {
	at, _ := slices.BinarySearchFunc(d.pages, d.part, func(r *run, id uint64) int { return cmp.Compare(r.id, id) })
	for left := n; at < len(d.pages); at++ {
		r := d.pages[at]
		if r.gone || r.evicted || !r.dirty && r.stored {
			continue
		}
		if left == 0 {
			d.part = r.id
			return true
		}
		left--
		visit(r.id, r.b)
		if r.dirty {
			d.changed -= r.size
		}
		r.dirty, r.stored = false, true
	}
	d.part = 0
	return d.changed > n*nearBytes
}
