package cells

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/vigildb/vigil/structures"
)

// On disk the arrays of a value are, at the end of its head, either all their bytes
//
//	0 | for each array: pages | for each page: number, less that of the one before, less 1
//	    | bytes | the bytes
//
// or which pages there are
//
//	1 | for each array: as structures.AppendPresence has it
//
// with numbers as uvarints. Page array<<32 | i has bytes from 4096*i on, without zeros at their
// end, but at least one. These numbers are on disk and never change.
const (
	inHead  = 0
	inPages = 1
)

// trim cuts zeros off the end of a page, but for the first byte.
func trim(page []byte) []byte {
	page = bytes.TrimRight(page, "\x00")
	return page[:max(len(page), 1)]
}

// AppendArrays appends what the head of the value has of the arrays.
func (s *Stack) AppendArrays(dst []byte) []byte {
	if s.paged {
		dst = append(dst, inPages)
		for _, a := range s.arrays {
			dst = a.appendIndex(dst)
		}
		return dst
	}
	dst = append(dst, inHead)
	for _, a := range s.arrays {
		dst = a.appendInline(dst)
	}
	return dst
}

func (a *Array) appendIndex(dst []byte) []byte {
	return structures.AppendPresence(dst, a.pageCount(), len(a.groups), func(n int) uint64 {
		if g := a.groups[n]; g != nil {
			return g.here | g.evicted
		}
		return 0
	})
}

func (a *Array) appendInline(dst []byte) []byte {
	pages := 0
	for _, g := range a.groups {
		if g != nil {
			pages += ones(g.here)
		}
	}
	dst = binary.AppendUvarint(dst, uint64(pages))
	next := uint64(0)
	a.each(func(g *group) uint64 { return g.here }, func(i uint64, g *group) bool {
		page := trim(g.data[i&groupMask])
		dst = binary.AppendUvarint(dst, i-next)
		dst = binary.AppendUvarint(dst, uint64(len(page)))
		dst = append(dst, page...)
		next = i + 1
		return true
	})
	return dst
}

// each visits pages of a mask of each group, in order, until visit returns false.
func (a *Array) each(mask func(*group) uint64, visit func(i uint64, g *group) bool) bool {
	for n, g := range a.groups {
		if g == nil {
			continue
		}
		for m := mask(g); m != 0; m &= m - 1 {
			if !visit(uint64(n)<<groupShift|uint64(bits.TrailingZeros64(m)), g) {
				return false
			}
		}
	}
	return true
}

// LoadArrays reads what AppendArrays appended into arrays that are zeros.
func (s *Stack) LoadArrays(b []byte) error {
	if len(b) == 0 || b[0] > inPages {
		return fmt.Errorf("form of arrays: %w", structures.ErrCorrupt)
	}
	r := structures.Reader{B: b[1:]}
	s.paged = b[0] == inPages
	for _, a := range s.arrays {
		if s.paged {
			a.loadIndex(&r)
		} else {
			a.loadInline(&r)
		}
		if r.Bad {
			break
		}
	}
	if r.Bad || len(r.B) > 0 {
		return fmt.Errorf("arrays of %d bytes: %w", s.size, structures.ErrCorrupt)
	}
	return nil
}

func (a *Array) loadIndex(r *structures.Reader) {
	structures.Presence(r, a.pageCount(), func(n int, mask uint64) {
		g := a.group(uint64(n))
		g.evicted, g.stored = mask, mask
		a.s.evicted += ones(mask)
	})
}

func (a *Array) loadInline(r *structures.Reader) {
	next := uint64(0)
	for pages := r.Uint(uint64(len(r.B))); pages > 0; pages-- {
		i := next + r.Uint(a.pageCount())
		if i >= a.pageCount() {
			r.Bad = true
		}
		if r.Bad {
			return
		}
		page := r.Bytes(int(r.Uint(uint64(a.pageBytes(i)))))
		if r.Bad = r.Bad || len(page) == 0; r.Bad {
			return
		}
		copy(a.open(i, len(page)), page)
		next = i + 1
	}
}

