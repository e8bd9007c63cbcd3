package set

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/hash"
)

// Bytes on disk. These numbers are on disk and never change.
//
//	head   0 | length of run (uvarint) | run | head of a hash         few integers, or none
//	head   1 | integers (uvarint) | pages (uvarint) | head of a hash  integers in pages
//	head   2 | as 1, but before the head of the hash for each page, in the
//	         order of bounds: half of how far its bound is behind the one
//	         before, integers << 2 | shift (uvarints)                 integers in pages, of which the
//	         | head of a hash with an index, if it has pages          set has many
//	head   3, 4, 5 | as 0, 1, 2                                       members expire or did: the hash
//	                                                                  may have integers
//	page   page of a hash, under half of its number; or a run, under its bound:
//	       bound + 2^63, halved, with the highest bit set
//
// The hash has the members that are no integers as fields without value. A bound is
// even, the first one the least integer; a run has the integers from its bound up to
// the next. run.go draws a run, which is never empty in a page.
const (
	intsInHead  = 0
	intsPaged   = 1
	intsIndexed = 2
	timedForms  = 3 // what is added to the form of a timed set
)

// Operations in the journal. These numbers are on disk and never change.
const (
	opAdd    = 16 // member ...
	opRemove = 17 // member ...

	opExpireAt = 18 // member, unix ms
	opPersist  = 19 // member
)

// AppendHead appends the encoding of the head to dst.
func (s *Set) AppendHead(dst []byte) []byte {
	if s.ints.inHead() {
		dst = s.appendRun(append(dst, intsInHead+s.Form()*timedForms))
		return s.rest.AppendHead(dst)
	}
	indexed := !s.whole() || len(s.ints.runs)+s.rest.PageCount() > structures.IndexedPages()
	form := byte(intsPaged)
	if indexed {
		form = intsIndexed
	}
	dst = append(dst, form+s.Form()*timedForms)
	dst = binary.AppendUvarint(dst, uint64(s.ints.count))
	dst = binary.AppendUvarint(dst, uint64(len(s.ints.runs)))
	if !indexed {
		return s.rest.AppendHead(dst)
	}
	return s.rest.AppendIndexedHead(s.ints.appendIndex(dst))
}

// appendRun appends the length of the only run and the run.
func (s *Set) appendRun(dst []byte) []byte {
	if len(s.ints.runs) == 0 {
		return append(dst, 0)
	}
	r := s.ints.runs[0]
	dst = binary.AppendUvarint(dst, uint64(runHeader+len(r.data)))
	return r.appendPage(dst)
}

// Decode makes a set from its head. If it has pages, SetPage must follow for each of
// them, with the keys that it was stored with. Bytes are copied. A bad head gives
// structures.ErrCorrupt.
func Decode(head []byte, keys *structures.HashKeys) (*Set, error) {
	s := &Set{promised: -1}
	if len(head) == 0 || head[0] > intsIndexed+timedForms {
		return nil, fmt.Errorf("set head of %d bytes: %w", len(head), structures.ErrCorrupt)
	}
	var err error
	form := head[0]
	if s.timed = form >= timedForms; s.timed {
		form -= timedForms
	}
	n, w := binary.Uvarint(head[1:])
	rest := head[1+max(w, 0):]
	if w <= 0 || n > math.MaxInt64 || form == intsInHead && n > uint64(len(rest)) {
		return nil, fmt.Errorf("integers of a set head: %w", structures.ErrCorrupt)
	}
	if form == intsInHead {
		if err := s.loadRun(rest[:n]); err != nil {
			return nil, fmt.Errorf("set head: %w", err)
		}
		rest = rest[n:]
	} else {
		pages, w := binary.Uvarint(rest)
		if w <= 0 || pages < 2 || pages > n || n > 1<<48 {
			return nil, fmt.Errorf("set of %d integers in %d pages: %w", n, pages, structures.ErrCorrupt)
		}
		rest = rest[w:]
		if form == intsPaged {
			s.promised, s.pages = int(n), int(pages)
		} else if rest, err = s.ints.loadIndex(rest, n, pages); err != nil {
			return nil, err
		}
	}
	s.rest, err = hash.Decode(rest, keys)
	if err != nil {
		return nil, fmt.Errorf("members of a set: %w", err)
	}
	if _, some := s.rest.NextExpiry(); some && !s.timed {
		return nil, fmt.Errorf("members of a set expire: %w", structures.ErrCorrupt)
	}
	s.noteSize()
	return s, nil
}

