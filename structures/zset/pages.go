package zset

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/paged"
)

// Bytes on disk. These numbers are on disk and never change.
//
//	head   0 | entry ...                                a set without pages
//	head   1 | members (uvarint) | pages (uvarint)      a set with pages
//	head   2 | as 1 | bytes of pages | longest member | buckets
//	         | { bits that its hashes have in common (1) | entries } for each
//	         | numbers of branches, in order (uvarints)  an indexed set
//	page   entry ...                                    at least one
//
// A page is a leaf, numbered as that is. Entries of a page are in order, and all of
// a page are before or behind all of another one; the numbers say nothing of it.
const (
	formHead    = 0
	formPaged   = 1
	formIndexed = 2
)

// errLargePage refuses pages in which offsets would not fit.
var errLargePage = fmt.Errorf("sorted set page of several entries over %d bytes: %w", leafBytes, structures.ErrCorrupt)

// AppendHead appends the encoding of the head to dst.
func (s *Set) AppendHead(dst []byte) []byte {
	if !s.paging().InHead() {
		form := byte(formPaged)
		if s.indexed {
			form = formIndexed
		}
		dst = binary.AppendUvarint(append(dst, form), uint64(s.count))
		dst = binary.AppendUvarint(dst, uint64(s.live))
		if s.indexed {
			dst = s.appendIndex(dst)
		}
		return dst
	}
	dst = append(dst, formHead)
	if s.only != nil {
		dst = append(dst, s.only.buf...)
	}
	return dst
}

// Decode makes a set from its head. If it has pages, SetPage must follow for each of
// them, and then Complete. Bytes are copied. A bad head gives ErrCorrupt.
func Decode(head []byte, keys *structures.HashKeys) (*Set, error) {
	s := New(keys)
	if len(head) == 0 {
		return nil, fmt.Errorf("sorted set head of 0 bytes: %w", structures.ErrCorrupt)
	}
	switch head[0] {
	case formHead:
		if len(head) == 1 {
			return s, nil
		}
		if len(head)-1 > leafBytes {
			return nil, errLargePage
		}
		l := &leaf{}
		if err := l.load(head[1:]); err != nil {
			return nil, err
		}
		s.loading = []*leaf{l}
		return s, s.adopt()
	case formPaged, formIndexed:
		count, w := binary.Uvarint(head[1:])
		if w <= 0 || count > math.MaxUint32 {
			return nil, fmt.Errorf("number of members: %w", structures.ErrCorrupt)
		}
		pages, v := binary.Uvarint(head[1+w:])
		if v <= 0 || head[0] == formPaged && 1+w+v != len(head) || pages > count || pages == 0 {
			return nil, fmt.Errorf("number of sorted set pages: %w", structures.ErrCorrupt)
		}
		s.promised, s.promisedPages = int(count), int(pages)
		if head[0] == formIndexed {
			return s, s.loadIndex(head[1+w+v:])
		}
		return s, nil
	}
	return nil, fmt.Errorf("sorted set head of form %d: %w", head[0], structures.ErrCorrupt)
}

// SetPage takes a stored page, in any order. A bad page or one for a set without
// pages gives ErrCorrupt, and the set is not to be used.
func (s *Set) SetPage(id uint64, page []byte) error {
	if s.promised < 0 {
		return fmt.Errorf("page %d of a sorted set without pages: %w", id, structures.ErrCorrupt)
	}
	if s.indexed {
		if s.coming == nil {
			return fmt.Errorf("page %x of a sorted set that is complete: %w", id, structures.ErrCorrupt)
		}
		return s.supply(id, page)
	}
	if len(page) == 0 || id > math.MaxUint32/2 {
		return fmt.Errorf("sorted set page %d of %d bytes: %w", id, len(page), structures.ErrCorrupt)
	}
	l := &leaf{num: uint32(id), DeltaState: paged.DeltaState{State: paged.State{Stored: true}}}
	if err := l.load(page); err != nil {
		return fmt.Errorf("sorted set page %d: %w", id, err)
	}
	s.loading = append(s.loading, l)
	return nil
}

// Complete makes the set of the pages that it was given. It is to be called once
// after the last SetPage. Pages that are missing, that overlap, or that name a member
// twice give ErrCorrupt.
func (s *Set) Complete() error {
	if s.promised < 0 {
		return nil
	}
	if s.coming != nil {
		if err := s.assemble(); err != nil {
			return err
		}
	} else if err := s.adoptGiven(); err != nil {
		return err
	}
	if s.count != s.promised {
		return fmt.Errorf("sorted set of %d members has %d: %w", s.promised, s.count, structures.ErrCorrupt)
	}
	s.promised = -1
	return nil
}

// adoptGiven is adopt for a set that is not indexed: all of its pages must be there.
func (s *Set) adoptGiven() error {
	if len(s.loading) != s.promisedPages {
		return fmt.Errorf("sorted set of %d pages has %d: %w", s.promisedPages, len(s.loading), structures.ErrCorrupt)
	}
	return s.adopt()
}

// adopt makes the set of the leaves that were loaded.
func (s *Set) adopt() error {
	line := s.loading
	s.loading = nil
	slices.SortFunc(line, func(a, b *leaf) int { return compare(a, 0, b, 0) })
	if err := s.enlist(line); err != nil {
		return err
	}
	for n, l := range line {
		if n > 0 && compare(line[n-1], line[n-1].len()-1, l, 0) >= 0 {
			return fmt.Errorf("sorted set pages %d and %d overlap: %w", line[n-1].num, l.num, structures.ErrCorrupt)
		}
		for i := 1; i < l.len(); i++ {
			if compare(l, i-1, l, i) >= 0 {
				return fmt.Errorf("sorted set page %d is not in order: %w", l.num, structures.ErrCorrupt)
			}
		}
	}
	return s.build(line)
}

// compare orders entry i of a leaf and entry j of another.
func compare(a *leaf, i int, b *leaf, j int) int {
	scoreA, memberA := a.entry(i)
	scoreB, memberB := b.entry(j)
	if c := cmp.Compare(orderOf(scoreA), orderOf(scoreB)); c != 0 {
		return c
	}
	return bytes.Compare(memberA, memberB)
}

// build makes the branches and the index over leaves in order that are enlisted. A
// member that is there twice gives ErrCorrupt.
func (s *Set) build(line []*leaf) error {
	for _, l := range line {
		s.count += l.len()
		for i := range l.slots {
			_, member := l.entry(i)
			s.longest = max(s.longest, uint32(len(member)))
		}
	}
	s.peak = uint32(s.count)
	s.line(line)
	if s.root == nil {
		return line[0].distinct()
	}
	s.index = newIndex(&s.leaves, s.count)
	for _, l := range line {
		for i, slot := range l.slots {
			_, member := l.entry(i)
			hash := s.hashOf(member)
			if twin, _ := s.find(hash, member); twin != nil {
				return errTwice
			}
			l.slots[i] = slot | slotTag(hash)
			s.index.put(hash, l.num)
		}
	}
	return nil
}

// errTwice refuses a set with a member that has two scores.
var errTwice = fmt.Errorf("member of a sorted set given twice: %w", structures.ErrCorrupt)

// distinct returns an error if a leaf has a member twice.
func (l *leaf) distinct() error {
	for i := range l.slots {
		if _, member := l.entry(i); l.find(member) != i {
			return errTwice
		}
	}
	return nil
}
