package zset

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/vigildb/vigil/structures"
)

// Pages of a large set can be away: on disk only. A set is indexed once Shed has come by:
// from then on sections of its index and branches on the lowest level are pages too, until
// it is one leaf again. Leaves and sections can be away. A leaf that is away keeps the
// numbers of its entries and bytes and the beginning of the first entry, so that its place
// is known; a section keeps the number of its entries.

// stubBytes is how much of its first member a leaf that is away keeps. Scores that are
// equal are told apart by that; if they are not, the leaf is read.
const stubBytes = 24

// SetPager says where pages are read that are away.
func (s *Set) SetPager(p structures.Pager) { s.pager = p }

// Away is the number of pages that are on disk only, and their bytes.
func (s *Set) Away() (pages int, bytes int64) {
	if s.coming != nil {
		return s.gone, int64(s.coming.bytes)
	}
	if s.gone == 0 {
		return 0, 0
	}
	for _, l := range s.leaves {
		if l != nil && l.away {
			bytes += int64(l.size)
		}
	}
	s.index.each(0, func(sec *section) bool {
		if sec.away {
			bytes += int64(sec.used) * 8
		}
		return true
	})
	return s.gone, bytes
}

// Changed is about how many bytes of pages are to be written.
func (s *Set) Changed() int {
	n := s.due + len(s.twigs)*leafBytes
	if s.index != nil {
		n += s.index.due
	}
	return n
}

// unread reports that a page could not be read for the command under way.
func (s *Set) unread() bool { return s.gone > 0 && s.pager != nil && s.pager.Failed() }

// makeRoom has pages leave memory if they have to, of those that were not used since Shed
// came by: what the command under way holds stays.
func (s *Set) makeRoom() {
	if s.gone > 0 && s.pager != nil && s.pager.Tight() {
		s.shed(roomBytes, true)
	}
}

// roomBytes is what makeRoom makes room for: the sections of the members of a leaf.
const roomBytes = 64 << 10

// present makes sure that a leaf is in memory, which fails if it cannot be read.
func (s *Set) present(l *leaf) bool { return l.recent || s.touchLeaf(l) }

// touchLeaf is present for a leaf that was not used since Shed came by.
func (s *Set) touchLeaf(l *leaf) bool {
	if l.away {
		c := s.peek(l)
		if c == nil {
			return false
		}
		s.adoptLeaf(l, c)
	}
	l.recent = true
	return true
}

// adoptLeaf brings a leaf in whose copy was read.
func (s *Set) adoptLeaf(l, c *leaf) {
	before := l.memory()
	l.buf, l.slots, l.away = c.buf, c.slots, false
	if g := l.gained; g != nil {
		l.gained = nil
		if g.unwritten() > 0 {
			rest := &gains{}
			g.each(g.written, rest.add)
			l.gained = rest
		}
	}
	s.resized(l, before)
	s.gone--
}

// peek returns a copy of a leaf that is away, nil if it cannot be read.
func (s *Set) peek(l *leaf) *leaf {
	if s.pager == nil {
		return nil
	}
	c := &leaf{num: l.num}
	if !s.pager.ReadPage(uint64(l.num), func(page []byte) error {
		err := c.load(page)
		if err == nil {
			err = s.matches(l, c)
		}
		return err
	}) {
		return nil
	}
	return c
}

// matches gives a copy of a leaf that is away its tags, and returns an error if it is not
// what is known of the leaf.
func (s *Set) matches(l, c *leaf) error {
	c.addGained(l.gained)
	if c.len() != l.len() || len(c.buf) != l.bytes() || c.first() != l.first() ||
		len(l.buf) != scoreSize+min(len(c.member(0)), stubBytes) || !bytes.HasPrefix(c.member(0), l.buf[scoreSize:]) {
		return fmt.Errorf("sorted set page %d of %d entries in %d bytes has %d in %d, or begins with another: %w",
			l.num, l.len(), l.bytes(), c.len(), len(c.buf), structures.ErrCorrupt)
	}
	for i, slot := range c.slots {
		if i > 0 && compare(c, i-1, c, i) >= 0 {
			return fmt.Errorf("sorted set page %d is not in order: %w", l.num, structures.ErrCorrupt)
		}
		c.slots[i] = slot | slotTag(s.hashOf(c.member(i)))
	}
	return nil
}

func (l *leaf) member(i int) []byte {
	_, member := l.entry(i)
	return member
}

// sendLeaf has a leaf leave memory: it keeps its first score and the beginning of its first member.
func (s *Set) sendLeaf(l *leaf) (freed int) {
	before := l.memory()
	l.size, l.count = uint32(len(l.buf)), uint16(l.len())
	member := l.member(0)
	l.makeStub(binary.BigEndian.Uint64(l.buf), member[:min(len(member), stubBytes)])
	s.resized(l, before)
	s.gone++
	return before - l.memory()
}

// makeStub makes a leaf one that is away and begins with a score and a member.
func (l *leaf) makeStub(score uint64, member []byte) {
	stub := make([]byte, 0, scoreSize+len(member))
	l.buf = append(binary.BigEndian.AppendUint64(stub, score), member...)
	l.slots, l.away, l.recent = nil, true, false
}