// SetPage hands in a stored page of a value that was just decoded.
func (s *Stack) SetPage(id uint64, page []byte) error {
	k, i := id>>placeShift, id&(1<<placeShift-1)
	if k < uint64(len(s.arrays)) && i>>groupShift < uint64(len(s.arrays[k].groups)) {
		a := s.arrays[k]
		if g := a.groups[i>>groupShift]; g != nil && g.evicted>>(i&groupMask)&1 != 0 {
			return a.adopt(g, i, page)
		}
	}
	return fmt.Errorf("page %x is not in the head or was given twice: %w", id, structures.ErrCorrupt)
}

// Complete reports an error if pages are missing. It is to be asked once, after the last SetPage.
func (s *Stack) Complete() error {
	if s.evicted > 0 && s.pager == nil {
		return fmt.Errorf("%d pages are missing: %w", s.evicted, structures.ErrCorrupt)
	}
	return nil
}

// Pages visits changed or all pages.
func (s *Stack) Pages(all bool, visit func(id uint64, page []byte)) {
	if !s.paged {
		return
	}
	mask := func(g *group) uint64 { return g.dirty }
	if all {
		mask = func(g *group) uint64 { return g.here | g.evicted }
	}
	for _, a := range s.arrays {
		if !a.each(mask, func(i uint64, g *group) bool { return a.send(i, g, visit) }) {
			return
		}
	}
	for k := len(s.gone) - 1; k >= 0 && !all; k-- {
		a := s.gone[k]
		a.each(func(g *group) uint64 { return g.stored }, func(i uint64, _ *group) bool {
			visit(a.id(i), nil)
			return true
		})
	}
}

// send visits a page. It reports false if that cannot be read.
func (a *Array) send(i uint64, g *group, visit func(id uint64, page []byte)) bool {
	bit := uint64(1) << (i & groupMask)
	switch {
	case g.evicted&bit != 0:
		return a.s.pager != nil && a.s.pager.ReadPage(a.id(i), func(page []byte) error {
			visit(a.id(i), page)
			return nil
		})
	case g.here&bit != 0:
		visit(a.id(i), trim(g.data[i&groupMask]))
	case g.stored&bit != 0:
		visit(a.id(i), nil)
	}
	return true
}

// Clean marks every page as stored.
func (s *Stack) Clean() {
	for _, a := range s.arrays {
		for _, g := range a.groups {
			if g == nil {
				continue
			}
			if g.dirty = 0; s.paged {
				g.stored = g.here | g.evicted
			}
		}
	}
	s.changed, s.gone, s.part = 0, nil, cursor{}
}

// MarkAllDirty marks every page as changed. None is evicted: all that are have been stored as they are.
func (s *Stack) MarkAllDirty() {
	for _, a := range s.arrays {
		for _, g := range a.groups {
			if g != nil {
				s.changed += ones(g.here &^ g.dirty)
				g.dirty |= g.here
			}
		}
	}
}

// Flush visits up to n of the pages that changed since Clean, marks them as stored, and reports
// whether there may be more than n others. It goes round again for pages that changed
// behind it.
func (s *Stack) Flush(n int, visit func(id uint64, page []byte)) (more bool) {
	if !s.paged {
		return false
	}
	left := n
	for ; s.part.array < len(s.arrays); s.part = (cursor{array: s.part.array + 1}) {
		a := s.arrays[s.part.array]
		for ; s.part.group < len(a.groups); s.part.group++ {
			g := a.groups[s.part.group]
			for g != nil && g.dirty != 0 {
				if left == 0 {
					return true
				}
				left--
				a.sendPart(g, uint64(s.part.group)<<groupShift|uint64(bits.TrailingZeros64(g.dirty)), visit)
			}
		}
	}
	s.part = cursor{}
	return s.changed > n
}

// sendPart visits a changed page and marks it as stored.
func (a *Array) sendPart(g *group, i uint64, visit func(id uint64, page []byte)) {
	a.send(i, g, visit)
	bit := uint64(1) << (i & groupMask)
	g.dirty &^= bit
	g.stored = g.stored&^bit | g.here&bit
	a.s.changed--
}

// IsInline reports that the bytes are in the head, and how many they are.
func (s *Stack) IsInline() (bytes int, ok bool) { return s.filled, !s.paged }