// loadRun makes the bytes of a run, which may be none, the integers of the set.
func (s *Set) loadRun(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	r := &run{}
	if err := r.load(b); err != nil {
		return err
	}
	s.ints.insertRun(0, math.MinInt64, r)
	s.ints.count = r.len()
	return nil
}

// SetPage takes a stored page, in any order. A bad page, one that overlaps another,
// or one for a set without pages gives structures.ErrCorrupt, and the set is not to
// be used.
func (s *Set) SetPage(id uint64, page []byte) error {
	defer s.noteSize()
	if id&intPage == 0 {
		if err := s.rest.SetPage(id<<1, page); err != nil {
			return fmt.Errorf("set: %w", err)
		}
		return nil
	}
	if s.promised < 0 && s.ints.pages.Whole() {
		return fmt.Errorf("page %x of a set without pages of integers: %w", id, structures.ErrCorrupt)
	}
	if err := s.ints.setPage(id, page); err != nil {
		return fmt.Errorf("page %x of a set: %w", id, err)
	}
	return nil
}

// Complete reports an error if pages are missing. To be asked once after the last
// SetPage.
func (s *Set) Complete() error {
	if s.promised >= 0 && !s.ints.complete(s.promised, s.pages) {
		return fmt.Errorf("set of %d integers in %d pages has %d in %d: %w",
			s.promised, s.pages, s.ints.count, len(s.ints.runs), structures.ErrCorrupt)
	}
	if !s.ints.pages.Whole() && s.ints.pages.Pager == nil {
		return fmt.Errorf("set lacks %d pages of integers: %w", s.ints.pages.Count(), structures.ErrCorrupt)
	}
	return s.rest.Complete()
}

// Pages visits changed or all pages, see structures.Value.
func (s *Set) Pages(all bool, visit func(id uint64, page []byte)) {
	s.rest.Pages(all, func(id uint64, page []byte) { visit(id>>1, page) })
	s.ints.pages.Visit(s.ints.paging(), all, visit)
}

// Clean marks every page as stored.
func (s *Set) Clean() {
	s.rest.Clean()
	s.ints.pages.Clean(s.ints.paging())
	s.promised = -1
}

// Apply replays an operation. To add a member that is there, or to remove one that is
// not, does nothing.
func (s *Set) Apply(op byte, args *structures.Args) error {
	change := s.Add
	switch op {
	case opAdd:
	case opRemove:
		change = s.Remove
	case opExpireAt, opPersist:
		return s.applyExpiry(op, args)
	default:
		return fmt.Errorf("set operation %d: %w", op, structures.ErrUnknownChange)
	}
	for args.Left() > 0 && args.Err() == nil {
		if member := args.Bytes(); args.Err() == nil {
			change(nil, member)
		}
	}
	return args.Done()
}

// applyExpiry replays a change of an expiry. Of a member that is missing it does nothing.
func (s *Set) applyExpiry(op byte, args *structures.Args) error {
	member, ms := args.Bytes(), int64(0)
	if op == opExpireAt {
		ms = args.Int()
	}
	if err := args.Done(); err != nil {
		return err
	}
	if op == opExpireAt {
		s.ExpireAt(nil, member, ms)
	} else {
		s.Persist(nil, member)
	}
	return nil
}