// compareStub compares the first member of a leaf that is away with another; 0 if it is
// not known how they differ, or if they do.
func (l *leaf) compareStub(member []byte) int {
	stub := l.buf[scoreSize:]
	if len(stub) == stubBytes {
		member = member[:min(len(member), stubBytes)]
	}
	return bytes.Compare(stub, member)
}

// keptPages is the number of leaves that a walk keeps in memory: those near an end are
// likely to be asked for again.
const keptPages = 16

// view returns a leaf for a walk that has passed some leaves before. One that is away is
// kept if it is among the first or memory has room, else it is a copy. The result is nil
// if it cannot be read.
func (s *Set) view(l *leaf, passed int) *leaf {
	if l.recent {
		return l
	}
	if l.away && passed >= keptPages && (s.pager == nil || !s.pager.Room()) {
		return s.peek(l)
	}
	if !s.touchLeaf(l) {
		return nil
	}
	return l
}

// presentSection makes sure that a section is in memory.
func (s *Set) presentSection(sec *section) bool { return sec.recent || s.touchSection(sec) }

func (s *Set) touchSection(sec *section) bool {
	if sec.away {
		var slots []uint64
		if s.pager == nil || !s.pager.ReadPage(sec.id(), func(page []byte) (err error) {
			if slots, err = sec.load(page); err == nil {
				err = s.known(sec, slots)
			}
			return err
		}) {
			return false
		}
		s.adoptSection(sec, slots)
	}
	sec.recent = true
	return true
}

func (s *Set) adoptSection(sec *section, slots []uint64) {
	x := s.index
	sec.slots, sec.away = slots, false
	x.memory += len(slots)*8 - cap(sec.filter)
	sec.filter = nil
	rest := sec.ops[sec.written:]
	x.dropOps(sec)
	if len(rest) > 0 {
		sec.ops = slices.Clone(rest)
		x.memory += cap(sec.ops) * 8
	}
	s.gone--
}

func (s *Set) sendSection(sec *section) (freed int) {
	sec.filter = structures.NewFilter(int(sec.used) + int(sec.used)/4)
	for _, e := range sec.slots {
		if e != 0 {
			sec.filter.Add(spread(uint32(e >> 32)))
		}
	}
	freed = len(sec.slots)*8 - cap(sec.filter)
	sec.slots, sec.away, sec.recent = nil, true, false
	s.index.memory -= freed
	s.gone++
	return freed
}

// Gather reads every page that is away and reports whether it could.
func (s *Set) Gather() bool {
	if s.gone == 0 {
		return true
	}
	for _, l := range s.leaves {
		if l != nil && !s.present(l) {
			return false
		}
	}
	ok := true
	s.index.each(0, func(sec *section) bool {
		ok = s.presentSection(sec)
		return ok
	})
	return ok
}

// shedLooks bounds how many pages one call of Shed looks at for each that it is to let go
// of.
const shedLooks = 64

// Shed lets go of pages, see structures.Paged. It goes round over the leaves by their
// numbers, and then over the sections. Coming by first, it makes pages of the index.
func (s *Set) Shed(size int) (freed, changed int) { return s.shed(size, false) }

// shed is Shed. Sparing, it lets go of no page that was used since Shed came by.
func (s *Set) shed(size int, sparing bool) (freed, changed int) {
	if !s.indexed {
		if s.root == nil || s.live <= structures.IndexedPages() {
			return 0, 0
		}
		s.pageIndex()
	}
	looks := min(shedLooks*(1+size/leafBytes), 2*(len(s.leaves)+len(s.index.sections)))
	for looks > 0 && freed < size {
		if s.hand < uint64(len(s.leaves)) {
			l := s.leaves[s.hand]
			s.hand++
			looks--
			switch {
			case l == nil || l.away && l.gained == nil:
			case s.marks[l.num] != markStored:
				changed += l.changedBytes()
			case l.away:
				if !s.held(uint64(l.num)) {
					freed += s.forgetLeaf(l)
				}
			case l.recent:
				l.recent = sparing
			case s.held(uint64(l.num)):
			default:
				freed += s.sendLeaf(l)
			}
			continue
		}
		from := max(s.hand, firstSection) - firstSection
		s.index.each(uint32(from), func(sec *section) bool {
			if looks == 0 || freed >= size {
				s.hand = firstSection + uint64(sec.prefix)
				return false
			}
			looks--
			switch {
			case sec.away && len(sec.ops) == 0:
			case sec.changed || !sec.stored:
				changed += (len(sec.slots) + cap(sec.ops)) * 8
			case sec.away:
				if !s.held(sec.id()) {
					freed += s.forgetSection(sec)
				}
			case sec.recent:
				sec.recent = sparing
			case s.held(sec.id()):
			default:
				freed += s.sendSection(sec)
			}
			s.hand = 0
			return true
		})
	}
	return freed, changed
}

// held reports that a page must stay in memory, as it cannot be read yet.
func (s *Set) held(id uint64) bool { return s.pager != nil && s.pager.Held(id) }

// each visits sections in the order of hashes, from that of a hash on, until visit
// returns false.
func (x *index) each(hash uint32, visit func(sec *section) bool) {
	at := uint64(hash)
	for at < 1<<32 {
		sec := x.section(uint32(at))
		if !visit(sec) {
			return
		}
		at = uint64(sec.prefix) + 1<<(32-sec.depth)
	}
}
